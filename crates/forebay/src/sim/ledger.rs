//! The request log and the accounts, which change together: a call's row and its place in the minute are
//! written under one lock with one time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use forebay_core::time::Timestamp;
use serde::{Serialize, Serializer};

use super::clock::Micros;
use super::limiter::{Account, Refusal, Standing};
use super::scenario::{Limits, TokenCounting};

/// Rows that the log keeps; the oldest leave first. A row takes about 300 bytes of memory.
pub const LOG_ROWS: usize = 1_000_000;
/// Accounts beyond which those that are idle are forgotten.
const ACCOUNTS: usize = 10_000;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It has not.
    Running,
    /// The whole answer was handed to the connection; also an error answer.
    Complete,
    /// The client hung up first.
    ClientClosed,
    /// The simulator closed the connection on purpose.
    Cut,
    /// The simulator was shut down.
    Shutdown,
}

/// One call in the request log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Numbers the calls in the order of their arrival, from 1.
    pub seq: u64,
    /// The path.
    pub path: Box<str>,
    /// The first eight hex digits of the API key's SHA-256.
    pub key_sha8: Option<Arc<str>>,
    /// The model that was asked for.
    pub model: Option<Box<str>>,
    /// The `Idempotency-Key` header.
    pub idempotency_key: Option<Box<str>>,
    /// The `X-Forebay-Attempt` header.
    pub forebay_attempt: Option<Box<str>>,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// The status of the answer, once its head is sent.
    pub status: Option<u16>,
    /// The fault that a rule brought about.
    pub fault: Option<&'static str>,
    /// The rule that applied.
    pub rule: Option<Arc<str>>,
    /// The limit that refused the call.
    pub limit: Option<&'static str>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens that were sent, or that the answer says it has.
    pub output_tokens: u64,
    /// Tokens that count against `tokens_per_minute`; none when the call was refused or was no proper call.
    pub counted_tokens: Option<u64>,
    /// When the call arrived: microseconds since 1970.
    pub started_us: u64,
    /// When it ended.
    pub ended_us: Option<u64>,
    /// How it ended.
    pub ended: Ended,
    /// How long an error answer asked the client to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// A row as one line of the log.
#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    at: Timestamp,
    path: &'a str,
    key_sha8: Option<&'a str>,
    model: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    forebay_attempt: Option<&'a str>,
    stream: bool,
    status: Option<u16>,
    fault: Option<&'a str>,
    input_tokens: u64,
    output_tokens: u64,
    ended: Ended,
    started_at_ms: f64,
    ended_at_ms: Option<f64>,
    counted_tokens: Option<u64>,
    rule: Option<&'a str>,
    limit: Option<&'a str>,
    retry_after_ms: Option<u64>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = Line {
            seq: self.seq,
            at: Timestamp::from_millis(i64::try_from(self.started_us / 1_000).unwrap_or(i64::MAX)),
            path: &self.path,
            key_sha8: self.key_sha8.as_deref(),
            model: self.model.as_deref(),
            idempotency_key: self.idempotency_key.as_deref(),
            forebay_attempt: self.forebay_attempt.as_deref(),
            stream: self.stream,
            status: self.status,
            fault: self.fault,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            ended: self.ended,
            started_at_ms: millis(self.started_us),
            ended_at_ms: self.ended_us.map(millis),
            counted_tokens: self.counted_tokens,
            rule: self.rule.as_deref(),
            limit: self.limit,
            retry_after_ms: self.retry_after_ms,
        };
        line.serialize(serializer)
    }
}

/// Milliseconds with three decimals.
pub(super) fn millis(micros: Micros) -> f64 {
    micros as f64 / 1_000.0
}

/// A call as it arrives.
pub(super) struct Arrival {
    pub(super) path: Box<str>,
    pub(super) key_sha8: Option<Arc<str>>,
    pub(super) model: Option<Box<str>>,
    pub(super) idempotency_key: Option<Box<str>>,
    pub(super) forebay_attempt: Option<Box<str>>,
    pub(super) stream: bool,
    pub(super) input_tokens: u64,
    /// Tokens it counts with; none for a call that no limit looks at, because it is wrong in itself.
    pub(super) demand: Option<u64>,
}

