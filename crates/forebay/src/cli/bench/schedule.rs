//! When requests are due: at times that are fixed before the first one is sent, whatever becomes of them.

use std::io;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How requests follow one another.
#[derive(Debug, Clone, Copy)]
pub(super) enum Schedule {
    /// At even distances, so many a second.
    Even(u32),
    /// As callers do who know nothing of each other: exponential distances, so many a second in the mean, the same
    /// ones for the same seed.
    Random {
        /// So many a second.
        rate: u32,
        /// Which ones.
        seed: u64,
    },
}

impl Schedule {
    /// When they are due within that span, counted from its start.
    fn due(self, span: Duration) -> impl Iterator<Item = Duration> + Send {
        let (rate, mut chance) = match self {
            Schedule::Even(rate) => (rate, None),
            Schedule::Random { rate, seed } => (rate, Some(StdRng::seed_from_u64(seed))),
        };
        let every = Duration::from_secs(1) / rate.max(1);
        let distance = move || match &mut chance {
            None => every,
            Some(chance) => every.mul_f64(-(1.0 - chance.random::<f64>()).ln()),
        };
        let later = std::iter::repeat_with(distance).scan(Duration::ZERO, |at, distance| {
            *at += distance;
            Some(*at)
        });
        std::iter::once(Duration::ZERO).chain(later).take_while(move |at| *at < span)
    }
}

/// Says of each request that it is due, at that time. A thread of its own: timers of the runtime know milliseconds only.
pub(super) fn pace(schedule: Schedule, span: Duration) -> io::Result<mpsc::UnboundedReceiver<Instant>> {
    let (clock, due) = mpsc::unbounded_channel();
    let pace = move || {
        let began = Instant::now();
        for at in schedule.due(span).map(|offset| began + offset) {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if clock.send(at).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("bench-pace".to_owned()).spawn(pace)?;
    Ok(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_due_at_even_distances_and_never_before() {
        let mut due = pace(Schedule::Even(1_000), Duration::from_millis(5)).unwrap();
        let mut times = Vec::new();
        while let Some(at) = due.recv().await {
            assert!(at <= Instant::now(), "never before its time");
            times.push(at);
        }
        assert_eq!(times.len(), 5);
        assert!(times.windows(2).all(|two| two[1] - two[0] == Duration::from_millis(1)));
    }

    #[test]
    fn chance_has_the_rate_that_was_asked_for_and_is_the_same_again() {
        let due = |seed| -> Vec<_> {
            Schedule::Random { rate: 1_000, seed }.due(Duration::from_secs(20)).collect()
        };
        let times = due(7);
        assert!((19_000..21_000).contains(&times.len()), "{}", times.len());
        assert!(times.is_sorted());
        assert_eq!(times, due(7));
        assert_ne!(times, due(8));
        // Of exponential distances 1 - 1/e are shorter than their mean.
        let short = times.windows(2).filter(|two| two[1] - two[0] < Duration::from_millis(1)).count();
        let share = short * 1_000 / times.len();
        assert!((612..652).contains(&share), "{share}");
    }
}
