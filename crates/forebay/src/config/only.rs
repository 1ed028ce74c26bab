//! What a process is restricted to.

use std::collections::BTreeSet;

use forebay_core::definition::Definitions;

use super::{Key, Settings};

/// All there is, or only what is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only(BTreeSet<String>);

impl Only {
    /// What is named; nothing is everything.
    pub fn these(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Whether this one is among it.
    pub fn includes(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.contains(name)
    }

    /// The names; none where it is everything.
    pub fn set(&self) -> &BTreeSet<String> {
        &self.0
    }

    /// The names; `None` where it is everything.
    pub fn names(&self) -> Option<Vec<String>> {
        (!self.0.is_empty()).then(|| self.0.iter().cloned().collect())
    }
}

/// A process is restricted to what there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` names {}, which the active definitions do not have", .key.name(), .unknown.join(", "))]
pub struct Unknown {
    key: Key,
    unknown: Vec<String>,
    known: Vec<String>,
}

impl Unknown {
    /// What to do about it.
    pub fn fix(&self) -> String {
        let known = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
        let earlier = match self.key {
            Key::Tasks => {
                "; jobs of a task that only earlier revisions have still wait: a process without --tasks runs them, too"
            }
            _ => {
                "; jobs that wait for a pool that is gone wait until a revision has it again, or for their deadline"
            }
        };
        format!("choose among those that there are ({known}), or apply definitions with it first{earlier}")
    }
}

impl Settings {
    /// Whether there is what the process is restricted to.
    ///
    /// # Errors
    ///
    /// What there is not.
    pub fn check_names(&self, definitions: &Definitions) -> Result<(), Unknown> {
        check(Key::Pools, &self.pools, definitions.pools.keys())?;
        check(Key::Tasks, &self.tasks, definitions.tasks.keys())
    }
}

fn check<'a>(key: Key, only: &Only, there: impl Iterator<Item = &'a String>) -> Result<(), Unknown> {
    let known: BTreeSet<String> = there.cloned().collect();
    let unknown: Vec<String> = only.0.difference(&known).cloned().collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Unknown { key, unknown, known: known.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(names: &[&str]) -> Only {
        Only::these(names.iter().copied().map(str::to_owned))
    }

    #[test]
    fn nothing_named_is_everything() {
        assert!(only(&[]).includes("main") && only(&["main"]).includes("main"));
        assert!(!only(&["other"]).includes("main"));
        assert_eq!(only(&[]).names(), None);
        assert_eq!(only(&["b", "a"]).names(), Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn what_there_is_not_is_refused_with_what_there_is() {
        let there = ["local".to_owned(), "main".to_owned()];
        assert_eq!(check(Key::Pools, &only(&[]), there.iter()), Ok(()));
        assert_eq!(check(Key::Pools, &only(&["main"]), there.iter()), Ok(()));
        let unknown = check(Key::Pools, &only(&["main", "mian"]), there.iter()).unwrap_err();
        assert_eq!(unknown.to_string(), "`pools` names mian, which the active definitions do not have");
        assert!(unknown.fix().contains("local, main"), "{}", unknown.fix());
        assert!(unknown.fix().contains("until a revision has it again"), "{}", unknown.fix());
        let dropped = check(Key::Tasks, &only(&["mian"]), there.iter()).unwrap_err();
        assert!(dropped.fix().contains("without --tasks"), "{}", dropped.fix());
    }
}
