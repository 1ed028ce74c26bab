//! Money: I18. The arithmetic is this module's own.

use std::collections::{BTreeMap, HashMap};

use crate::verify::logs::Call;
use crate::verify::records::{Attempt, Event, Id, Job, Tenant, UsageDay};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

/// Classes of failure after which an answer without usage may have been billed.
const PERHAPS_BILLED: &[&str] = &[
    "timeout_first_byte",
    "timeout_idle",
    "timeout_total",
    "stream_broken",
    "too_large",
    "truncated",
    "refused",
    "content_filtered",
    "invalid_output",
    "schema_mismatch",
    "policy_failed",
    "worker_lost",
];

const DAY: i64 = 86_400_000;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for attempt in &world.store.attempts {
        price(attempt, findings);
        period(world, attempt, findings);
    }
    for job in &world.store.jobs {
        total(world, job, findings);
    }
    accounts(world, findings);
    for tenant in world.tenants() {
        within_budget(world, tenant, findings);
    }
    days(world, findings);
    if let Some(calls) = &world.outside.calls {
        bill(world, calls, findings);
    }
}

/// What tokens cost at an attempt's prices: the parts are added before the one rounding, upwards.
fn cost(attempt: &Attempt, input: i64, cached: i64, output: i64) -> i64 {
    let cached = cached.min(input);
    let of = |tokens: i64, price: i64| i128::from(tokens) * i128::from(price);
    let total = of(input - cached, attempt.price_input)
        + of(cached, attempt.price_cached.unwrap_or(attempt.price_input))
        + of(output, attempt.price_output);
    let micros = total / 1_000_000 + i128::from(total % 1_000_000 != 0);
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// What a settled attempt must have cost: spent, uncertain, and beyond what was reserved.
fn due(attempt: &Attempt) -> (i64, i64, i64) {
    let used = attempt.input_tokens.zip(attempt.output_tokens);
    let uncertain = (0, attempt.reserved_micros, 0);
    match (attempt.outcome.as_deref(), used) {
        (Some("failed_before_send"), _) => (0, 0, 0),
        (Some("unknown"), _) | (Some("succeeded"), None) => uncertain,
        (_, Some((input, output))) => {
            let spent = cost(attempt, input, attempt.cached_tokens.unwrap_or_default(), output);
            (spent, 0, (spent - attempt.reserved_micros).max(0))
        }
        (_, None) => match attempt.failure_class.as_deref() {
            Some(class) if PERHAPS_BILLED.contains(&class) => uncertain,
            _ => (0, 0, 0),
        },
    }
}

fn price(attempt: &Attempt, findings: &mut Findings) {
    let about = About::attempt(attempt.job, attempt.id);
    let reserved = cost(attempt, attempt.reserved_input, 0, attempt.reserved_output);
    findings.check(
        I::I18,
        about,
        attempt.reserved_micros == reserved,
        "what is reserved is the most it can cost",
        || vec![format!("attempts: reserved {} where {reserved} is due", attempt.reserved_micros)],
    );
    let booked = (attempt.cost_micros, attempt.uncertain_micros, attempt.overage_micros);
    let right = match attempt.settled_at {
        None => booked == (None, None, None),
        Some(_) => {
            let (spent, uncertain, overage) = due(attempt);
            booked == (Some(spent), Some(uncertain), Some(overage))
        }
    };
    findings.check(I::I18, about, right, "an attempt is booked by what came of it", || {
        vec![
            format!("attempts: {:?} {:?} booked {booked:?}", attempt.outcome, attempt.failure_class),
            format!("due {:?}", due(attempt)),
        ]
    });
}

/// An attempt is booked in the period in which it was claimed, unless the tenant's period was changed since.
fn period(world: &World<'_>, attempt: &Attempt, findings: &mut Findings) {
    let Some(tenant) = world.tenants().find(|tenant| tenant.id == attempt.tenant) else { return };
    if attempt.claimed_at <= last_change(world, tenant) {
        return;
    }
    let start = match tenant.budget_period.as_str() {
        "day" => attempt.claimed_at.div_euclid(DAY) * DAY,
        "month" => month(attempt.claimed_at),
        _ => 0,
    };
    let about = About::attempt(attempt.job, attempt.id);
    findings.check(
        I::I18,
        about,
        attempt.budget_start == start,
        "an attempt is booked in the period of its claim",
        || vec![format!("attempts: claimed at {} booked in {}", attempt.claimed_at, attempt.budget_start)],
    );
}

/// The first millisecond of the month of a time, in UTC (days from the calendar, as Hinnant gives it).
fn month(at: i64) -> i64 {
    let days = at.div_euclid(DAY);
    // Days since 0000-03-01, the era of 400 years, and the day, year and month within it.
    let shifted = days + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let since_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * since_march + 2) / 5;
    (days - of_month) * DAY
}

