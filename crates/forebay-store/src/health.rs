//! What is wrong with a database, for whoever runs it: findings as data. [`crate::sqlite::examine`] and
//! [`crate::postgres::examine`] look; whether a number is a finding is decided by functions of that number alone.

use std::time::Duration;

use forebay_core::time::Millis;

/// What an examination came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was examined, in a few words.
    pub about: String,
    /// How many checks could be made.
    pub checks: usize,
    /// What they found; empty when all is well.
    pub findings: Vec<Finding>,
}

/// One thing that is not as it should be, or could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How grave it is.
    pub level: Level,
    /// What kind of thing.
    pub code: Code,
    /// What was found, with its name and the number. It holds no secret, and no text of a statement.
    pub what: String,
    /// What to do: a command, a statement or a setting.
    pub fix: String,
}

/// How grave something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth a look.
    Warn,
    /// Not as it should be.
    Fail,
}

macro_rules! codes {
    ($($code:ident, $name:literal, $subject:literal, $why:literal;)*) => {
        /// What can be found. The names don't change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $why] $code,)*
        }

        impl Code {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// What is known of it.
            pub const fn facts(self) -> Facts {
                match self {
                    $(Code::$code => Facts { name: $name, subject: $subject, why: $why },)*
                }
            }
        }
    };
}

/// What is known of a kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is about, in a word.
    pub subject: &'static str,
    /// Why it matters.
    pub why: &'static str,
}

codes! {
    NotLookedAt, "not_looked_at", "unseen", "a check that could not be made has passed nothing";
    SchemaBehind, "schema_behind", "schema", "this build can't work before the migration is applied";
    SchemaWaits, "schema_waits", "schema", "older processes still use what the next migration takes away";
    SchemaAhead, "schema_ahead", "schema", "a later release has added to it, and the one after that may refuse this build";
    SchemaOther, "schema_other", "schema", "this build would not understand what stands there";
    TakesNoWrites, "takes_no_writes", "writes", "no job is accepted, and no result kept";
    CommitNotDurable, "commit_not_durable", "durability", "jobs that were accepted are lost when the server crashes";
    FsyncOff, "fsync_off", "durability", "a crash of the machine may destroy the database";
    FullPageWritesOff, "full_page_writes_off", "durability", "a page that was half written when the machine crashed stays torn";
    AutovacuumOff, "autovacuum_off", "vacuum", "dead rows are never removed: claims become slower and tables grow";
    TableNotVacuumed, "table_not_vacuumed", "vacuum", "dead rows of this table are never removed: what reads it becomes slower";
    DeadRows, "dead_rows", "vacuum", "each claim and look walks over dead rows";
    OldTransaction, "old_transaction", "transaction", "no row that died since it began can be removed, in any table";
    PreparedTransaction, "prepared_transaction", "prepared", "it holds its locks and all dead rows until somebody ends it, also over restarts";
    SlotHoldsRows, "slot_holds_rows", "slot", "no row that its reader may still see can be removed";
    SlotHoldsLog, "slot_holds_log", "slot", "the server keeps its write-ahead log for it until the disk is full";
    ConnectionsLow, "connections_low", "connections", "a process that starts, or connects again, may be turned away";
    ClockDiffers, "clock_differs", "clock", "deadlines count by the server's clock, and this machine's logs tell another time";
    SlowAnswers, "slow_answers", "round trip", "each claim, commit and read waits for several of them";
    LogHeld, "log_held", "log", "no later event is shown to anybody before it ends";
    WraparoundNear, "wraparound_near", "wraparound", "at 2,147 million the server takes no more writes";
    Damaged, "damaged", "integrity", "what is read from a damaged file may be wrong";
    NotWal, "not_wal", "journal", "readers and the writer hold each other up, and the process sets it when it starts if the disk can do it";
    LogLarge, "log_large", "journal", "it takes the disk, and the next start goes through all of it";
    ReadableByOthers, "readable_by_others", "rights", "it holds documents, results and the digests of keys";
    SpaceLow, "space_low", "space", "when the disk is full nothing is written any more, and no job is accepted";
    InUse, "in_use", "lock", "a file belongs to one process at a time: another one would not start";
    NetworkFileSystem, "network_file_system", "disk", "locks and shared memory are not reliable there, and the file may be damaged";
}

/// From where on a number is worth a look, and from where on it is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit<T> {
    /// Worth a look.
    pub warn: T,
    /// Not as it should be.
    pub fail: T,
}

impl<T: PartialOrd> Limit<T> {
    /// How grave a number is that had better be small.
    pub fn rising(&self, number: T) -> Level {
        match number {
            number if number >= self.fail => Level::Fail,
            number if number >= self.warn => Level::Warn,
            _ => Level::Ok,
        }
    }

