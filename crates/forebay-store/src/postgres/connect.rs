//! A connection to a server, or what stands in its way.

use std::error::Error;
use std::io;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Connection, SimpleQueryMessage, Socket};

use super::target::{Target, Trust};
use super::tls::{Stream, Tls};

/// How long a host may take until it has answered and let us in.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The oldest version of PostgreSQL that has what the ledger's statements use.
const OLDEST: u32 = 15;

/// The half of a connection that moves bytes: a future that somebody has to run.
pub type Link = Connection<Socket, Stream>;

/// What a connection was marked with; nothing where somebody in between has made it.
const ASK_FOR_MARK: &str = "SELECT current_setting('forebay.session', true)";

/// Why there is no connection. It names server, database, user and the fix, and never the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("can't use {target}: {problem}; {fix}")]
pub struct ConnectError {
    /// The server and database, without a password.
    pub target: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub fix: String,
}

/// Connects within 5 s a host, as the application `forebay`. Whether the other end is still there is asked after
/// 10 s of silence, and what it does not acknowledge within 30 s ends the connection.
///
/// # Errors
///
/// When nobody answers, nobody may be believed, we are not let in, or server or database are not of a kind that a ledger
/// can be in.
pub async fn connect(target: &Target) -> Result<(Client, Link), ConnectError> {
    connect_with(target, target.config.clone()).await
}

/// Connects, and leaves a mark on the server's connection, by which one can tell it from another. A pooler that stands
/// in between does not pass it on, or refuses it; then there is none.
pub(super) async fn marked(target: &Target, mark: &str) -> Result<(Client, Link), ConnectError> {
    let mut config = target.config.clone();
    config.options(format!("-c forebay.session={mark}"));
    match connect_with(target, config).await {
        Err(refusal) if refusal.problem.contains("startup parameter") => connect(target).await,
        connected => connected,
    }
}

/// Whether the server's connection is the one that was made for us.
pub(super) async fn has_mark(client: &Client, mark: &str) -> Result<bool, tokio_postgres::Error> {
    let answer = client.simple_query(ASK_FOR_MARK).await?;
    Ok(answer.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0) == Some(mark),
        _ => false,
    }))
}

async fn connect_with(target: &Target, mut config: Config) -> Result<(Client, Link), ConnectError> {
    let refuse = |problem: Problem| problem.of(target);
    if let Some(path) = &target.password_file {
        let text = tokio::fs::read_to_string(path).await.map_err(|error| {
            let problem = format!("the password file {} can't be read: {error}", path.display());
            refuse(Problem::new(problem, "name a file that this process may read"))
        })?;
        config.password(text.trim_end_matches(['\r', '\n']));
    }
    config
        .application_name("forebay")
        .connect_timeout(TIMEOUT)
        .keepalives_idle(Duration::from_secs(10))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(30));
    let tls = Tls::new(target.trust, target.root_file.as_deref()).map_err(|problem| {
        refuse(Problem::new(problem, "name a PEM file of the server's authority: sslrootcert=PATH"))
    })?;
    let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(1);
    match tokio::time::timeout(TIMEOUT * hosts, config.connect(tls)).await {
        Ok(Ok((client, link))) => match unfit(&link) {
            None => Ok((client, link)),
            Some(problem) => Err(refuse(problem)),
        },
        Ok(Err(error)) => Err(refuse(Problem::of_driver(&error, target))),
        Err(_) => Err(refuse(Problem::silence())),
    }
}

/// What a server says of itself when it lets somebody in.
fn unfit(link: &Link) -> Option<Problem> {
    let version = link.parameter("server_version").unwrap_or_default();
    let major =
        version.split(|sign: char| !sign.is_ascii_digit()).next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < OLDEST) {
        let problem = format!("the server is PostgreSQL {version}");
        return Some(Problem::new(problem, format!("upgrade it to {OLDEST} or later, or name another")));
    }
    match link.parameter("server_encoding") {
        Some(encoding) if encoding != "UTF8" => Some(Problem::new(
            format!("the database keeps text as {encoding}"),
            "create one for Forebay with ENCODING 'UTF8' TEMPLATE template0",
        )),
        _ => None,
    }
}

