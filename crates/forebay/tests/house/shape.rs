//! How the code is cut: no long files and functions, nothing that nobody compiles, SQL in files of its own.

use std::collections::BTreeSet;

use crate::source::{SOURCES, Source, crates, end_of_item, files};
use crate::{none, root};

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 80;

/// Where SQL of more than a line stands in the code, and why.
const SQL_ALLOWED: &[(&str, &str)] = &[
    (
        "crates/forebay-store/src/sqlite/migrate.rs",
        "the list of migrations is made before the first migration can be",
    ),
    ("crates/forebay-store/src/postgres/migrate.rs", "as there"),
];

/// Words that stand for work that was not done. Written in two parts, so that this file has none of them.
const DENIED: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("dbg", "!(")];

#[test]
fn files_are_short() {
    let findings: Vec<_> = SOURCES
        .iter()
        .filter(|source| !source.test_only && source.lines > LONGEST_FILE)
        .map(|source| format!("{}: {} lines without tests", source.path.display(), source.lines))
        .collect();
    none(
        &findings,
        &format!("A file has at most {LONGEST_FILE} lines: take a part out that has a name of its own."),
    );
}

#[test]
fn functions_are_short() {
    let mut findings = Vec::new();
    for source in SOURCES.iter().filter(|source| !source.test_only) {
        let tokens = source.tokens();
        for (nth, window) in tokens.windows(2).enumerate().filter(|(_, window)| window[0].1 == "fn") {
            let start = window[0].0;
            let body = &source.code[start..end_of_item(&source.code, start)];
            let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
            if lines > LONGEST_FUNCTION && !is_a_table(source, &tokens[..nth]) {
                let at = format!("{}:{}", source.path.display(), source.line(start));
                findings.push(format!("{at}: `{}` has {lines} lines", window[1].1));
            }
        }
    }
    none(
        &findings,
        &format!(
            "A function has at most {LONGEST_FUNCTION} lines of code: cut it into named steps. A table, one row a line, may \
             be longer: say so with `#[allow(clippy::too_many_lines, reason = ...)]`."
        ),
    );
}

/// Whether the function that follows these tokens says that it is one.
fn is_a_table(source: &Source, before: &[(usize, &str)]) -> bool {
    let ends = |token: &&(usize, &str)| matches!(token.1, "}" | ";" | "{");
    let from = before.iter().rev().find(ends).map_or(0, |token| token.0);
    let to = before.last().map_or(0, |token| token.0);
    source.code[from..to.max(from)].contains("too_many_lines")
}

#[test]
fn every_file_is_compiled() {
    let compiled: BTreeSet<_> = SOURCES.iter().map(|source| root().join(&source.path)).collect();
    let findings: Vec<_> = crates()
        .iter()
        .flat_map(|krate| files(&krate.join("src"), &[".rs"]))
        .filter(|file| !compiled.contains(file))
        .map(|file| format!("{} is in no `mod` declaration", file.display()))
        .collect();
    none(&findings, "Declare the module, or remove the file: what nobody compiles nobody keeps right.");
}

#[test]
fn sql_stands_in_files_of_its_own() {
    const STATEMENTS: &[&str] =
        &["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "ALTER ", "WITH ", "DROP "];
    let mut findings = Vec::new();
    for source in SOURCES.iter().filter(|source| !source.test_only) {
        let allowed = SQL_ALLOWED.iter().any(|(path, _)| source.path.ends_with(path));
        for (place, text) in source.texts.iter().filter(|_| !allowed) {
            let begins = text.trim_start();
            if begins.contains('\n') && STATEMENTS.iter().any(|statement| begins.starts_with(statement)) {
                findings.push(format!("{}:{}", source.path.display(), source.line(*place)));
            }
        }
    }
    none(
        &findings,
        "Put the statement into crates/forebay-store/sql/sqlite/ and name it with `sql!`: a test prepares every file there \
         against a migrated database.",
    );
}

#[test]
fn nothing_says_that_it_is_not_done() {
    let mut findings = Vec::new();
    let endings = [".rs", ".md", ".sql", ".toml", ".sh", ".py"];
    let folders = ["crates", "docs", "examples", "scripts"];
    let below = folders.iter().flat_map(|folder| files(&root().join(folder), &endings));
    let top = std::fs::read_dir(root()).expect("the root").map(|entry| entry.expect("an entry").path());
    for file in below.chain(top.filter(|path| path.extension().is_some_and(|ending| ending == "md"))) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (nth, line) in text.lines().enumerate() {
            if let Some(word) = DENIED.iter().find(|word| has_word(line, word)) {
                findings.push(format!("{}:{}: {word}", file.display(), nth + 1));
            }
        }
    }
    none(&findings, "Do it now, or write down in the documents what there is not.");
}

fn has_word(line: &str, word: &str) -> bool {
    let apart = |sign: Option<char>| !sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    line.match_indices(word).any(|(at, _)| {
        let ends_word = word.ends_with('(') || apart(line[at + word.len()..].chars().next());
        apart(line[..at].chars().next_back()) && ends_word
    })
}

#[test]
fn denied_words_are_found_as_words() {
    assert!(has_word(&format!("// {}: x", DENIED[0]), DENIED[0]));
    assert!(!has_word(&format!("download.{0}{0}", DENIED[2]), DENIED[2]));
    assert!(has_word(&format!("{}x)", DENIED[3]), DENIED[3]));
}
