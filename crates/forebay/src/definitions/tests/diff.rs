//! What changes from one text to another.

use crate::definitions::{Named, diff};

use super::*;

fn compared(before: &str, after: &str) -> Differences {
    diff(Named { name: "one", text: before }, Named { name: "other", text: after }).unwrap()
}

/// Section, name, what happened, and the members that differ with their values.
fn told(found: &Differences) -> String {
    let value = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or("-".to_owned(), serde_json::Value::to_string)
    };
    let lines = found.changes.iter().map(|change| {
        let members = change.members.iter().map(|member| {
            format!("\n  {}: {} -> {}", member.member, value(&member.before), value(&member.after))
        });
        format!("{} {} {}{}", change.change.name(), change.section, change.name, members.collect::<String>())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_same_is_no_difference() {
    let found = compared(BASE, BASE);
    assert_eq!((told(&found), found.text.as_str()), (String::new(), ""));
    let commented = compared(BASE, &format!("# why\n{BASE}"));
    assert_eq!(told(&commented), "", "a comment changes the text alone");
    assert!(commented.text.starts_with("--- one\n+++ other\n"), "{}", commented.text);
    assert!(commented.text.contains("\n+# why\n"));
}

#[test]
fn members_are_named_with_what_they_were_and_are() {
    let after = BASE
        .replace("max_attempts = 3", "max_attempts = 4")
        .replace("cap_ms = 5000", "")
        .replace("temperature = 0.5", "temperature = 0.25, \"top.p\" = 1")
        .replace("requests_per_minute = 60", "requests_per_minute = 1_000");
    let found = compared(BASE, &after);
    insta::assert_snapshot!(told(&found), @r#"
    changed pools sim
      requests_per_minute: 60 -> 1000
    changed tasks chat
      params."top.p": - -> 1
      params.temperature: 0.5 -> 0.25
    changed tasks invoice
      retry.cap_ms: 5000 -> -
      retry.max_attempts: 3 -> 4
    "#);
    assert_eq!(found.affected_tasks.unwrap(), ["chat"], "retries and limits change no result");
}

#[test]
fn what_a_task_refers_to_affects_it() {
    let found = compared(BASE, &base_with("version = 7", "version = 8"));
    assert_eq!(told(&found), "changed policies checks\n  version: 7 -> 8");
    assert_eq!(found.affected_tasks.unwrap(), ["invoice"]);
}

#[test]
fn what_is_on_one_side_only_is_added_or_removed() {
    let more = format!("{BASE}\n[pools.spare]\nprovider = \"sim\"\n");
    assert_eq!(told(&compared(BASE, &more)), "added pools spare\n  provider: - -> \"sim\"");
    assert_eq!(told(&compared(&more, BASE)), "removed pools spare\n  provider: \"sim\" -> -");
}

#[test]
fn a_text_that_this_build_can_not_use_is_compared_all_the_same() {
    let found = compared("[tasks.old]\nkind = \"agent\"\n", BASE);
    assert!(told(&found).contains("removed tasks old"), "{}", told(&found));
    assert_eq!(found.affected_tasks, None);
    let no_toml = diff(Named { name: "one", text: "a = = 1" }, Named { name: "other", text: BASE });
    assert_eq!(no_toml.unwrap_err()[0].line, 1);
}