/// What is wrong, before it is known with whom.
struct Problem {
    text: String,
    fix: String,
}

impl Problem {
    fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { text: text.into(), fix: fix.into() }
    }

    fn silence() -> Self {
        Self::new(
            format!("no answer within {} s", TIMEOUT.as_secs()),
            "look whether host and port are right, and whether a firewall is in between",
        )
    }

    fn of(self, target: &Target) -> ConnectError {
        ConnectError { target: target.to_string(), problem: self.text, fix: self.fix }
    }

    fn of_driver(error: &tokio_postgres::Error, target: &Target) -> Self {
        if let Some(refusal) = error.as_db_error() {
            return Self::of_server(refusal.code(), refusal.message(), target);
        }
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
            Some(reason) if is_of_tls(reason) => Self::of_tls(reason, target),
            Some(reason) => Self::of_network(reason),
            None if cause.contains("does not support TLS") => Self::new(
                "the server does not speak TLS",
                "turn it on there, or add ?sslmode=disable where the network between is trusted",
            ),
            None if cause.contains("password") => Self::new(
                "the server asks for a password",
                "write it into the URL, name a file with ?password_file=PATH, or set FOREBAY_STORE_PASSWORD",
            ),
            None => Self::new(cause, "look into the server's log"),
        }
    }

    fn of_network(reason: &io::Error) -> Self {
        match reason.kind() {
            io::ErrorKind::TimedOut => Self::silence(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::new(
                format!("nobody listens there ({reason})"),
                "start the server, or mend host and port",
            ),
            _ => Self::new(
                format!("the server can't be reached ({reason})"),
                "look whether host and port are right, and whether the server runs",
            ),
        }
    }

    fn of_tls(reason: &io::Error, target: &Target) -> Self {
        let fix = if target.root_file.is_some() {
            "name the authority of the server's certificate with sslrootcert=PATH, and its host as it is there"
        } else {
            "name the authority of the server's certificate with ?sslrootcert=PATH"
        };
        Self::new(format!("the server's certificate or TLS is not good enough ({reason})"), fix)
    }

    fn of_server(code: &SqlState, message: &str, target: &Target) -> Self {
        let database = target.database();
        let said = format!("the server says: {message}");
        let password = if target.has_password() {
            "mend the password (of the URL, ?password_file=PATH or FOREBAY_STORE_PASSWORD), or the user"
        } else {
            "give a password: in the URL, by ?password_file=PATH, or in FOREBAY_STORE_PASSWORD"
        };
        match code.code() {
            "28P01" => Self::new(said, password),
            "28000" if target.trust == Trust::Disable => Self::new(
                said,
                "mend the user, let it in by pg_hba.conf, or add ?sslmode=require where the server wants TLS",
            ),
            "28000" => Self::new(said, "mend the user, or let it in by the server's pg_hba.conf"),
            "3D000" => {
                Self::new(said, format!("create it: CREATE DATABASE \"{database}\", or mend the name"))
            }
            "42501" => Self::new(said, format!("GRANT CONNECT ON DATABASE \"{database}\" to the user")),
            "53300" => Self::new(said, "raise the server's max_connections, or lower what connects to it"),
            "57P03" => Self::new(said, "wait until the server has started"),
            _ => Self::new(said, "look into the server's log"),
        }
    }
}

