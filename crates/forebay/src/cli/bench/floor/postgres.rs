//! The floor on PostgreSQL: one narrow row a job in one table with one partial index, inserted one by one as anybody
//! would, or as many at a time as wait, and claimed and completed in batches.

use std::sync::Arc;
use std::time::Duration;

use forebay_store::postgres::Target;
use futures_util::future::try_join_all;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::{Client, Statement};

use crate::cli::bench::caller::floor_body;
use crate::cli::bench::latency::Latency;
use crate::cli::bench::ledger::{BATCH, RESULT};
use crate::cli::bench::sql;
use crate::cli::bench::stage::Folder;
use crate::cli::error::CliError;
use crate::cli::store;
use crate::runtime::Tasks;

/// Clients that insert one row at a time.
const CLIENTS: u32 = 32;
/// Connections that write what waits.
pub(in crate::cli::bench) const WRITERS: usize = 2;
/// Rows of one statement at most.
const GROUP: usize = 256;
/// Batches that are under way at the same time.
const WORKERS: usize = 4;

/// A connection to the database of this URL.
struct Link {
    client: Client,
    _tasks: Tasks,
}

impl Link {
    async fn open(url: &str) -> Result<Self, CliError> {
        let target = Target::parse(url).map_err(|error| CliError::usage(error.problem, error.fix))?;
        let (client, tasks) = store::connect(&target).await?;
        Ok(Self { client, _tasks: tasks })
    }

    async fn prepare(&self, sql: &str) -> Result<Statement, CliError> {
        self.client.prepare(sql).await.map_err(|error| broken(&error))
    }
}

fn broken(error: &dyn std::error::Error) -> CliError {
    CliError::failed("the floor broke off", error)
}

/// Makes the table, and empties it.
async fn fresh(url: &str) -> Result<Link, CliError> {
    let link = Link::open(url).await?;
    for statement in [sql!("table"), sql!("index"), sql!("empty")] {
        link.client.batch_execute(statement).await.map_err(|error| broken(&error))?;
    }
    Ok(link)
}

/// Rows a second that clients insert, each one by one with a commit of its own, and how long each took.
pub(in crate::cli::bench) async fn single(url: &str, span: Duration) -> Result<(f64, Latency), CliError> {
    fresh(url).await?;
    let links = try_join_all((0..CLIENTS).map(|_| Link::open(url))).await?;
    let began = Instant::now();
    let insert = move |link: Link| async move {
        let (insert, body) = (link.prepare(sql!("insert")).await?, floor_body());
        let mut latency = Latency::new();
        while began.elapsed() < span {
            let sent = Instant::now();
            link.client.query_one(&insert, &[&body]).await.map_err(|error| broken(&error))?;
            latency.record(sent.elapsed());
        }
        Ok::<_, CliError>(latency)
    };
    summed(each(links.into_iter().map(insert)).await?, began)
}

/// The same by callers whose rows are written together.
pub(in crate::cli::bench) async fn grouped(
    url: &str,
    callers: u32,
    span: Duration,
) -> Result<(f64, Latency), CliError> {
    let group = Group::start(url, WRITERS).await?;
    let began = Instant::now();
    let insert = move |group: Group| async move {
        let mut latency = Latency::new();
        while began.elapsed() < span {
            let sent = Instant::now();
            let number = group.insert(floor_body()).await;
            number.ok_or_else(|| CliError::Failed("the floor broke off".to_owned()))?;
            latency.record(sent.elapsed());
        }
        Ok::<_, CliError>(latency)
    };
    summed(each((0..callers).map(|_| insert(group.clone()))).await?, began)
}

/// Runs them at the same time, each as a task of its own.
async fn each<T: Send + 'static>(
    tasks: impl Iterator<Item = impl Future<Output = Result<T, CliError>> + Send + 'static>,
) -> Result<Vec<T>, CliError> {
    let mut running: JoinSet<_> = tasks.collect();
    let mut all = Vec::new();
    while let Some(done) = running.join_next().await {
        all.push(done.map_err(|error| broken(&error))??);
    }
    Ok(all)
}

