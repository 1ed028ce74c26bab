//! Databases of a test server, one a case at a time. To make one takes a moment and to drop it a second, so they are
//! emptied and used again; those of an earlier run are dropped at the side.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::net::SocketAddr;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forebay_store::postgres::{PostgresStore, Settings, Target, migrate};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::bundle::Bundle;

/// Where the server is that `scripts/services start postgres` has started.
const SERVER: &str = "FOREBAY_TEST_POSTGRES";
const POOLER: &str = "FOREBAY_TEST_PGBOUNCER";

static MADE: AtomicUsize = AtomicUsize::new(0);
/// A database with all tables and no rows, which others are copied from.
static TEMPLATE: OnceLock<String> = OnceLock::new();

/// Databases that no case uses, as they were after the migrations.
static IDLE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps the rows that the migrations have written.
const REMEMBER: &str = "CREATE SCHEMA pristine;
    DO $$ DECLARE name TEXT; filled BOOLEAN; BEGIN
        FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
            IF filled THEN EXECUTE format('CREATE TABLE pristine.%1$I AS TABLE public.%1$I', name); END IF;
        END LOOP;
    END $$";
/// Leaves those rows alone, and no connection of the last case.
const EMPTY: &str = "DO $$ DECLARE name TEXT; BEGIN
        WHILE (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()) > 0 LOOP
            PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
        END LOOP;
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
            EXECUTE format('DELETE FROM public.%I', name);
            IF to_regclass(format('pristine.%I', name)) IS NOT NULL THEN
                EXECUTE format('INSERT INTO public.%1$I SELECT * FROM pristine.%1$I', name);
            END IF;
        END LOOP;
        PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence;
    END $$";
/// What queries for the other database need here.
const WORDS: &str = "CREATE OR REPLACE FUNCTION hex(id uuid) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT upper(replace(CAST(id AS text), '-', '')) $$";
const LEFT: &str = r"SELECT datname FROM pg_database WHERE datname ~ '^(case|template)_\d+'";

/// A database with all tables and no rows of its own.
pub struct Database {
    name: String,
}

impl Database {
    pub fn new() -> Self {
        let template = TEMPLATE.get_or_init(make_template);
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let name = idle.unwrap_or_else(|| {
            let name = format!("case_{}_{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
            run(&server(), &format!("CREATE DATABASE {name} TEMPLATE {template}"));
            name
        });
        Self { name }
    }

    pub fn target(&self) -> Target {
        Target::parse(&url_of(&self.name)).unwrap()
    }

    pub fn url(&self) -> String {
        url_of(&self.name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A database, reached at another address than the server's.
    pub fn target_of(name: &str, at: SocketAddr) -> Target {
        let url = url_of(name).replace(&address().to_string(), &at.to_string());
        Target::parse(&url).unwrap()
    }

    /// A store as another process has it, beside the bundle's.
    pub async fn beside(&self, b: &Bundle) -> PostgresStore {
        Self::beside_at(self.target(), b).await
    }

    /// The same on another way to the server.
    pub async fn beside_at(target: Target, b: &Bundle) -> PostgresStore {
        let settings = Settings { clock: Some(b.clock.clone()), ..Settings::of(target) };
        PostgresStore::open(settings).await.unwrap()
    }

    /// Runs a statement in it, beside whatever else uses it.
    pub fn run(&self, statement: &str) {
        run(&url_of(&self.name), statement);
    }

    /// Returns when somebody waits for a lock in it.
    pub async fn until_somebody_waits(&self) {
        let asked = "SELECT count(*) FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while run(&self.url(), asked) == ["0"] {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Now, as the server says it.
    pub fn now(&self) -> String {
        self.ask("SELECT clock_timestamp()").remove(0)
    }

    /// Returns when whoever was connected at that time has gone. What they did is counted then.
    pub async fn until_gone(&self, since: &str) {
        let asked = format!(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND backend_start <= '{since}'"
        );
        while !self.ask(&asked).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// What a statement gives: the first column.
    pub fn ask(&self, statement: &str) -> Vec<String> {
        run(&self.url(), statement)
    }

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
                    if let SimpleQueryMessage::Row(row) = message {
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
        // That of a case that has failed is looked at, perhaps.
        if !std::thread::panicking() {
            run(&url_of(&self.name), EMPTY);
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.name));
        }
    }
}

/// A transaction that somebody has left open. It ends when this is dropped.
pub struct LeftOpen {
    open: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl LeftOpen {
    pub fn of(url: String) -> Self {
        Self::having_done(url, "SELECT 1")
    }

    /// One that has done something, and holds whatever locks that took.
    pub fn having_done(url: String, statement: impl Into<String>) -> Self {
        let statement = statement.into();
        let (opened, is_open) = std::sync::mpsc::channel();
        let (open, is_over) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            with(url, async move |client| {
                client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
                client.batch_execute(&statement).await.unwrap();
                opened.send(()).unwrap();
                // Until the other end is dropped.
                is_over.recv().ok();
            });
        });
        is_open.recv().expect("the transaction is open");
        Self { open: Some(open), thread: Some(thread) }
    }
}

impl Drop for LeftOpen {
    fn drop(&mut self) {
        drop(self.open.take());
        self.thread.take().into_iter().for_each(|thread| thread.join().expect("it ends"));
    }
}

fn make_template() -> String {
    let name = format!("template_{}", process::id());
    run(&server(), &format!("CREATE DATABASE {name}"));
    let url = url_of(&name);
    let target = Target::parse(&url).unwrap();
    let migrated = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(migrate(target))
    });
    migrated.join().unwrap().expect("the server takes the migrations");
    run(&url, REMEMBER);
    std::thread::spawn(drop_what_is_left);
    name
}

/// Drops the databases of processes that have ended.
fn drop_what_is_left() {
    for name in run(&server(), LEFT) {
        let process = name.split('_').nth(1).expect("the number of a process");
        if !Path::new("/proc").join(process).exists() {
            run(&server(), &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

/// A database with PgBouncer before it.
pub struct Pooled {
    pub database: Arc<Database>,
}

impl Pooled {
    pub fn new() -> Self {
        Self { database: Arc::new(Database::new()) }
    }

    pub fn target(&self) -> Target {
        Target::parse(&of_server(POOLER, &self.database.name)).unwrap()
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // Before its connections to the database are ended without its doing.
        for command in ["KILL", "RESUME"] {
            run(&of_server(POOLER, "pgbouncer"), &format!("{command} {}", self.database.name));
        }
    }
}

/// The URL of the server itself.
pub fn server() -> String {
    url_of("postgres")
}

/// Where the server listens.
pub fn address() -> SocketAddr {
    let server = server();
    let place = server.split(['@', '/']).find(|part| part.contains(':') && !part.ends_with(':'));
    place.expect("host and port").parse().expect("a numeric address")
}

fn url_of(database: &str) -> String {
    of_server(SERVER, database)
}

fn of_server(variable: &str, database: &str) -> String {
    let server = std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run scripts/services start, then eval \"$(scripts/services env)\"")
    });
    let (place, _) = server.rsplit_once('/').expect("the URL names a database");
    format!("{place}/{database}")
}

/// Runs statements on a connection of their own; the first column of what comes back.
fn run(url: &str, statements: &str) -> Vec<String> {
    let statements = statements.to_owned();
    with(url.to_owned(), async move |client| {
        let answer = client.simple_query(&statements).await;
        let answer = answer.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
        let rows = answer.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
            _ => None,
        });
        rows.collect()
    })
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
