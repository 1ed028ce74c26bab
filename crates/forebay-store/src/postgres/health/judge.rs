//! Which numbers of a server are findings, and what to do about each. Functions of what was read, and of nothing else.

use std::time::Duration;

use forebay_core::time::Millis;

use crate::StoreError;
use crate::health::{Bounds, Code, Finding, Level, bytes, count, span};

/// How many of a kind are named one by one; more of them have the same cause, most likely.
const NAMED: usize = 5;

/// Where the examiner is, and as whom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) database: String,
    pub(super) user: String,
}

/// A setting, as the session has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
    /// Who set it, in the server's words.
    pub(super) source: String,
}

/// A session in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    /// Without one it is a prepared transaction.
    pub(super) pid: Option<i32>,
    pub(super) application: Option<String>,
    pub(super) user: Option<String>,
    pub(super) state: Option<String>,
    pub(super) since: Option<Millis>,
    /// Transactions that have begun since.
    pub(super) behind: i64,
    /// Whether it is another user's, whose state we may not see.
    pub(super) hidden: bool,
}

/// A transaction that waits for its second phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) gid: String,
    pub(super) owner: String,
    pub(super) since: Millis,
}

/// A replication slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) active: bool,
    /// Transactions since the oldest that its reader may see.
    pub(super) behind: Option<i64>,
    /// Bytes of log since where it has read to.
    pub(super) kept: Option<i64>,
}

/// A table of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) dead: i64,
    /// Since it was last vacuumed, by whomever.
    pub(super) vacuumed: Option<Millis>,
    /// Dead rows that autovacuum lets come together.
    pub(super) allowed: i64,
    pub(super) enabled: bool,
}

/// Connections that there may be, and that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connections {
    /// Of the server, less those that it keeps for others.
    pub(super) server: (i64, i64),
    /// Of this user; a negative limit is none.
    pub(super) user: (i64, i64),
    /// To this database.
    pub(super) database: (i64, i64),
    /// Those that are Forebay's.
    pub(super) ours: i64,
}

fn finding(level: Level, code: Code, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { level, code, what: what.into(), fix: fix.into() }
}

/// What could not be looked at. More rights help against a refusal only.
pub(super) fn not_looked_at(what: &str, error: &StoreError) -> Finding {
    let reason = match error {
        StoreError::Database(reason) | StoreError::Raced(reason) | StoreError::Unavailable(reason) => {
            reason.clone()
        }
        error => error.to_string(),
    };
    let fix = match reason.contains("permission denied") {
        true => "run this as the owner of the tables, or GRANT pg_read_all_data and pg_monitor to this user",
        false => "run this again",
    };
    finding(Level::Warn, Code::NotLookedAt, format!("{what}: {reason}"), fix)
}

/// The connection was lost at this check.
pub(super) fn lost(what: &str, error: &StoreError) -> Finding {
    let rest = format!("{what}, and all that comes after");
    Finding { level: Level::Fail, ..not_looked_at(&rest, error) }
}

/// Whether the server takes writes, and keeps what it has said that it has kept.
pub(super) fn durability(settings: &[Setting], follows: bool, place: &Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    if follows {
        let what = "the server follows another one and takes no writes";
        let fix = "name the leading server in --store, or all of them with ?target_session_attrs=read-write";
        findings.push(finding(Level::Fail, Code::TakesNoWrites, what, fix));
    }
    for (name, bad, code) in [
        ("default_transaction_read_only", "on", Code::TakesNoWrites),
        ("synchronous_commit", "off", Code::CommitNotDurable),
        ("fsync", "off", Code::FsyncOff),
        ("full_page_writes", "off", Code::FullPageWritesOff),
    ] {
        let wrong = settings.iter().find(|setting| setting.name == name && setting.value == bad);
        findings.extend(wrong.map(|setting| misset(setting, code, place)));
    }
    findings
}

/// Whether dead rows are removed at all.
pub(super) fn vacuum(settings: &[Setting], place: &Place) -> Vec<Finding> {
    let wrong = |name: &str| settings.iter().find(|setting| setting.name == name && setting.value == "off");
    // It counts by what track_counts counts.
    let wrong = ["autovacuum", "track_counts"].into_iter().filter_map(wrong);
    wrong.map(|setting| misset(setting, Code::AutovacuumOff, place)).collect()
}

fn misset(setting: &Setting, code: Code, place: &Place) -> Finding {
    let Setting { name, value, source } = setting;
    let (database, user) = (identifier(&place.database), identifier(&place.user));
    let right = if value == "on" { "off" } else { "on" };
    let (by, fix) = match source.as_str() {
        "database" => (" for this database", format!("ALTER DATABASE {database} RESET {name}")),
        "user" => (" for this user", format!("ALTER ROLE {user} RESET {name}")),
        "database user" => (
            " for this user in this database",
            format!("ALTER ROLE {user} IN DATABASE {database} RESET {name}"),
        ),
        "command line" => (
            " by the server's command line",
            format!("start the server without it, or with -c {name}={right}"),
        ),
        "client" | "session" => {
            (" on the way to the server", format!("take {name} out of the pooler's settings"))
        }
        _ => ("", format!("ALTER SYSTEM SET {name} = {right}; SELECT pg_reload_conf()")),
    };
    finding(Level::Fail, code, format!("{name} is {value}{by}"), fix)
}

