//! `forebay doctor`: looks at everything that must be right, and says what is not.

mod database;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Url;
use serde_json::{Value, json};

use self::database::Looked;

use super::client::{Ask, Client};
use super::connection::{Connection, DEFAULT_STORE, is_loopback};
use super::error::CliError;
use super::exit::Exit;
use super::output::{Mark, Output};
use super::progress;
use super::table::{self, Show, cell};
use crate::blobs;
use crate::config::{self, BlobPlace, ConfigFault, Key, Settings, Sources, StoreUrl};

/// Arguments of `forebay doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    connection: Connection,
    /// The server's configuration file, for where its blobs are
    #[arg(long, env = "FOREBAY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the file of a SQLite database to its end, however long that takes
    #[arg(long)]
    thorough: bool,
}

impl DoctorArgs {
    /// The settings of a server that is started here in the same way.
    fn settings(&self) -> Result<Settings, Vec<ConfigFault>> {
        let store = Some(self.connection.store.clone()).filter(|store| store != DEFAULT_STORE);
        let flags = store.map(|store| (Key::Store, "--store", store)).into_iter().collect();
        let environment = |name: &str| std::env::var(name).ok();
        config::load(Sources { file: self.config.clone(), environment: &environment, flags })
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    mark: Mark,
    subject: &'static str,
    text: String,
    cause: Option<Cause>,
    /// What to do about it: a command, a statement or a setting.
    fix: Option<String>,
}

/// What kind of thing it is, where scripts may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cause {
    code: &'static str,
    /// Why it matters.
    why: &'static str,
}

fn found(mark: Mark, subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { mark, subject, text: text.into(), cause: None, fix: None }
}

/// Examines the server and the database, as far as each can be reached from here.
pub async fn run(args: DoctorArgs, output: &Output) -> Result<Exit, CliError> {
    let url = args.connection.address()?;
    let client = args.connection.client()?;
    let settings = args.settings();
    let store = match &settings {
        Ok(settings) => Some(settings.store.clone()),
        Err(_) => args.connection.store().ok(),
    };
    let bounds = settings.as_ref().map(|settings| database::bounds(settings, args.thorough));
    let spinner = progress::spinner(output, "looking");
    let (server, is_alive) = examine_life(&client, &url).await;
    let mut findings = match server.mark {
        Mark::Ok => examine_server(&client).await,
        _ => Vec::new(),
    };
    let is_served = is_alive && is_loopback(&url);
    let within_reach = store.clone().filter(|store| is_within_reach(store, is_loopback(&url), is_served));
    let looked = match within_reach {
        Some(store) => Some(database::examine(store, bounds.unwrap_or_default(), is_served).await),
        None => None,
    };
    findings.splice(0..0, judged(server, looked));
    findings.extend(store.and_then(|store| examine_key_file(&store.admin_key_file())));
    findings.extend(examine_blobs(&settings, is_loopback(&url)).await);
    spinner.finish_and_clear();
    show(&findings, output)
}

/// Whether the server lives, and whether there is one at all.
async fn examine_life(client: &Client, url: &Url) -> (Finding, bool) {
    match client.send(Ask::get(&["livez"])).await {
        Ok(_) => (found(Mark::Ok, "server", format!("{url} answers")), true),
        Err(error @ CliError::Unreachable { .. }) => {
            let mark = if is_loopback(url) { Mark::Warn } else { Mark::Fail };
            (found(mark, "server", error.to_string()), false)
        }
        Err(error) => (found(Mark::Fail, "server", format!("{url} is not well: {error}")), true),
    }
}

/// Whether a database may be looked at from here: one that was named, or the one beside which commands are run, with a
/// server on this machine. Where that answers it need not be there.
fn is_within_reach(store: &StoreUrl, is_here: bool, is_served: bool) -> bool {
    match StoreUrl::parse(DEFAULT_STORE, None) {
        Ok(usual) if usual == *store => is_here && (!is_served || Path::new(&store.to_string()).exists()),
        _ => true,
    }
}

