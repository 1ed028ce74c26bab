//! One call on its way: whatever happens to it ends up in the log, and its place in flight becomes free.

use std::sync::Arc;

use http::HeaderMap;

use super::Sim;
use super::ledger::{Ended, Outcome};
use super::rules::Applied;
use super::scenario::{TokenCounting, UsageCounts};

/// A call that has a row in the log. When it is dropped before [`Call::finish`], the client hung up: the
/// server lets go of a request or of its answer just when the connection is gone.
pub(super) struct Call {
    sim: Arc<Sim>,
    seq: u64,
    key: Option<Arc<str>>,
    counting: TokenCounting,
    /// Whether the call holds a place in its account; one that was refused, or was wrong in itself, does not.
    holds_place: bool,
    status: Option<u16>,
    input_tokens: u64,
    output_tokens: u64,
    /// What the answer says that it used, where a rule makes it say something else.
    said: Option<UsageCounts>,
    ended: bool,
}

impl Call {
    pub(super) fn new(
        sim: Arc<Sim>,
        seq: u64,
        key: Option<Arc<str>>,
        counting: TokenCounting,
        input_tokens: u64,
        holds_place: bool,
    ) -> Self {
        Self {
            sim,
            seq,
            key,
            counting,
            holds_place,
            status: None,
            input_tokens,
            output_tokens: 0,
            said: None,
            ended: false,
        }
    }

    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    pub(super) fn sim(&self) -> &Arc<Sim> {
        &self.sim
    }

    /// Writes down which rule applies.
    pub(super) fn applies(&self, applied: &Applied) {
        self.sim.ledger().change(self.seq, |row| {
            row.fault = applied.rule.fault.as_ref().map(|fault| fault.name());
            row.rule = Some(Arc::clone(&applied.label));
        });
    }

    /// The head of the answer goes out.
    pub(super) fn answered(&mut self, status: u16) {
        self.status = Some(status);
        self.sim.ledger().change(self.seq, |row| row.status = Some(status));
    }

    /// An error answer goes out; writes down how long it asks the client to wait.
    pub(super) fn asks_to_wait(&self, headers: &HeaderMap) {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let wait = number("retry-after-ms").or_else(|| number("retry-after").map(|seconds| seconds * 1_000));
        if wait.is_some() {
            self.sim.ledger().change(self.seq, |row| row.retry_after_ms = wait);
        }
    }

    /// More tokens go out.
    pub(super) fn produced(&mut self, tokens: u64) {
        self.output_tokens += tokens;
    }

    /// The answer will say that it used this.
    pub(super) fn says(&mut self, usage: UsageCounts) {
        self.said = Some(usage);
    }

    /// The call has ended.
    pub(super) fn finish(&mut self, ended: Ended) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(said) = self.said.filter(|_| ended == Ended::Complete) {
            (self.input_tokens, self.output_tokens) = (said.input_tokens, said.output_tokens);
        }
        let outcome = Outcome {
            status: self.status,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            ended,
        };
        self.sim.end(self.seq, &self.key, outcome, self.holds_place.then_some(self.counting));
    }

    /// The whole answer goes out at once: its status and its tokens need no row of their own before the end.
    pub(super) fn complete(&mut self, status: u16, tokens: u64) {
        self.status = Some(status);
        self.output_tokens += tokens;
        self.finish(Ended::Complete);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let ended = if self.sim.is_stopping() { Ended::Shutdown } else { Ended::ClientClosed };
        self.finish(ended);
    }
}
