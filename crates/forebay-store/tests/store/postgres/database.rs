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

/// What queries for the other database need here.
const WORDS: &str = "CREATE OR REPLACE FUNCTION hex(id uuid) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT upper(replace(CAST(id AS text), '-', '')) $$";

impl Database {
    /// The sentences that do not hold, with the first row that breaks each.
    pub fn faults(&self, all: &'static [(&'static str, &'static str)]) -> Vec<String> {
        let url = url_of(&self.name);
        with(url, async move |client| {
            client.batch_execute(WORDS).await.unwrap();
            let mut faults = Vec::new();
            for (sentence, sql) in all {
                let sql = sql
                    .replace("a.before ->>", "CAST(a.before AS jsonb) ->>")
                    .replace("e.body ->>", "CAST(convert_from(e.body, 'UTF8') AS jsonb) ->>");
                let rows = client.simple_query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
                for message in &rows {
                    if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                        faults.push(format!("not true: {sentence}: {:?}", row.get(0)));
                        break;
                    }
                }
            }
            faults
        })
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
    with(server(), async move |client| {
        client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    });
}

/// Does something on a connection of its own, wherever this is called from.
pub fn with<T: Send + 'static>(
    url: String,
    doing: impl AsyncFnOnce(&tokio_postgres::Client) -> T + Send + 'static,
) -> T {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&url, NoTls).await.expect("the server answers");
            tokio::spawn(connection);
            doing(&client).await
        })
    };
    std::thread::spawn(run).join().expect("it is done")
}