/// What became of an arrival.
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) verdict: Result<(), Refusal>,
    pub(super) standing: Standing,
}

/// What a call came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) status: Option<u16>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) ended: Ended,
}

/// The log and the accounts.
pub(super) struct Ledger {
    rows: VecDeque<Row>,
    capacity: usize,
    last_seq: u64,
    dropped: u64,
    accounts: HashMap<Option<Arc<str>>, Account>,
}

impl Ledger {
    /// An empty log that keeps that many rows.
    pub(super) fn new(capacity: usize) -> Self {
        Self { rows: VecDeque::new(), capacity, last_seq: 0, dropped: 0, accounts: HashMap::new() }
    }

    /// Writes the row of a call and puts the call against its account's limits.
    pub(super) fn arrive(&mut self, now: Micros, call: Arrival, limits: &Limits, minute: Micros) -> Entry {
        self.forget_idle_accounts(now, minute);
        self.last_seq += 1;
        let seq = self.last_seq;
        let account = self.accounts.entry(call.key_sha8.clone()).or_default();
        let verdict = call.demand.map_or(Ok(()), |tokens| account.admit(seq, now, tokens, limits, minute));
        let standing = account.standing(now, limits, minute);
        self.push(row_of(seq, now, call, &verdict));
        Entry { seq, verdict, standing }
    }

    fn push(&mut self, row: Row) {
        if self.rows.len() >= self.capacity {
            self.rows.pop_front();
            self.dropped += 1;
        }
        self.rows.push_back(row);
    }

    fn forget_idle_accounts(&mut self, now: Micros, minute: Micros) {
        if self.accounts.len() > ACCOUNTS {
            self.accounts.retain(|_, account| !account.is_idle(now, minute));
        }
    }

    /// Changes the row of a call, unless it has left the log; returns it as it is now.
    pub(super) fn change(&mut self, seq: u64, change: impl FnOnce(&mut Row)) -> Option<&Row> {
        let first = self.rows.front()?.seq;
        let index = usize::try_from(seq.checked_sub(first)?).ok()?;
        let row = self.rows.get_mut(index)?;
        change(row);
        Some(row)
    }

    /// A call that was admitted has ended: frees its place and writes how it went.
    pub(super) fn end(
        &mut self,
        seq: u64,
        key: &Option<Arc<str>>,
        now: Micros,
        outcome: Outcome,
        counting: TokenCounting,
    ) -> Option<&Row> {
        let used = outcome.input_tokens + outcome.output_tokens;
        if let Some(account) = self.accounts.get_mut(key) {
            account.release();
            if counting == TokenCounting::Used {
                account.settle(seq, used);
            }
        }
        self.change(seq, |row| {
            outcome.write(row, now);
            if counting == TokenCounting::Used {
                row.counted_tokens = Some(used);
            }
        })
    }