/// A database that is there may have no server now; where there is neither, nothing is.
fn judged(server: Finding, database: Option<Looked>) -> Vec<Finding> {
    let Some(Looked { is_there, findings }) = database else { return vec![server] };
    let mark = match server.mark {
        Mark::Warn if !is_there => Mark::Fail,
        mark => mark,
    };
    std::iter::once(Finding { mark, ..server }).chain(findings).collect()
}

fn show(findings: &[Finding], output: &Output) -> Result<Exit, CliError> {
    for finding in findings {
        if output.is_json() {
            output.record(&record(finding))?;
        } else {
            output.marked(finding.mark, &line(finding))?;
        }
    }
    let has_failed = findings.iter().any(|finding| finding.mark == Mark::Fail);
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

fn record(Finding { mark, subject, text, cause, fix }: &Finding) -> Value {
    let (code, why) = cause.map_or((None, None), |cause| (Some(cause.code), Some(cause.why)));
    json!({ "mark": mark.word(), "subject": subject, "text": text, "code": code, "why": why, "fix": fix })
}

/// What is found, why it matters and what to do, each on a line of its own.
fn line(Finding { subject, text, cause, fix, .. }: &Finding) -> String {
    let mut line = format!("{subject:<12} {text}");
    if let Some(Cause { why, .. }) = cause {
        line.push_str(&format!("\n{why}"));
    }
    if let Some(fix) = fix {
        line.push_str(&format!("\nfix: {fix}"));
    }
    line.replace('\n', "\n                   ")
}

async fn examine_server(client: &Client) -> Vec<Finding> {
    let ready = client.send(Ask::get(&["readyz"])).await;
    let mut findings = vec![match ready {
        Ok(_) => found(Mark::Ok, "ready", "it takes requests"),
        Err(error) => found(Mark::Fail, "ready", error.to_string()),
    }];
    let active = client.json(Ask::get(&["v1", "revisions", "active"])).await;
    findings.push(key_finding(client.has_key(), active.as_ref().err()));
    if let Ok(active) = &active {
        findings.push(revision_finding(active));
    }
    match client.json(Ask::get(&["v1", "pools"])).await {
        Ok(pools) => {
            findings.extend(credential_findings(&pools));
            findings.extend(pool_findings(&pools));
        }
        Err(_) if active.is_err() => {}
        Err(error) => findings.push(found(Mark::Warn, "pools", error.to_string())),
    }
    findings
}

fn key_finding(has_key: bool, refusal: Option<&CliError>) -> Finding {
    let status = refusal.and_then(CliError::problem).map(|problem| problem.status);
    match (refusal, status) {
        (None, _) => found(Mark::Ok, "key", "accepted"),
        (Some(_), Some(403)) => {
            found(Mark::Warn, "key", "accepted, but only an admin of the tenant `default` sees the rest")
        }
        (Some(_), Some(401)) if !has_key => {
            let text = "there is none: set FOREBAY_KEY, or name the server's database with --store";
            found(Mark::Fail, "key", text)
        }
        (Some(error), _) => found(Mark::Fail, "key", error.to_string()),
    }
}

fn revision_finding(active: &Value) -> Finding {
    let text = |name: &str| cell(active.get(name), Show::Plain);
    let comment = match text("comment") {
        comment if comment.is_empty() => comment,
        comment => format!(": {comment}"),
    };
    let line = format!("revision {} of {}{comment}", text("number"), text("created_at"));
    found(Mark::Ok, "definitions", line)
}

/// Whether the keys of the providers can be read, as the process sees it that answers.
fn credential_findings(pools: &Value) -> Vec<Finding> {
    let mut providers = BTreeMap::new();
    for pool in table::rows(pools) {
        if let Some(is_found) = pool.get("credential_found").and_then(Value::as_bool) {
            let why = cell(pool.get("credential_problem"), Show::Plain);
            providers.insert(cell(pool.get("provider"), Show::Plain), (is_found, why));
        }
    }
    let finding = |(name, (is_found, why)): (String, (bool, String))| {
        if is_found {
            found(Mark::Ok, "credential", format!("{name}: the server finds it"))
        } else {
            found(Mark::Fail, "credential", format!("{name}: the server does not find it: {why}"))
        }
    };
    providers.into_iter().map(finding).collect()
}

fn pool_findings(pools: &Value) -> Vec<Finding> {
    let pools = table::rows(pools);
    if pools.is_empty() {
        return vec![found(Mark::Warn, "pools", "there are none, so that no model can be called")];
    }
    pools.iter().map(pool_finding).collect()
}

fn pool_finding(pool: &Value) -> Finding {
    let text = |pointer: &str| cell(pool.pointer(pointer), Show::Plain);
    let (name, provider) = (text("/name"), text("/provider"));
    let work = format!("{} calls under way, {} jobs waiting", text("/use/in_flight"), text("/waiting"));
    match (text("/cooldown_until"), text("/cooldown_class")) {
        (until, _) if until.is_empty() => found(Mark::Ok, "pool", format!("{name} ({provider}): {work}")),
        (until, class) => {
            let line = format!("{name} ({provider}): pauses until {until} after {class}; {work}");
            found(Mark::Warn, "pool", line)
        }
    }
}

/// The key file of a database on this machine, where there is one.
fn examine_key_file(file: &Path) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let shown = file.display();
    Some(match mode & 0o077 {
        0 => found(Mark::Ok, "key file", format!("{shown} is for its owner only")),
        _ => Finding {
            fix: Some(format!("chmod 600 {shown}")),
            ..found(Mark::Fail, "key file", format!("{shown} can be read by others ({mode:o})"))
        },
    })
}

