//! Places where a test ends the process or holds it: at the boundaries of every step that changes the ledger.
//!
//! A place has the name of a step and of a side of it: every verb that writes has `before_commit`, with its
//! rows written and the transaction open, and `after_commit`, with the caller not told yet. What a test wants
//! there stands in the environment variable `FAILPOINTS`: `commit_step.before_commit=abort@3` ends the process
//! when it is there for the third time.
//!
//! Only builds with the feature `failpoints` have any of it, which are those that cargo makes for tests. In every
//! other build [`reach`] is empty, and the variable means nothing.

#[cfg(feature = "failpoints")]
pub use active::{clock_offset_millis, reach};

/// Nothing happens here.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub const fn reach(_step: &str, _side: &str) {}

/// The clock shows what it shows.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub const fn clock_offset_millis() -> i64 {
    0
}

#[cfg(feature = "failpoints")]
mod active {
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    static PLAN: OnceLock<Vec<Planned>> = OnceLock::new();
    static CLOCK: OnceLock<Option<PathBuf>> = OnceLock::new();

    /// What is to happen at a place.
    struct Planned {
        place: String,
        action: Action,
        /// Which arrival there it is for, from 1.
        nth: u32,
        arrivals: AtomicU32,
    }

    #[derive(Debug, PartialEq, Eq)]
    enum Action {
        /// The process ends at once, and nothing is flushed or unwound.
        Abort,
        /// The file `PATH.here` is made, then the thread waits until the file `PATH` exists.
        Hold(PathBuf),
    }

    /// The process is at this side of this step.
    pub fn reach(step: &str, side: &str) {
        let plan = PLAN.get_or_init(|| read(&std::env::var("FAILPOINTS").unwrap_or_default()));
        let here = |planned: &&Planned| planned.place.split_once('.') == Some((step, side));
        for planned in plan.iter().filter(here) {
            if planned.arrivals.fetch_add(1, Ordering::SeqCst) + 1 == planned.nth {
                act(&planned.action);
            }
        }
    }

    /// How far the process's clock is put forward, or back: the number in the file that `FAILPOINTS_CLOCK` names.
    pub fn clock_offset_millis() -> i64 {
        let file = CLOCK.get_or_init(|| std::env::var_os("FAILPOINTS_CLOCK").map(PathBuf::from));
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    }

    fn act(action: &Action) {
        match action {
            Action::Abort => std::process::abort(),
            Action::Hold(path) => {
                let mut here = path.clone().into_os_string();
                here.push(".here");
                std::fs::write(here, "").unwrap_or_else(|_| std::process::abort());
                while !path.exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Reads `STEP.SIDE=ACTION[@NTH]`, several with `;` between. A plan that can't be read ends the process: a test
    /// that plans nothing would pass for the wrong reason.
    fn read(text: &str) -> Vec<Planned> {
        let entries = text.split(';').filter(|entry| !entry.is_empty());
        entries.map(|entry| planned(entry).unwrap_or_else(|| std::process::abort())).collect()
    }

    fn planned(entry: &str) -> Option<Planned> {
        let (place, what) = entry.split_once('=')?;
        place.split_once('.')?;
        let (what, nth) = what.rsplit_once('@').unwrap_or((what, "1"));
        let action = match what.split_once(':') {
            None if what == "abort" => Action::Abort,
            Some(("hold", path)) => Action::Hold(Path::new(path).to_owned()),
            _ => return None,
        };
        Some(Planned { place: place.to_owned(), action, nth: nth.parse().ok()?, arrivals: AtomicU32::new(0) })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_plan_is_read_and_a_wrong_one_is_noticed() {
            let plan = read("accept.before_commit=abort;claim.after_commit=hold:/tmp/go@3");
            let seen: Vec<_> =
                plan.iter().map(|planned| (planned.place.as_str(), &planned.action, planned.nth)).collect();
            let hold = Action::Hold(PathBuf::from("/tmp/go"));
            assert_eq!(seen, [("accept.before_commit", &Action::Abort, 1), ("claim.after_commit", &hold, 3)]);
            for wrong in ["accept", "accept=abort", "a.b=sleep", "a.b=abort@x", "a.b=hold"] {
                assert!(planned(wrong).is_none(), "{wrong}");
            }
        }
    }
}
