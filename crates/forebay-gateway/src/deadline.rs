//! The four deadlines of a call: for the connection, the first byte, the pause between bytes, and the whole.

use std::pin::pin;

use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_core::time::Millis;
use tokio::time::{Instant, sleep_until};

use crate::failed::Failed;
use crate::outgoing::Sent;

/// Watches one call's time.
#[derive(Debug)]
pub(crate) struct Watch {
    deadlines: Deadlines,
    started: Instant,
    sent: Sent,
    first_byte: Option<Instant>,
    last_byte: Option<Instant>,
}

impl Watch {
    /// Starts now.
    pub(crate) fn start(deadlines: Deadlines) -> Self {
        let started = Instant::now();
        Self { deadlines, started, sent: Sent::default(), first_byte: None, last_byte: None }
    }

    /// What the request's body reports to.
    pub(crate) fn sent(&self) -> Sent {
        self.sent.clone()
    }

    /// Whether anything may have reached the provider.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent.at().is_some()
    }

    /// A piece of the answer's body arrived.
    pub(crate) fn received(&mut self) {
        let now = Instant::now();
        self.first_byte.get_or_insert(now);
        self.last_byte = Some(now);
    }

    /// Time from the start to the first byte of the answer's body.
    pub(crate) fn first_byte(&self) -> Option<Millis> {
        self.first_byte.map(|at| self.since_start(at))
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Millis {
        self.since_start(Instant::now())
    }

    /// What comes of `future`, unless a deadline passes first.
    pub(crate) async fn within<F: Future>(&self, future: F) -> Result<F::Output, Failed> {
        let mut future = pin!(future);
        loop {
            let (due, class) = self.due();
            tokio::select! {
                biased;
                output = &mut future => return Ok(output),
                // From here on another deadline counts.
                () = self.sent.wait(), if !self.is_sent() => {}
                () = sleep_until(due) => return Err(self.passed(class)),
            }
        }
    }

    /// The deadline that comes next, and what it means when it passes.
    fn due(&self) -> (Instant, FailureClass) {
        let after = |from: Instant, span: Millis| from + span.to_duration();
        let (next, class) = match (self.sent.at(), self.last_byte) {
            (None, _) => (after(self.started, self.deadlines.connect), FailureClass::TimeoutConnect),
            (Some(sent), None) => (after(sent, self.deadlines.first_byte), FailureClass::TimeoutFirstByte),
            (Some(_), Some(last)) => (after(last, self.deadlines.idle), FailureClass::TimeoutIdle),
        };
        let end = after(self.started, self.deadlines.total);
        match class {
            // What was never sent can't be uncertain, whichever deadline ends it.
            FailureClass::TimeoutConnect => (next.min(end), class),
            _ if end < next => (end, FailureClass::TimeoutTotal),
            _ => (next, class),
        }
    }

    /// The failure that a passed deadline is.
    fn passed(&self, class: FailureClass) -> Failed {
        let elapsed = self.elapsed().get();
        let message = format!("{} ({elapsed} ms after the start)", class.facts().meaning);
        if class == FailureClass::TimeoutConnect {
            Failed::before_send(class, message)
        } else {
            Failed::unknown(class, message)
        }
    }

    fn since_start(&self, at: Instant) -> Millis {
        let millis = at.saturating_duration_since(self.started).as_millis();
        Millis::new(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}