fn last_change(world: &World<'_>, tenant: &Tenant) -> i64 {
    let changes =
        world.store.audit.iter().filter(|row| row.action == "tenant.put" && row.subject == tenant.name);
    changes.map(|row| row.at).max().unwrap_or(i64::MIN)
}

/// What counts as used: nothing where nothing was billed for certain.
fn used(attempt: &Attempt) -> (i64, i64) {
    match attempt.outcome.as_deref() {
        Some("succeeded" | "failed_after_send") => {
            (attempt.input_tokens.unwrap_or_default(), attempt.output_tokens.unwrap_or_default())
        }
        _ => (0, 0),
    }
}

/// A job's totals are those of its attempts.
fn total(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let sum = world.attempts(job.id).iter().fold((0, 0, 0, 0), |sum, attempt| {
        let (input, output) = used(attempt);
        let (cost, uncertain) =
            (attempt.cost_micros.unwrap_or_default(), attempt.uncertain_micros.unwrap_or_default());
        (sum.0 + input, sum.1 + output, sum.2 + cost, sum.3 + uncertain)
    });
    let has = (job.input_tokens, job.output_tokens, job.cost_micros, job.uncertain_micros);
    findings.check(I::I18, About::job(job.id), sum == has, "a job has used what its attempts have", || {
        vec![format!("jobs: {has:?}"), format!("attempts: {sum:?}")]
    });
}

/// An account is the sum of the attempts that are booked in it, and of what those had cost that were deleted.
fn accounts(world: &World<'_>, findings: &mut Findings) {
    let mut sums: BTreeMap<(i64, i64), (i64, i64, i64, i64)> = BTreeMap::new();
    for attempt in &world.store.attempts {
        let sum = sums.entry((attempt.tenant, attempt.budget_start)).or_default();
        sum.0 += if attempt.settled_at.is_none() { attempt.reserved_micros } else { 0 };
        sum.1 += attempt.cost_micros.unwrap_or_default();
        sum.2 += attempt.uncertain_micros.unwrap_or_default();
        sum.3 += attempt.overage_micros.unwrap_or_default();
    }
    for gone in &world.store.deleted_money {
        let sum = sums.entry((gone.tenant, gone.period_start)).or_default();
        *sum = (sum.0, sum.1 + gone.spent, sum.2 + gone.uncertain, sum.3 + gone.overage);
    }
    for account in &world.store.budgets {
        let sum = sums.remove(&(account.tenant, account.period_start)).unwrap_or_default();
        let has = (account.reserved, account.spent, account.uncertain, account.overage);
        findings.check(I::I18, About::STORE, sum == has, "an account is the sum of its attempts", || {
            vec![
                format!("budgets: tenant {} period {}: {has:?}", account.tenant, account.period_start),
                format!("attempts: {sum:?}"),
            ]
        });
    }
    for ((tenant, period), sum) in sums {
        let rows =
            vec![format!("attempts: tenant {tenant} period {period}: {sum:?}"), "budgets: no row".to_owned()];
        findings.violated(I::I18, About::STORE, "an attempt is booked in an account", rows);
    }
}

/// At no time was more used or reserved than the budget, but for what providers reported beyond a reservation. The
/// log has the order: an attempt is claimed with its event, and settled with the next one of its job.
fn within_budget(world: &World<'_>, tenant: &Tenant, findings: &mut Findings) {
    let Some(limit) = tenant.budget_micros else { return };
    let since = last_change(world, tenant);
    let mut steps: Vec<(&Event, &Attempt, bool)> = Vec::new();
    for job in world.store.jobs.iter().filter(|job| job.tenant == tenant.id) {
        for claim in world.claims(job.id) {
            steps.push((claim.claimed, claim.attempt, true));
            steps.extend(claim.next.map(|next| (next, claim.attempt, false)));
        }
    }
    steps.sort_by_key(|step| step.0.place());
    let mut accounts: HashMap<i64, (i64, i64)> = HashMap::new();
    for (event, attempt, claimed) in steps {
        let (used, overage) = accounts.entry(attempt.budget_start).or_default();
        if claimed {
            *used += attempt.reserved_micros;
            let within = *used <= limit + *overage || attempt.claimed_at <= since;
            let about = About::attempt(attempt.job, attempt.id);
            let now = *used;
            findings.check(I::I18, about, within, "a claim took more than the budget had", || {
                vec![
                    format!("tenants: {} {limit}", tenant.name),
                    format!("events: {} claimed: {now} in use", event.seq),
                ]
            });
        } else {
            let booked =
                attempt.cost_micros.unwrap_or_default() + attempt.uncertain_micros.unwrap_or_default();
            *used += booked - attempt.reserved_micros;
            *overage += attempt.overage_micros.unwrap_or_default();
        }
    }
}

