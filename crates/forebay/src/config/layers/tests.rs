use super::*;
use forebay_core::time::Millis;

fn no_variables(_: &str) -> Option<String> {
    None
}

fn load_text(text: &str) -> Result<Settings, Vec<ConfigFault>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    std::fs::write(&file, text).unwrap();
    let environment: &dyn Fn(&str) -> Option<String> = &no_variables;
    load(Sources { file: Some(file.clone()), environment, flags: Vec::new() }).map_err(|mut faults| {
        let folder = format!("{}/", folder.path().display());
        for fault in &mut faults {
            fault.place = fault.place.replace(&folder, "");
            fault.problem = fault.problem.replace(&folder, "");
        }
        faults
    })
}

fn refusals(text: &str) -> String {
    load_text(text).unwrap_err().iter().map(|fault| format!("{fault}\n")).collect()
}

#[test]
fn the_commented_defaults_are_the_defaults() {
    let settings = load(Sources { file: None, environment: &no_variables, flags: Vec::new() }).unwrap();
    assert_eq!(settings, Settings::for_database("forebay.db"));
}

#[test]
fn the_commented_defaults_have_every_key_with_a_comment() {
    for key in Key::ALL {
        let start = format!("{} = ", key.name());
        let lines: Vec<&str> = DEFAULTS.lines().collect();
        let at = lines.iter().position(|line| line.starts_with(&start));
        assert!(at.is_some_and(|at| lines[at - 1].starts_with("# ")), "{} has no comment", key.name());
    }
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    std::fs::write(&file, "slots = 1\ndrain_ms = 1\nheartbeat_ms = 1_000").unwrap();
    let environment = |name: &str| match name {
        "FOREBAY_SLOTS" => Some("2".to_owned()),
        "FOREBAY_DRAIN_MS" => Some("2".to_owned()),
        "FOREBAY_LISTEN" => Some(String::new()),
        _ => None,
    };
    let flags = vec![(Key::Slots, "--slots", "3".to_owned())];
    let settings = load(Sources { file: Some(file), environment: &environment, flags }).unwrap();
    assert_eq!((settings.slots, settings.drain, settings.heartbeat), (3, Millis::new(2), Millis::new(1_000)));
    assert_eq!(settings.listen, Settings::for_database("").listen);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "listen = \"localhost\"\nslotz = 4\nslots = 0\nstore = \"postgres://u:secret@x\"\nroles = [\"relay\"]\n\
                drain_ms = \"20s\"\nmax_pending_jobs = 1.5\n";
    insta::assert_snapshot!(refusals(text), @r#"
    forebay.toml:2: there is no key `slotz`
      fix: remove it, or use one of listen, store, roles, slots, lease_ms, heartbeat_ms, reaper_interval_ms, drain_ms, max_pending_jobs, idempotency_ttl_ms
    forebay.toml:1: listen = "localhost": not an address to listen on
      fix: write an IP address and a port, such as "127.0.0.1:7120" or "[::1]:7120"
    forebay.toml:4: store = (not shown): the database is missing
      fix: write postgres://user@host/database
    forebay.toml:5: roles = ["relay"]: the role `relay` belongs to brokers and webhooks, which this build does not have
      fix: choose among api, work, maintain, or all, with commas between them
    forebay.toml:3: slots = 0: less than 1
      fix: write a whole number from 1 to 100000, without quotes or a unit
    forebay.toml:6: drain_ms = "20s": not a whole number
      fix: write a whole number from 0 to 3600000, without quotes or a unit
    forebay.toml:7: max_pending_jobs = (a number with decimals): not a whole number
      fix: write a whole number from 1 to 1000000000, without quotes or a unit
    "#);
}

#[test]
fn values_that_contradict_each_other_are_refused_together() {
    insta::assert_snapshot!(refusals("lease_ms = 20000\nreaper_interval_ms = 20001\n"), @r"
    forebay.toml:1: lease_ms = 20000: shorter than three heartbeats, and heartbeat_ms is 10000 (the defaults)
      fix: set lease_ms to 30000 or more, or heartbeat_ms to 6666 or less
    forebay.toml:2: reaper_interval_ms = 20001: longer than a lease, and lease_ms is 20000 (forebay.toml:1)
      fix: set reaper_interval_ms to 20000 or less
    ");
    assert!(load_text("lease_ms = 30000\nreaper_interval_ms = 30000").is_ok());
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_its_line() {
    let text = refusals("slots = 4\nlisten 127.0.0.1\n");
    assert!(text.starts_with("forebay.toml:2: "), "{text}");
}

#[test]
fn a_file_that_is_missing_is_refused_by_its_name() {
    let file = Some(PathBuf::from("/nowhere/forebay.toml"));
    let faults = load(Sources { file, environment: &no_variables, flags: Vec::new() }).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].place, "/nowhere/forebay.toml");
}

#[test]
fn a_variable_is_named_in_its_fault() {
    let environment = |name: &str| (name == "FOREBAY_SLOTS").then(|| "many".to_owned());
    let faults = load(Sources { file: None, environment: &environment, flags: Vec::new() }).unwrap_err();
    assert_eq!(faults[0].place, "FOREBAY_SLOTS");
    assert_eq!(faults[0].written.as_deref(), Some("slots = \"many\""));
}
