//! PostgreSQL databases for processes: on the server that all tests share, or on one of its own that may die.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use forebay_store::postgres::{Target, connect};
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, SimpleQueryMessage};

use crate::harness::Home;

/// Where a server of `scripts/services` is.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: scripts/services start, then eval \"$(scripts/services env)\"")
    })
}

/// An empty database on the shared server, dropped with this.
pub struct Database {
    name: String,
    server: String,
}

impl Database {
    pub fn new() -> Self {
        let (name, server) =
            (format!("e2e_{:016x}", rand::random::<u64>()), variable("FOREBAY_TEST_POSTGRES"));
        run(&server, &format!("CREATE DATABASE {name}"));
        Self { name, server }
    }

    pub fn url(&self) -> String {
        format!("{}/{}", self.server.rsplit_once('/').expect("a database").0, self.name)
    }

    /// Its URL for whoever reaches the server at another address.
    pub fn url_at(&self, address: SocketAddr) -> String {
        self.url().replace(&self.address().to_string(), &address.to_string())
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        let place = self.server.split(['@', '/']).find_map(|part| part.parse().ok());
        place.expect("a numeric address with a port")
    }

    /// What is told on a channel from now on.
    pub async fn listen(&self, channel: &str) -> mpsc::UnboundedReceiver<String> {
        let (client, mut link) =
            connect(&Target::parse(&self.url()).expect("a URL")).await.expect("it answers");
        let (tell, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut messages = poll_fn(move |context| link.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    tell.send(notification.payload().to_owned()).ok();
                }
            }
        });
        client.batch_execute(&format!("LISTEN {channel}")).await.expect("it listens");
        // The connection ends with its client.
        tokio::spawn(async move {
            let _client = client;
            std::future::pending::<()>().await;
        });
        heard
    }

    /// Runs a statement in it.
    pub fn run(&self, statement: &str) {
        run(&self.url(), statement);
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of processes on it.
    pub fn home(&self) -> Home {
        Home::on(&self.url())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        run(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs a statement on a connection of its own, wherever this is called from; says how many rows it gives.
pub fn run(url: &str, statement: &str) -> usize {
    let (target, statement) = (Target::parse(url).expect("a URL"), statement.to_owned());
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (client, link) = connect(&target).await.expect("the server answers");
            let link = tokio::spawn(link);
            let answer = client.simple_query(&statement).await;
            let answer = answer.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
            drop(client);
            link.await.expect("it does not panic").expect("the connection ends in good order");
            answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count()
        })
    };
    std::thread::spawn(run).join().expect("it is done")
}

/// A database server of its own, so that it may crash.
pub struct DatabaseServer {
    folder: tempfile::TempDir,
    pub url: String,
}

impl DatabaseServer {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = Self { folder, url: String::new() };
        server.services(&["start", "postgres"]);
        let said = server.services(&["env", "postgres"]);
        let line = said.lines().find_map(|line| line.strip_prefix("export FOREBAY_TEST_POSTGRES="));
        server.url = line.unwrap_or_else(|| panic!("no address in {said:?}")).trim_matches('\'').to_owned();
        server
    }

    /// It dies as in a crash, and starts again over the same data.
    pub fn crash(&self) {
        self.services(&["crash"]);
    }

    /// Runs a statement on it.
    pub fn run(&self, statement: &str) {
        run(&self.url, statement);
    }

    fn services(&self, arguments: &[&str]) -> String {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
        let mut command = Command::new(script);
        let ran =
            command.args(arguments).env("FOREBAY_SERVICES", self.folder.path()).output().expect("it runs");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        self.services(&["stop", "postgres"]);
    }
}
