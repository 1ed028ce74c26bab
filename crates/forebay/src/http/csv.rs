//! Lines of CSV, as RFC 4180 writes them.

/// A line with its end.
pub(super) fn line(fields: &[impl AsRef<str>]) -> String {
    fields.iter().map(|text| field(text.as_ref())).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A field, in quotes where it needs them. A spreadsheet takes what begins like a formula for one; an
/// apostrophe makes it a text.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guarded = if formula { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formula() {
        for (text, written) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"\n", "\"say \"\"hi\"\"\n\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1),2", "\"'@SUM(A1),2\""),
        ] {
            assert_eq!(field(text), written, "{text}");
        }
        assert_eq!(line(&["a", "b,c"]), "a,\"b,c\"\r\n");
    }
}
