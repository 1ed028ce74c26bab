//! The documents say what the code does: their tables equal the code's, their links lead somewhere, and what they
//! name exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use forebay::http::Code;
use forebay::verify::report::Invariant;
use forebay_core::extract::FindingCode;
use forebay_core::failure::{Charge, FailureClass, Fault, Retry};
use forebay_core::lifecycle::TABLE;
use forebay_core::limits;
use forebay_store::health;

use crate::source::{SOURCES, Source, files};
use crate::{none, root};

#[test]
fn failure_classes_are_documented_as_they_are() {
    let rows = FailureClass::ALL.map(|class| {
        let facts = class.facts();
        let retry = match facts.retry {
            Retry::Backoff => "again after a backoff",
            Retry::Defer => "again when the limit allows",
            Retry::Never => "the job fails",
            Retry::Review => "a person decides",
        };
        let counts = if facts.counts { "yes" } else { "no" };
        let charge = match facts.charge {
            Charge::No => "no",
            Charge::Reported => "as reported",
            Charge::Uncertain => "perhaps",
        };
        let fault = match facts.fault {
            Fault::Provider => "provider",
            Fault::Caller => "caller",
            Fault::Model => "model",
            Fault::Operator => "operator",
            Fault::Forebay => "Forebay",
            Fault::Person => "person",
        };
        vec![
            code(class.name()),
            facts.meaning.to_owned(),
            retry.into(),
            counts.into(),
            charge.into(),
            fault.into(),
        ]
    });
    let head = ["class", "meaning", "what comes next", "counts", "billed", "whose"];
    same_table("docs/failure-classes.md", &head, &rows, "FailureClass::facts");
}

#[test]
fn the_lifecycle_is_documented_as_it_is() {
    let rows: Vec<_> = TABLE
        .iter()
        .map(|(from, command, to)| {
            let to: Vec<_> = to.iter().map(|state| code(state.name())).collect();
            vec![code(from.name()), code(command.name()), to.join(" ")]
        })
        .collect();
    // A last column, which says who, is for people alone.
    same_table("docs/lifecycle.md", &["from", "command", "to"], &rows, "lifecycle::TABLE");
}

#[test]
fn problems_are_documented_as_they_are() {
    let rows = Code::ALL.map(|problem| {
        let facts = problem.facts();
        let status = facts.status.as_u16().to_string();
        vec![code(facts.name), status, facts.cause.to_owned(), facts.fix.to_owned()]
    });
    same_table("docs/problems.md", &["code", "status", "cause", "fix"], &rows, "http::Code::facts");
}

#[test]
fn limits_are_documented_as_they_are() {
    let rows = limits::PUBLISHED.map(|limit| {
        vec![limit.what.to_owned(), format!("{} {}", limit.most, limit.unit), limit.beyond.to_owned()]
    });
    same_table("docs/limits.md", &["what", "most", "beyond it"], &rows, "limits::PUBLISHED");
}

#[test]
fn the_invariants_are_documented_as_they_are_judged() {
    let rows: Vec<_> = Invariant::ALL
        .iter()
        .map(|invariant| vec![format!("{invariant:?}"), invariant.sentence().to_owned()])
        .collect();
    same_table("docs/verify.md", &["invariant", "what must hold"], &rows, "verify::report::Invariant");
}

#[test]
fn findings_are_documented_as_they_are() {
    let rows = FindingCode::ALL.map(|finding| {
        let facts = finding.facts();
        vec![code(facts.name), facts.meaning.to_owned(), facts.rule.to_owned(), code(facts.class.name())]
    });
    same_table("docs/validation.md", &["code", "meaning", "rule", "class"], &rows, "FindingCode::facts");
}