/// What of our tables is left unvacuumed.
pub(super) fn tables(tables: &[Table], bounds: &Bounds) -> Vec<Finding> {
    let off = tables.iter().filter(|table| !table.enabled).map(|table| {
        let name = identifier(&table.name);
        let what =
            format!("autovacuum is switched off for table {name}, with {} dead rows", count(table.dead));
        let fix = format!("ALTER TABLE {name} RESET (autovacuum_enabled)");
        finding(Level::Fail, Code::TableNotVacuumed, what, fix)
    });
    let dead = tables.iter().filter_map(|table| {
        let beyond = table.dead - table.allowed.saturating_mul(10);
        let level = bounds.dead_rows.rising(beyond);
        let name = identifier(&table.name);
        let vacuumed = match table.vacuumed {
            Some(since) => format!("last vacuumed {} ago", span(since)),
            None => "never vacuumed".to_owned(),
        };
        let dead = count(table.dead);
        let what = format!(
            "table {name} has {dead} dead rows, where autovacuum comes at {}; {vacuumed}",
            count(table.allowed)
        );
        let fix = format!("end what holds vacuum back, if something is named here; then VACUUM {name}");
        (level > Level::Ok).then(|| finding(level, Code::DeadRows, what, fix))
    });
    off.chain(named(dead.collect(), "tables like that")).collect()
}

/// Transactions that have been open for long.
pub(super) fn transactions(open: &[Open], bounds: &Bounds) -> Vec<Finding> {
    let old = open.iter().filter_map(|session| match session.since {
        Some(since) => {
            let level = bounds.open.rising(since);
            (level > Level::Ok).then(|| old_transaction(level, session, since))
        }
        None if session.hidden => None,
        // It reads for a replica, which says what it may still see.
        None => {
            let level = bounds.held_back.rising(session.behind);
            let what = format!(
                "{} reads for a replica that may see {} transactions back",
                named_session(session),
                count(session.behind)
            );
            let fix = "end old transactions on the replica, or set hot_standby_feedback = off there";
            (level > Level::Ok).then(|| finding(level, Code::SlotHoldsRows, what, fix))
        }
    });
    let mut findings = named(old.collect(), "transactions like that");
    findings.extend(hidden(open, "since when transactions of other users are open"));
    findings
}

fn old_transaction(level: Level, session: &Open, since: Millis) -> Finding {
    let state = session.state.as_deref().unwrap_or("unknown");
    let what = format!(
        "{} has been in a transaction for {} and is {state}; {} transactions have begun since",
        named_session(session),
        span(since),
        count(session.behind)
    );
    finding(level, Code::OldTransaction, what, ended(session))
}

/// Sessions whose state we may not see, as one finding.
fn hidden(open: &[Open], what: &str) -> Option<Finding> {
    let hidden: Vec<_> = open.iter().filter(|session| session.hidden).map(named_session).collect();
    let first = hidden.first()?;
    let more = if hidden.len() > 1 { format!(" and {} more", hidden.len() - 1) } else { String::new() };
    let what = format!("{what}: {first}{more}");
    Some(finding(Level::Warn, Code::NotLookedAt, what, "GRANT pg_read_all_stats to the user of this store"))
}

fn named_session(session: &Open) -> String {
    let Some(pid) = session.pid else { return "a prepared transaction".to_owned() };
    let user = session.user.as_deref().unwrap_or("nobody");
    match session.application.as_deref() {
        Some(application) if !application.is_empty() => format!("session {pid} ({application}, user {user})"),
        _ => format!("session {pid} (user {user})"),
    }
}

fn ended(session: &Open) -> String {
    match session.pid {
        Some(pid) => format!("SELECT pg_terminate_backend({pid}), if nobody needs it"),
        None => "see `prepared`".to_owned(),
    }
}

/// Prepared transactions that nobody ends.
pub(super) fn prepared(all: &[Prepared], bounds: &Bounds) -> Vec<Finding> {
    let old = all.iter().filter_map(|prepared| {
        let level = bounds.open.rising(prepared.since);
        let gid = literal(&prepared.gid);
        let what =
            format!("transaction {gid} of {} was prepared {} ago", prepared.owner, span(prepared.since));
        let fix =
            format!("COMMIT PREPARED {gid} or ROLLBACK PREPARED {gid}, as whoever prepared it has decided");
        (level > Level::Ok).then(|| finding(level, Code::PreparedTransaction, what, fix))
    });
    named(old.collect(), "prepared transactions")
}

