//! What is wrong with a database and its server, for whoever runs them. Everything is read here, each check in a transaction
//! of its own that only reads, waits for no lock and has a limit; [`judge`] decides what of it is a finding.

mod judge;

use std::time::Duration;

use forebay_core::time::{Millis, Timestamp};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;

use self::judge::{Connections, Open, Place, Prepared, Setting, Slot, Table};
use super::migrate::{self, MIGRATIONS};
use super::session::Session;
use super::types::Owned;
use super::{Target, postgres_sql};
use crate::health::{Bounds, Finding, Report};
use crate::ledger::migration;
use crate::ledger::statement::Statement;
use crate::{Clock, StoreError};

/// How long a check may take: longer than the server's own limit on it, after which there is an answer.
const PATIENCE: Duration = Duration::from_secs(4);
/// Questions whose shortest answer counts.
const ROUND_TRIPS: usize = 5;
const BEGIN: &str = "BEGIN READ ONLY; SET LOCAL statement_timeout = '3s'; SET LOCAL lock_timeout = '500ms'; \
    SET LOCAL idle_in_transaction_session_timeout = '5s'";

/// Examines a database. It only reads, and takes no lock that anybody would wait for; what its user may not see is among
/// the findings. `clock` is this machine's.
///
/// # Errors
///
/// When the server can't be reached or does not let us in.
pub async fn examine(
    target: Target,
    bounds: Bounds,
    clock: impl Clock + 'static,
) -> Result<Report, StoreError> {
    migrate::on_a_thread(move || {
        let session = Session::open(&target)?;
        let place = Place { database: target.database().to_owned(), user: String::new() };
        let mut examination =
            Examination { session: &session, bounds, place, checks: 0, findings: Vec::new() };
        let about = examination.run(&clock);
        let Examination { checks, mut findings, .. } = examination;
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        Ok(Report { about, checks, findings })
    })
    .await
}

/// An examination under way.
struct Examination<'a> {
    session: &'a Session,
    bounds: Bounds,
    place: Place,
    checks: usize,
    findings: Vec<Finding>,
}

