//! The default definitions: they load, they say what the code does, and they name every member.

use forebay_core::definition::Task;
use forebay_core::extract::Policy;
use serde::de::DeserializeOwned;

use super::*;
use crate::definitions::written;

/// The default text with every stated default in force: `#idle_ms = 30000` becomes `idle_ms = 30000`.
fn with_defaults_written() -> String {
    let stated = |line: &str| {
        let name = line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
        name.unwrap_or(line).to_owned()
    };
    DEFAULT.lines().map(|line| stated(line) + "\n").collect()
}

/// Everything that a task says, as text.
fn shown(task: &Task) -> String {
    format!("{task:#?}")
}

#[test]
fn the_default_loads_with_nothing_beside_it() {
    let definitions = loaded(DEFAULT);
    assert_eq!(definitions.tasks.keys().collect::<Vec<_>>(), ["chat", "embed", "invoice"]);
    assert_eq!(definitions.models["small"].pool.provider.base_url, "https://api.openai.com/v1");
    let TaskKind::Extract(extraction) = &definitions.tasks["invoice"].kind else {
        panic!("invoice extracts")
    };
    assert_eq!(extraction.policy_name, "invoice@1");
    let values = [("document", "DOCUMENT"), ("schema", "SCHEMA")];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let prompt = extraction.prompt.render(&values).unwrap();
    assert!(
        prompt.contains("{\"output\": {...}, \"evidence\": [{\"field\": \"/total\", \"quote\": "),
        "{prompt}"
    );
    assert!(prompt.contains("\nSCHEMA\n") && prompt.trim_end().ends_with("DOCUMENT"), "{prompt}");
}

#[test]
fn what_the_default_calls_a_default_is_one() {
    let written = with_defaults_written();
    assert!(written.lines().filter(|line| !DEFAULT.contains(&format!("\n{line}\n"))).count() >= 18);
    let (as_is, with_defaults) = (loaded(DEFAULT), loaded(&written));
    assert_eq!(as_is.providers, with_defaults.providers);
    assert_eq!(as_is.pools, with_defaults.pools);
    assert_eq!(as_is.models, with_defaults.models);
    assert_eq!(as_is.retention, with_defaults.retention);
    for (name, task) in &as_is.tasks {
        assert_eq!(shown(task), shown(&with_defaults.tasks[name]), "{name}");
    }
}

/// The members that a table may have, as serde tells them about one that it does not know.
fn members<T: DeserializeOwned + std::fmt::Debug>() -> Vec<String> {
    let error = toml::from_str::<T>("no_such_member = 1").unwrap_err().message().to_owned();
    let (_, expected) = error.split_once("expected").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_default_explains_every_member() {
    let all = [
        members::<written::Provider>(),
        members::<written::Pool>(),
        members::<written::Model>(),
        members::<Policy>(),
        members::<written::Task>(),
        members::<written::Retry>(),
        members::<written::Retention>(),
        members::<written::SubmitLimits>(),
    ]
    .concat();
    assert!(all.len() > 45, "{all:?}");
    for member in all {
        let explained =
            [format!("{member} ="), format!("`{member}`"), format!(".{member}]"), format!("_{member}]")];
        assert!(
            explained.iter().any(|text| DEFAULT.contains(text)),
            "the default does not explain `{member}`"
        );
    }
}

fn example(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/invoices").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_invoice_task_is_the_example() {
    let definitions = loaded(DEFAULT);
    let TaskKind::Extract(extraction) = &definitions.tasks["invoice"].kind else {
        panic!("invoice extracts")
    };
    let schema: serde_json::Value = serde_json::from_str(&example("invoice.schema.json")).unwrap();
    assert_eq!(extraction.schema.source(), &schema);
    let policy: Policy = toml::from_str(&example("policy.toml")).unwrap();
    assert_eq!(*extraction.policy, policy);
}