#[test]
fn what_the_doctor_finds_is_documented_as_it_is() {
    let rows: Vec<_> = health::Code::ALL
        .iter()
        .map(|finding| {
            let facts = finding.facts();
            vec![code(facts.name), facts.subject.to_owned(), facts.why.to_owned()]
        })
        .collect();
    same_table("docs/doctor.md", &["code", "line", "why it matters"], &rows, "health::Code::facts");
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// Fails unless the table below that head in a document has these rows, in their first columns.
fn same_table(document: &str, head: &[&str], expected: &[Vec<String>], source: &str) {
    let text = std::fs::read_to_string(root().join(document)).unwrap_or_default();
    let found: Vec<_> = text
        .lines()
        .map(cells)
        .skip_while(|cells| !cells.iter().map(String::as_str).take(head.len()).eq(head.iter().copied()))
        .skip(2)
        .take_while(|cells| !cells.is_empty())
        .map(|cells| cells.into_iter().take(head.len()).collect::<Vec<_>>())
        .collect();
    let line = |cells: &Vec<String>| format!("| {} |", cells.join(" | "));
    let difference = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    let difference = difference.map_or_else(
        || format!("{} rows instead of {}", found.len(), expected.len()),
        |(expected, found)| format!("{}\ninstead of\n{}", line(found), line(expected)),
    );
    let table = expected.iter().map(line).collect::<Vec<_>>().join("\n");
    assert!(
        found == expected,
        "\n\n{document} differs from {source}: it has\n{difference}\n\nChange the table, or the code if the document is \
         right. The rows are:\n\n| {} |\n|{}\n{table}\n",
        head.join(" | "),
        "---|".repeat(head.len())
    );
}

/// The cells of a row; none where the line is no row.
fn cells(line: &str) -> Vec<String> {
    let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
        return Vec::new();
    };
    row.replace("\\|", "\0").split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// All documents of ours.
fn documents() -> BTreeSet<PathBuf> {
    let top = std::fs::read_dir(root()).expect("the root").map(|entry| entry.expect("an entry").path());
    let top = top.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let below =
        ["docs", "examples", "crates"].into_iter().flat_map(|folder| files(&root().join(folder), &[".md"]));
    top.chain(below).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        let folder = document.parent().expect("a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let elsewhere = link.contains("://") || link.starts_with("mailto:") || file.is_empty();
            if !elsewhere && !folder.join(file).exists() {
                findings.push(format!("{}: {link}", document.display()));
            }
        }
    }
    none(&findings, "Correct the link, or write the document.");
}

#[test]
fn what_the_map_names_exists() {
    let mut findings = Vec::new();
    for document in documents().into_iter().filter(|document| follows_the_code(document)) {
        let text = std::fs::read_to_string(&document).expect("a document");
        // Blocks of commands and pictures are no names.
        let prose = text.split("```").step_by(2).collect::<String>();
        let named = prose.split('`').skip(1).step_by(2);
        for name in named.filter(|name| !name.contains(char::is_whitespace) && !exists(name)) {
            findings.push(format!("{}: `{name}`", document.display()));
        }
    }
    none(&findings, "These are not in the code (any more): follow the code again and say what it does now.");
}

/// Whether a document is about the inside, so that what stands in backquotes are names of the code.
fn follows_the_code(document: &Path) -> bool {
    ["ARCHITECTURE.md", "CONTRIBUTING.md", "lifecycle.md", "security.md"]
        .iter()
        .any(|name| document.ends_with(name))
        || document.starts_with(root().join("docs/adr"))
}

type Tokens = Vec<(usize, &'static str)>;

/// All files with their words and signs.
static TOKENS: LazyLock<Vec<(&Source, Tokens)>> =
    LazyLock::new(|| SOURCES.iter().map(|source| (source, source.tokens())).collect());

/// Whether there is such a file or such a function, type or module. Of other things nothing is known.
fn exists(name: &str) -> bool {
    let word = |text: &str| text.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    if ["crates/", "docs/", "scripts/", "examples/"].iter().any(|start| name.starts_with(start)) {
        return root().join(name).exists();
    }
    let mut parts = name.trim_end_matches("()").rsplit("::");
    let (Some(last), Some(owner)) = (parts.next(), parts.next()) else { return true };
    if !word(last) || !word(owner) {
        return true;
    }
    TOKENS.iter().any(|(source, tokens)| {
        let declares = |pair: &[(usize, &str)]| {
            matches!(pair[0].1, "struct" | "enum" | "trait" | "impl") && pair[1].1 == owner
        };
        let owns =
            source.module.last().is_some_and(|module| module == owner) || tokens.windows(2).any(declares);
        owns && tokens.iter().any(|(_, token)| *token == last)
    })
}

#[test]
fn names_are_found_where_they_are() {
    assert!(exists("execute::run") && exists("Window::take") && exists("lifecycle::TABLE"));
    assert!(!exists("execute::walk") && !exists("Door::take") && !exists("crates/forebay-core/src/none.rs"));
}