/// The store of blobs, as this process is set up: a bucket, or a folder where the server is on this machine.
async fn examine_blobs(settings: &Result<Settings, Vec<ConfigFault>>, is_here: bool) -> Option<Finding> {
    let place = match settings {
        Ok(settings) => &settings.blobs,
        Err(faults) => {
            return Some(found(Mark::Fail, "config", CliError::Configuration(faults.clone()).to_string()));
        }
    };
    if !is_here && matches!(place, BlobPlace::Folder(_)) {
        return None;
    }
    Some(match blobs::examine(place).await {
        Ok(true) => found(Mark::Ok, "blobs", format!("{place} can be written, read and deleted")),
        Ok(false) => return None,
        Err(problem) => found(Mark::Fail, "blobs", problem),
    })
}

#[cfg(test)]
mod tests {
    use super::super::problem::Problem;
    use super::*;

    #[test]
    fn a_pool_is_well_or_pauses() {
        let pools = json!({ "data": [
            { "name": "a", "provider": "openai", "use": { "in_flight": 2 }, "waiting": 5 },
            { "name": "b", "provider": "openai", "use": { "in_flight": 0 }, "waiting": 9,
              "cooldown_until": "2026-12-01T10:00:00.000Z", "cooldown_class": "rate_limited" },
        ] });
        let findings = pool_findings(&pools);
        assert_eq!(findings[0].text, "a (openai): 2 calls under way, 5 jobs waiting");
        assert_eq!(findings[1].mark, Mark::Warn);
        assert_eq!(
            findings[1].text,
            "b (openai): pauses until 2026-12-01T10:00:00.000Z after rate_limited; 0 calls under way, 9 jobs waiting"
        );
        assert_eq!(pool_findings(&json!([]))[0].mark, Mark::Warn);
    }

    #[test]
    fn credentials_are_those_of_the_server() {
        let pools = json!({ "data": [
            { "name": "a", "provider": "openai", "credential_found": false, "credential_problem": "KEY is not set" },
            { "name": "b", "provider": "openai", "credential_found": false, "credential_problem": "KEY is not set" },
            { "name": "c", "provider": "local" },
            { "name": "d", "provider": "other", "credential_found": true },
        ] });
        let findings = credential_findings(&pools);
        let shown: Vec<_> = findings.iter().map(|finding| (finding.mark, finding.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (Mark::Fail, "openai: the server does not find it: KEY is not set"),
                (Mark::Ok, "other: the server finds it"),
            ]
        );
    }

