//! PostgreSQL: one ledger for as many processes as wanted.
//!
//! Each process has a few desks ([`crate::ledger::desk`]), each with a thread and a connection of its own. A desk takes
//! whatever is waiting and runs it as one transaction ([`transactions`]): the rows that the verbs are about are locked
//! in one statement and in order, the verbs decide, and what they write goes out as one statement a kind
//! ([`session`]). Heartbeats have a desk of their own, so that nothing holds them up. No state lives in a session, so
//! that a pooler may stand in between.

mod backend;
mod connect;
mod epoch;
mod error;
mod health;
mod in_hand;
mod log;
mod migrate;
mod needed;
mod notice;
mod notify;
mod readers;
pub(crate) mod session;
mod target;
mod text;
mod tls;
mod transactions;
pub(crate) mod types;
pub(crate) mod writes;

pub use crate::ledger::migration::Migration;
pub use backend::{PostgresStore, Settings};
pub use connect::{ConnectError, Link, connect};
pub use health::examine;
pub use migrate::{migrate, migrate_by};
pub use target::{BadTarget, Target};

/// The statement in `sql/postgres/NAME.sql`, where the other database needs none.
macro_rules! postgres_sql {
    ($name:literal) => {{
        static STATEMENT: $crate::ledger::statement::Statement = $crate::ledger::statement::Statement {
            name: $name,
            sqlite: "",
            postgres: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/", $name, ".sql")),
        };
        &STATEMENT
    }};
}
pub(crate) use postgres_sql;
