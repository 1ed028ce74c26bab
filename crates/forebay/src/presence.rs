//! Says of this process that it is there, again and again, for those who list the processes of a store.

use std::time::Duration;

use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::ProcessReport;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::app::App;
use crate::runtime::BUILD;

/// How often a process is heard of.
const PERIOD: Duration = Duration::from_secs(5);

/// How soon it is tried again after the store has not taken it.
const AGAIN: Duration = Duration::from_secs(1);

/// Who was not heard of for so long is silent.
const SILENT: Millis = Millis::from_secs(15);

/// Whether a process should have been heard of since: it is dead, paused, or cut off from its store.
pub fn is_silent(heard_at: Timestamp, now: Timestamp) -> bool {
    now.since(heard_at) > SILENT
}

/// Reports until the process is done with its work, and signs off then. `in_hand` says how many jobs it has in hand.
pub async fn run(app: App, in_hand: impl Fn() -> usize, done: CancellationToken) {
    let mut pause = Duration::ZERO;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = say(&app, in_hand()).await,
            () = done.cancelled() => break,
        }
    }
    if let Err(error) = app.store.sign_off(app.process.id).await {
        debug!(%error, "this process is listed until it was silent for an hour");
    }
}

/// Reports once; gives how long until the next time.
async fn say(app: &App, in_hand: usize) -> Duration {
    let failure = app.store.report(report(app, in_hand)).await.err();
    let was_heard = app.process.heard(failure.is_none());
    match failure {
        None => {
            if !was_heard {
                info!("this process can say again that it is there");
            }
            PERIOD
        }
        Some(error) => {
            if was_heard {
                warn!(%error, "this process can't say that it is there");
            }
            AGAIN
        }
    }
}

fn report(app: &App, in_hand: usize) -> ProcessReport {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let settings = &app.settings;
    ProcessReport {
        id: app.process.id,
        name: app.process.name.clone(),
        build: BUILD.to_owned(),
        roles: settings.roles.names().into_iter().map(str::to_owned).collect(),
        slots: if settings.roles.work { count(settings.slots) } else { 0 },
        pools: settings.pools.names(),
        tasks: settings.tasks.names(),
        in_hand: count(in_hand),
        started_at: app.process.started_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_misses_three_reports_is_silent() {
        let now = Timestamp::from_millis(100_000);
        assert!(SILENT.to_duration() >= 3 * PERIOD);
        assert!(!is_silent(now.before(SILENT), now));
        assert!(is_silent(now.before(SILENT).before(Millis::new(1)), now));
    }
}