    /// At most `count` rows with a `seq` above `after`, oldest first.
    pub(super) fn page(&self, after: u64, count: usize) -> Vec<Row> {
        let first = self.rows.front().map_or(0, |row| row.seq);
        let skip = usize::try_from(after.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        self.rows.iter().skip(skip).take(count).cloned().collect()
    }

    /// All rows.
    pub(super) fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    /// Rows that have left the log because it was full.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Empties the log. `seq` goes on rising, and the accounts still know their minute.
    pub(super) fn clear_rows(&mut self) {
        self.rows = VecDeque::new();
        self.dropped = 0;
    }

    /// Lets every account start with an empty minute.
    pub(super) fn clear_accounts(&mut self) {
        self.accounts.values_mut().for_each(Account::clear);
    }
}

impl Outcome {
    /// Writes how a call went into its row.
    pub(super) fn write(&self, row: &mut Row, now: Micros) {
        row.status = self.status;
        row.input_tokens = self.input_tokens;
        row.output_tokens = self.output_tokens;
        row.ended = self.ended;
        row.ended_us = Some(now);
    }
}

fn row_of(seq: u64, now: Micros, call: Arrival, verdict: &Result<(), Refusal>) -> Row {
    Row {
        seq,
        path: call.path,
        key_sha8: call.key_sha8,
        model: call.model,
        idempotency_key: call.idempotency_key,
        forebay_attempt: call.forebay_attempt,
        stream: call.stream,
        status: None,
        fault: None,
        rule: None,
        limit: verdict.as_ref().err().map(|refusal| refusal.limit),
        input_tokens: call.input_tokens,
        output_tokens: 0,
        counted_tokens: call.demand.filter(|_| verdict.is_ok()),
        started_us: now,
        ended_us: None,
        ended: Ended::Running,
        retry_after_ms: None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Micros = 60_000_000;

    pub(in crate::sim) fn arrival(key: &str, demand: u64) -> Arrival {
        Arrival {
            path: "/v1/chat/completions".into(),
            key_sha8: Some(key.into()),
            model: None,
            idempotency_key: None,
            forebay_attempt: None,
            stream: false,
            input_tokens: demand,
            demand: Some(demand),
        }
    }

    #[test]
    fn the_log_keeps_its_capacity_and_counts_what_left() {
        let mut ledger = Ledger::new(2);
        for now in 0..2 {
            ledger.arrive(now, arrival("k", 1), &Limits::default(), MINUTE);
        }
        assert_eq!((ledger.rows().len(), ledger.dropped()), (2, 0));
        ledger.arrive(2, arrival("k", 1), &Limits::default(), MINUTE);
        assert_eq!((ledger.rows().len(), ledger.dropped()), (2, 1));
        assert!(ledger.change(1, |_| ()).is_none());
        assert_eq!(ledger.change(3, |row| row.status = Some(200)).map(|row| row.seq), Some(3));
        assert_eq!(ledger.page(2, 10).len(), 1);
        assert_eq!(ledger.page(0, 1).first().map(|row| row.seq), Some(2));
        ledger.clear_rows();
        assert_eq!(ledger.arrive(3, arrival("k", 1), &Limits::default(), MINUTE).seq, 4);
    }

    #[test]
    fn idle_accounts_are_forgotten_when_there_are_many() {
        let mut ledger = Ledger::new(1);
        for number in 0..=ACCOUNTS {
            ledger.arrive(0, arrival(&number.to_string(), 1), &Limits::default(), MINUTE);
            if number > 0 {
                let key = Some(number.to_string().into());
                let outcome =
                    Outcome { status: None, input_tokens: 1, output_tokens: 1, ended: Ended::Complete };
                ledger.end(number as u64 + 1, &key, 0, outcome, TokenCounting::Reserved);
            }
        }
        ledger.arrive(MINUTE, arrival("new", 1), &Limits::default(), MINUTE);
        assert_eq!(ledger.accounts.len(), 2, "the one that still runs, and the new one");
    }

    /// The most requests and tokens that any sliding minute of these rows holds, looked at call by call.
    fn fullest_minute(rows: &[&Row]) -> (u64, u64) {
        let mut fullest = (0, 0);
        for last in rows {
            let minute = rows
                .iter()
                .filter(|row| row.started_us <= last.started_us && last.started_us - row.started_us < MINUTE)
                .filter_map(|row| row.counted_tokens);
            let (requests, tokens) = minute.fold((0, 0), |(count, sum), tokens| (count + 1, sum + tokens));
            fullest = (fullest.0.max(requests), fullest.1.max(tokens));
        }
        fullest
    }

    proptest! {
        #[test]
        fn no_sliding_minute_of_the_log_holds_more_than_the_limits(
            gaps in prop::collection::vec((0_u64..9_000_000, 1_u64..60, 0_u64..3), 1..200),
            requests in 1_u64..12,
            tokens in 20_u64..200,
        ) {
            let limits = Limits {
                requests_per_minute: Some(requests),
                tokens_per_minute: Some(tokens),
                ..Limits::default()
            };
            let (mut ledger, mut now) = (Ledger::new(LOG_ROWS), 1_000_000_000);
            for (gap, demand, key) in gaps {
                now += gap;
                ledger.arrive(now, arrival(&key.to_string(), demand), &limits, MINUTE);
            }
            for key in ["0", "1", "2"] {
                let rows: Vec<&Row> =
                    ledger.rows().iter().filter(|row| row.key_sha8.as_deref() == Some(key)).collect();
                let (most_requests, most_tokens) = fullest_minute(&rows);
                prop_assert!(most_requests <= requests && most_tokens <= tokens);
            }
        }
    }
}