/// The use by day is that of the attempts settled then, and of those that were deleted.
fn days(world: &World<'_>, findings: &mut Findings) {
    type Key = (i64, i64, String, String, String);
    let mut sums: BTreeMap<Key, UsageDay> = BTreeMap::new();
    for attempt in &world.store.attempts {
        let Some(settled) = attempt.settled_at else { continue };
        let day = settled.div_euclid(DAY) * DAY;
        let key = (attempt.tenant, day, attempt.task.clone(), attempt.model.clone(), attempt.pool.clone());
        let sum = sums.entry(key).or_insert_with(|| UsageDay {
            tenant: attempt.tenant,
            day,
            task: attempt.task.clone(),
            model: attempt.model.clone(),
            pool: attempt.pool.clone(),
            ..UsageDay::default()
        });
        let (input, output) = used(attempt);
        sum.attempts += 1;
        sum.input_tokens += input;
        sum.output_tokens += output;
        sum.cost_micros += attempt.cost_micros.unwrap_or_default();
        sum.uncertain_micros += attempt.uncertain_micros.unwrap_or_default();
    }
    for gone in &world.store.deleted_usage {
        let key = (gone.tenant, gone.day, gone.task.clone(), gone.model.clone(), gone.pool.clone());
        match sums.get_mut(&key) {
            None => drop(sums.insert(key, gone.clone())),
            Some(sum) => {
                sum.attempts += gone.attempts;
                sum.input_tokens += gone.input_tokens;
                sum.output_tokens += gone.output_tokens;
                sum.cost_micros += gone.cost_micros;
                sum.uncertain_micros += gone.uncertain_micros;
            }
        }
    }
    for row in &world.store.usage_days {
        let key = (row.tenant, row.day, row.task.clone(), row.model.clone(), row.pool.clone());
        let sum = sums.remove(&key);
        findings.check(
            I::I18,
            About::STORE,
            sum.as_ref() == Some(row),
            "the use of a day is that of its attempts",
            || vec![format!("usage_days: {row:?}"), format!("attempts: {sum:?}")],
        );
    }
    for sum in sums.into_values() {
        findings.violated(
            I::I18,
            About::STORE,
            "the use of a day is that of its attempts",
            vec![format!("attempts: {sum:?}")],
        );
    }
}