#[allow(clippy::cast_precision_loss, reason = "fewer rows than a float can count")]
fn summed(all: Vec<Latency>, began: Instant) -> Result<(f64, Latency), CliError> {
    let took = began.elapsed();
    let mut latency = Latency::new();
    all.iter().for_each(|one| latency.add(one));
    Ok((latency.count() as f64 / took.as_secs_f64(), latency))
}

type Row = (String, oneshot::Sender<i64>);

/// Takes rows in and writes as many together as wait. It ends with the last clone.
#[derive(Clone)]
pub(in crate::cli::bench) struct Group {
    door: mpsc::UnboundedSender<Row>,
}

impl Group {
    /// Empties the table, and opens so many connections that write.
    pub(in crate::cli::bench) async fn start(url: &str, writers: usize) -> Result<Self, CliError> {
        fresh(url).await?;
        let (door, waiting) = mpsc::unbounded_channel();
        let (waiting, tasks) = (Arc::new(Mutex::new(waiting)), Tasks::default());
        for _ in 0..writers {
            let link = Link::open(url).await?;
            let insert = link.prepare(sql!("insert_many")).await?;
            let waiting = Arc::clone(&waiting);
            tasks.spawn("floor", async move {
                if let Err(error) = write(&link, &insert, &waiting).await {
                    tracing::error!(%error, "the floor can't write");
                }
            });
        }
        Ok(Self { door })
    }

    /// Inserts one row; its number once it is committed. `None` when nobody writes any more.
    pub(in crate::cli::bench) async fn insert(&self, payload: String) -> Option<i64> {
        let (caller, number) = oneshot::channel();
        self.door.send((payload, caller)).ok()?;
        number.await.ok()
    }
}

async fn write(
    link: &Link,
    insert: &Statement,
    waiting: &Mutex<mpsc::UnboundedReceiver<Row>>,
) -> Result<(), tokio_postgres::Error> {
    loop {
        let mut rows: Vec<Row> = Vec::new();
        if waiting.lock().await.recv_many(&mut rows, GROUP).await == 0 {
            return Ok(());
        }
        let payloads: Vec<_> = rows.iter().map(|(payload, _)| payload.as_str()).collect();
        let numbers = link.client.query(insert, &[&payloads]).await?;
        for (number, (_, caller)) in numbers.iter().zip(rows) {
            // A caller that no longer waits is none of the floor's business.
            caller.send(number.get(0)).ok();
        }
    }
}

/// How long it takes to claim and complete so many rows in batches, a transaction for each half of a batch.
pub(in crate::cli::bench) async fn cycle(
    url: &str,
    jobs: u32,
    folder: &Folder,
) -> Result<Duration, CliError> {
    let link = fresh(url).await?;
    let filled = link.client.execute(sql!("fill"), &[&floor_body(), &i64::from(jobs)]).await;
    filled.map_err(|error| broken(&error))?;
    folder.settle().await?;
    let links = try_join_all((0..WORKERS).map(|_| Link::open(url))).await?;
    let began = Instant::now();
    let done: u64 = each(links.into_iter().map(work)).await?.iter().sum();
    let took = began.elapsed();
    if done == u64::from(jobs) {
        return Ok(took);
    }
    Err(CliError::Failed(format!("the floor completed {done} of {jobs} rows")))
}

/// Claims and completes until nothing is left; says how many rows.
async fn work(link: Link) -> Result<u64, CliError> {
    let (claim, complete) = (link.prepare(sql!("claim")).await?, link.prepare(sql!("complete")).await?);
    let result = "y".repeat(RESULT);
    let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
    let mut done = 0;
    loop {
        let claimed = link.client.query(&claim, &[&batch]).await.map_err(|error| broken(&error))?;
        if claimed.is_empty() {
            return Ok(done);
        }
        let ids: Vec<i64> = claimed.iter().map(|row| row.get(0)).collect();
        let fences: Vec<i32> = claimed.iter().map(|row| row.get(1)).collect();
        let results = vec![result.as_str(); ids.len()];
        let completed = link.client.execute(&complete, &[&ids, &fences, &results]).await;
        done += completed.map_err(|error| broken(&error))?;
    }
}
