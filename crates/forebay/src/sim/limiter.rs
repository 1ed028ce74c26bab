//! The limits of one account over a sliding minute.

use std::collections::VecDeque;

use super::clock::Micros;
use super::scenario::Limits;

/// Names of the limits, as scenarios, errors and the log write them.
pub(super) const REQUESTS: &str = "requests_per_minute";
pub(super) const TOKENS: &str = "tokens_per_minute";
pub(super) const IN_FLIGHT: &str = "max_in_flight";

/// What an account used in the last minute. A call counts from its arrival until exactly one minute later; a
/// refused call does not count.
#[derive(Default)]
pub(super) struct Account {
    /// The calls of the last minute, oldest first.
    calls: VecDeque<Counted>,
    /// The sum of their tokens.
    tokens: u64,
    in_flight: u64,
}

struct Counted {
    seq: u64,
    at: Micros,
    tokens: u64,
}

/// A call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The limit that is in the way longest.
    pub(super) limit: &'static str,
    /// What the limit allows, what of it is used, and what the call asked for.
    pub(super) allowed: u64,
    pub(super) used: u64,
    pub(super) asked: u64,
    /// When there will be room; none when the call can never fit.
    pub(super) wait: Option<Micros>,
}

/// What the headers of an answer say about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) limit: u64,
    pub(super) remaining: u64,
    /// Until the whole limit is free again.
    pub(super) reset: Micros,
}

/// The room that an account has after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Standing {
    pub(super) requests: Option<Room>,
    pub(super) tokens: Option<Room>,
}

impl Account {
    /// Takes a call with that many tokens, or says what is in its way.
    pub(super) fn admit(
        &mut self,
        seq: u64,
        now: Micros,
        tokens: u64,
        limits: &Limits,
        minute: Micros,
    ) -> Result<(), Refusal> {
        self.forget(now, minute);
        let refusals = [
            self.refuse_requests(now, limits, minute),
            self.refuse_tokens(now, tokens, limits, minute),
            self.refuse_in_flight(limits, minute),
        ];
        let longest = refusals.into_iter().flatten().max_by_key(|it| it.wait.unwrap_or(Micros::MAX));
        if let Some(refusal) = longest {
            return Err(refusal);
        }
        self.calls.push_back(Counted { seq, at: now, tokens });
        self.tokens += tokens;
        self.in_flight += 1;
        Ok(())
    }

    fn refuse_requests(&self, now: Micros, limits: &Limits, minute: Micros) -> Option<Refusal> {
        let allowed = limits.requests_per_minute?;
        let used = self.calls.len() as u64;
        let over = (used + 1).checked_sub(allowed).filter(|over| *over > 0)?;
        // The call fits once as many of the oldest have left as it is too many.
        let last_to_leave = usize::try_from(over - 1).ok().and_then(|index| self.calls.get(index));
        let wait = last_to_leave.map(|call| (call.at + minute).saturating_sub(now));
        Some(Refusal { limit: REQUESTS, allowed, used, asked: 1, wait })
    }

    fn refuse_tokens(&self, now: Micros, asked: u64, limits: &Limits, minute: Micros) -> Option<Refusal> {
        let allowed = limits.tokens_per_minute?;
        let over = (self.tokens + asked).checked_sub(allowed).filter(|over| *over > 0)?;
        let mut freed = 0;
        let last_to_leave = self.calls.iter().find(|call| {
            freed += call.tokens;
            freed >= over
        });
        let wait = last_to_leave.map(|call| (call.at + minute).saturating_sub(now));
        Some(Refusal { limit: TOKENS, allowed, used: self.tokens, asked, wait })
    }

    /// Nobody knows when a running call ends; the hint is a sixtieth of a minute.
    fn refuse_in_flight(&self, limits: &Limits, minute: Micros) -> Option<Refusal> {
        let allowed = limits.max_in_flight.filter(|allowed| self.in_flight >= *allowed)?;
        let wait = (allowed > 0).then_some(minute / 60);
        Some(Refusal { limit: IN_FLIGHT, allowed, used: self.in_flight, asked: 1, wait })
    }

