//! Databases of a test server, one a case.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_store::postgres::{Target, migrate};
use tokio_postgres::NoTls;

/// Where the server is that `scripts/services start postgres` has started.
const SERVER: &str = "FOREBAY_TEST_POSTGRES";

static MADE: AtomicUsize = AtomicUsize::new(0);
/// A database with all tables and no rows, which others are copied from.
static TEMPLATE: OnceLock<String> = OnceLock::new();

/// A database that is dropped with its last use.
pub struct Database {
    name: String,
}

impl Database {
    pub fn new() -> Self {
        let template = TEMPLATE.get_or_init(|| {
            let name = format!("template_{}", process::id());
            on_a_thread(format!("CREATE DATABASE {name}"));
            let target = url_of(&name);
            let migrated = std::thread::spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(migrate(Target::parse(&target).unwrap()))
            });
            migrated.join().unwrap().expect("the server takes the migrations");
            name
        });
        let name = format!("case_{}_{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        on_a_thread(format!("CREATE DATABASE {name} TEMPLATE {template}"));
        Self { name }
    }

    pub fn target(&self) -> Target {
        Target::parse(&url_of(&self.name)).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        on_a_thread(format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// The server's URL.
pub fn server() -> String {
    std::env::var(SERVER).unwrap_or_else(|_| {
        panic!("{SERVER} is not set: run scripts/services start, then eval \"$(scripts/services env)\"")
    })
}

fn url_of(database: &str) -> String {
    let server = server();
    let (place, _) = server.rsplit_once('/').expect("the URL names a database");
    format!("{place}/{database}")
}

/// Runs a statement on a connection of its own, wherever this is called from.
fn on_a_thread(statement: String) {
    let server = server();
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&server, NoTls).await.expect("the server answers");
            tokio::spawn(connection);
            client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        });
    };
    std::thread::spawn(run).join().expect("the statement runs");
}
