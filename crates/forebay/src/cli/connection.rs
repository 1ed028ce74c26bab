//! Which server a command talks to, and as whom.

use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use reqwest::Url;
use secrecy::SecretString;

use super::client::Client;
use super::error::CliError;
use super::store;
use crate::config::StoreUrl;

/// The variable that holds the key. A flag would show the key to everybody who can list processes.
pub const KEY_VARIABLE: &str = "FOREBAY_KEY";

/// The store where none is named.
pub(super) const DEFAULT_STORE: &str = "sqlite:forebay.db";

/// Where the server is.
#[derive(Debug, Clone, Args)]
pub struct Connection {
    /// The server's address
    #[arg(
        long,
        env = "FOREBAY_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:7120",
        global = true,
        help_heading = "Server"
    )]
    pub url: String,
    /// The database of a server on this machine: its first key is found beside it
    #[arg(
        long,
        env = "FOREBAY_STORE",
        hide_env_values = true,
        default_value = DEFAULT_STORE,
        value_name = "URL",
        global = true,
        help_heading = "Server"
    )]
    pub store: String,
}

impl Connection {
    /// A client for that server, with the key that there is.
    ///
    /// # Errors
    ///
    /// When the address is none, or a key file can't be read.
    pub fn client(&self) -> Result<Client, CliError> {
        let url = self.address()?;
        let key = self.key(&url, std::env::var(KEY_VARIABLE).ok())?;
        let without = match self.store() {
            Ok(store) if is_loopback(&url) => {
                format!("{KEY_VARIABLE} is not set, and there is no {}", store.admin_key_file().display())
            }
            _ => format!("{KEY_VARIABLE} is not set"),
        };
        Ok(Client::new(url, key)?.without_key(without))
    }

    /// The server's address.
    ///
    /// # Errors
    ///
    /// When it is no address of HTTP.
    pub fn address(&self) -> Result<Url, CliError> {
        if self.url.trim().is_empty() {
            let fix = "unset FOREBAY_URL, or write it like http://127.0.0.1:7120";
            return Err(CliError::usage("the address of the server (--url or FOREBAY_URL) is empty", fix));
        }
        let url = Url::parse(&self.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        url.filter(Url::has_host).ok_or_else(|| {
            let problem = format!("`{}` is no address of a server", self.url);
            CliError::usage(problem, "write it like http://127.0.0.1:7120 (--url or FOREBAY_URL)")
        })
    }

    fn key(&self, url: &Url, given: Option<String>) -> Result<Option<SecretString>, CliError> {
        if let Some(key) = given.filter(|key| !key.is_empty()) {
            return Ok(Some(SecretString::from(key)));
        }
        // The key of this machine's server is no business of another machine.
        if !is_loopback(url) {
            return Ok(None);
        }
        read_key(&self.store()?.admin_key_file())
    }

    /// The database of a server on this machine.
    ///
    /// # Errors
    ///
    /// When what is written names none.
    pub fn store(&self) -> Result<StoreUrl, CliError> {
        store::named(&self.store)
    }
}

fn read_key(file: &Path) -> Result<Option<SecretString>, CliError> {
    match std::fs::read_to_string(file) {
        Ok(key) => Ok(Some(SecretString::from(key.trim()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::Failed(format!(
            "the key file {} can't be read: {error}\n  fix: set {KEY_VARIABLE} to a key of this server",
            file.display()
        ))),
    }
}

/// Whether an address is this machine's own.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    fn key(url: &str, given: Option<&str>, folder: &Path) -> Option<String> {
        let store = format!("sqlite:{}", folder.join("f.db").display());
        let connection = Connection { url: url.to_owned(), store };
        let url = connection.address().unwrap();
        connection.key(&url, given.map(str::to_owned)).unwrap().map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn the_key_beside_the_database_is_for_this_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(key("http://127.0.0.1:7120", None, folder.path()), None);
        std::fs::write(folder.path().join("f.db.admin-key"), "fbk_file\n").unwrap();
        for own in ["http://127.0.0.1:7120", "http://localhost", "http://[::1]:7120"] {
            assert_eq!(key(own, None, folder.path()).as_deref(), Some("fbk_file"), "{own}");
        }
        assert_eq!(key("https://forebay.example", None, folder.path()), None);
        assert_eq!(key("http://127.0.0.1.example", None, folder.path()), None);
    }

    #[test]
    fn a_key_that_is_given_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f.db.admin-key"), "fbk_file").unwrap();
        assert_eq!(key("http://localhost", Some("fbk_env"), folder.path()).as_deref(), Some("fbk_env"));
        assert_eq!(key("http://localhost", Some(""), folder.path()).as_deref(), Some("fbk_file"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in ["127.0.0.1:7120", "ftp://host", "", "http://"] {
            let connection = Connection { url: url.to_owned(), store: String::new() };
            assert_eq!(connection.address().unwrap_err().exit().code(), 2, "{url}");
        }
    }
}
