use super::*;
use crate::config::{BlobPlace, Only};
use forebay_core::time::Millis;
use forebay_store::blob::s3::{KeySource, S3Bucket};

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
      fix: remove it, or use one of listen, store, notify, readers, blobs, blobs_endpoint, blobs_region, blobs_addressing, blobs_credentials, blobs_plain_http, roles, pools, tasks, slots, lease_ms, heartbeat_ms, reaper_interval_ms, drain_ms, max_pending_jobs, idempotency_ttl_ms
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
fn lists_and_switches_are_read_in_each_layer() {
    let file = load_text("pools = [\"b\", \"a\"]\ntasks = \"x, y\"\nnotify = false").unwrap();
    let names = |only: &Only| only.names().unwrap_or_default().join(" ");
    assert_eq!(
        (names(&file.pools), names(&file.tasks), file.notify),
        ("a b".to_owned(), "x y".to_owned(), false)
    );
    let environment = |name: &str| match name {
        "FOREBAY_POOLS" => Some("a,b".to_owned()),
        "FOREBAY_NOTIFY" => Some("false".to_owned()),
        _ => None,
    };
    let flags = vec![(Key::Tasks, "--tasks", "x,y".to_owned())];
    let settings = load(Sources { file: None, environment: &environment, flags }).unwrap();
    assert_eq!((&settings.pools, &settings.tasks, settings.notify), (&file.pools, &file.tasks, false));
    insta::assert_snapshot!(refusals("notify = \"false\"\npools = [\"a\", \"\"]\ntasks = 1\n"), @r#"
    forebay.toml:1: notify = "false": neither true nor false
      fix: write true or false, without quotes in a file
    forebay.toml:2: pools = ["a", ""]: a name is missing
      fix: write names with commas between them, or a list of them; an empty list means all
    forebay.toml:3: tasks = 1: not a list of names
      fix: write names with commas between them, or a list of them; an empty list means all
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

/// The place of blobs under a configuration's text and an environment.
fn blobs(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> BlobPlace {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forebay.toml");
    std::fs::write(&file, text).unwrap();
    load(Sources { file: Some(file), environment, flags: Vec::new() }).unwrap().blobs
}

fn bucket(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> S3Bucket {
    match blobs(text, environment) {
        BlobPlace::Bucket(bucket) => *bucket,
        BlobPlace::Folder(path) => panic!("{}", path.display()),
    }
}

#[test]
fn blobs_are_beside_the_database_in_another_folder_or_in_a_bucket() {
    let beside = blobs("store = \"sqlite:/data/f.db\"\nblobs_endpoint = \"not looked at\"", &no_variables);
    assert_eq!(beside, BlobPlace::Folder(PathBuf::from("/data/f.db.blobs")));
    let elsewhere = blobs("blobs = \"folder:/mnt/b\"", &no_variables);
    assert_eq!(elsewhere, BlobPlace::Folder(PathBuf::from("/mnt/b")));
    let expected = S3Bucket {
        name: "docs".to_owned(),
        prefix: String::new(),
        endpoint: None,
        region: "us-east-1".to_owned(),
        in_host: true,
        keys: KeySource::Environment,
    };
    for text in ["blobs = \"s3://docs\"", "blobs = \"s3://docs/\""] {
        assert_eq!(bucket(text, &no_variables), expected);
    }
    let text = "blobs = \"s3://my.docs/a/b/\"\nblobs_endpoint = \"http://127.0.0.1:9000/\"\nblobs_region = \"eu-1\"\n\
                blobs_credentials = \"file:/run/keys\"";
    let expected = S3Bucket {
        name: "my.docs".to_owned(),
        prefix: "a/b".to_owned(),
        endpoint: Some("http://127.0.0.1:9000".to_owned()),
        region: "eu-1".to_owned(),
        in_host: false,
        keys: KeySource::File(PathBuf::from("/run/keys")),
    };
    assert_eq!(bucket(text, &no_variables), expected);
}

#[test]
fn keys_may_be_those_of_a_role() {
    let found = bucket("blobs = \"s3://docs\"\nblobs_credentials = \"role\"", &no_variables);
    assert_eq!(found.keys, KeySource::Role);
}

#[test]
fn a_buckets_name_stands_in_the_host_at_aws_or_where_it_is_asked_for() {
    for (text, in_host) in [
        ("blobs = \"s3://docs\"", true),
        ("blobs = \"s3://docs\"\nblobs_addressing = \"path\"", false),
        ("blobs = \"s3://my.docs\"", false),
        ("blobs = \"s3://docs\"\nblobs_endpoint = \"https://x\"", false),
        ("blobs = \"s3://docs\"\nblobs_endpoint = \"https://x\"\nblobs_addressing = \"virtual\"", true),
    ] {
        assert_eq!(bucket(text, &no_variables).in_host, in_host, "{text}");
    }
}

#[test]
fn the_variables_of_aws_stand_for_what_is_not_written() {
    let environment = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some("https://general.example".to_owned()),
        "AWS_ENDPOINT_URL_S3" => Some("https://s3.example".to_owned()),
        "AWS_DEFAULT_REGION" => Some("eu-2".to_owned()),
        _ => None,
    };
    let found = bucket("blobs = \"s3://docs\"", &environment);
    assert_eq!((found.endpoint.as_deref(), found.region.as_str()), (Some("https://s3.example"), "eu-2"));
    let text = "blobs = \"s3://docs\"\nblobs_endpoint = \"https://own\"\nblobs_region = \"eu-3\"";
    let found = bucket(text, &environment);
    assert_eq!((found.endpoint.as_deref(), found.region.as_str()), (Some("https://own"), "eu-3"));
    let environment = |name: &str| match name {
        "FOREBAY_BLOBS" => Some("s3://docs".to_owned()),
        "AWS_ENDPOINT_URL" => Some("http://minio:9000".to_owned()),
        _ => None,
    };
    let faults = load(Sources { file: None, environment: &environment, flags: Vec::new() }).unwrap_err();
    assert_eq!(faults[0].place, "AWS_ENDPOINT_URL");
}

#[test]
fn what_is_wrong_about_blobs_is_said_without_what_may_be_a_key() {
    let text = "blobs = \"s3://docs\"\nblobs_endpoint = \"http://minio:9000\"\nblobs_region = \"eu 1\"\n\
                blobs_addressing = \"host\"\nblobs_credentials = \"AKIA0123\"\nblobs_plain_http = true\n";
    insta::assert_snapshot!(refusals(text), @r#"
    forebay.toml:6: blobs_plain_http = true: not one of the words that it may be
      fix: write one of loopback, anywhere
    forebay.toml:2: blobs_endpoint = "http://minio:9000": without TLS, documents can be read on the way to another machine
      fix: write https://, or set blobs_plain_http to "anywhere" if nobody else is on the way
    forebay.toml:3: blobs_region = "eu 1": not the name of a region
      fix: write it as the service does, such as "eu-central-1"
    forebay.toml:4: blobs_addressing = "host": not one of the words that it may be
      fix: write one of auto, path, virtual
    forebay.toml:5: blobs_credentials = (not shown): this names no place where keys are
      fix: write "environment" for AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "file:PATH" for a credentials file as the tools of AWS have it, or "role" for the role that AWS gives to this machine; the keys themselves never stand here
    "#);
    for (text, problem) in [
        ("blobs = \"/mnt/b\"", "neither a folder nor a bucket"),
        ("blobs = 4", "neither a folder nor a bucket"),
        ("blobs = \"folder:\"", "the path is missing"),
        ("blobs = \"s3:docs\"", "the bucket is missing"),
        ("blobs = \"s3://Docs\"", "a bucket's name has"),
        ("blobs = \"s3://docs-\"", "a bucket's name has"),
        ("blobs = \"s3://docs/a//b\"", "a prefix has"),
        ("blobs = \"s3://docs/../b\"", "a prefix has"),
        ("blobs = \"s3://docs/a?b\"", "a prefix has"),
        ("blobs = \"s3://docs\"\nblobs_endpoint = \"minio:9000\"", "not an address of HTTP"),
        ("blobs = \"s3://docs\"\nblobs_endpoint = \"https://x/?a\"", "an address ends with its path"),
        ("blobs = \"s3://docs\"\nblobs_credentials = \"file:\"", "names no place"),
    ] {
        let said = refusals(text);
        assert!(said.contains(problem), "{said}");
    }
    let said = refusals("blobs = \"s3://docs\"\nblobs_endpoint = \"https://id:secret@x\"");
    assert!(said.contains("an address holds no keys") && !said.contains("secret"), "{said}");
    let text =
        "blobs = \"s3://docs\"\nblobs_endpoint = \"http://minio:9000\"\nblobs_plain_http = \"anywhere\"";
    assert_eq!(bucket(text, &no_variables).endpoint.as_deref(), Some("http://minio:9000"));
}