/// Replication slots that hold rows or log.
pub(super) fn slots(all: &[Slot], bounds: &Bounds) -> Vec<Finding> {
    let findings = all.iter().flat_map(|slot| {
        let (name, is_read) =
            (literal(&slot.name), if slot.active { "is read" } else { "is read by nobody" });
        let fix = if slot.active {
            "see to its reader, which does not keep up".to_owned()
        } else {
            format!("start its reader, or SELECT pg_drop_replication_slot({name}) if there is none any more")
        };
        let rows = bounds.held_back.rising(slot.behind.unwrap_or_default());
        let log = bounds.kept_log.rising(slot.kept.unwrap_or_default());
        let held = format!(
            "slot {name} {is_read} and holds rows of {} transactions",
            count(slot.behind.unwrap_or_default())
        );
        let kept = u64::try_from(slot.kept.unwrap_or_default()).unwrap_or_default();
        let kept = format!("slot {name} {is_read} and keeps {} of log", bytes(kept));
        [
            (rows > Level::Ok).then(|| finding(rows, Code::SlotHoldsRows, held, fix.clone())),
            (log > Level::Ok).then(|| finding(log, Code::SlotHoldsLog, kept, fix)),
        ]
    });
    named(findings.flatten().collect(), "slots like that")
}

/// Whether one process more could connect. Behind a pooler only the very last ones matter.
pub(super) fn connections(
    all: &Connections,
    pooled: bool,
    place: &Place,
    bounds: &Bounds,
) -> Option<Finding> {
    let (database, user) = (identifier(&place.database), identifier(&place.user));
    let limits = [
        (
            all.server,
            "the server".to_owned(),
            "raise max_connections, or put a pooler before the server".to_owned(),
        ),
        (all.user, format!("user {user}"), format!("ALTER ROLE {user} CONNECTION LIMIT -1")),
        (
            all.database,
            format!("database {database}"),
            format!("ALTER DATABASE {database} CONNECTION LIMIT -1"),
        ),
    ];
    let limits = limits.into_iter().filter(|((most, _), ..)| *most >= 0);
    let ((most, used), whose, fix) = limits.min_by_key(|((most, used), ..)| most - used)?;
    let left = (most - used).max(0);
    let needed = if pooled { 1 } else { bounds.connections };
    let level = match left {
        0 => Level::Fail,
        left if left < needed => Level::Warn,
        _ => return None,
    };
    let what = format!(
        "{left} of {most} connections of {whose} are left; a process of Forebay has up to {}, and {} are Forebay's now",
        bounds.connections, all.ours
    );
    Some(finding(level, Code::ConnectionsLow, what, fix))
}

/// Whether this machine and the server tell the same time. `ahead` is by how many milliseconds the
/// server is, at least; negative where it is behind.
pub(super) fn clock(ahead: i64, bounds: &Bounds) -> Option<Finding> {
    let apart = Millis::new(ahead.saturating_abs());
    let level = bounds.clock.rising(apart);
    let way = if ahead > 0 { "ahead of" } else { "behind" };
    let what = format!("the server's clock is {} ms {way} this machine's", count(apart.get()));
    let fix = "have both set their clock by NTP";
    (level > Level::Ok).then(|| finding(level, Code::ClockDiffers, what, fix))
}

/// Whether answers take long on their way. `took` is the shortest of some.
pub(super) fn round_trip(took: Duration, bounds: &Bounds) -> Option<Finding> {
    let level = bounds.round_trip.rising(took);
    let what = format!("a question to the server and its answer take {} ms at best", shown(took));
    let fix = "run the process beside its database, in the same data center";
    (level > Level::Ok).then(|| finding(level, Code::SlowAnswers, what, fix))
}

/// Milliseconds with one digit behind the point.
pub(super) fn shown(took: Duration) -> String {
    format!("{:.1}", took.as_secs_f64() * 1_000.0)
}

/// Whether somebody stays in an epoch of the log.
pub(super) fn log(joined: &[Open], bounds: &Bounds) -> Vec<Finding> {
    let held = joined.iter().filter_map(|session| {
        let since = match (session.since, session.pid) {
            (Some(since), _) => since,
            // It has outlived its session.
            (None, None) => bounds.joined.fail,
            (None, Some(_)) => return None,
        };
        let level = bounds.joined.rising(since);
        let state = session.state.as_deref().unwrap_or("over");
        let what = format!(
            "{} holds an epoch of the log for {} and is {state}",
            named_session(session),
            span(since)
        );
        (level > Level::Ok).then(|| finding(level, Code::LogHeld, what, ended(session)))
    });
    let mut findings = named(held.collect(), "sessions like that");
    findings.extend(hidden(joined, "since when sessions of other users hold an epoch of the log"));
    findings
}

/// Whether transaction ids run out.
pub(super) fn oldest_id(database: &str, age: i64, bounds: &Bounds) -> Option<Finding> {
    let level = bounds.oldest_id.rising(age);
    let what =
        format!("the oldest transaction id of database {} is {} old", identifier(database), count(age));
    let fix = format!(
        "end what holds vacuum back, if something is named here; then, in {}: VACUUM (FREEZE)",
        identifier(database)
    );
    (level > Level::Ok).then(|| finding(level, Code::WraparoundNear, what, fix))
}

/// The first of many, and how many more there are.
fn named(mut findings: Vec<Finding>, what: &str) -> Vec<Finding> {
    let more = findings.len().saturating_sub(NAMED);
    findings.truncate(NAMED);
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.what.push_str(&format!("; and there are {more} {what} more"));
    }
    findings
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests;