    /// The room that is left now.
    pub(super) fn standing(&self, now: Micros, limits: &Limits, minute: Micros) -> Standing {
        let reset = self.calls.back().map_or(0, |call| (call.at + minute).saturating_sub(now));
        let room = |limit: Option<u64>, used: u64| {
            limit.map(|limit| Room { limit, remaining: limit.saturating_sub(used), reset })
        };
        Standing {
            requests: room(limits.requests_per_minute, self.calls.len() as u64),
            tokens: room(limits.tokens_per_minute, self.tokens),
        }
    }

    /// A call has ended.
    pub(super) fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Counts a call with other tokens than at its arrival; one that left the minute stays out.
    pub(super) fn settle(&mut self, seq: u64, tokens: u64) {
        if let Ok(index) = self.calls.binary_search_by_key(&seq, |call| call.seq) {
            self.tokens = self.tokens - self.calls[index].tokens + tokens;
            self.calls[index].tokens = tokens;
        }
    }

    /// Starts with an empty minute; calls that run go on running.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.tokens = 0;
    }

    /// Whether nothing would be lost with the account.
    pub(super) fn is_idle(&mut self, now: Micros, minute: Micros) -> bool {
        self.forget(now, minute);
        self.calls.is_empty() && self.in_flight == 0
    }

    fn forget(&mut self, now: Micros, minute: Micros) {
        while let Some(call) = self.calls.front().filter(|call| call.at + minute <= now) {
            self.tokens -= call.tokens;
            self.calls.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Micros = 60_000_000;

    fn limits(requests: Option<u64>, tokens: Option<u64>, in_flight: Option<u64>) -> Limits {
        Limits {
            requests_per_minute: requests,
            tokens_per_minute: tokens,
            max_in_flight: in_flight,
            ..Limits::default()
        }
    }

    #[test]
    fn the_call_above_the_limit_waits_for_the_oldest_to_leave() {
        let (mut account, limits) = (Account::default(), limits(Some(2), None, None));
        account.admit(1, 0, 5, &limits, MINUTE).unwrap();
        account.admit(2, 59_000_000, 5, &limits, MINUTE).unwrap();
        let refusal = account.admit(3, 59_900_000, 5, &limits, MINUTE).unwrap_err();
        assert_eq!((refusal.limit, refusal.wait), (REQUESTS, Some(100_000)));
        assert!(account.admit(4, MINUTE - 1, 5, &limits, MINUTE).is_err());
        account.admit(5, MINUTE, 5, &limits, MINUTE).unwrap();
        let refusal = account.admit(6, MINUTE, 5, &limits, MINUTE).unwrap_err();
        assert_eq!(refusal.wait, Some(59_000_000), "a burst at the edge does not double the limit");
    }

    #[test]
    fn tokens_fit_exactly_and_a_call_that_never_fits_gets_no_hint() {
        let (mut account, limits) = (Account::default(), limits(None, Some(100), None));
        account.admit(1, 0, 60, &limits, MINUTE).unwrap();
        account.admit(2, 10, 40, &limits, MINUTE).unwrap();
        let refusal = account.admit(3, 20, 61, &limits, MINUTE).unwrap_err();
        assert_eq!((refusal.limit, refusal.wait), (TOKENS, Some(MINUTE - 10)));
        assert_eq!(account.admit(4, 20, 101, &limits, MINUTE).unwrap_err().wait, None);
        account.settle(1, 10);
        account.admit(5, 20, 50, &limits, MINUTE).unwrap();
        assert_eq!(account.standing(20, &limits, MINUTE).tokens.unwrap().remaining, 0);
    }

    #[test]
    fn calls_in_flight_are_limited_until_one_ends() {
        let (mut account, limits) = (Account::default(), limits(None, None, Some(1)));
        account.admit(1, 0, 1, &limits, MINUTE).unwrap();
        assert_eq!(account.admit(2, 0, 1, &limits, MINUTE).unwrap_err().limit, IN_FLIGHT);
        account.release();
        account.admit(3, 0, 1, &limits, MINUTE).unwrap();
    }
}
