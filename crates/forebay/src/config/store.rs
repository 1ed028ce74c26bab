//! How a store is named: `sqlite:PATH`, or `postgres://USER@HOST/DATABASE`.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use forebay_store::postgres::Target;

/// The variable with the password of a PostgreSQL user, for where the URL names none.
pub const PASSWORD_VARIABLE: &str = "FOREBAY_STORE_PASSWORD";

const FIX: &str = "write sqlite:PATH, such as sqlite:forebay.db, or postgres://USER@HOST/DATABASE";

/// The text names no store. It is not repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct NotAStore {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

/// Where a ledger is. Shown, it has no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// A file, for one process at a time.
    Sqlite(PathBuf),
    /// A database of a server, for as many processes as wanted.
    Postgres(Box<Target>),
}

impl StoreUrl {
    /// Reads the name of a store. The password is that of [`PASSWORD_VARIABLE`], if it is set.
    ///
    /// # Errors
    ///
    /// When it names no kind of store that there is, or is not written as one of that kind.
    pub fn parse(text: &str, password: Option<String>) -> Result<Self, NotAStore> {
        let refuse = |problem: &str| Err(NotAStore { problem: problem.to_owned(), fix: FIX.to_owned() });
        match text.split_once(':') {
            Some(("sqlite", "")) => refuse("the path is missing"),
            // One `sqlite:` URL in two spellings would be two stores to a reader; slashes stay part of the path.
            Some(("sqlite", path)) => Ok(StoreUrl::Sqlite(PathBuf::from(path))),
            Some(("postgres" | "postgresql", _)) => match Target::parse(text) {
                Ok(target) => Ok(StoreUrl::Postgres(Box::new(target.or_password(password)))),
                Err(refusal) => Err(NotAStore { problem: refusal.problem, fix: refusal.fix }),
            },
            Some(_) => refuse("there is no such kind of store"),
            None => refuse("the kind of store is missing"),
        }
    }

    /// The file with the key of the first start: `forebay.db.admin-key` beside a file, and `DATABASE.admin-key`
    /// in the folder of the process for a database of a server.
    pub fn admin_key_file(&self) -> PathBuf {
        self.beside(".admin-key")
    }

    /// The folder of what is too large for a row: `forebay.db.blobs` beside a file, and `DATABASE.blobs` in the
    /// folder of the process for a database of a server.
    pub fn blob_folder(&self) -> PathBuf {
        self.beside(".blobs")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = match self {
            StoreUrl::Sqlite(file) => file.as_os_str().to_owned(),
            // A name of a database may be anything, a path too.
            StoreUrl::Postgres(target) => {
                let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
                OsString::from(target.database().chars().map(plain).collect::<String>())
            }
        };
        name.push(ending);
        PathBuf::from(name)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Sqlite(path) => path.display().fmt(f),
            StoreUrl::Postgres(target) => target.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> StoreUrl {
        StoreUrl::parse(text, None).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
    }

    #[test]
    fn a_store_is_a_file_or_a_database_of_a_server() {
        assert_eq!(parse("sqlite:forebay.db"), StoreUrl::Sqlite(PathBuf::from("forebay.db")));
        assert_eq!(parse("sqlite:/var/lib/f.db"), StoreUrl::Sqlite(PathBuf::from("/var/lib/f.db")));
        for url in ["postgres://u:secret@db/forebay", "postgresql://u:secret@db/forebay"] {
            let store = parse(url);
            assert_eq!(store.to_string(), "postgres://u@db:5432/forebay");
            assert!(!format!("{store:?}").contains("secret"));
        }
    }

    #[test]
    fn the_key_of_the_first_start_and_the_blobs_stand_beside_the_database() {
        for (store, key_file, blobs) in [
            ("sqlite:/data/f.db", "/data/f.db.admin-key", "/data/f.db.blobs"),
            ("postgres://db/forebay", "forebay.admin-key", "forebay.blobs"),
            ("postgres://db/..%2Fa-b", "___a-b.admin-key", "___a-b.blobs"),
        ] {
            let store = parse(store);
            assert_eq!(store.admin_key_file(), PathBuf::from(key_file));
            assert_eq!(store.blob_folder(), PathBuf::from(blobs));
        }
    }

    #[test]
    fn other_kinds_are_refused_with_the_fix_and_without_the_text() {
        for (store, problem) in [
            ("sqlite:", "the path is missing"),
            ("forebay.db", "the kind of store is missing"),
            ("postgres://u:secret@localhost", "the database is missing"),
            ("mysql:secret", "there is no such kind of store"),
        ] {
            let refusal = StoreUrl::parse(store, None).unwrap_err();
            assert_eq!(refusal.problem, problem);
            assert!(
                refusal.fix.contains("postgres://") && !refusal.to_string().contains("secret"),
                "{refusal}"
            );
        }
    }
}
