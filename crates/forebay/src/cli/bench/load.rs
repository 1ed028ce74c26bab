//! Load on an address, all of it from one thread.
//!
//! *Closed*: each connection sends its next request when it has the answer to the last one; says how much goes
//! through. *Open*: requests are due at fixed times, whatever became of those before them, and an answer's time
//! counts from when its request was due: a server that stalls can't hide it by holding up the load.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::caller::{Caller, Target};

/// What came of it.
pub(super) struct Load {
    /// Requests answered.
    pub(super) answers: u64,
    /// How long it took.
    pub(super) took: Duration,
    /// How long answers took, in microseconds.
    latency: Histogram<u64>,
}

impl Load {
    pub(super) fn new() -> io::Result<Self> {
        // Up to a minute, to three digits.
        let latency = Histogram::new_with_max(60_000_000, 3).map_err(io::Error::other)?;
        Ok(Self { answers: 0, took: Duration::ZERO, latency })
    }

    /// Takes note of an answer.
    pub(super) fn answered_after(&mut self, span: Duration) {
        self.answers += 1;
        self.latency.saturating_record(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }

    /// Answers in a second.
    pub(super) fn per_second(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "fewer answers than a float can count")]
        let answers = self.answers as f64;
        answers / self.took.as_secs_f64()
    }

    /// The time within which this share of the answers came, in milliseconds.
    pub(super) fn millis(&self, share: f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "less than a minute")]
        let micros = self.latency.value_at_quantile(share) as f64;
        micros / 1_000.0
    }

    fn add(&mut self, other: &Load) -> io::Result<()> {
        self.answers += other.answers;
        self.latency.add(&other.latency).map_err(io::Error::other)
    }
}

/// So many connections, each sending when it has its answer, for so long.
pub(super) async fn closed(target: Target, connections: u32, span: Duration) -> io::Result<Load> {
    on_a_thread(move || async move {
        let began = Instant::now();
        let callers = (0..connections).map(|nth| {
            let target = target.clone();
            async move {
                let mut caller = Caller::connect(target).await?;
                let mut load = Load::new()?;
                while began.elapsed() < span {
                    let sent = Instant::now();
                    caller.submit(&format!("closed-{nth}-{}", load.answers)).await?;
                    load.answered_after(sent.elapsed());
                }
                Ok(load)
            }
        });
        all(callers, began).await
    })
    .await
}

/// So many requests a second, at even distances, for so long, over so many connections.
pub(super) async fn open(target: Target, connections: u32, rate: u32, span: Duration) -> io::Result<Load> {
    let due = Arc::new(Mutex::new(pace(rate, span)?));
    on_a_thread(move || async move {
        let began = Instant::now();
        let callers = (0..connections).map(|nth| {
            let (target, due) = (target.clone(), Arc::clone(&due));
            async move {
                let mut caller = Caller::connect(target).await?;
                let mut load = Load::new()?;
                while let Some(at) = next(&due).await {
                    caller.submit(&format!("open-{nth}-{}", load.answers)).await?;
                    load.answered_after(at.elapsed());
                }
                Ok(load)
            }
        });
        all(callers, began).await
    })
    .await
}

async fn next(due: &Mutex<mpsc::UnboundedReceiver<Instant>>) -> Option<Instant> {
    due.lock().await.recv().await
}

/// Says when requests are due, at that time. A thread of its own: timers of the runtime know milliseconds only.
pub(super) fn pace(rate: u32, span: Duration) -> io::Result<mpsc::UnboundedReceiver<Instant>> {
    let (clock, due) = mpsc::unbounded_channel();
    let every = Duration::from_secs(1) / rate;
    let pace = move || {
        let began = Instant::now();
        let mut at = began;
        while at.duration_since(began) < span {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if clock.send(at).is_err() {
                return;
            }
            at += every;
        }
    };
    std::thread::Builder::new().name("bench-pace".to_owned()).spawn(pace)?;
    Ok(due)
}

async fn all(
    callers: impl Iterator<Item = impl Future<Output = io::Result<Load>> + Send + 'static>,
    began: Instant,
) -> io::Result<Load> {
    let mut running: JoinSet<_> = callers.collect();
    let mut total = Load::new()?;
    while let Some(load) = running.join_next().await {
        total.add(&load.map_err(io::Error::other)??)?;
    }
    total.took = began.elapsed();
    Ok(total)
}

/// Runs it on one thread that does nothing else, so that the load takes as little as it can of the machine.
async fn on_a_thread<F>(work: impl FnOnce() -> F + Send + 'static) -> io::Result<Load>
where
    F: Future<Output = io::Result<Load>>,
{
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work())
    };
    tokio::task::spawn_blocking(run).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_due_at_even_distances() {
        let mut due = pace(1_000, Duration::from_millis(5)).unwrap();
        let mut times = Vec::new();
        while let Some(at) = due.recv().await {
            assert!(at <= Instant::now(), "never before its time");
            times.push(at);
        }
        assert_eq!(times.len(), 5);
        assert!(times.windows(2).all(|two| two[1] - two[0] == Duration::from_millis(1)));
    }

    #[test]
    fn what_came_late_counts_from_when_it_was_due() {
        let mut load = Load::new().unwrap();
        for millis in 1..=100 {
            load.answered_after(Duration::from_millis(millis));
        }
        load.took = Duration::from_secs(2);
        assert!((load.per_second() - 50.0).abs() < f64::EPSILON);
        assert!((load.millis(0.5) - 50.0).abs() < 0.1 && (load.millis(0.99) - 99.0).abs() < 0.1);
    }
}
