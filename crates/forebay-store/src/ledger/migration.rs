//! Migrations: append-only files, applied in order, each with the checksum that it had when it was applied.
//!
//! One either only adds (it expands) or takes away what no release uses any more (it contracts), so that processes of two
//! releases can run side by side: docs/upgrades.md.

use std::fmt;
use std::str::FromStr;

use forebay_core::digest::Digest;

use crate::StoreError;
use crate::health::{Code, Finding, Level};

/// One file of `migrations/DATABASE`.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its place among the others.
    pub number: i64,
    /// What it brings.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

impl Migration {
    /// By which a file is known to be the one that was applied.
    pub fn checksum(&self) -> String {
        Digest::of(self.sql.as_bytes()).to_string()
    }

    /// What its first line says that it is.
    pub fn kind(&self) -> Kind {
        let first = self.sql.lines().next().unwrap_or_default();
        match first.strip_prefix("-- contract: needs ").map(str::parse) {
            Some(Ok(needs)) => Kind::Contract { needs },
            _ => Kind::Expand,
        }
    }
}

/// What a migration does to processes that run beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only adds: the release before works on.
    Expand,
    /// It takes away what releases use that are older than this one.
    Contract {
        /// The oldest release that does without.
        needs: Version,
    },
}

impl Kind {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Expand => EXPAND,
            Kind::Contract { .. } => "contract",
        }
    }
}

const EXPAND: &str = "expand";

/// The release that this build is of.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// A release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl FromStr for Version {
    type Err = ();

    /// Reads `1.2.3`, whatever stands behind it.
    fn from_str(text: &str) -> Result<Self, ()> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut parts = text[..end].split('.').map(|part| part.parse().map_err(|_| ()));
        let mut next = || parts.next().unwrap_or(Err(()));
        Ok(Self([next()?, next()?, next()?]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Those of these processes, by name and build, that may be older than a release: also one whose build says nothing.
pub fn older(processes: &[(String, String)], needs: Version) -> Vec<String> {
    let is_older = |build: &str| {
        let version = build.rsplit('/').next().map(str::parse::<Version>);
        !matches!(version, Some(Ok(version)) if version >= needs)
    };
    let old = processes.iter().filter(|(_, build)| is_older(build));
    old.map(|(name, build)| format!("{name} ({build})")).collect()
}

/// The migration in `migrations/DATABASE/NUMBER_NAME.sql`.
macro_rules! migration {
    ($database:literal, $number:literal, $name:literal) => {
        $crate::ledger::migration::Migration {
            // The file's name has leading zeros.
            number: $number,
            name: $name,
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/migrations/",
                $database,
                "/000",
                $number,
                "_",
                $name,
                ".sql"
            )),
        }
    };
}
pub(crate) use migration;

/// What `migrate` found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// Names of all migrations that the store has now.
    pub present: Vec<String>,
    /// Names of those that were applied just now.
    pub applied: Vec<String>,
    /// Why the next one is not applied yet.
    pub waiting: Option<String>,
}

/// A migration that a store has.
pub struct Applied {
    pub number: i64,
    pub name: String,
    pub checksum: String,
    /// `expand` or `contract`.
    pub kind: String,
    /// The release that has applied it.
    pub release: String,
}

/// Refuses a store that this build can't work with: migrations differ where both have some, or a later release has done
/// more to it than add to it once. `place` is what it is called.
pub fn judge(ours: &[Migration], present: &[Applied], place: &str) -> Result<(), StoreError> {
    let incompatible = |reason: String| StoreError::Incompatible { path: place.to_owned(), reason };
    let newer = present.get(ours.len()..).unwrap_or_default();
    if let Some(contraction) = newer.iter().find(|row| row.kind != EXPAND) {
        let Applied { number, name, release, .. } = contraction;
        let reason = format!(
            "migration {number} ({name}) has taken away what this build uses; use release {release} or a newer one"
        );
        return Err(incompatible(reason));
    }
    let mut releases: Vec<_> = newer.iter().map(|row| row.release.as_str()).collect();
    releases.dedup();
    if let [first, .., last] = releases.as_slice() {
        let reason = format!(
            "releases {first} to {last} have added to it, and this build works beside {first} and not beside what comes \
             after; use release {first} or a newer one"
        );
        return Err(incompatible(reason));
    }
    for (row, migration) in present.iter().zip(ours) {
        if row.number != migration.number || row.checksum != migration.checksum() {
            let reason =
                format!("migration {} ({}) is not the one that this build has", row.number, row.name);
            return Err(incompatible(reason));
        }
    }
    Ok(())
}

/// What an operator should know of the migrations that a store has. `running` are the processes that were heard of lately,
/// with their builds.
pub fn finding(
    ours: &[Migration],
    present: &[Applied],
    running: &[(String, String)],
    place: &str,
) -> Option<Finding> {
    let (level, code, what, fix) = match (judge(ours, present, place), ours.get(present.len())) {
        (Err(StoreError::Incompatible { reason, .. }), _) => {
            let fix = "run the release that it needs, or name another database".to_owned();
            (Level::Fail, Code::SchemaOther, reason, fix)
        }
        (_, Some(missing)) => missing_one(missing, running),
        (_, None) => {
            let added = present.get(ours.len()..).unwrap_or_default();
            let Applied { number, name, release, .. } = added.last()?;
            let what = format!("release {release} has added to it, up to migration {number} ({name})");
            (Level::Warn, Code::SchemaAhead, what, format!("replace this build by release {release}"))
        }
    };
    Some(Finding { level, code, what, fix })
}

