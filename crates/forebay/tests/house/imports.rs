//! Who may know whom: crates by their `Cargo.toml`, modules of `forebay` by the paths that they name.

use std::collections::BTreeSet;

use crate::none;
use crate::source::{SOURCES, Source, crates};

/// Which crates of ours a crate may depend on.
const CRATES: &[(&str, &[&str], &str)] = &[
    ("forebay-core", &[], "the rules know nothing but values"),
    ("forebay-store", &["forebay-core"], "the ledger applies the rules; it calls nobody"),
    ("forebay-gateway", &["forebay-core"], "a call of a provider knows no ledger"),
    ("forebay", &["forebay-core", "forebay-store", "forebay-gateway"], "the service puts the parts together"),
];

/// What a module of `forebay` may name: other modules of it, other crates of ours beside `forebay_core`, and why not
/// more.
struct Row(&'static str, &'static [&'static str], &'static [&'static str], &'static str);

const STORE: &[&str] = &["forebay_store"];
const NOTHING: &[&str] = &[];

const MODULES: &[Row] = &[
    Row(
        "accept",
        &["app", "revisions"],
        STORE,
        "the same way in for HTTP and whatever comes later; it knows none of them",
    ),
    Row(
        "app",
        &["config", "datasets", "metrics", "revisions", "runtime"],
        STORE,
        "what all parts share, so it knows no part",
    ),
    Row(
        "blobs",
        &["config"],
        &["forebay_store", "forebay_gateway"],
        "opens what the settings name; requests go over the gateway's client, which knows whose certificates count",
    ),
    Row(
        "cli",
        &["blobs", "config", "definitions", "runtime", "service", "sim", "verify"],
        STORE,
        "talks to a server over HTTP as anybody does; of the parts it knows only how to start them all",
    ),
    Row(
        "config",
        NOTHING,
        STORE,
        "values of the process: read first, before anything else is there; of the store it knows how one is named",
    ),
    Row("datasets", NOTHING, STORE, "tables by digest: what is behind them is the store's affair"),
    Row("definitions", NOTHING, NOTHING, "text to definitions: a function of its input"),
    Row("door", &["accept", "app", "http"], STORE, "the one place where `http` and `accept` meet"),
    Row(
        "http",
        &[
            "accept",
            "app",
            "datasets",
            "definitions",
            "metrics",
            "presence",
            "review",
            "revisions",
            "runtime",
        ],
        STORE,
        "answers from the store and hands jobs to its intake: it neither runs work nor calls providers. Of `accept` it \
         knows the refusals, which it words as problems, and of `presence` who counts as silent",
    ),
    Row(
        "maintain",
        &["app", "review"],
        STORE,
        "acts on rows alone, and decides what is due as a person would: it knows neither workers nor callers",
    ),
    Row(
        "metrics",
        &["revisions", "runtime"],
        STORE,
        "counts what others tell it; of `runtime` the name of the build",
    ),
    Row(
        "presence",
        &["app", "runtime"],
        STORE,
        "says what the process is, and of its work a number that it is given",
    ),
    Row(
        "review",
        &["accept", "app", "revisions"],
        STORE,
        "decides for persons and for due times alike, whoever asks; plans a rerun in the form that `accept` plans a job",
    ),
    Row("revisions", &["definitions"], STORE, "definitions by number"),
    Row("runtime", NOTHING, NOTHING, "the build, tasks and random bytes"),
    Row(
        "service",
        &[
            "app",
            "blobs",
            "config",
            "datasets",
            "definitions",
            "door",
            "http",
            "maintain",
            "metrics",
            "presence",
            "revisions",
            "runtime",
            "work",
        ],
        &["forebay_store", "forebay_gateway"],
        "starts and ends every part",
    ),
    Row(
        "sim",
        NOTHING,
        NOTHING,
        "somebody else's server: nothing of ours may leak into what the gateway meets",
    ),
    Row("verify", NOTHING, NOTHING, "a judge that trusts nothing of what it judges, the rules included"),
    Row(
        "work",
        &["accept", "app", "datasets", "revisions", "runtime"],
        &["forebay_store", "forebay_gateway"],
        "runs what was claimed, whoever asked for it; plans the next step in the form that `accept` plans the first; judges why \
         a revision can't be read",
    ),
];

#[test]
fn crates_depend_on_those_that_they_may() {
    let mut findings = Vec::new();
    for folder in crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml");
        let manifest: toml::Table = manifest.parse().expect("a manifest");
        let Some((_, allowed, why)) = CRATES.iter().find(|row| row.0 == name) else {
            findings.push(format!("{name} is not in the table of crates"));
            continue;
        };
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let named = manifest.get(section).and_then(toml::Value::as_table).into_iter().flatten();
            for (dependency, _) in named.filter(|(dependency, _)| dependency.starts_with("forebay")) {
                if !allowed.contains(&dependency.as_str()) {
                    findings.push(format!("{name} depends on {dependency} ({section}): {why}"));
                }
            }
        }
    }
    none(
        &findings,
        "Move the code to the crate that may have it, or pass in what it needs as a value or a trait. A new crate needs a \
         reason that the compiler can check; then add it to the table in tests/house/imports.rs.",
    );
}