/// What the ledger has as spent is what the provider bills for the same calls, token by token; what it has as
/// uncertain covers what may have been billed.
fn bill(world: &World<'_>, calls: &[Call], findings: &mut Findings) {
    let by_attempt: HashMap<Id, &Call> =
        calls.iter().filter_map(|call| Some((call.attempt()?, call))).collect();
    let mut difference = 0;
    for attempt in &world.store.attempts {
        let Some(call) = by_attempt.get(&attempt.id) else { continue };
        let billed = cost(attempt, call.input_tokens, 0, call.output_tokens);
        let about = About::attempt(attempt.job, attempt.id);
        let rows = || {
            vec![
                format!(
                    "attempts: {:?} tokens {:?} {:?} spent {:?} uncertain {:?}",
                    attempt.outcome,
                    attempt.input_tokens,
                    attempt.output_tokens,
                    attempt.cost_micros,
                    attempt.uncertain_micros
                ),
                format!("provider log: {} tokens {} {}", call.seq, call.input_tokens, call.output_tokens),
            ]
        };
        match attempt.outcome.as_deref() {
            Some("succeeded") if attempt.input_tokens.is_some() => {
                difference += attempt.cost_micros.unwrap_or_default() - billed;
                let same = attempt.input_tokens == Some(call.input_tokens)
                    && attempt.output_tokens == Some(call.output_tokens);
                findings.check(I::I18, about, same, "a call is booked as the provider bills it", rows);
            }
            Some("unknown" | "succeeded") => {
                let covered = attempt.uncertain_micros.unwrap_or_default() >= billed;
                findings.check(I::I18, about, covered, "what may have been billed is held back", rows);
            }
            _ => {}
        }
    }
    findings.figures.money_difference_micros = Some(difference);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case};
    use crate::verify::records::Budget;

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    fn is_found(found: &[(I, String)], words: &str) {
        assert!(
            found.iter().any(|(at, problem)| *at == I::I18 && problem.contains(words)),
            "{words}: {found:?}"
        );
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn classes_that_may_be_billed_are_those_of_the_table() {
        use forebay_core::failure::{Charge, FailureClass};
        let classes = FailureClass::ALL.into_iter().filter(|class| class.facts().charge != Charge::No);
        assert_eq!(classes.map(FailureClass::name).collect::<Vec<_>>(), PERHAPS_BILLED);
    }

    #[test]
    fn months_begin_where_the_calendar_says() {
        for (at, first) in [
            ("2026-11-30T23:59:59.999Z", "2026-11-01T00:00:00Z"),
            ("2024-02-29T00:00:00Z", "2024-02-01T00:00:00Z"),
            ("2000-03-01T12:00:00Z", "2000-03-01T00:00:00Z"),
            ("1970-01-31T00:00:00Z", "1970-01-01T00:00:00Z"),
        ] {
            let millis = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
            assert_eq!(month(millis(at)), millis(first), "{at}");
        }
    }

    #[test]
    fn what_is_booked_wrongly_is_noticed() {
        is_found(&broken(|case| case.attempt_mut(case.runs, 0).reserved_micros += 1), "the most it can cost");
        is_found(&broken(|case| case.attempt_mut(case.done, 1).cost_micros = Some(1)), "by what came of it");
        is_found(
            &broken(|case| case.attempt_mut(case.lost, 0).uncertain_micros = Some(0)),
            "by what came of it",
        );
        is_found(&broken(|case| case.attempt_mut(case.done, 0).budget_start = 5), "in the period");
        is_found(&broken(|case| case.job_mut(case.done).cost_micros += 1), "what its attempts have");
        is_found(&broken(|case| case.store.budgets[0].spent += 1), "sum of its attempts");
        is_found(&broken(|case| case.store.budgets[0].reserved -= 1), "sum of its attempts");
        is_found(&broken(|case| case.store.budgets.clear()), "booked in an account");
        is_found(&broken(|case| case.store.usage_days[0].attempts += 1), "use of a day");
        is_found(&broken(|case| case.store.usage_days.clear()), "use of a day");
    }

    /// What a job had cost that was deleted is in the sums still, to the micro-unit.
    #[test]
    fn what_was_deleted_is_in_the_sums() {
        let delete = |case: &mut Case| {
            let gone: Vec<_> =
                case.store.attempts.extract_if(.., |attempt| attempt.job == case.done).collect();
            case.store.jobs.retain(|job| job.id != case.done);
            case.store.events.retain(|event| event.job != case.done);
            for attempt in gone {
                let (input, output) = used(&attempt);
                let (cost, uncertain) =
                    (attempt.cost_micros.unwrap_or_default(), attempt.uncertain_micros.unwrap_or_default());
                case.store.deleted_money.push(Budget {
                    tenant: attempt.tenant,
                    period_start: attempt.budget_start,
                    reserved: 0,
                    spent: cost,
                    uncertain,
                    overage: attempt.overage_micros.unwrap_or_default(),
                });
                case.store.deleted_usage.push(UsageDay {
                    tenant: attempt.tenant,
                    day: attempt.settled_at.unwrap().div_euclid(DAY) * DAY,
                    task: attempt.task.clone(),
                    model: attempt.model.clone(),
                    pool: attempt.pool.clone(),
                    attempts: 1,
                    input_tokens: input,
                    output_tokens: output,
                    cost_micros: cost,
                    uncertain_micros: uncertain,
                });
            }
        };
        assert_eq!(broken(delete), []);
        let lost = broken(|case| {
            delete(case);
            case.store.deleted_money[0].spent += 1;
            case.store.deleted_usage.clear();
        });
        is_found(&lost, "sum of its attempts");
        is_found(&lost, "use of a day");
    }

    #[test]
    fn a_budget_that_was_exceeded_at_any_time_is_noticed() {
        // Two open reservations of a hundred and more at the same time, and settled to less since.
        is_found(&broken(|case| case.tenant_mut(1).budget_micros = Some(120)), "more than the budget had");
    }

    #[test]
    fn a_bill_that_differs_is_noticed() {
        is_found(&broken(|case| case.calls()[1].output_tokens += 1), "as the provider bills it");
        let more = broken(|case| {
            let lost = case.attempts_of(case.lost)[0].id.named("att");
            let call =
                case.calls().iter_mut().find(|call| call.forebay_attempt.as_ref() == Some(&lost)).unwrap();
            call.output_tokens = 1_000_000;
        });
        is_found(&more, "is held back");
    }
}
