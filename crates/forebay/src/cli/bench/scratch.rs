//! Databases of a PostgreSQL server that last as long as a scenario, and what the server counts meanwhile.

use std::time::Duration;

use forebay_store::postgres::Target;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_postgres::Client;

use super::figures::Figures;
use super::sql;
use crate::cli::error::CliError;
use crate::cli::store;
use crate::runtime::{Tasks, random_bytes};

/// How long connections may take to end whose processes have.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a server, for what is done about databases.
pub(super) struct Server {
    client: Client,
    _link: Tasks,
}

impl Server {
    pub(super) async fn connect(url: &str) -> Result<Self, CliError> {
        let target = Target::parse(url).map_err(|error| CliError::usage(error.problem, error.fix))?;
        let (client, link) = store::connect(&target).await?;
        Ok(Self { client, _link: link })
    }

    pub(super) async fn run(&self, statement: &str) -> Result<(), CliError> {
        self.client.batch_execute(statement).await.map_err(|error| refused(&error))
    }

    /// Its version and the settings that decide about times.
    pub(super) async fn about(&self) -> Result<Value, CliError> {
        let rows = self.client.query(sql!("about"), &[]).await.map_err(|error| refused(&error))?;
        Ok(rows.iter().map(|row| (row.get::<_, String>(0), json!(row.get::<_, String>(1)))).collect())
    }
}

fn refused(error: &dyn std::error::Error) -> CliError {
    CliError::failed("the database server can't be used", error)
}

/// A database that is made for a scenario.
pub(super) struct Scratch {
    server: Server,
    url: String,
    name: String,
}

impl Scratch {
    /// Makes one on the server of this URL, and has the server write down what it has to before.
    pub(super) async fn make(url: &str) -> Result<Self, CliError> {
        let name = format!("forebay_bench_{:016x}", u64::from_be_bytes(random_bytes()));
        let server = Server::connect(url).await?;
        server.run(&format!("CREATE DATABASE {name}")).await?;
        // Not every user may; then more of it happens while something is measured.
        drop(server.run("CHECKPOINT").await);
        Ok(Self { server, url: url.to_owned(), name })
    }

    /// Its URL.
    pub(super) fn url(&self) -> String {
        let (place, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let server = place.rsplit_once('/').map_or(place, |(server, _)| server);
        let options = if options.is_empty() { String::new() } else { format!("?{options}") };
        format!("{server}/{}{options}", self.name)
    }

    /// Does what a server does by itself after a while, so that it happens at the same time in each round.
    pub(super) async fn settle(&self) -> Result<(), CliError> {
        Server::connect(&self.url()).await?.run("VACUUM (ANALYZE)").await
    }

    /// Has the server begin anew with counting statements. Few servers count them: `pg_stat_statements` must be loaded.
    pub(super) async fn forget_statements(&self) -> Result<(), CliError> {
        let here = Server::connect(&self.url()).await?;
        for statement in [sql!("can_tell_statements"), sql!("forget_statements")] {
            if let Err(error) = here.client.batch_execute(statement).await {
                tracing::debug!(%error, "the server does not count statements");
                break;
            }
        }
        Ok(())
    }

    /// What each job took of the server's statements since then, most time first; nothing where that is not counted.
    pub(super) async fn statements(&self, jobs: f64) -> Result<Vec<Value>, CliError> {
        let here = Server::connect(&self.url()).await?;
        let Ok(rows) = here.client.query(sql!("statements"), &[]).await else { return Ok(Vec::new()) };
        let per_job = |row: &tokio_postgres::Row| {
            let (text, calls, micros): (String, f64, f64) = (row.get(0), row.get(1), row.get(2));
            json!({ "statement": text, "calls_per_job": calls / jobs, "us_per_job": micros / jobs })
        };
        Ok(rows.iter().map(per_job).collect())
    }

    /// What has been counted until now, once nobody is connected to the database any more.
    pub(super) async fn counted(&self) -> Result<Counted, CliError> {
        let client = &self.server.client;
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            let row =
                client.query_one(sql!("connected"), &[&self.name]).await.map_err(|error| refused(&error))?;
            if row.get::<_, i64>(0) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let row = client.query_one(sql!("counted"), &[&self.name]).await.map_err(|error| refused(&error))?;
        Ok(Counted { wal: row.get(0), commits: row.get(1), buffers: row.get(2) })
    }

    /// Drops it, whoever still uses it.
    pub(super) async fn end(self) -> Result<(), CliError> {
        self.server.run(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

/// What a server has counted until some moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Bytes of its log.
    wal: f64,
    /// Transactions of the database that were committed.
    commits: f64,
    /// Pages of the database that were looked at, in memory or not.
    buffers: f64,
}

impl Counted {
    /// What each job took since then.
    pub(super) fn per_job(self, before: Counted, jobs: f64, prefix: &str) -> Figures {
        Figures::default()
            .with(format!("{prefix}wal_bytes_per_job"), (self.wal - before.wal) / jobs)
            .with(format!("{prefix}commits_per_job"), (self.commits - before.commits) / jobs)
            .with(format!("{prefix}buffers_per_job"), (self.buffers - before.buffers) / jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shared_out_among_jobs() {
        let before = Counted { wal: 100.0, commits: 1.0, buffers: 7.0 };
        let after = Counted { wal: 2_100.0, commits: 2.0, buffers: 107.0 };
        let figures = after.per_job(before, 10.0, "accept_").values;
        let expected = [("wal_bytes", 200.0), ("commits", 0.1), ("buffers", 10.0)];
        let expected = expected.map(|(name, value)| (format!("accept_{name}_per_job"), value));
        assert_eq!(figures, expected);
    }
}
