//! What arguments mean, and what help says.

use clap::{CommandFactory as _, Parser as _};

use super::{Cli, Command, help};

const JOB: &str = "job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6";

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("forebay").chain(line.split_whitespace()))
}

#[test]
fn the_commands_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn what_is_right_is_taken() {
    for line in [
        "serve",
        "serve --store sqlite:a.db --listen 127.0.0.1:0 --config forebay.toml --roles api,work",
        "serve --pools a,b --pools c --tasks invoice",
        "serve --log-format json --json",
        "--json serve",
        "demo --exit --json",
        "sim --listen 127.0.0.1:0 --scenario s.toml --log l.jsonl --time-scale 60",
        "submit invoice a.txt b.txt --wait --json",
        "submit invoice@3 -",
        "submit chat --prompt Hi --set /a=1 --set /b=2 --metadata a=b --metadata c=d",
        "submit chat --input {\"prompt\":\"Hi\"}",
        "submit invoice --text total --ttl 10m --delay 5s --priority low --idempotency-key k",
        "submit chat --prompt Hi --deadline 2026-12-01T10:00:00Z",
        "submit chat --prompt Hi --url http://10.0.0.1:7120",
        "get job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --attempts",
        "watch",
        "watch job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --json",
        "batch submit jobs.jsonl --wait --idempotency-key monday --json",
        "batch submit -",
        "batch list --limit 5",
        "batch get batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6",
        "batch watch batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f7",
        "batch cancel batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6",
        "dead-letters change --class auth --unowned --assign anna --note why",
        "dead-letters change --all --among dismissed --reopen --dry-run",
        "dead-letters change job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --dismiss",
        "cancel job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 job_0199c0de5b7a7c4e8f00a1b2c3d4e5f7",
        "jobs --state review_required --task invoice --limit 5",
        "jobs --all --created-after 7d",
        "review",
        "review --task invoice --overdue --older-than 2h",
        "review list --finding line_sum --claimed available --all --json",
        "review show job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --full",
        "review claim job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --for 1h",
        "review approve job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --version 3",
        "review correct job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --set /a=1 --set /b/0/c=x --comment why",
        "review correct job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --file -",
        "review rerun job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --ttl 2h --comment why",
        "review export --decision correct --since 30d --text",
        "tenant list --json --url http://10.0.0.1:7120",
        "tenant put acme --max-pending-jobs none --budget 12.50 --budget-period day",
        "tenant get acme",
        "dataset list",
        "dataset put suppliers suppliers.csv --json",
        "dataset put suppliers - --format json --if-version 3",
        "dataset get suppliers --content --version 2",
        "key list",
        "key create erp --scope submit,read --scope inspect --tenant acme --expires 90d",
        "key revoke key_0199c0de5b7a7c4e8f00a1b2c3d4e5f6",
        "apply d.toml --comment why --dry-run",
        "apply d.toml --check",
        "apply d.toml --expect 3",
        "diff",
        "diff d.toml --from 3 --exit-code",
        "diff --from 3 --to 5 --text --json",
        "rollback 3 --comment why --expect 4 --dry-run",
        "revisions --limit 5",
        "audit --since 24h --until 2026-12-01T10:00:00Z --action key.revoke --subject key_1 --by key_2 --tenant acme",
        "audit --export csv",
        "plan --arrivals 1800/h --service 8s --service-p95 20s --utilization 0.9 --late 2% --plot b.svg",
        "audit --follow --action key.revoke --limit 5 --json",
        "migrate --store sqlite:a.db",
        "doctor --thorough --store postgres://u@db/forebay",
    ] {
        let parsed = parse(line);
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
}

#[test]
fn what_is_wrong_is_refused_with_usage() {
    for line in [
        "",
        "sevre",
        "serve extra",
        "submit",
        "submit chat --priority urgent",
        "submit chat --ttl 10",
        "submit chat --ttl 10m --deadline 2026-12-01T10:00:00Z",
        "submit chat --deadline tomorrow",
        "submit chat --prompt a --text b",
        "submit chat a.txt --prompt b",
        "submit chat --input {",
        "submit chat --set a=1",
        "submit chat --metadata order",
        "get",
        "get invoice-7",
        &format!("get {JOB} --result --steps"),
        "watch job_1",
        "dead-letters change --all",
        "dead-letters change --all --dismiss --resolve",
        "dead-letters change --all --assign anna --unassign",
        "dead-letters change job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --task chat --dismiss",
        "batch",
        "batch submit",
        "batch get job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6",
        "batch watch",
        "cancel",
        "jobs --state DONE",
        "jobs --limit 0",
        "jobs --all --limit 5",
        "dataset",
        "dataset put suppliers",
        "dataset put suppliers a.csv --format xml",
        "dataset get suppliers --version 2",
        "tenant",
        "review correct job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6",
        "review approve",
        "review list --overdue --due-before 2h",
        "review export --decision cancelled",
        "tenant put acme --budget 1,50",
        "tenant put acme --budget-period week",
        "key create erp",
        "key create erp --scope everything",
        "key revoke erp",
        "apply",
        "apply d.toml --check --dry-run",
        "diff d.toml --to 3",
        "rollback three",
        "audit --action key.made",
        "audit --export xml",
        "audit --follow --export csv",
        "sim --listen localhost",
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.use_stderr(), "{line} asks for help only");
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn json_is_understood_on_both_sides_of_the_command() {
    assert!(parse("--json jobs").unwrap().json);
    assert!(parse("tenant list --json").unwrap().json);
    assert!(!parse("jobs").unwrap().json);
}

#[test]
fn a_list_of_scopes_is_one_list() {
    let Command::Key(args) = parse("key create erp --scope submit,read --scope inspect").unwrap().command
    else {
        panic!("another command");
    };
    assert!(format!("{args:?}").contains("[Submit, Read, Inspect]"), "{args:?}");
}

#[test]
fn every_command_stands_in_the_overview_and_has_examples() {
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let line = format!("\n  {name:<10}");
        assert!(help::COMMANDS.contains(&line), "{name} is missing in the overview");
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(examples.contains(&format!("forebay {name}")), "{name} has no example");
    }
}

#[test]
fn every_example_in_help_is_taken() {
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in examples.lines().filter(|line| line.starts_with(&format!("  forebay {name}"))) {
            let command = line.split(['>', '|']).next().unwrap_or_default();
            // What stands in quotes is one argument.
            let parts = command.split('\'').enumerate();
            let arguments: String = parts.map(|(i, part)| if i % 2 == 1 { "why" } else { part }).collect();
            let parsed = Cli::try_parse_from(arguments.split_whitespace());
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_overview_is_grouped_and_short() {
    let text = Cli::command().render_help().to_string();
    for part in [
        "Usage: forebay",
        "Run it:",
        "Jobs:",
        "Administration:",
        "Options:",
        "--json",
        "FOREBAY_URL",
        "Exit codes:",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(text.lines().count() <= 58, "{} lines\n{text}", text.lines().count());
}

#[test]
fn every_command_is_documented() {
    let page = include_str!("../../../../docs/cli.md");
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let heading = format!("\n### `forebay {}", command.get_name());
        assert!(page.contains(&heading), "{} is missing in docs/cli.md", command.get_name());
    }
}

#[test]
fn every_key_of_the_configuration_is_documented() {
    let page = include_str!("../../../../docs/configuration.md");
    for key in crate::config::Key::ALL {
        for name in [key.name().to_owned(), key.variable()] {
            assert!(page.contains(&format!("`{name}`")), "{name} is missing in docs/configuration.md");
        }
    }
}
