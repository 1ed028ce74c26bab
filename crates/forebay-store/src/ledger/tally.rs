//! What a transaction counts: sums that nearly every verb changes, kept in memory and written once, before the
//! commit. A hundred jobs that end in one transaction write their tenant's row once.
//!
//! Whoever reads such a row in a write adds what is noted here, which is not written yet. Where another process may have
//! written meanwhile, a limit that was looked at is looked at again as the row is written, and the transaction begins
//! anew if it no longer holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use forebay_core::attempt::Usage;
use forebay_core::grant::{Account, Settlement};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_core::window::{Bucket, Span};

use super::columns::int;
use super::sql;
use super::transaction::Tx;
use super::values::params;
use crate::StoreError;

/// The row of all tenants together.
const EVERYBODY: i64 = 0;
const POOL: &str = "pool";
const TOKENS: &str = "tokens";
const KEY: &str = "key";
const TASK: &str = "task";

/// Differences to what is in the rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Unfinished jobs and calls in flight, by tenant.
    loads: BTreeMap<i64, Load>,
    /// Calls in flight, by what they count for beside their tenant.
    calls: BTreeMap<Counted, Calls>,
    /// Money, by tenant and period.
    accounts: BTreeMap<(i64, i64), Booked>,
    /// What ended calls have given back to their pools.
    given_back: BTreeMap<Charge, GivenBack>,
    days: BTreeMap<Day, Used>,
    /// What admission has read, by tenant. What is noted and not written counts on top of it.
    read: BTreeMap<i64, Pending>,
}

/// Jobs that have not ended, for admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    pub(super) of_tenant: u64,
    /// How many the tenant may have.
    pub(super) limit: Option<u64>,
    pub(super) everywhere: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Load {
    pending_jobs: i64,
    in_flight: i64,
    /// The most that there may be, where that was asked before more were taken in.
    most_pending: Option<u64>,
    most_in_flight: Option<u64>,
}

/// A bucket of a pool, by the width and the start of it.
type Charge = (String, i64, i64);
/// Requests, input tokens and output tokens.
type GivenBack = (i64, i64, i64);

/// What calls in flight are counted for: a pool, a key by the number of its lane, a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Counted {
    kind: &'static str,
    name: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Calls {
    in_flight: i64,
    /// The most that there may be, where that was asked before one was added.
    most: Option<u64>,
}

/// Whose a call is.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOf<'c> {
    pub(super) tenant: i64,
    pub(super) pool: &'c str,
    /// Of the key that handed the job in; 0 where none did.
    pub(super) lane: i64,
    pub(super) task: &'c str,
    /// Tokens that were reserved for it.
    pub(super) tokens: u64,
}

/// How many calls each of them may have at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MostCalls {
    pub(super) of_tenant: Option<u64>,
    pub(super) of_key: Option<u64>,
    pub(super) of_task: Option<u64>,
}

/// What is counted in rows of its own where many processes count: what begins, and what ends.
const TAKEN_IN: i64 = 1;
const BEGUN: i64 = 2;
const ENDED: i64 = 3;