/// Whether TLS is what failed; the driver does not tell it apart from the network.
fn is_of_tls(reason: &io::Error) -> bool {
    reason.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn refused(url: &str) -> ConnectError {
        let target = Target::parse(url).expect(url);
        match connect(&target).await {
            Ok(_) => panic!("{url} is there"),
            Err(refusal) => refusal,
        }
    }

    /// A server that takes one connection, reads what it is asked, gives this answer, and says no more.
    #[allow(clippy::disallowed_methods, reason = "the service's way to spawn is not of this crate")]
    async fn answering(answer: Vec<u8>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let rest = socket.read_u32().await.unwrap() - 4;
            socket.read_exact(&mut vec![0; rest as usize]).await.unwrap();
            socket.write_all(&answer).await.unwrap();
        });
        port
    }

    /// A message of the protocol.
    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind], length.to_be_bytes().as_slice(), body].concat()
    }

    fn refusal(code: &str, text: &str) -> Vec<u8> {
        message(b'E', format!("SFATAL\0VFATAL\0C{code}\0M{text}\0\0").as_bytes())
    }

    /// Lets in, and says this of itself.
    fn welcome(name: &str, value: &str) -> Vec<u8> {
        let said = message(b'S', format!("{name}\0{value}\0").as_bytes());
        [message(b'R', &[0; 4]), said, message(b'Z', b"I")].concat()
    }

    #[tokio::test]
    async fn what_is_wrong_comes_with_the_place_and_the_fix_and_without_the_password() {
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let asks_for_a_password = message(b'R', &[0, 0, 0, 3]);
        for (who, answer, options, problem, fix) in [
            ("u:secret", b"N".to_vec(), "?sslmode=require", "does not speak TLS", "sslmode=disable"),
            ("u:secret", Vec::new(), "", "connection closed", "log"),
            ("u:secret", refusal("3D000", "there is no f"), "", "there is no f", "CREATE DATABASE \"f\""),
            ("u:secret", refusal("28P01", "wrong"), "", "wrong", "mend the password"),
            ("u", refusal("28P01", "wrong"), "", "wrong", "give a password"),
            ("u", asks_for_a_password, "", "asks for a password", "FOREBAY_STORE_PASSWORD"),
            ("u", refusal("28000", "not you"), "", "not you", "sslmode=require"),
            ("u", refusal("57P03", "starts"), "", "starts", "wait"),
            ("u", welcome("server_version", "14.9 (Debian)"), "", "PostgreSQL 14.9", "15 or later"),
            ("u", welcome("server_encoding", "SQL_ASCII"), "", "SQL_ASCII", "UTF8"),
            ("u", Vec::new(), "?password_file=/not/there", "/not/there can't be read", "may read"),
            (
                "u",
                Vec::new(),
                "?sslmode=verify-ca&sslrootcert=/not/there",
                "/not/there can't be read",
                "sslrootcert",
            ),
        ] {
            let port = answering(answer).await;
            let refusal = refused(&format!("postgres://{who}@localhost:{port}/f{options}")).await;
            assert_eq!(refusal.target, format!("postgres://u@localhost:{port}/f"));
            assert!(refusal.problem.contains(problem), "{problem}: {refusal}");
            assert!(refusal.fix.contains(fix), "{fix}: {refusal}");
            assert!(!format!("{refusal} {refusal:?}").contains("secret"), "{refusal}");
        }
        let refusal = refused(&format!("postgres://u:secret@localhost:{nobody}/f")).await;
        assert!(refusal.problem.contains("nobody listens there"), "{refusal}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_given_up() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refusal = refused(&format!("postgres://u@{}/f", silent.local_addr().unwrap())).await;
        assert!(refusal.problem.contains("no answer within 5 s"), "{refusal}");
    }

    #[tokio::test]
    async fn a_server_that_says_who_it_is_is_taken() {
        for said in [
            welcome("server_version", "15.0"),
            welcome("server_version", "17devel"),
            welcome("server_encoding", "UTF8"),
        ] {
            let port = answering(said).await;
            let target = Target::parse(&format!("postgres://u@localhost:{port}/f")).unwrap();
            assert!(connect(&target).await.is_ok());
        }
    }
}
