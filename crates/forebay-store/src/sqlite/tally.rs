//! What a transaction counts: sums that nearly every verb changes, kept in memory and written once, before the
//! commit. A hundred jobs that end in one transaction write their tenant's row once.
//!
//! Nobody may read such a row past what is noted here and not written yet: whoever reads one in a write asks
//! [`Tally::write`] first.

use std::collections::BTreeMap;

use forebay_core::attempt::Usage;
use forebay_core::grant::Settlement;
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use rusqlite::named_params;

use super::columns::int;
use super::sql;
use super::transaction::Tx;
use crate::StoreError;

/// The row of all tenants together.
const EVERYBODY: i64 = 0;

/// Differences to what is in the rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Unfinished jobs and calls in flight, by tenant.
    loads: BTreeMap<i64, Load>,
    /// Calls in flight, by pool.
    pools: BTreeMap<String, i64>,
    /// Money, by tenant and period.
    accounts: BTreeMap<(i64, i64), Booked>,
    days: BTreeMap<Day, Used>,
    /// What admission has read, by tenant. What is noted and not written counts on top of it.
    read: BTreeMap<i64, Pending>,
}

/// Jobs that have not ended, for admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) of_tenant: u64,
    /// How many the tenant may have.
    pub(super) limit: Option<u64>,
    pub(super) everywhere: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Load {
    pending_jobs: i64,
    in_flight: i64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Booked {
    reserved: i64,
    spent: i64,
    uncertain: i64,
    overage: i64,
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

    /// A tenant has a call in flight more. The pool's row is the claim's to write.
    pub(super) fn count_call(&mut self, tenant: i64) {
        self.loads.entry(tenant).or_default().in_flight += 1;
    }

    /// A call is over: its tenant and its pool have one less.
    pub(super) fn count_call_over(&mut self, tenant: i64, pool: String) {
        self.loads.entry(tenant).or_default().in_flight -= 1;
        *self.pools.entry(pool).or_default() -= 1;
    }

    /// Sets money aside.
    pub(super) fn reserve(&mut self, tenant: i64, period: Timestamp, micros: Micros) {
        self.accounts.entry((tenant, period.as_millis())).or_default().reserved += micros.0;
    }

    /// Books what became of money that was set aside, in the period of the reservation, whatever period it is now.
    pub(super) fn settle(&mut self, tenant: i64, period: Timestamp, reserved: Micros, to: &Settlement) {
        let account = self.accounts.entry((tenant, period.as_millis())).or_default();
        account.reserved -= reserved.0;
        account.spent += to.spent.0;
        account.uncertain += to.uncertain.0;
        account.overage += to.overage.0;
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
        for (tenant, load) in self.loads {
            tx.execute(sql!("tenants/count"), (tenant, load.pending_jobs, load.in_flight))?;
        }
        for (pool, calls) in self.pools {
            tx.execute(sql!("claim/count_in_flight"), (pool, calls))?;
        }
        for ((tenant, period), booked) in self.accounts {
            let Booked { reserved, spent, uncertain, overage } = booked;
            tx.execute(sql!("budgets/book"), (tenant, period, reserved, spent, uncertain, overage))?;
        }
        for (day, used) in self.days {
            write_day(tx, &day, &used)?;
        }
        Ok(())
    }
}

fn write_day(tx: &Tx<'_>, day: &Day, used: &Used) -> Result<(), StoreError> {
    tx.execute_named(
        sql!("budgets/add_usage_day"),
        named_params! {
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
    )?;
    Ok(())
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
        tally.reserve(7, period, Micros(200));
        let settlement = Settlement { spent: Micros(150), ..Settlement::default() };
        tally.settle(7, period, Micros(200), &settlement);
        assert_eq!(tally.accounts[&(7, 0)], Booked { spent: 150, ..Booked::default() });
    }
}
