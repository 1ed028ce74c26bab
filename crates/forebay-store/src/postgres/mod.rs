//! PostgreSQL: where a server is, and how it is reached.

mod connect;
mod target;
mod tls;

pub use connect::{ConnectError, Link, connect};
pub use target::{BadTarget, Target};
