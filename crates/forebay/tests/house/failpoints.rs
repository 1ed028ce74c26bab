//! Fail points: no build but that of the tests has them, and each is one where a test ends the process.

use std::collections::BTreeSet;

use crate::source::{SOURCES, Source, crates};
use crate::{none, root};

const FEATURE: &str = "failpoints";

#[test]
fn only_builds_for_tests_have_fail_points() {
    let mut findings = Vec::new();
    for folder in crates() {
        let path = folder.join("Cargo.toml");
        let manifest: toml::Table =
            std::fs::read_to_string(&path).expect("a manifest").parse().expect("TOML");
        let default = manifest.get("features").and_then(|features| features.get("default"));
        let built = ["dependencies", "build-dependencies", "target"].map(|section| manifest.get(section));
        let named = |value: &toml::Value| format!("{value:?}").contains(FEATURE);
        if default.into_iter().chain(built.into_iter().flatten()).any(named) {
            findings.push(format!("{} turns `{FEATURE}` on", path.display()));
        }
    }
    none(
        &findings,
        "Turn it on under [dev-dependencies] alone: cargo leaves those out of every build but that of tests.",
    );
}

#[test]
fn the_process_is_ended_at_every_fail_point() {
    let tests =
        std::fs::read_to_string(root().join("crates/forebay/tests/e2e/failpoints.rs")).expect("the tests");
    let tested = |place: &String| tests.contains(&format!("\"{place}\""));
    let places: BTreeSet<_> = SOURCES.iter().filter(|source| !source.test_only).flat_map(places).collect();
    assert!(places.len() > 20, "{places:?}");
    let findings: Vec<_> = places.into_iter().filter(|place| !tested(place)).collect();
    none(
        &findings,
        "Add the place to those of crates/forebay/tests/e2e/failpoints.rs, with what leads there.",
    );
}

/// The fail points of a file: both sides of each verb that writes, and those named one by one.
fn places(source: &Source) -> Vec<String> {
    let mut places = Vec::new();
    let text_at =
        |from: usize| source.texts.iter().filter(move |text| text.0 > from).map(|text| text.1.clone());
    for (at, call) in
        ["self.write(", "failpoint::reach("].into_iter().flat_map(|call| source.code.match_indices(call))
    {
        let mut texts = text_at(at);
        match (call, texts.next()) {
            ("self.write(", Some(verb)) if source.krate == "forebay-store" => {
                places.extend(["before_commit", "after_commit"].map(|side| format!("{verb}.{side}")));
            }
            // The two that all verbs share take their step's name from a variable.
            ("failpoint::reach(", Some(step)) if !step.ends_with("_commit") => {
                places.extend(texts.next().map(|side| format!("{step}.{side}")));
            }
            _ => {}
        }
    }
    places
}