impl Examination<'_> {
    /// Makes every check; gives what the server says that it is.
    fn run(&mut self, clock: &impl Clock) -> String {
        let server = self.one("the server's version", postgres_sql!("health/server"), |row| {
            Ok((row.try_get::<_, String>(0)?, row.try_get(1)?, row.try_get(2)?))
        });
        let (version, follows, user) = server.unwrap_or_default();
        self.place.user = user;
        let is_migrated = self.schema();
        self.settings(follows);
        self.sessions();
        self.connections();
        let took = self.clock(clock);
        if is_migrated {
            self.tables();
        }
        let version = version.split_whitespace().next().unwrap_or("?");
        let pooled = if self.session.is_our_own() { "" } else { " behind a pooler" };
        let took = took.map(|took| format!(", answers within {} ms", judge::shown(took))).unwrap_or_default();
        format!("PostgreSQL {version}{pooled}{took}")
    }

    /// Whether there are tables at all.
    fn schema(&mut self) -> bool {
        let applied = self.ask("the migrations", async |session| {
            let applied = migrate::applied(session).await?;
            let running = match applied.is_empty() {
                true => Vec::new(),
                false => migrate::running(session, Timestamp::from_millis(read_now(session).await?)).await?,
            };
            Ok((applied, running))
        });
        let Some((applied, running)) = applied else { return false };
        self.findings.extend(migration::finding(MIGRATIONS, &applied, &running, &self.place.database));
        !applied.is_empty()
    }

    fn settings(&mut self, follows: bool) {
        let settings = self.all("the settings", postgres_sql!("health/settings"), |row| {
            Ok(Setting { name: row.try_get(0)?, value: row.try_get(1)?, source: row.try_get(2)? })
        });
        let Some(settings) = settings else { return };
        self.findings.extend(judge::durability(&settings, follows, &self.place));
        self.findings.extend(judge::vacuum(&settings, &self.place));
    }

    /// What holds vacuum back.
    fn sessions(&mut self) {
        if let Some(open) = self.all("open transactions", postgres_sql!("health/transactions"), open) {
            self.findings.extend(judge::transactions(&open, &self.bounds));
        }
        let prepared = self.all("prepared transactions", postgres_sql!("health/prepared"), |row| {
            Ok(Prepared { gid: row.try_get(0)?, owner: row.try_get(1)?, since: Millis::new(row.try_get(2)?) })
        });
        self.findings.extend(judge::prepared(&prepared.unwrap_or_default(), &self.bounds));
        let slots = self.all("replication slots", postgres_sql!("health/slots"), |row| {
            let (name, active) = (row.try_get(0)?, row.try_get(1)?);
            Ok(Slot { name, active, behind: row.try_get(2)?, kept: row.try_get(3)? })
        });
        self.findings.extend(judge::slots(&slots.unwrap_or_default(), &self.bounds));
        let oldest = self.one("transaction ids", postgres_sql!("health/oldest_id"), |row| {
            Ok((row.try_get::<_, String>(0)?, row.try_get(1)?))
        });
        let oldest = oldest.and_then(|(name, age)| judge::oldest_id(&name, age, &self.bounds));
        self.findings.extend(oldest);
    }

    fn connections(&mut self) {
        let connections = self.one("connections", postgres_sql!("health/connections"), |row| {
            Ok(Connections {
                server: (row.try_get(0)?, row.try_get(1)?),
                user: (row.try_get(2)?, row.try_get(3)?),
                database: (row.try_get(4)?, row.try_get(5)?),
                ours: row.try_get(6)?,
            })
        });
        let pooled = !self.session.is_our_own();
        let low = connections.and_then(|all| judge::connections(&all, pooled, &self.place, &self.bounds));
        self.findings.extend(low);
    }

    /// Looks at the server's clock; gives how long an answer takes.
    fn clock(&mut self, clock: &impl Clock) -> Option<Duration> {
        let asked = self.ask("the clock", async |session| {
            let took = round_trip(session).await?;
            let before = clock.now().as_millis();
            let there = read_now(session).await?;
            Ok((took, before, there, clock.now().as_millis()))
        });
        let (took, before, there, after) = asked?;
        self.findings.extend(judge::round_trip(took, &self.bounds));
        // By so much at least: it was looked at in between.
        let ahead = match there {
            there if there < before => there - before,
            there => (there - after).max(0),
        };
        self.findings.extend(judge::clock(ahead, &self.bounds));
        Some(took)
    }

    fn tables(&mut self) {
        let tables = self.all("tables", postgres_sql!("health/tables"), |row| {
            Ok(Table {
                name: row.try_get(0)?,
                dead: row.try_get(1)?,
                vacuumed: row.try_get::<_, Option<i64>>(2)?.map(Millis::new),
                allowed: row.try_get(3)?,
                enabled: row.try_get(4)?,
            })
        });
        let mut tables = tables.unwrap_or_default();
        tables.retain(|table| is_ours(&table.name));
        self.findings.extend(judge::tables(&tables, &self.bounds));
        if let Some(joined) = self.all("the log", postgres_sql!("health/log"), open) {
            self.findings.extend(judge::log(&joined, &self.bounds));
        }
    }

    fn all<T>(
        &mut self,
        what: &str,
        sql: &'static Statement,
        read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Option<Vec<T>> {
        self.ask(what, async |session| {
            let rows = session.query(sql, Vec::<Owned>::new()).await?;
            Ok(rows.iter().map(&read).collect::<Result<_, _>>()?)
        })
    }

    fn one<T>(
        &mut self,
        what: &str,
        sql: &'static Statement,
        read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Option<T> {
        self.all(what, sql, read)?.pop()
    }

    /// Asks in a transaction of its own. What can't be asked is a finding; nothing is asked once the connection is lost.
    fn ask<T>(
        &mut self,
        what: &str,
        asking: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Option<T> {
        let session = self.session;
        if session.is_closed() {
            return None;
        }
        let asked = session.block_on(async {
            let asked = async {
                session.command(BEGIN).await?;
                let answer = asking(session).await?;
                session.command("COMMIT").await?;
                Ok(answer)
            };
            let late = || Err(StoreError::Unavailable("no answer within 4 s".to_owned()));
            timeout(PATIENCE, asked).await.unwrap_or_else(|_| late())
        });
        match asked {
            Ok(answer) => {
                self.checks += 1;
                Some(answer)
            }
            Err(error) => {
                let over = session.block_on(async {
                    timeout(PATIENCE, session.command("ROLLBACK")).await.unwrap_or(Ok(()))
                });
                if let Err(error) = over {
                    tracing::debug!(%error, "a check could not be ended");
                }
                self.findings.push(match session.is_closed() {
                    true => judge::lost(what, &error),
                    false => judge::not_looked_at(what, &error),
                });
                None
            }
        }
    }
}

/// A session in a transaction, as the statements about them give it.
fn open(row: &Row) -> Result<Open, tokio_postgres::Error> {
    Ok(Open {
        pid: row.try_get(0)?,
        application: row.try_get(1)?,
        user: row.try_get(2)?,
        state: row.try_get(3)?,
        since: row.try_get::<_, Option<i64>>(4)?.map(Millis::new),
        behind: row.try_get(5)?,
        hidden: row.try_get(6)?,
    })
}

/// How long a question and its answer take at best.
async fn round_trip(session: &Session) -> Result<Duration, StoreError> {
    // For the first time it is made known to the server, which takes several.
    read_now(session).await?;
    let mut least = Duration::MAX;
    for _ in 0..ROUND_TRIPS {
        let began = Instant::now();
        read_now(session).await?;
        least = least.min(began.elapsed());
    }
    Ok(least)
}

async fn read_now(session: &Session) -> Result<i64, StoreError> {
    let rows = session.query(postgres_sql!("link/now"), Vec::<Owned>::new()).await?;
    rows.first().map_or(Ok(0), |row| Ok(row.try_get(0)?))
}

/// Whether the migrations have made a table of that name: others may stand beside them.
fn is_ours(table: &str) -> bool {
    let made = format!("CREATE TABLE {table} (");
    MIGRATIONS.iter().any(|migration| migration.sql.contains(&made))
}
