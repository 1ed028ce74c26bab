//! The layers of a configuration: defaults, file, environment, flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::fault::ConfigFault;
use super::given::{Given, Origin, Raw};
use super::key::Key;
use super::{DEFAULTS, Settings, ready};

/// What was written, the later layer over the earlier.
pub(super) type Layers = BTreeMap<Key, Given>;

/// Where a configuration comes from.
pub struct Sources<'a> {
    /// A file, if one was named.
    pub file: Option<PathBuf>,
    /// Reads a variable of the environment; a variable that is empty counts as absent.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Keys that flags set, with the flag's name (`--listen`) and its value.
    pub flags: Vec<(Key, &'static str, String)>,
}

/// Reads all layers and makes settings of them.
///
/// # Errors
///
/// Everything that is wrong, in the order of the layers; never empty.
pub fn load(sources: Sources<'_>) -> Result<Settings, Vec<ConfigFault>> {
    let variable = |name: &str| (sources.environment)(name).filter(|value| !value.is_empty());
    let mut faults = Vec::new();
    let mut layers = Layers::new();
    read_text(DEFAULTS, None, &mut layers, &mut faults);
    if let Some(path) = &sources.file {
        read_file(path, &mut layers, &mut faults);
    }
    for key in Key::ALL {
        let name = key.variable();
        if let Some(value) = variable(&name) {
            layers.insert(key, Given { raw: Raw::Text(value), origin: Origin::Environment(name) });
        }
    }
    for (key, flag, value) in sources.flags {
        layers.insert(key, Given { raw: Raw::Text(value), origin: Origin::Flag(flag.to_owned()) });
    }
    let settings = ready::settings(&layers, &variable, &mut faults);
    settings.filter(|_| faults.is_empty()).ok_or(faults)
}

fn read_file(path: &Path, layers: &mut Layers, faults: &mut Vec<ConfigFault>) {
    match std::fs::read_to_string(path) {
        Ok(text) => read_text(&text, Some(path), layers, faults),
        Err(error) => {
            let origin = Origin::File { path: path.to_owned(), line: None };
            let problem = format!("the file can't be read: {error}");
            faults.push(ConfigFault::unreadable(&origin, problem, "name a file that exists and can be read"));
        }
    }
}

fn read_text(text: &str, path: Option<&Path>, layers: &mut Layers, faults: &mut Vec<ConfigFault>) {
    let origin = |start: usize| match path {
        Some(path) => Origin::File { path: path.to_owned(), line: Some(line_of(text, start)) },
        None => Origin::Defaults,
    };
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            let fix = "write TOML: one `key = value` a line, text in quotes";
            faults.push(ConfigFault::unreadable(&origin(start), error.message(), fix));
            return;
        }
    };
    for (name, value) in table.get_ref() {
        let given = Given { raw: Raw::of(value.get_ref()), origin: origin(name.span().start) };
        match Key::from_name(name.get_ref()) {
            Some(key) => drop(layers.insert(key, given)),
            None => faults.push(unknown_key(name.get_ref(), &given)),
        }
    }
}

fn unknown_key(name: &str, given: &Given) -> ConfigFault {
    let problem = format!("there is no key `{name}`");
    ConfigFault::unreadable(&given.origin, problem, format!("remove it, or use one of {}", Key::names()))
}

/// The line, from 1, of a byte of a text.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests;
