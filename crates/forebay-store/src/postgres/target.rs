//! Which database of which server, and how: `postgres://user@host:port/database?options`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

/// What can be written after the `?`.
const OPTIONS: &str = "sslmode, sslrootcert, password_file, host, target_session_attrs";

/// The text names no PostgreSQL database. It never repeats the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct BadTarget {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

fn bad<T>(problem: impl Into<String>, fix: impl Into<String>) -> Result<T, BadTarget> {
    Err(BadTarget { problem: problem.into(), fix: fix.into() })
}

/// How far a server is believed, in libpq's words. Modes that fall back to plain text are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// No TLS.
    Disable,
    /// TLS, with whoever answers.
    Require,
    /// TLS, with a certificate of a known authority.
    VerifyCa,
    /// TLS, with a certificate of a known authority for this host.
    VerifyFull,
}

/// A database of a PostgreSQL server. Shown, it is its URL without a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Everything that the driver needs, the password too unless it is in a file.
    pub(super) config: Config,
    pub(super) password_file: Option<PathBuf>,
    pub(super) trust: Trust,
    pub(super) root_file: Option<PathBuf>,
    shown: String,
}

impl Target {
    /// Reads `postgres://[user[:password]@]host[:port][,host[:port]...]/database[?options]`.
    ///
    /// The port is 5432 and the user that of the operating system where none is named. A host that is a path is
    /// the folder of a Unix socket. Without `sslmode` a server on this machine is spoken to in plain text and
    /// any other by TLS (`require`).
    ///
    /// # Errors
    ///
    /// What is wrong, and what to write instead.
    pub fn parse(url: &str) -> Result<Self, BadTarget> {
        let Some(("postgres" | "postgresql", rest)) = url.split_once("://") else {
            return bad("no PostgreSQL URL", "write postgres://user@host/database");
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        if database.contains('@') || options.contains('@') {
            let fix = "write %2F for a / and %3F for a ? in a user's name or password";
            return bad("there is an @ after the host", fix);
        }
        let mut reader = Reader::default();
        let hosts = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => {
                reader.credentials(credentials)?;
                hosts
            }
            None => authority,
        };
        hosts.split(',').filter(|host| !host.is_empty()).try_for_each(|host| reader.host(host))?;
        reader.database(database)?;
        options
            .split('&')
            .filter(|option| !option.is_empty())
            .try_for_each(|option| reader.option(option))?;
        reader.target()
    }

    /// The same, with a password for where the URL names none.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Self {
        if let Some(password) = password
            && self.config.get_password().is_none()
            && self.password_file.is_none()
        {
            self.config.password(password);
        }
        self
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }

    pub(super) fn has_password(&self) -> bool {
        self.config.get_password().is_some() || self.password_file.is_some()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    config: Config,
    password_file: Option<PathBuf>,
    trust: Option<Trust>,
    root_file: Option<PathBuf>,
    user: String,
    hosts: Vec<String>,
    is_elsewhere: bool,
}

impl Reader {
    fn credentials(&mut self, text: &str) -> Result<(), BadTarget> {
        if text.contains('@') {
            return bad("there are two @ before the host", "write %40 for an @ in a user's name or password");
        }
        let (user, password) = text.split_once(':').map_or((text, None), |(user, rest)| (user, Some(rest)));
        if !user.is_empty() {
            let user = decoded("user", user)?;
            self.user = format!("{user}@");
            self.config.user(user);
        }
        if let Some(password) = password.filter(|password| !password.is_empty()) {
            self.config.password(decoded("password", password)?);
        }
        Ok(())
    }

