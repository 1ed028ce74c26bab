use super::*;
use crate::limits::{DATASET_CELL_BYTES, DATASET_COLUMN_CHARS, DATASET_ROWS};

fn values(csv: &str) -> Vec<Vec<String>> {
    let table = read(csv.as_bytes()).unwrap_or_else(|faults| panic!("{csv:?}: {faults}"));
    let header = table.columns().to_vec();
    std::iter::once(header).chain(table.rows().map(|row| row.values().map(str::to_owned).collect())).collect()
}

fn faults(csv: impl AsRef<[u8]>) -> Vec<(usize, usize, String)> {
    let faults = read(csv.as_ref()).expect_err("refused");
    faults.as_slice().iter().map(|fault| (fault.line, fault.column, fault.message.clone())).collect()
}

/// The one fault; its message has to contain the words.
#[track_caller]
fn refused(csv: impl AsRef<[u8]>, line: usize, column: usize, words: &str) {
    let faults = faults(csv);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!((faults[0].0, faults[0].1) == (line, column) && faults[0].2.contains(words), "{faults:?}");
}

#[test]
fn commas_or_semicolons_as_the_header_says() {
    let expected = [["iban", "name"], ["NL91", "Coolblue; B.V."]];
    assert_eq!(values("name,iban\nCoolblue; B.V.,NL91\n"), expected);
    assert_eq!(values("name;iban\r\n\"Coolblue; B.V.\";NL91"), expected);
    assert_eq!(values("\u{feff}\r\n name ; iban\rColon,NL91;x\r\r"), [["iban", "name"], ["x", "Colon,NL91"]]);
    assert_eq!(values("\"a;b\",c\n1,2\n"), [["a;b", "c"], ["1", "2"]]);
    refused("\na,b;c\n1,2\n", 2, 1, "both commas and semicolons");
}

#[test]
fn quotation_marks_hold_anything() {
    let quoted = "name,note\n\"The \"\"Ritz\"\"\",\"two\r\nlines, \"\"\"\n,\"\"\n";
    assert_eq!(values(quoted), [["name", "note"], ["The \"Ritz\"", "two\r\nlines, \""], ["", ""]]);
    refused("a,b\n1,\"2\n3,4\n", 2, 3, "never closed");
    refused("a,b\n1,2\"\n", 2, 4, "inside a value");
    refused("a,b\n\"ä\"x,2\n", 2, 4, "follows a closing");
}

#[test]
fn names_are_given_once_and_not_blank() {
    assert_eq!(
        faults("name, ,name,a\u{1}\n1,2,3,4\n").iter().map(|fault| fault.1).collect::<Vec<_>>(),
        [6, 8, 13],
        "all at once, before any row"
    );
    let most = "x".repeat(DATASET_COLUMN_CHARS);
    assert_eq!(values(&format!("{most}\n1\n")).len(), 2);
    refused(format!("{most}x\n1\n"), 1, 1, "1 to 64 characters");
    let names = |count: usize| (0..count).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let row = |count: usize| vec!["1"; count].join(",");
    assert_eq!(values(&format!("{}\n{}\n", names(64), row(64))).len(), 2);
    refused(format!("{}\n{}\n", names(65), row(65)), 1, 247, "more than 64 columns");
}

#[test]
fn every_row_has_the_columns_of_the_header() {
    let found = faults("a,b\n1,2\n1\n1,2,3\n\n1,\u{7}\n");
    let places: Vec<_> = found.iter().map(|fault| (fault.0, fault.1)).collect();
    assert_eq!(places, [(3, 1), (4, 1), (6, 3)]);
    assert_eq!(found[0].2, "the header has 2 values, and this row has 1");
    assert_eq!(found[2].2, "`b`: a value holds control characters");
    refused(format!("a,b\n{}\n", ",".repeat(1_000_000)), 2, 1, "this row has 1000001");
    assert_eq!(faults("a,b\n".to_owned() + &"1\n".repeat(1_000)).len(), super::super::MAX_TABLE_FAULTS);
}

#[test]
fn limits_hold_at_n_and_not_beyond() {
    let cell = "x".repeat(DATASET_CELL_BYTES);
    assert_eq!(values(&format!("a\n{cell}\n"))[1][0].len(), DATASET_CELL_BYTES);
    refused(format!("a,b\n1,{cell}x\n"), 2, 3, "`b`: a value of 4097 bytes");
    let rows = |count: usize| "a\n".to_owned() + &"1\n".repeat(count);
    assert_eq!(read(rows(DATASET_ROWS).as_bytes()).unwrap().len(), DATASET_ROWS);
    refused(rows(DATASET_ROWS + 1), DATASET_ROWS + 2, 1, "more than 100000 rows");
    let blank_lines = |count: usize| "a\n1\n".to_owned() + &"\n".repeat(count - 4);
    assert_eq!(read(blank_lines(DATASET_BYTES).as_bytes()).unwrap().len(), 1);
    refused(blank_lines(DATASET_BYTES + 1), 1, 1, "more than 16777216 bytes");
}

#[test]
fn nothing_is_no_dataset() {
    refused("", 1, 1, "blank");
    refused("\r\n\n", 1, 1, "blank");
    refused("a,b\n", 2, 1, "no row");
}

#[test]
fn other_encodings_are_refused_with_their_place() {
    refused(b"name\nCaf\xe9\n", 2, 4, "not UTF-8");
    refused(b"\xff\xfea\x00\n\x00", 1, 1, "not UTF-8");
}

#[test]
fn the_normal_form_is_the_digest_and_reads_back() {
    let table = read("b;a\n\"x,y\";1\n;\"q\"\"\"\n".as_bytes()).unwrap();
    let normal = write(&table);
    assert_eq!(String::from_utf8_lossy(&normal), "a,b\n1,\"x,y\"\n\"q\"\"\",\n");
    assert_eq!(table.digest(), crate::digest::Digest::of(&normal));
    assert_eq!(read(&normal).unwrap(), table);
    let one = read(b"a\n\"\"\n1\n").unwrap();
    assert_eq!((one.len(), read(&write(&one)).unwrap()), (2, one));
}