    /// How grave a number is that had better be large.
    pub fn falling(&self, number: T) -> Level {
        match number {
            number if number < self.fail => Level::Fail,
            number if number < self.warn => Level::Warn,
            _ => Level::Ok,
        }
    }
}

/// From where on numbers are findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long a transaction is open, prepared or not: a minute, an hour.
    pub open: Limit<Millis>,
    /// How long a session stays in an epoch of the log: 5 s are more than any of ours may, 10 s.
    pub joined: Limit<Millis>,
    /// Transactions since the oldest that a replica or a slot may still see: a million, a hundred million.
    pub held_back: Limit<i64>,
    /// Bytes of log that are kept for a slot that nobody reads: 1 GB, 16 GB.
    pub kept_log: Limit<i64>,
    /// Dead rows of a table beyond what its autovacuum lets come together ten times over: 20,000; never a failure.
    pub dead_rows: Limit<i64>,
    /// The age of the oldest transaction id in the server: 500 million, 1,500 million.
    pub oldest_id: Limit<i64>,
    /// How far clocks are apart: 2 s; never a failure.
    pub clock: Limit<Millis>,
    /// How long a question and its answer take on the way to a server and back: 10 ms, 100 ms.
    pub round_trip: Limit<Duration>,
    /// Connections that a process takes: 15, as [`crate::postgres::Settings::connections`] has it.
    pub connections: i64,
    /// Bytes of a file's write-ahead log: 1 GB; never a failure.
    pub log: Limit<u64>,
    /// Bytes left on the disk of a file: 1 GB, 128 MB.
    pub space: Limit<u64>,
    /// How long a file may be read through; without it, to its end. 5 s.
    pub reading: Option<Millis>,
}

impl Default for Bounds {
    fn default() -> Self {
        let secs = Millis::from_secs;
        Self {
            open: Limit { warn: secs(60), fail: secs(3_600) },
            joined: Limit { warn: secs(5), fail: secs(10) },
            held_back: Limit { warn: 1_000_000, fail: 100_000_000 },
            kept_log: Limit { warn: 1 << 30, fail: 16 << 30 },
            dead_rows: Limit { warn: 20_000, fail: i64::MAX },
            oldest_id: Limit { warn: 500_000_000, fail: 1_500_000_000 },
            clock: Limit { warn: secs(2), fail: Millis::new(i64::MAX) },
            round_trip: Limit { warn: Duration::from_millis(10), fail: Duration::from_millis(100) },
            connections: 15,
            log: Limit { warn: 1 << 30, fail: u64::MAX },
            space: Limit { warn: 1 << 30, fail: 128 << 20 },
            reading: Some(secs(5)),
        }
    }
}

/// A span in one unit: `90 s`, `5 min`, `3 h`, `2 d`.
pub(crate) fn span(millis: Millis) -> String {
    let secs = millis.get() / 1_000;
    match secs {
        ..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", secs / 60),
        7_200..172_800 => format!("{} h", secs / 3_600),
        _ => format!("{} d", secs / 86_400),
    }
}

/// Bytes in one unit.
pub(crate) fn bytes(number: u64) -> String {
    match number {
        ..1_048_576 => format!("{} kB", number / 1_024),
        1_048_576..10_737_418_240 => format!("{} MB", number / 1_048_576),
        _ => format!("{} GB", number / 1_073_741_824),
    }
}

/// A number with commas between thousands.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut shown = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if number < 0 { format!("-{shown}") } else { shown }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_limit_is_reached_at_its_number() {
        let limit = Limit { warn: 10, fail: 20 };
        assert_eq!(
            [9, 10, 19, 20].map(|number| limit.rising(number)),
            [Level::Ok, Level::Warn, Level::Warn, Level::Fail]
        );
        let limit = Limit { warn: 20, fail: 10 };
        assert_eq!(
            [20, 19, 10, 9].map(|number| limit.falling(number)),
            [Level::Ok, Level::Warn, Level::Warn, Level::Fail]
        );
    }

    #[test]
    fn numbers_are_shown_in_one_unit() {
        let spans = [1_999, 119_999, 120_000, 7_200_000, 172_800_000].map(|millis| span(Millis::new(millis)));
        assert_eq!(spans, ["1 s", "119 s", "2 min", "2 h", "2 d"]);
        assert_eq!([2_048, 5 << 20, 16 << 30].map(bytes), ["2 kB", "5 MB", "16 GB"]);
        assert_eq!([7, 1_000, 1_234_567, -1_000].map(count), ["7", "1,000", "1,234,567", "-1,000"]);
    }

    #[test]
    fn every_code_has_a_name_of_its_own() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.facts().name).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.facts().subject.len() <= 11));
    }
}