fn missing_one(missing: &Migration, running: &[(String, String)]) -> (Level, Code, String, String) {
    let Migration { number, name, .. } = missing;
    let in_the_way = match missing.kind() {
        Kind::Contract { needs } => older(running, needs).join(", "),
        Kind::Expand => String::new(),
    };
    if in_the_way.is_empty() {
        let what = format!("migration {number} ({name}) is still to be applied");
        return (Level::Fail, Code::SchemaBehind, what, "forebay migrate".to_owned());
    }
    let what = format!("migration {number} ({name}) waits for older processes: {in_the_way}");
    (Level::Warn, Code::SchemaWaits, what, "end them and run `forebay migrate`".to_owned())
}

/// The names of migrations that are there.
pub fn names(present: Vec<Applied>) -> Vec<String> {
    present.into_iter().map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [Migration; 1] =
        [Migration { number: 1, name: "ledger", sql: "-- expand\nCREATE TABLE a (b);" }];

    fn row(number: i64, kind: &str, release: &str) -> Applied {
        let checksum = if number == 1 { OURS[0].checksum() } else { "other".to_owned() };
        let (name, kind, release) = (format!("m{number}"), kind.to_owned(), release.to_owned());
        Applied { number, name, checksum, kind, release }
    }

    fn judged(rows: &[Applied]) -> String {
        judge(&OURS, rows, "here").map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn an_older_build_works_beside_one_later_release_that_only_adds() {
        let (ours, next) = (row(1, "expand", "0.1.0"), row(2, "expand", "0.2.0"));
        assert_eq!(judged(&[]), "fine");
        assert_eq!(
            judged(&[row(1, "expand", "0.1.0"), row(2, "expand", "0.2.0"), row(3, "expand", "0.2.0")]),
            "fine"
        );
        let two = judged(&[ours, next, row(3, "expand", "0.3.0")]);
        assert!(two.contains("releases 0.2.0 to 0.3.0") && two.contains("use release 0.2.0"), "{two}");
        let less = judged(&[row(1, "expand", "0.1.0"), row(2, "contract", "0.2.0")]);
        assert!(less.contains("migration 2 (m2)") && less.contains("use release 0.2.0"), "{less}");
        let other = judged(&[Applied { checksum: "another".to_owned(), ..row(1, "expand", "0.1.0") }]);
        assert!(other.contains("is not the one that this build has"), "{other}");
    }

    #[test]
    fn who_may_be_older_stands_in_the_way() {
        let needs =
            Migration { number: 2, name: "m", sql: "-- contract: needs 0.10.0\nDROP TABLE a;" }.kind();
        let Kind::Contract { needs } = needs else { panic!("{needs:?}") };
        let process = |name: &str, build: &str| (name.to_owned(), build.to_owned());
        let running = [
            process("old", "forebay/0.9.3"),
            process("new", "forebay/0.10.0"),
            process("newer", "forebay/1.0.0-rc.1"),
            process("odd", "somebody's own"),
        ];
        assert_eq!(older(&running, needs), ["old (forebay/0.9.3)", "odd (somebody's own)"]);
    }
    #[test]
    fn an_operator_is_told_what_is_missing_and_what_is_new() {
        const BOTH: [Migration; 2] =
            [OURS[0], Migration { number: 2, name: "less", sql: "-- contract: needs 0.2.0\nDROP TABLE a;" }];
        let ours = || row(1, "expand", "0.1.0");
        let found = |migrations: &[Migration], present: &[Applied], builds: &[&str]| {
            let running: Vec<_> = builds.iter().map(|build| ("p".to_owned(), (*build).to_owned())).collect();
            finding(migrations, present, &running, "here").map(|found| (found.level, found.code, found.what))
        };
        assert_eq!(found(&OURS, &[ours()], &["forebay/0.0.1"]), None);
        let (level, code, what) = found(&OURS, &[], &[]).unwrap();
        assert_eq!((level, code), (Level::Fail, Code::SchemaBehind), "{what}");
        assert_eq!(what, "migration 1 (ledger) is still to be applied");
        let (level, code, what) = found(&BOTH, &[ours()], &["forebay/0.2.0", "forebay/0.1.9"]).unwrap();
        assert_eq!((level, code), (Level::Warn, Code::SchemaWaits), "{what}");
        assert_eq!(what, "migration 2 (less) waits for older processes: p (forebay/0.1.9)");
        let (_, code, what) = found(&BOTH, &[ours()], &["forebay/0.2.0"]).unwrap();
        assert_eq!(code, Code::SchemaBehind, "{what}");
        let (level, code, what) = found(&OURS, &[ours(), row(2, "expand", "0.2.0")], &[]).unwrap();
        assert_eq!((level, code), (Level::Warn, Code::SchemaAhead), "{what}");
        assert_eq!(what, "release 0.2.0 has added to it, up to migration 2 (m2)");
        let (level, code, what) = found(&OURS, &[ours(), row(2, "contract", "0.2.0")], &[]).unwrap();
        assert_eq!((level, code), (Level::Fail, Code::SchemaOther), "{what}");
    }
}