    #[test]
    fn neither_server_nor_database_is_a_failure() {
        let gone = found(Mark::Warn, "server", "gone");
        let looked = |is_there| Some(Looked { is_there, findings: vec![found(Mark::Warn, "database", "")] });
        assert_eq!(judged(gone.clone(), looked(false))[0].mark, Mark::Fail);
        assert_eq!(judged(gone.clone(), looked(true))[0].mark, Mark::Warn);
        assert_eq!(judged(gone, None).len(), 1);
        assert_eq!(judged(found(Mark::Ok, "server", "answers"), looked(false))[0].mark, Mark::Ok);
    }

    #[test]
    fn the_usual_database_is_looked_at_where_it_may_be() {
        let (usual, named) = (
            StoreUrl::parse(DEFAULT_STORE, None).unwrap(),
            StoreUrl::parse("postgres://u@db/forebay", None).unwrap(),
        );
        assert!(is_within_reach(&usual, true, false), "without a server it must be there");
        assert!(!is_within_reach(&usual, true, true), "the server's may be in another folder");
        assert!(!is_within_reach(&usual, false, false), "it is not that of another machine's server");
        assert!(is_within_reach(&named, false, true));
    }

    #[test]
    fn what_is_found_is_shown_with_why_and_with_the_fix() {
        let cause = Some(Cause { code: "fsync_off", why: "it may be lost" });
        let ill = Finding {
            cause,
            fix: Some("set it".to_owned()),
            ..found(Mark::Fail, "durability", "fsync is off")
        };
        let margin = " ".repeat(19);
        assert_eq!(
            line(&ill),
            format!("durability   fsync is off\n{margin}it may be lost\n{margin}fix: set it")
        );
        assert_eq!(
            record(&ill),
            json!({ "mark": "fail", "subject": "durability", "text": "fsync is off", "code": "fsync_off",
                    "why": "it may be lost", "fix": "set it" })
        );
        assert_eq!(record(&found(Mark::Ok, "key", "accepted"))["fix"], Value::Null);
    }

    #[test]
    fn the_active_revision_is_named() {
        let active = json!({ "number": 12, "created_at": "2026-12-01T10:00:00.000Z", "comment": "c" });
        assert_eq!(revision_finding(&active).text, "revision 12 of 2026-12-01T10:00:00.000Z: c");
    }

    #[test]
    fn a_missing_key_is_told_from_a_refused_one() {
        let refused = |status| CliError::Problem(Box::new(Problem { status, ..Problem::default() }));
        assert_eq!(key_finding(true, None).mark, Mark::Ok);
        assert_eq!(key_finding(true, Some(&refused(403))).mark, Mark::Warn);
        assert!(key_finding(false, Some(&refused(401))).text.starts_with("there is none"));
        assert!(!key_finding(true, Some(&refused(401))).text.starts_with("there is none"));
    }

    #[test]
    fn a_key_file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.db.admin-key");
        assert_eq!(examine_key_file(&file), None);
        std::fs::write(&file, "fbk_x").unwrap();
        for (mode, mark) in [(0o600, Mark::Ok), (0o640, Mark::Fail)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(examine_key_file(&file).unwrap().mark, mark);
        }
    }

    #[test]
    fn only_a_failure_fails() {
        let output = Output::into(true, std::io::sink(), std::io::sink());
        let (warn, fail) = (found(Mark::Warn, "a", ""), found(Mark::Fail, "b", ""));
        assert_eq!(show(std::slice::from_ref(&warn), &output).unwrap(), Exit::Done);
        assert_eq!(show(&[warn, fail], &output).unwrap(), Exit::Failed);
    }
}
