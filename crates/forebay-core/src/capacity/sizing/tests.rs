use proptest::prelude::*;

use super::*;

const DRAIN: Millis = Millis::from_secs(60);

fn measured(mean_ms: i64, tokens: u64) -> Attempt {
    Attempt {
        mean: Some(Millis::new(mean_ms)),
        input_tokens: Some(tokens / 2),
        output_tokens: Some(tokens - tokens / 2),
        ..Attempt::default()
    }
}

fn waiting(runnable: u64, attempt: Attempt) -> Demand {
    Demand { runnable, attempt, ..Demand::default() }
}

/// 600 requests and 600,000 tokens a minute, 30 calls at a time; 15 s and 6,000 tokens a call: 25 calls use it up.
const LIMITS: [(Dimension, u64); 3] =
    [(Dimension::RequestsPerMinute, 600), (Dimension::TokensPerMinute, 600_000), (Dimension::InFlight, 30)];

#[test]
fn a_small_backlog_decides_and_a_large_one_does_not() {
    let small = size(&waiting(40, measured(15_000, 6_000)), &LIMITS, DRAIN);
    assert_eq!((small.needed, small.calls, small.bound), (10, 10, Bound::Backlog));
    let large = size(&waiting(10_000, measured(15_000, 6_000)), &LIMITS, DRAIN);
    assert_eq!((large.needed, large.allowed), (2_500, Some(25)));
    assert_eq!((large.calls, large.bound), (25, Bound::Limit(Dimension::TokensPerMinute)));
}

#[test]
fn without_figures_it_is_one_call_more() {
    let nothing_known = waiting(10_000, Attempt::default());
    let sizing = size(&nothing_known, &LIMITS, DRAIN);
    assert_eq!((sizing.calls, sizing.allowed, sizing.bound), (1, Some(30), Bound::Unmeasured));
    let under_way = Demand { in_flight: 30, ..nothing_known };
    let sizing = size(&under_way, &LIMITS, DRAIN);
    assert_eq!((sizing.calls, sizing.bound), (30, Bound::Limit(Dimension::InFlight)));
    assert_eq!(size(&Demand::default(), &[], DRAIN).bound, Bound::Nothing);
}

#[test]
fn what_others_have_under_way_is_not_free() {
    let demand = Demand { others_in_flight: 20, ..waiting(10_000, measured(15_000, 6_000)) };
    assert_eq!(size(&demand, &LIMITS, DRAIN).calls, 5);
    let limited = Demand { task_limit: Some(3), ..demand };
    let sizing = size(&limited, &LIMITS, DRAIN);
    assert_eq!((sizing.calls, sizing.bound), (3, Bound::TaskLimit));
}

#[test]
fn a_pool_that_rests_needs_no_more_workers_than_it_has() {
    let demand = Demand { rests: true, in_flight: 4, ..waiting(100, measured(15_000, 6_000)) };
    let sizing = size(&demand, &LIMITS, DRAIN);
    assert_eq!((sizing.calls, sizing.bound), (4, Bound::Cooldown));
    assert_eq!(sizing.headroom(&demand), Some(0.0));
}

#[test]
fn a_call_that_never_fits_needs_no_worker() {
    let sizing = size(&waiting(5, measured(1_000, 700_000)), &LIMITS, DRAIN);
    assert_eq!((sizing.calls, sizing.bound), (0, Bound::Limit(Dimension::TokensPerMinute)));
}

#[test]
fn limits_of_a_day_do_not_bind_at_the_moment() {
    let limits = [(Dimension::RequestsPerDay, 10)];
    assert_eq!(size(&waiting(40, measured(15_000, 6_000)), &limits, DRAIN).bound, Bound::Backlog);
}

#[test]
fn each_kind_of_job_counts_as_often_as_it_waits() {
    let sample = |calls, millis| Sample { calls, millis, input_tokens: 10 * calls, output_tokens: 0 };
    let mean = |kinds: &[(u64, Sample)]| expected(kinds).mean;
    assert_eq!(mean(&[(90, sample(1, 1_000)), (10, sample(50, 50 * 11_000))]), Some(Millis::new(2_000)));
    assert_eq!(mean(&[(90, sample(0, 0)), (10, sample(1, 500))]), Some(Millis::new(500)));
    assert_eq!(mean(&[(90, sample(0, 0))]), None);
    assert_eq!(mean(&[]), None);
    assert_eq!(expected(&[(1, sample(2, 0))]).mean, Some(Millis::new(1)), "planning needs some time");
}

