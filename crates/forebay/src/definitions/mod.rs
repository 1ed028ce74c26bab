//! Definitions: read as they are written, handed on ready to use.
//!
//! [`load`] reads a text that a person wrote, tells everything that is wrong with it at once, and makes the
//! form that the rules work with ([`forebay_core::definition`]). A revision is one text without anything
//! beside it, so files that it names are put into it first, by [`bundle`].
//!
//! * `written`: the members as they stand in the text.
//! * `source`: the text itself, and where each member stands in it.
//! * `diff`: what is different between two texts.
//! * `provider`, `model`, `policy`, `task`, `retention`, `submit_limits`: each section made ready, and what contradicts itself in it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use forebay_core::definition::Definitions;

pub use bundle::bundle;
pub use diff::{Differences, Named, diff};
pub use fault::{DefinitionFault, MOST_FAULTS};

mod bundle;
pub mod diff;
mod fault;
mod fingerprint;
mod model;
mod parts;
mod policy;
mod pool;
mod provider;
mod retention;
mod retry;
mod source;
mod submit_limits;
mod task;
mod written;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{BASE, bad::CASES as BAD};

use fault::Faults;
use source::Source;

/// The definitions that a new store starts with.
pub const DEFAULT: &str = include_str!("../../defaults/definitions.toml");

/// Reads a file that definitions name.
pub type Files<'f> = &'f dyn Fn(&str) -> io::Result<String>;

/// Looks an environment variable up.
pub type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// For definitions that must stand alone: refuses every file.
///
/// # Errors
///
/// Always.
pub fn no_files(_path: &str) -> io::Result<String> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "a revision stands alone and can't refer to files; `forebay apply` puts them into it",
    ))
}

/// Makes definitions ready to use. Addresses of providers may be overridden by the variables of this
/// process's environment that the definitions name.
///
/// # Errors
///
/// Everything that is wrong, in the order of the text.
pub fn load(source: &str, files: Files<'_>) -> Result<Definitions, Vec<DefinitionFault>> {
    // What is not UTF-8 is set all the same, and must not be taken for absent.
    load_with(source, files, &|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

/// Makes definitions ready to use in a given environment.
///
/// # Errors
///
/// Everything that is wrong, in the order of the text.
pub fn load_with(
    source: &str,
    files: Files<'_>,
    variables: Variables<'_>,
) -> Result<Definitions, Vec<DefinitionFault>> {
    let source = Source::parse(source)?;
    let mut faults = Faults::new(&source);
    source.refuse_other_sections(&mut faults);
    let providers = provider::providers(&mut faults, variables);
    let pools = pool::pools(&mut faults, &providers);
    let models = model::models(&mut faults, &pools);
    let policies = policy::policies(&mut faults);
    let tasks = task::tasks(&mut faults, &models, &policies, files);
    let retention = retention::retention(&mut faults);
    let submit_limits = submit_limits::submit_limits(&mut faults);
    providers.check_references(&mut faults, "pools", "provider", "provider");
    pools.check_references(&mut faults, "models", "pool", "pool");
    models.check_references(&mut faults, "tasks", "model", "model");
    policies.check_references(&mut faults, "tasks", "policy", "policy");
    faults.into_result()?;
    Ok(Definitions {
        providers: providers.into_ready(),
        pools: pools.into_ready(),
        models: models.into_ready(),
        tasks: tasks.into_ready(),
        retention,
        submit_limits,
    })
}

/// One section of the definitions: every name that is written, with what it means where that is known. A name
/// with faults has no meaning, but whoever refers to it is not wrong for that.
struct Section<T>(BTreeMap<String, Option<Arc<T>>>);

impl<T> Section<T> {
    fn into_ready(self) -> BTreeMap<String, Arc<T>> {
        self.0.into_iter().filter_map(|(name, meaning)| Some((name, meaning?))).collect()
    }

    /// Looks at the references of tables that can't be read for another reason: they are wrong all the same.
    fn check_references(&self, faults: &mut Faults<'_>, section: &str, member: &str, what: &str) {
        for table in faults.unread_in(section) {
            let path = [section, &table, member];
            if let Some(name) = faults.source.text_at(&path).map(str::to_owned) {
                self.resolve(faults, &path, what, &name);
            }
        }
    }

    /// What a reference means; a fault when nothing has that name.
    fn resolve(&self, faults: &mut Faults<'_>, path: &[&str], what: &str, name: &str) -> Option<Arc<T>> {
        match self.0.get(name) {
            Some(meaning) => meaning.clone(),
            None if self.0.is_empty() => {
                faults.at(path, format!("no {what} of that name; the definitions have no {what} at all"));
                None
            }
            None => {
                let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
                let plural = if what == "policy" { "policies".to_owned() } else { format!("{what}s") };
                faults.at(path, format!("no {what} of that name; {plural} are: {}", names.join(", ")));
                None
            }
        }
    }
}
