//! Databases of a PostgreSQL server that last as long as a scenario.

use forebay_store::postgres::{Target, connect};

use crate::cli::error::CliError;
use crate::runtime::random_bytes;

/// A database that is made for a scenario.
pub(super) struct Scratch {
    server: String,
    name: String,
}

impl Scratch {
    /// Makes one on the server of this URL.
    pub(super) async fn make(server: &str) -> Result<Self, CliError> {
        let name = format!("forebay_bench_{:016x}", u64::from_be_bytes(random_bytes()));
        run(server, &format!("CREATE DATABASE {name}")).await?;
        Ok(Self { server: server.to_owned(), name })
    }

    /// Its URL.
    pub(super) fn url(&self) -> String {
        let (place, options) = self.server.split_once('?').unwrap_or((&self.server, ""));
        let server = place.rsplit_once('/').map_or(place, |(server, _)| server);
        let options = if options.is_empty() { String::new() } else { format!("?{options}") };
        format!("{server}/{}{options}", self.name)
    }

    /// Drops it, whoever still uses it.
    pub(super) async fn end(self) -> Result<(), CliError> {
        run(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

async fn run(server: &str, statement: &str) -> Result<(), CliError> {
    let target = Target::parse(server).map_err(|error| CliError::usage(error.problem, error.fix))?;
    let failed = |error: &dyn std::error::Error| CliError::failed("the server can't be used", error);
    let (client, link) = connect(&target).await.map_err(|error| failed(&error))?;
    let done = client.batch_execute(statement);
    tokio::pin!(link);
    tokio::select! {
        done = done => done.map_err(|error| failed(&error)),
        broken = &mut link => Err(broken.err().map_or_else(
            || CliError::Failed("the server ended the connection".to_owned()),
            |error| failed(&error),
        )),
    }
}