impl Load {
    /// Jobs and calls by the row that they are counted in, where there are any.
    fn parts(&self) -> impl Iterator<Item = (i64, i64, i64)> + use<> {
        let (jobs, calls) = (self.pending_jobs, self.in_flight);
        let parts =
            [(TAKEN_IN, jobs.max(0), 0), (BEGUN, 0, calls.max(0)), (ENDED, jobs.min(0), calls.min(0))];
        parts.into_iter().filter(|(_, jobs, calls)| (*jobs, *calls) != (0, 0))
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Booked {
    reserved: i64,
    spent: i64,
    uncertain: i64,
    overage: i64,
    /// The limit that a reservation was held against.
    limit: Option<i64>,
}

/// Which row of a tenant's use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    pub(super) tenant: i64,
    pub(super) start: Timestamp,
    pub(super) task: String,
    pub(super) model: String,
    pub(super) pool: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Used {
    attempts: i64,
    input_tokens: i64,
    output_tokens: i64,
    cost: i64,
    uncertain: i64,
}

impl Tally {
    /// A tenant has so many unfinished jobs more.
    pub(super) fn count_pending(&mut self, tenant: i64, jobs: i64) {
        for tenant in [EVERYBODY, tenant] {
            self.loads.entry(tenant).or_default().pending_jobs += jobs;
        }
    }

    /// Notes the limits under which a tenant's job was taken in.
    pub(super) fn admit(&mut self, tenant: i64, most: Option<u64>, most_everywhere: u64) {
        self.loads.entry(tenant).or_default().most_pending = most;
        let everywhere = self.loads.entry(EVERYBODY).or_default();
        everywhere.most_pending =
            Some(everywhere.most_pending.map_or(most_everywhere, |most| most.max(most_everywhere)));
    }

    /// Keeps what the rows say about a tenant's jobs.
    pub(super) fn read_pending(&mut self, tenant: i64, read: Pending) {
        self.read.insert(tenant, read);
    }

    /// Unfinished jobs, by the rows and by what is noted; `None` where the rows are still to be read.
    pub(super) fn pending(&self, tenant: i64) -> Option<Pending> {
        let read = self.read.get(&tenant)?;
        let more = |tenant| self.loads.get(&tenant).map_or(0, |load| load.pending_jobs);
        Some(Pending {
            of_tenant: read.of_tenant.saturating_add_signed(more(tenant)),
            everywhere: read.everywhere.saturating_add_signed(more(EVERYBODY)),
            limit: read.limit,
        })
    }

    /// A call is in flight; what it counts for was asked before, and may have so many.
    pub(super) fn count_call(&mut self, call: CallOf<'_>, most: MostCalls) {
        let load = self.loads.entry(call.tenant).or_default();
        load.in_flight += 1;
        load.most_in_flight = most.of_tenant;
        // A pool's limits were looked at by whom nobody else can hand it out beside.
        for ((kind, name, count), most) in counted(call).zip([None, None, most.of_task, most.of_key]) {
            let calls = self.calls_mut(kind, name);
            calls.in_flight += count;
            calls.most = most;
        }
    }

    /// A call is over.
    pub(super) fn count_call_over(&mut self, call: CallOf<'_>) {
        self.loads.entry(call.tenant).or_default().in_flight -= 1;
        for (kind, name, count) in counted(call) {
            self.calls_mut(kind, name).in_flight -= count;
        }
    }

    fn calls_mut(&mut self, kind: &'static str, name: Cow<'_, str>) -> &mut Calls {
        self.calls.entry(Counted { kind, name: name.into_owned() }).or_default()
    }

    /// Calls in flight of a tenant that are noted.
    pub(super) fn calls_of(&self, tenant: i64) -> i64 {
        self.loads.get(&tenant).map_or(0, |load| load.in_flight)
    }

    /// Calls in flight in a pool that are noted.
    pub(super) fn calls_in(&self, pool: &str) -> i64 {
        self.noted(POOL, pool)
    }

    /// Tokens in flight in a pool that are noted.
    pub(super) fn tokens_in(&self, pool: &str) -> i64 {
        self.noted(TOKENS, pool)
    }

    /// Calls in flight of a key that are noted.
    pub(super) fn calls_of_key(&self, lane: i64) -> i64 {
        self.noted(KEY, &lane.to_string())
    }

    /// Calls in flight of a task that are noted.
    pub(super) fn calls_of_task(&self, task: &str) -> i64 {
        self.noted(TASK, task)
    }

    fn noted(&self, kind: &'static str, name: &str) -> i64 {
        if self.calls.is_empty() {
            return 0;
        }
        self.calls.get(&Counted { kind, name: name.to_owned() }).map_or(0, |calls| calls.in_flight)
    }

    /// An account, by its row and by what is noted.
    pub(super) fn account(&self, tenant: i64, period: Timestamp, row: Account) -> Account {
        let Some(noted) = self.accounts.get(&(tenant, period.as_millis())) else {
            return row;
        };
        Account {
            limit: row.limit,
            reserved: row.reserved.plus(Micros(noted.reserved)),
            spent: row.spent.plus(Micros(noted.spent)),
            uncertain: row.uncertain.plus(Micros(noted.uncertain)),
        }
    }

    /// Sets money aside, within the account's limit.
    pub(super) fn reserve(&mut self, tenant: i64, period: Timestamp, micros: Micros, limit: Option<Micros>) {
        let account = self.accounts.entry((tenant, period.as_millis())).or_default();
        account.reserved += micros.0;
        account.limit = limit.map(|limit| limit.0);
    }

    /// Books what became of money that was set aside, in the period of the reservation, whatever period it is now.
    pub(super) fn settle(&mut self, tenant: i64, period: Timestamp, reserved: Micros, to: &Settlement) {
        let account = self.accounts.entry((tenant, period.as_millis())).or_default();
        account.reserved -= reserved.0;
        account.spent += to.spent.0;
        account.uncertain += to.uncertain.0;
        account.overage += to.overage.0;
    }

    /// A call that was charged to a pool at a time counts with so much less: its request where it was never sent, and
    /// the difference of what was reserved and used.
    pub(super) fn give_back(&mut self, pool: &str, charged_at: Timestamp, back: GivenBack) {
        for span in Span::ALL {
            let start = Bucket::at(charged_at, span).start.as_millis();
            let sums = self.given_back.entry((pool.to_owned(), span.bucket().get(), start)).or_default();
            *sums = (sums.0 + back.0, sums.1 + back.1, sums.2 + back.2);
        }
    }

    /// Adds an attempt to what was used on a day.
    pub(super) fn use_up(&mut self, day: Day, used: &Usage, settlement: &Settlement) {
        let row = self.days.entry(day).or_default();
        row.attempts += 1;
        row.input_tokens += int(used.input_tokens);
        row.output_tokens += int(used.output_tokens);
        row.cost += settlement.spent.0;
        row.uncertain += settlement.uncertain.0;
    }

    /// Writes all of it; nothing is left to be written then.
    pub(super) fn write(self, tx: &Tx<'_>) -> Result<(), StoreError> {
        for (Counted { kind, name }, Calls { in_flight, most }) in self.calls {
            // As many may have ended as have begun.
            if in_flight != 0 {
                tx.write(sql!("calls/count"), (kind, name, in_flight, most.map(int)))?;
            }
        }
        for ((pool, width, start), (requests, input, output)) in self.given_back {
            tx.write(sql!("claim/charge_bucket"), (pool, width, start, true, -requests, -input, -output))?;
        }
        for ((tenant, period), booked) in self.accounts {
            let Booked { reserved, spent, uncertain, overage, limit } = booked;
            if (reserved, spent, uncertain, overage) == (0, 0, 0, 0) {
                continue;
            }
            tx.write(sql!("budgets/book"), (tenant, period, reserved, spent, uncertain, overage, limit))?;
        }
        for (day, used) in self.days {
            write_day(tx, &day, &used)?;
        }
        // Last: everybody's row is one that every process writes.
        for (tenant, load) in self.loads.into_iter().rev() {
            for (part, jobs, calls) in load.parts() {
                let (most_jobs, most_calls) = match part {
                    TAKEN_IN => (load.most_pending.map(int), None),
                    BEGUN => (None, load.most_in_flight.map(int)),
                    _ => (None, None),
                };
                tx.write(sql!("tenants/count"), (tenant, part, jobs, calls, most_jobs, most_calls))?;
            }
        }
        Ok(())
    }
}

/// The counters of a call beside its tenant's, and what it counts with: pool, its tokens, task, and key if it has one.
fn counted(call: CallOf<'_>) -> impl Iterator<Item = (&'static str, Cow<'_, str>, i64)> {
    let key = (call.lane != 0).then(|| (KEY, Cow::from(call.lane.to_string()), 1));
    [(POOL, call.pool.into(), 1), (TOKENS, call.pool.into(), int(call.tokens)), (TASK, call.task.into(), 1)]
        .into_iter()
        .chain(key)
}

fn write_day(tx: &Tx<'_>, day: &Day, used: &Used) -> Result<(), StoreError> {
    tx.write(
        sql!("budgets/add_usage_day"),
        params! {
            ":tenant": day.tenant,
            ":day": day.start.as_millis(),
            ":task": day.task,
            ":model": day.model,
            ":pool": day.pool,
            ":attempts": used.attempts,
            ":input_tokens": used.input_tokens,
            ":output_tokens": used.output_tokens,
            ":cost_micros": used.cost,
            ":uncertain_micros": used.uncertain,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_count_for_their_tenant_and_for_all() {
        let mut tally = Tally::default();
        tally.count_pending(7, 1);
        tally.count_pending(8, 1);
        tally.count_pending(8, -1);
        let read = Pending { of_tenant: 4, limit: Some(9), everywhere: 10 };
        assert_eq!(tally.pending(7), None);
        tally.read_pending(7, read);
        tally.read_pending(8, read);
        assert_eq!(tally.pending(7), Some(Pending { of_tenant: 5, everywhere: 11, ..read }));
        assert_eq!(tally.pending(8), Some(Pending { of_tenant: 4, everywhere: 11, ..read }));
    }

    #[test]
    fn what_was_reserved_and_settled_leaves_what_was_spent() {
        let mut tally = Tally::default();
        let period = Timestamp::from_millis(0);
        tally.reserve(7, period, Micros(200), None);
        let settlement = Settlement { spent: Micros(150), ..Settlement::default() };
        tally.settle(7, period, Micros(200), &settlement);
        assert_eq!(tally.accounts[&(7, 0)], Booked { spent: 150, ..Booked::default() });
    }
}
