//! The store that a command opens itself.

use forebay_store::StoreError;
use forebay_store::postgres::{self, ConnectError, Target};
use tokio_postgres::Client;

use super::error::CliError;
use crate::config::{PASSWORD_VARIABLE, StoreUrl};
use crate::runtime::Tasks;

/// Reads what `--store` or `FOREBAY_STORE` says.
///
/// # Errors
///
/// When it names no store. What was written is not repeated: it may hold a password.
pub fn named(store: &str) -> Result<StoreUrl, CliError> {
    let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
    StoreUrl::parse(store, password).map_err(|refusal| {
        CliError::usage(format!("the store (--store or FOREBAY_STORE): {}", refusal.problem), refusal.fix)
    })
}

/// Connects to the server of a database, and runs what moves the bytes until the client is dropped.
///
/// # Errors
///
/// When there is no connection.
pub async fn connect(target: &Target) -> Result<(Client, Tasks), CliError> {
    let (client, link) = postgres::connect(target).await.map_err(unreachable)?;
    let tasks = Tasks::default();
    tasks.spawn("link", async {
        // Whoever waits for an answer hears of it, too.
        if let Err(error) = link.await {
            tracing::debug!(%error, "the connection broke");
        }
    });
    Ok((client, tasks))
}

/// What a store could not do for a command.
pub fn failed(what: &str, error: StoreError) -> CliError {
    match error {
        StoreError::Unreachable(error) => unreachable(error),
        error => CliError::failed(what, &error),
    }
}

fn unreachable(error: ConnectError) -> CliError {
    let ConnectError { target, problem, fix } = error;
    CliError::NoStore { problem: format!("{target}: {problem}"), fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_store_is_refused_without_its_password() {
        let refusal = named("postgres://forebay:secret@db?sslmode=off").unwrap_err();
        assert_eq!(refusal.exit().code(), 2);
        assert!(!refusal.to_string().contains("secret"), "{refusal}");
    }
}
