//! How much of each limit was used, computed from the log.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use forebay_core::time::Timestamp;
use serde::Serialize;

use super::clock::Micros;
use super::ledger::{Ended, Ledger, Row, millis};
use super::scenario::Limits;

/// The use of every account's limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitsReport {
    /// How long a minute lasts, after the time scale.
    pub minute_ms: f64,
    /// Rows of the log that the figures come from.
    pub log_rows: u64,
    /// Rows that have left the log because it was full; above 0 the figures may be too low.
    pub rows_dropped: u64,
    /// One for each API key, in the order of `key_sha8`.
    pub accounts: Vec<AccountReport>,
}

/// The use of one account's limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccountReport {
    /// The first eight hex digits of the API key's SHA-256; none for calls without a key.
    pub key_sha8: Option<String>,
    /// Calls in a sliding minute.
    pub requests_per_minute: Use,
    /// Tokens in a sliding minute.
    pub tokens_per_minute: Use,
    /// Calls that run at the same time.
    pub in_flight: Use,
    /// Calls that a limit refused.
    pub refused: u64,
}

/// The use of one limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Use {
    /// The limit, if there is one.
    pub limit: Option<u64>,
    /// The most that was used.
    pub worst: u64,
    /// When that was: the arrival of the call that made it so.
    pub worst_at: Option<Timestamp>,
    /// What is used now.
    pub current: u64,
}

impl Use {
    fn reach(&mut self, used: u64, at: Micros) {
        if used > self.worst {
            self.worst = used;
            self.worst_at = Some(Timestamp::from_millis(i64::try_from(at / 1_000).unwrap_or(i64::MAX)));
        }
    }
}

/// What the report needs of the log: small enough to be copied under the lock and counted outside of it.
pub(super) struct Facts {
    calls: BTreeMap<Option<Arc<str>>, Vec<Fact>>,
    log_rows: u64,
    rows_dropped: u64,
}

struct Fact {
    at: Micros,
    ended: Option<Micros>,
    tokens: Option<u64>,
    refused: bool,
}

impl Facts {
    /// Copies them.
    pub(super) fn of(ledger: &Ledger) -> Self {
        let mut calls: BTreeMap<Option<Arc<str>>, Vec<Fact>> = BTreeMap::new();
        for row in ledger.rows() {
            match calls.get_mut(&row.key_sha8) {
                Some(facts) => facts.push(Fact::of(row)),
                None => drop(calls.insert(row.key_sha8.clone(), vec![Fact::of(row)])),
            }
        }
        Self { calls, log_rows: ledger.rows().len() as u64, rows_dropped: ledger.dropped() }
    }

    /// The use of each limit up to `now`.
    pub(super) fn report(self, now: Micros, limits: &Limits, minute: Micros) -> LimitsReport {
        let accounts = self.calls.into_iter().map(|(key, facts)| account(key, &facts, now, limits, minute));
        LimitsReport {
            minute_ms: millis(minute),
            log_rows: self.log_rows,
            rows_dropped: self.rows_dropped,
            accounts: accounts.collect(),
        }
    }
}

impl Fact {
    fn of(row: &Row) -> Self {
        let ended = row.ended_us.filter(|_| row.ended != Ended::Running);
        Self { at: row.started_us, ended, tokens: row.counted_tokens, refused: row.limit.is_some() }
    }
}

fn account(
    key_sha8: Option<Arc<str>>,
    facts: &[Fact],
    now: Micros,
    limits: &Limits,
    minute: Micros,
) -> AccountReport {
    let (requests, tokens) = sliding_minutes(facts, now, minute);
    AccountReport {
        key_sha8: key_sha8.map(|key| key.to_string()),
        requests_per_minute: Use { limit: limits.requests_per_minute, ..requests },
        tokens_per_minute: Use { limit: limits.tokens_per_minute, ..tokens },
        in_flight: Use { limit: limits.max_in_flight, ..in_flight(facts) },
        refused: facts.iter().filter(|fact| fact.refused).count() as u64,
    }
}

/// Calls and tokens in the fullest sliding minute and in the one that ends now. A minute is fullest just when
/// a call arrives, so looking at arrivals is enough.
fn sliding_minutes(facts: &[Fact], now: Micros, minute: Micros) -> (Use, Use) {
    let (mut requests, mut tokens) = (Use::default(), Use::default());
    let (mut window, mut sum) = (VecDeque::new(), 0);
    for fact in facts {
        let Some(counted) = fact.tokens else { continue };
        leave(&mut window, &mut sum, fact.at, minute);
        window.push_back((fact.at, counted));
        sum += counted;
        requests.reach(window.len() as u64, fact.at);
        tokens.reach(sum, fact.at);
    }
    leave(&mut window, &mut sum, now, minute);
    requests.current = window.len() as u64;
    tokens.current = sum;
    (requests, tokens)
}

fn leave(window: &mut VecDeque<(Micros, u64)>, sum: &mut u64, now: Micros, minute: Micros) {
    while let Some((_, tokens)) = window.front().filter(|(at, _)| at + minute <= now) {
        *sum -= tokens;
        window.pop_front();
    }
}

/// The most calls that ran at once, and those that run now.
fn in_flight(facts: &[Fact]) -> Use {
    let (mut used, mut ends) = (Use::default(), BinaryHeap::new());
    for fact in facts.iter().filter(|fact| fact.tokens.is_some()) {
        while ends.peek().is_some_and(|Reverse(end)| *end <= fact.at) {
            ends.pop();
        }
        ends.push(Reverse(fact.ended.unwrap_or(Micros::MAX)));
        used.reach(ends.len() as u64, fact.at);
    }
    used.current = ends.iter().filter(|Reverse(end)| *end == Micros::MAX).count() as u64;
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(at: Micros, ended: Option<Micros>, tokens: u64) -> Fact {
        Fact { at, ended, tokens: Some(tokens), refused: false }
    }

    #[test]
    fn the_worst_minute_slides() {
        let facts = [
            fact(0, Some(5), 10),
            fact(50, Some(60), 1),
            fact(90, None, 30),
            fact(100, None, 1),
            fact(149, Some(200), 1),
            Fact { at: 150, ended: Some(150), tokens: None, refused: true },
        ];
        let account = account(None, &facts, 195, &Limits::default(), 100);
        let worst = |used: &Use| (used.worst, used.worst_at.map(Timestamp::as_millis), used.current);
        assert_eq!(worst(&account.requests_per_minute), (4, Some(0), 2));
        assert_eq!(worst(&account.tokens_per_minute), (41, Some(0), 2));
        assert_eq!(worst(&account.in_flight), (3, Some(0), 2));
        assert_eq!(account.refused, 1);
    }
}
