//! What `forebay doctor` says of a database, and how it ends.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{FOREBAY, Home, Server};
use crate::postgres::Database;

/// Nobody listens there.
const NO_SERVER: &str = "http://127.0.0.1:1";

/// Its records and its exit code.
fn doctor(home: &Home, url: &str, key: &str) -> (Vec<Value>, Option<i32>) {
    let said = Command::new(FOREBAY)
        .args(["doctor", "--json", "--url", url, "--store", &home.store()])
        .env("FOREBAY_KEY", key)
        .current_dir(home.path())
        .output()
        .expect("forebay runs");
    let lines = String::from_utf8(said.stdout).expect("text");
    let records = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    (records, said.status.code())
}

/// The marks of all lines about this.
fn marks<'a>(records: &'a [Value], subject: &str) -> Vec<&'a str> {
    let about = records.iter().filter(|record| record["subject"] == subject);
    about.map(|record| record["mark"].as_str().expect("a mark")).collect()
}

#[track_caller]
fn with_code<'a>(records: &'a [Value], code: &str) -> &'a Value {
    records.iter().find(|record| record["code"] == code).unwrap_or_else(|| panic!("no {code}: {records:#?}"))
}

#[test]
fn a_file_is_looked_at_beside_its_server_and_without_it() {
    let home = Home::new();
    let (absent, code) = doctor(&home, NO_SERVER, "");
    assert_eq!(
        (code, marks(&absent, "server"), marks(&absent, "database")),
        (Some(1), vec!["fail"], vec!["warn"])
    );
    let server = Server::start(&home, NO_SERVER);
    let (served, code) = doctor(&home, &server.url, &server.key);
    assert_eq!((code, marks(&served, "server"), marks(&served, "lock")), (Some(0), vec!["ok"], vec![]));
    assert_eq!(marks(&served, "database").len(), 1, "{served:#?}");
    server.kill_9();
    set_permissions(home.database(), Permissions::from_mode(0o644)).unwrap();
    let (left, code) = doctor(&home, NO_SERVER, "");
    assert_eq!(
        (code, marks(&left, "server"), marks(&left, "database")),
        (Some(1), vec!["warn"], vec!["fail"])
    );
    let rights = with_code(&left, "readable_by_others");
    assert_eq!(rights["fix"], json!(format!("chmod 600 {}", home.database().display())));
    set_permissions(home.database(), Permissions::from_mode(0o600)).unwrap();
    let (well, code) = doctor(&home, NO_SERVER, "");
    assert_eq!(code, Some(0), "{well:#?}");
}

#[test]
fn a_database_of_a_server_is_looked_at() {
    let database = Database::new();
    let home = database.home();
    let (empty, code) = doctor(&home, NO_SERVER, "");
    assert_eq!((code, &with_code(&empty, "schema_behind")["fix"]), (Some(1), &json!("forebay migrate")));
    let migrated = Command::new(FOREBAY).args(["migrate", "--store", &home.store()]).output().unwrap();
    assert!(migrated.status.success(), "{migrated:?}");
    let (well, code) = doctor(&home, NO_SERVER, "");
    assert_eq!((code, marks(&well, "database")), (Some(0), vec!["ok"]), "{well:#?}");
    let name = database.name();
    database.run(&format!("ALTER DATABASE {name} SET synchronous_commit = off"));
    let (ill, code) = doctor(&home, NO_SERVER, "");
    let lost = with_code(&ill, "commit_not_durable");
    assert_eq!((code, marks(&ill, "database"), &lost["mark"]), (Some(1), vec!["fail"], &json!("fail")));
    assert_eq!(lost["fix"], json!(format!("ALTER DATABASE \"{name}\" RESET synchronous_commit")));
    assert_eq!(lost["text"], "synchronous_commit is off for this database");
}

#[test]
fn a_server_that_lets_nobody_in_is_a_failure_with_a_fix() {
    let home = Home::on("postgres://forebay:secret@127.0.0.1:1/forebay?sslmode=disable");
    let (records, code) = doctor(&home, NO_SERVER, "");
    let database = records.iter().find(|record| record["subject"] == "database").unwrap();
    assert_eq!((code, &database["mark"]), (Some(1), &json!("fail")));
    assert_eq!(database["fix"], "start the server, or mend host and port");
    assert!(!format!("{records:?}").contains("secret"), "{records:#?}");
}
