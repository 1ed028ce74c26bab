//! The database, looked at past the server: what of it will be trouble, and what to do about each.

use forebay_store::health::{self, Bounds, Code, Level, Report};
use forebay_store::postgres::{self, Settings as Postgres};
use forebay_store::{StoreError, SystemClock, sqlite};

use super::{Cause, Finding, found};
use crate::cli::output::Mark;
use crate::config::{Settings, StoreUrl};

/// What came of a look at a database.
pub(super) struct Looked {
    /// Whether there is one.
    pub(super) is_there: bool,
    /// First what it is, or why it can't be looked at.
    pub(super) findings: Vec<Finding>,
}

/// Examines a database. `is_served` says that a server answers here, so that a file may be in use.
pub(super) async fn examine(store: StoreUrl, bounds: Bounds, is_served: bool) -> Looked {
    let shown = store.to_string();
    let is_there = !matches!(&store, StoreUrl::Sqlite(path) if !path.exists());
    let report = match store {
        StoreUrl::Sqlite(path) => {
            let report = tokio::task::spawn_blocking(move || sqlite::examine(&path, &bounds)).await;
            report.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        }
        StoreUrl::Postgres(target) => postgres::examine(*target, bounds, SystemClock).await,
    };
    let findings = match report {
        Ok(mut report) => {
            report.findings.retain(|finding| !(is_served && finding.code == Code::InUse));
            judged(&shown, report)
        }
        Err(error) if is_there => vec![unreached(error)],
        Err(error) => {
            let fix =
                Some("name it with --store, or start a server, which makes it: forebay serve".to_owned());
            vec![Finding { mark: Mark::Warn, fix, ..unreached(error) }]
        }
    };
    Looked { is_there, findings }
}

/// From where on numbers are findings for a process that is set up like this.
pub(super) fn bounds(settings: &Settings, is_thorough: bool) -> Bounds {
    let mut bounds = Bounds::default();
    if is_thorough {
        bounds.reading = None;
    }
    if let StoreUrl::Postgres(target) = &settings.store {
        let (notify, readers) = (settings.notify, settings.readers);
        let process = Postgres { notify, readers, ..Postgres::of((**target).clone()) };
        bounds.connections = i64::try_from(process.connections()).unwrap_or(i64::MAX);
    }
    bounds
}

fn judged(shown: &str, report: Report) -> Vec<Finding> {
    let Report { about, checks, findings } = report;
    let gravest = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let came_to = match findings.len() {
        0 => "nothing found".to_owned(),
        1 => "1 finding".to_owned(),
        many => format!("{many} findings"),
    };
    let summary = found(mark(gravest), "database", format!("{shown}: {about}; {checks} checks, {came_to}"));
    std::iter::once(summary).chain(findings.into_iter().map(Finding::from)).collect()
}

fn unreached(error: StoreError) -> Finding {
    match error {
        StoreError::Unreachable(error) => {
            let text = format!("{}: {}", error.target, error.problem);
            Finding { fix: Some(error.fix), ..found(Mark::Fail, "database", text) }
        }
        StoreError::Unavailable(reason) => found(Mark::Fail, "database", reason),
        error => found(Mark::Fail, "database", error.to_string()),
    }
}

const fn mark(level: Level) -> Mark {
    match level {
        Level::Ok => Mark::Ok,
        Level::Warn => Mark::Warn,
        Level::Fail => Mark::Fail,
    }
}

impl From<health::Finding> for Finding {
    fn from(finding: health::Finding) -> Self {
        let health::Finding { level, code, what, fix } = finding;
        let facts = code.facts();
        Self {
            mark: mark(level),
            subject: facts.subject,
            text: what,
            cause: Some(Cause { code: facts.name, why: facts.why }),
            fix: Some(fix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_as_ill_as_its_gravest_finding() {
        let finding = |level| health::Finding {
            level,
            code: Code::AutovacuumOff,
            what: "autovacuum is off".to_owned(),
            fix: "ALTER SYSTEM SET autovacuum = on".to_owned(),
        };
        let report = |findings| Report { about: "PostgreSQL 17.1".to_owned(), checks: 11, findings };
        let well = judged("db", report(vec![]));
        assert_eq!(well, [found(Mark::Ok, "database", "db: PostgreSQL 17.1; 11 checks, nothing found")]);
        let ill = judged("db", report(vec![finding(Level::Fail), finding(Level::Warn)]));
        let marks: Vec<_> = ill.iter().map(|finding| finding.mark).collect();
        assert_eq!(marks, [Mark::Fail, Mark::Fail, Mark::Warn]);
        assert_eq!(ill[0].text, "db: PostgreSQL 17.1; 11 checks, 2 findings");
        assert_eq!((ill[1].subject, ill[1].text.as_str()), ("vacuum", "autovacuum is off"));
        assert_eq!(ill[1].cause.unwrap().code, "autovacuum_off");
    }

    #[tokio::test]
    async fn a_file_that_a_server_has_is_no_finding_where_one_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.db");
        let store = StoreUrl::Sqlite(path.clone());
        let absent = examine(store.clone(), Bounds::default(), false).await;
        assert!(!absent.is_there);
        assert_eq!(absent.findings[0].mark, Mark::Warn);
        let opened = sqlite::SqliteStore::open(&path, std::sync::Arc::new(SystemClock)).unwrap();
        for (is_served, mark) in [(true, Mark::Ok), (false, Mark::Warn)] {
            let looked = examine(store.clone(), Bounds::default(), is_served).await;
            assert!(looked.is_there);
            // Space on this machine is its own matter.
            let gravest = looked.findings.iter().find(|finding| finding.subject == "lock");
            assert_eq!(gravest.map_or(Mark::Ok, |finding| finding.mark), mark);
        }
        drop(opened);
    }
}