fn demands() -> impl Strategy<Value = Demand> {
    let attempt = prop_oneof![
        Just(Attempt::default()),
        (1_i64..600_000, 2_u64..100_000).prop_map(|(mean, tokens)| measured(mean, tokens)),
    ];
    let numbers = (0_u64..1_000_000, 0_u64..5_000, 0_u64..5_000, any::<bool>());
    (numbers, attempt, proptest::option::of(0_u64..1_000)).prop_map(
        |((runnable, in_flight, others_in_flight, rests), attempt, task_limit)| Demand {
            runnable,
            in_flight,
            others_in_flight,
            attempt,
            task_limit,
            rests,
        },
    )
}

fn limits() -> impl Strategy<Value = Vec<(Dimension, u64)>> {
    proptest::collection::vec(proptest::option::of(1_u64..1_000_000), Dimension::ALL.len()).prop_map(
        |limits| {
            Dimension::ALL.into_iter().zip(limits).filter_map(|(of, limit)| Some((of, limit?))).collect()
        },
    )
}

proptest! {
    #[test]
    fn never_more_than_there_is_to_do_and_never_fewer_than_run(demand in demands(), limits in limits()) {
        let sizing = size(&demand, &limits, DRAIN);
        prop_assert!(sizing.calls >= demand.in_flight);
        prop_assert!(sizing.calls <= demand.in_flight + demand.runnable);
        prop_assert!(sizing.calls <= sizing.needed);
        prop_assert_eq!(sizing.bound == Bound::Nothing, demand.in_flight + demand.runnable == 0);
    }

    #[test]
    fn never_above_what_the_limits_sustain(demand in demands(), limits in limits()) {
        let sizing = size(&demand, &limits, DRAIN);
        let ceiling = sizing.allowed.unwrap_or(u64::MAX).max(demand.in_flight);
        prop_assert!(sizing.calls <= ceiling);
        prop_assert_eq!(sizing.calls == sizing.needed.min(ceiling), true, "the smaller of both");
        let headroom = sizing.headroom(&demand);
        prop_assert!(headroom.is_none_or(|headroom| (0.0..=1.0).contains(&headroom)));
    }

    #[test]
    fn more_jobs_never_need_fewer_and_more_room_never_allows_fewer(
        demand in demands(), limits in limits(), more in 0_u64..100_000,
    ) {
        let sizing = size(&demand, &limits, DRAIN);
        let busier = Demand { runnable: demand.runnable + more, ..demand };
        prop_assert!(size(&busier, &limits, DRAIN).calls >= sizing.calls);
        let roomier: Vec<_> = limits.iter().map(|(of, limit)| (*of, limit + more)).collect();
        prop_assert!(size(&demand, &roomier, DRAIN).calls >= sizing.calls);
        let less_time = Millis::new(DRAIN.get() / 2);
        prop_assert!(size(&demand, &limits, less_time).calls >= sizing.calls);
    }

    #[test]
    fn whoever_sustains_the_limits_never_exceeds_them(mean_ms in 1_i64..600_000, limit in 1_u64..10_000) {
        let demand = waiting(u64::MAX / 2, measured(mean_ms, 10));
        let calls = size(&demand, &[(Dimension::RequestsPerMinute, limit)], DRAIN).calls;
        // One call fewer would leave some of the limit unused.
        let starts = |calls: u64| u128::from(calls) * 60_000 / u128::from(mean_ms.unsigned_abs());
        prop_assert!(starts(calls) >= u128::from(limit));
        prop_assert!(starts(calls - 1) <= u128::from(limit));
    }

    #[test]
    fn so_many_processes_hold_the_calls_and_no_more(calls in 0_u64..1_000_000, slots in 1_u64..1_000) {
        let processes = processes(calls, slots);
        prop_assert!(processes * slots >= calls);
        prop_assert!(processes == 0 || (processes - 1) * slots < calls);
    }
}
