//! How a store is named: `sqlite:PATH`.

use std::path::{Path, PathBuf};

/// The text names no store that this build can open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; write `sqlite:` and the path of a file, such as sqlite:forebay.db")]
pub struct NotAStore {
    /// What is wrong.
    pub problem: String,
}

/// The database file that a store's name points at.
///
/// # Errors
///
/// When it names another kind of store, or no file.
pub fn database_path(store: &str) -> Result<PathBuf, NotAStore> {
    let refuse = |problem: String| Err(NotAStore { problem });
    match store.split_once(':') {
        Some(("sqlite", "")) => refuse("the path is missing".to_owned()),
        // One `sqlite:` URL in two spellings would be two stores to a reader; slashes stay part of the path.
        Some(("sqlite", path)) => Ok(PathBuf::from(path)),
        Some(("postgres" | "postgresql", _)) => refuse("this build has no PostgreSQL store".to_owned()),
        Some((kind, _)) => refuse(format!("there is no kind of store `{kind}`")),
        None => refuse("the kind of store is missing".to_owned()),
    }
}

/// The file beside a database that keeps the key of its first start: `forebay.db.admin-key`.
pub fn admin_key_file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".admin-key");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_kind_and_a_path() {
        assert_eq!(database_path("sqlite:forebay.db"), Ok(PathBuf::from("forebay.db")));
        assert_eq!(database_path("sqlite:/var/lib/f.db"), Ok(PathBuf::from("/var/lib/f.db")));
    }

    #[test]
    fn the_key_of_the_first_start_stands_beside_the_database() {
        assert_eq!(admin_key_file(Path::new("/data/f.db")), PathBuf::from("/data/f.db.admin-key"));
    }

    #[test]
    fn other_kinds_are_refused_with_the_fix() {
        for (store, problem) in [
            ("sqlite:", "the path is missing"),
            ("forebay.db", "the kind of store is missing"),
            ("postgres://localhost/f", "this build has no PostgreSQL store"),
            ("mysql:x", "there is no kind of store `mysql`"),
        ] {
            assert_eq!(database_path(store).unwrap_err().problem, problem);
        }
    }
}
