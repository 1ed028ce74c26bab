//! The one place where the simulator looks at the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Microseconds: since 1970-01-01T00:00:00Z for a point in time, otherwise a span.
pub(super) type Micros = u64;

/// A clock that never runs backwards: the wall time of the start plus what has passed since.
pub(super) struct Clock {
    start_wall: Micros,
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(super) fn start() -> Self {
        Self { start_wall: wall(), start: Instant::now() }
    }

    /// The time now.
    pub(super) fn now(&self) -> Micros {
        self.start_wall + micros(self.start.elapsed())
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the simulator is a provider: it has no store to ask for the time"
)]
fn wall() -> Micros {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros)
}

fn micros(span: Duration) -> Micros {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