    fn host(&mut self, text: &str) -> Result<(), BadTarget> {
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => (address, port.strip_prefix(':')),
            None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
        };
        let name = decoded("host", name)?;
        let port = match port.map(str::parse::<u16>) {
            None => 5432,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return bad("the port is no number from 1 to 65535", "write host:5432, or no port"),
        };
        if name.is_empty() {
            return bad("the host is missing", "write postgres://user@host/database");
        }
        let address = name.parse::<IpAddr>();
        self.is_elsewhere |=
            !(name.starts_with('/') || name == "localhost" || address.is_ok_and(|it| it.is_loopback()));
        self.hosts.push(if name.contains(':') {
            format!("[{name}]:{port}")
        } else {
            format!("{name}:{port}")
        });
        self.config.host(name).port(port);
        Ok(())
    }

    fn database(&mut self, text: &str) -> Result<(), BadTarget> {
        if text.is_empty() {
            return bad("the database is missing", "write postgres://user@host/database");
        }
        self.config.dbname(decoded("database", text)?);
        Ok(())
    }

    fn option(&mut self, text: &str) -> Result<(), BadTarget> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let value = decoded(name, value)?;
        match name {
            "sslmode" => self.trust = Some(trust(&value)?),
            "sslrootcert" => {
                self.root_file = Some(PathBuf::from(value)).filter(|it| it.as_os_str() != "system")
            }
            "password_file" => self.password_file = Some(PathBuf::from(value)),
            "host" => self.host(&value)?,
            "target_session_attrs" => drop(self.config.target_session_attrs(session(&value)?)),
            _ => {
                // The name is not repeated: it may be the end of a password with an & or a ? in it.
                let fix = format!("use one of {OPTIONS}; write %26 for an & and %3F for a ? in a password");
                return bad("there is an option that Forebay does not know", fix);
            }
        }
        Ok(())
    }

    fn target(mut self) -> Result<Target, BadTarget> {
        if self.hosts.is_empty() {
            let fix = "write postgres://user@host/database, or ?host=/var/run/postgresql for a Unix socket";
            return bad("the host is missing", fix);
        }
        if self.config.get_password().is_some() && self.password_file.is_some() {
            return bad("there is a password, and a file with one", "write one of them");
        }
        let trust = match self.trust {
            // As libpq does: who names an authority wants it asked.
            Some(Trust::Require) if self.root_file.is_some() => Trust::VerifyCa,
            Some(trust) => trust,
            None if self.root_file.is_some() => Trust::VerifyFull,
            None if self.is_elsewhere => Trust::Require,
            None => Trust::Disable,
        };
        let plain = trust == Trust::Disable;
        self.config.ssl_mode(if plain { SslMode::Disable } else { SslMode::Require });
        let database = self.config.get_dbname().unwrap_or_default();
        let shown = format!("postgres://{}{}/{database}", self.user, self.hosts.join(","));
        Ok(Target {
            config: self.config,
            password_file: self.password_file,
            trust,
            root_file: self.root_file,
            shown,
        })
    }
}

fn trust(mode: &str) -> Result<Trust, BadTarget> {
    match mode {
        "disable" => Ok(Trust::Disable),
        "require" => Ok(Trust::Require),
        "verify-ca" => Ok(Trust::VerifyCa),
        "verify-full" => Ok(Trust::VerifyFull),
        "allow" | "prefer" => bad(
            format!("sslmode={mode} falls back to plain text when somebody on the way wishes so"),
            "write sslmode=require, or sslmode=disable for a network that you trust",
        ),
        _ => bad("there is no such sslmode", "write disable, require, verify-ca or verify-full"),
    }
}

fn session(text: &str) -> Result<TargetSessionAttrs, BadTarget> {
    match text {
        "any" => Ok(TargetSessionAttrs::Any),
        "read-write" => Ok(TargetSessionAttrs::ReadWrite),
        _ => bad("there are no such target_session_attrs", "write any or read-write"),
    }
}

fn decoded(what: &str, text: &str) -> Result<String, BadTarget> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) if !text.contains('\0') => Ok(text.into_owned()),
        _ => {
            bad(format!("the {what} can't be read"), "write UTF-8, each special byte as % and two hex digits")
        }
    }
}

#[cfg(test)]
mod tests;