#[test]
fn modules_name_those_that_they_may() {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for source in SOURCES.iter().filter(|source| source.krate == "forebay" && !source.test_only) {
        let Some(top) = source.module.first() else { continue };
        let Some(Row(_, modules, foreign, why)) = MODULES.iter().find(|row| row.0 == top) else {
            findings.push(format!("{}: the module `{top}` is not in the table", source.path.display()));
            continue;
        };
        for (place, named) in named(source) {
            used.insert((top.as_str(), named.to_owned()));
            let ours = named == top || (named == "forebay_core" && top != "verify");
            if !ours && !modules.contains(&named) && !foreign.contains(&named) {
                let line = source.line(place);
                findings.push(format!("{}:{line}: `{top}` names `{named}`: {why}", source.path.display()));
            }
        }
    }
    for Row(top, modules, foreign, _) in MODULES {
        for allowed in modules.iter().chain(*foreign) {
            if !used.contains(&(*top, (*allowed).to_owned())) {
                findings.push(format!("the table allows `{top}` to name `{allowed}`, which it does not do"));
            }
        }
    }
    none(
        &findings,
        "Pass in what the module needs, or move the code to where it may be. The table in tests/house/imports.rs says who \
         may know whom: change it only together with its reason, and take out what is no longer used.",
    );
}

/// The modules at the top of the crate, and the other crates of ours, that a file names, with the places.
fn named(source: &Source) -> Vec<(usize, &str)> {
    let tokens = source.tokens();
    let mut named = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (place, word) = tokens[at];
        let inside_path = at >= 2 && tokens[at - 1].1 == ":" && tokens[at - 2].1 == ":";
        at += 1;
        if ["forebay_core", "forebay_store", "forebay_gateway"].contains(&word) {
            named.push((place, word));
        } else if word == "crate" && follows(&tokens, at) {
            named.extend(first_of_path(&tokens, at + 2));
        } else if word == "super" && !inside_path {
            let mut up = 1;
            while follows(&tokens, at) && tokens.get(at + 2).is_some_and(|token| token.1 == "super") {
                up += 1;
                at += 3;
            }
            // Beyond the outermost module: the crate's root.
            if up >= source.module.len() && follows(&tokens, at) {
                named.extend(first_of_path(&tokens, at + 2));
            }
        }
    }
    named
}

fn follows(tokens: &[(usize, &str)], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.1 == ":")
        && tokens.get(at + 1).is_some_and(|token| token.1 == ":")
}

/// The first names of a path: one, or in braces several.
fn first_of_path<'s>(tokens: &[(usize, &'s str)], at: usize) -> Vec<(usize, &'s str)> {
    if tokens.get(at).is_none_or(|token| token.1 != "{") {
        return tokens.get(at).copied().into_iter().collect();
    }
    let mut names = Vec::new();
    let mut depth = 0;
    let mut first = true;
    for token in &tokens[at..] {
        match token.1 {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => first = true,
            _ if depth == 1 && first => {
                names.push(*token);
                first = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn paths_to_the_root_are_found() {
    let source = Source {
        path: "a.rs".into(),
        krate: "forebay".to_owned(),
        module: vec!["http".to_owned(), "jobs".to_owned()],
        test_only: false,
        code: "use crate::{app::App, work::{self, x}}; use super::super::sim; use super::near; crate::cli::main(); \
               forebay_store::Store"
            .to_owned(),
        texts: Vec::new(),
        lines: 1,
    };
    let names: Vec<_> = named(&source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["app", "work", "sim", "cli", "forebay_store"]);
}
