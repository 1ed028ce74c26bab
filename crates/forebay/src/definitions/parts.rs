//! Reads the tables of a section one by one.

use std::sync::Arc;

use forebay_core::request::submission::is_name;
use forebay_core::time::Millis;
use serde::de::DeserializeOwned;

use super::Section;
use super::fault::Faults;

/// Reads every table of a section, and makes those ready that are read without a fault. `ready` gets the path
/// of the table, section and name, and what is written in it.
pub(super) fn section<W: DeserializeOwned, T>(
    faults: &mut Faults<'_>,
    section: &'static str,
    mut ready: impl FnMut(&mut Faults<'_>, &[&str], W) -> Option<T>,
) -> Section<T> {
    let names = faults.source.names(section);
    let read = names.into_iter().map(|name| {
        let before = faults.count();
        let path = [section, name.as_str()];
        let rule = "a name is 1 to 64 lower-case letters, digits, `.`, `_` or `-`, and starts with a letter or digit";
        faults.when(!is_name(&name), &path, rule);
        let (written, wrong) = faults.source.read(&path);
        wrong.into_iter().for_each(|fault| faults.push(fault));
        if written.is_none() {
            faults.unread(section, &name);
        }
        let meaning = written.and_then(|written| ready(faults, &path, written));
        let sound = meaning.filter(|_| faults.count() == before);
        (name, sound.map(Arc::new))
    });
    Section(read.collect())
}

/// The path of a member of the table at `path`.
pub(super) fn within<'p>(path: &[&'p str], member: &'p str) -> Vec<&'p str> {
    path.iter().copied().chain([member]).collect()
}

/// A span of time as definitions write long ones.
pub(super) fn long_millis(millis: u64) -> Millis {
    Millis::new(i64::try_from(millis).unwrap_or(i64::MAX))
}
