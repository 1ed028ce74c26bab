use super::*;
use proptest::prelude::*;

fn ratio(text: &str) -> Ratio {
    Ratio::parse(text).unwrap()
}

fn attempt(seconds: i64, tokens: u64) -> Attempt {
    Attempt { mean: Some(Millis::from_secs(seconds)), total_tokens: Some(tokens), ..Attempt::default() }
}

fn planned(load: &Load, limits: &[(Dimension, u64)]) -> Plan {
    plan(load, limits, &Room::default()).unwrap()
}

fn seconds_of(outlook: Option<Outlook>) -> f64 {
    match outlook {
        Some(Outlook::Drains { seconds }) => seconds,
        other => panic!("{other:?}"),
    }
}

/// 600 requests and 600,000 tokens a minute, 30 calls at a time.
const LIMITS: [(Dimension, u64); 3] =
    [(Dimension::RequestsPerMinute, 600), (Dimension::TokensPerMinute, 600_000), (Dimension::InFlight, 30)];

fn burst(arrivals: &str) -> Load {
    Load {
        arrivals: ratio(arrivals),
        backlog: 10_000,
        attempts_per_job: ratio("1.10"),
        attempt: attempt(15, 6_000),
        ..Load::default()
    }
}

#[test]
fn a_burst_of_ten_thousand_jobs_is_bound_by_tokens() {
    let plan = planned(&burst("0"), &LIMITS);
    let binding = plan.binding().unwrap();
    assert_eq!(binding.dimension, Dimension::TokensPerMinute);
    // 1.6667 attempts and 1.5152 jobs a second, exactly.
    assert_eq!(binding.attempts_per_second, Ratio::new(5, 3).unwrap());
    assert_eq!(binding.jobs_per_second, Ratio::new(50, 33).unwrap());
    let others: Vec<_> = plan.capacities.iter().map(|c| (c.dimension, c.attempts_per_second)).collect();
    assert_eq!(others[1..], [(Dimension::InFlight, ratio("2")), (Dimension::RequestsPerMinute, ratio("10"))]);
    assert!((seconds_of(plan.alone()) - 6_600.0).abs() < 1e-6);
    assert_eq!(plan.workers.unwrap().of_use, Some(25));
}

#[test]
fn the_same_burst_takes_longer_while_jobs_arrive() {
    let plan = planned(&burst("1"), &LIMITS);
    let seconds = seconds_of(plan.with_arrivals());
    assert!((seconds - 330_000.0 / 17.0).abs() < 1e-6, "{seconds}");
    assert_eq!(seconds.round(), 19_412.0);
    assert!((seconds_of(plan.alone()) - 6_600.0).abs() < 1e-6);
}

#[test]
fn above_capacity_there_is_no_steady_state() {
    let growth = |arrivals| match planned(&burst(arrivals), &LIMITS).with_arrivals() {
        Some(Outlook::Grows { jobs_per_second }) => jobs_per_second,
        other => panic!("{other:?}"),
    };
    assert_eq!(growth("2"), Ratio::new(16, 33).unwrap());
    let exactly = Load { attempts_per_job: Ratio::ONE, attempt: attempt(1, 36), ..burst("10") };
    let plan = planned(&exactly, &[(Dimension::TokensPerMinute, 21_600)]);
    assert_eq!(plan.with_arrivals(), Some(Outlook::Grows { jobs_per_second: Ratio::ZERO }));
}

#[test]
fn calls_in_flight_follow_littles_law() {
    let p95 = Some(Millis::from_secs(40));
    let load = Load { arrivals: ratio("20"), attempt: Attempt { p95, ..attempt(15, 1) }, ..Load::default() };
    let in_flight = planned(&load, &[]).in_flight.unwrap();
    assert_eq!(in_flight, InFlight { mean: ratio("300"), at_p95: Some(ratio("800")) });
}

#[test]
fn workers_are_those_of_both_rules() {
    let workers = |arrivals, utilization| {
        let load = Load { arrivals: ratio(arrivals), attempt: attempt(8, 1), ..Load::default() };
        let room = Room { utilization: ratio(utilization), ..Room::default() };
        plan(&load, &[], &room).unwrap().workers.unwrap()
    };
    assert_eq!(workers("5", "0.7").by_utilization, 58);
    assert_eq!(workers("5", "0.9").by_utilization, 45);
    let small = workers("0.5", "0.7");
    assert_eq!((small.by_utilization, small.by_headroom, small.of_use), (6, 6, None));
}

#[test]
fn the_late_are_a_share_or_those_behind_the_deadline() {
    let load = Load { backlog: 30_000, late_share: Some(ratio("0.02")), ..Load::default() };
    assert_eq!(planned(&load, &[]).late.of_backlog, Some(ratio("600")));
    assert_eq!(planned(&load, &[]).late.by_deadline, None);
    let hour = Load { deadline: Some(Millis::from_secs(3_300)), ..burst("1") };
    assert!((planned(&hour, &LIMITS).late.by_deadline.unwrap() - 5_000.0).abs() < 1e-6);
}

#[test]
fn each_dimension_counts_in_its_unit() {
    let load = Load {
        attempt: Attempt {
            mean: Some(Millis::from_secs(4)),
            input_tokens: Some(300),
            output_tokens: Some(200),
            ..Attempt::default()
        },
        ..Load::default()
    };
    for (dimension, limit, attempts_per_second) in [
        (Dimension::RequestsPerMinute, 120, "2"),
        (Dimension::InputTokensPerMinute, 36_000, "2"),
        (Dimension::OutputTokensPerMinute, 24_000, "2"),
        (Dimension::TokensPerMinute, 60_000, "2"),
        (Dimension::RequestsPerDay, 172_800, "2"),
        (Dimension::TokensPerDay, 86_400_000, "2"),
        (Dimension::InFlight, 8, "2"),
        (Dimension::TokensInFlight, 4_000, "2"),
    ] {
        let plan = planned(&load, &[(dimension, limit)]);
        assert_eq!(plan.binding().unwrap().attempts_per_second, ratio(attempts_per_second), "{dimension:?}");
    }
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let faults = plan(&Load::default(), &Dimension::ALL.map(|dimension| (dimension, 5)), &Room::default());
    assert_eq!(
        faults.unwrap_err(),
        [
            Fault::NoTokens(Dimension::InputTokensPerMinute, Tokens::Input),
            Fault::NoTokens(Dimension::OutputTokensPerMinute, Tokens::Output),
            Fault::NoTokens(Dimension::TokensPerMinute, Tokens::Total),
            Fault::NoTokens(Dimension::TokensPerDay, Tokens::Total),
            Fault::NoMean(Dimension::InFlight),
            Fault::NoTokens(Dimension::TokensInFlight, Tokens::Total),
        ]
    );
    let large = plan(&burst("0"), &[(Dimension::TokensInFlight, 5_999)], &Room::default());
    assert_eq!(large.unwrap_err(), [Fault::NeverFits { dimension: Dimension::TokensInFlight, limit: 5_999 }]);
}

#[test]
fn numbers_that_cannot_be_meant_are_refused() {
    let load = Load { attempts_per_job: ratio("0.9"), late_share: Some(ratio("2")), ..burst("0") };
    let room = Room { utilization: Ratio::ZERO, headroom: ratio("0.5") };
    let faults = plan(&load, &[(Dimension::InFlight, 0)], &room).unwrap_err();
    let named: Vec<_> = faults
        .iter()
        .map(|fault| match fault {
            Fault::OutOfRange { what, .. } => *what,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        named,
        ["the attempts per job", "the utilization", "the headroom", "the share that is late", "a limit"]
    );
}

/// At the bounds nothing reaches the largest number, so that all of it is exact.
#[test]
fn the_bounds_leave_room_for_every_calculation() {
    let odd = 999_999_937; // a prime, so that nothing cancels
    let load = Load {
        arrivals: Ratio::new(odd - 2, odd).unwrap(),
        backlog: MOST,
        attempts_per_job: Ratio::new(odd, 999_999_929).unwrap(),
        attempt: Attempt {
            mean: Some(Millis::new(999_999_883)),
            p95: Some(Millis::new(999_999_893)),
            input_tokens: Some(MOST_OF_AN_ATTEMPT),
            output_tokens: Some(MOST_OF_AN_ATTEMPT),
            total_tokens: Some(999_999_797),
        },
        deadline: Some(Millis::from_secs(1)),
        late_share: Some(Ratio::new(1, odd).unwrap()),
    };
    let plan = planned(&load, &Dimension::ALL.map(|dimension| (dimension, MOST - 11)));
    for capacity in &plan.capacities {
        assert!(capacity.jobs_per_second.parts() < u128::MAX);
        let (arrivals, jobs) = (load.arrivals, capacity.jobs_per_second);
        let difference = arrivals.minus(jobs).or(jobs.minus(arrivals)).unwrap();
        assert!(difference.parts() < u128::MAX);
        let nearly = (arrivals.to_f64() - jobs.to_f64()).abs();
        assert!((difference.to_f64() - nearly).abs() <= 1e-9 * nearly.max(1.0), "{capacity:?}");
    }
}

fn limits() -> impl Strategy<Value = Vec<(Dimension, u64)>> {
    let one = (0_usize..Dimension::ALL.len(), 10_000_u64..1_000_000);
    proptest::collection::vec(one.prop_map(|(nth, limit)| (Dimension::ALL[nth], limit)), 1..6)
}

fn loads() -> impl Strategy<Value = Load> {
    (0_u64..1_000, 0_u64..100_000, 100_u64..300, 1_i64..100_000, 1_u64..5_000, 1_u64..5_000).prop_map(
        |(arrivals, backlog, attempts, mean, input, output)| Load {
            arrivals: Ratio::new(arrivals, 100).unwrap(),
            backlog,
            attempts_per_job: Ratio::new(attempts, 100).unwrap(),
            attempt: Attempt {
                mean: Some(Millis::new(mean)),
                input_tokens: Some(input),
                output_tokens: Some(output),
                ..Attempt::default()
            },
            ..Load::default()
        },
    )
}

/// How bad an outlook is: growth is worse than any time.
fn badness(outlook: Option<Outlook>) -> f64 {
    match outlook {
        None => 0.0,
        Some(Outlook::Drains { seconds }) => seconds,
        Some(Outlook::Grows { jobs_per_second }) => 1e18 + jobs_per_second.to_f64(),
    }
}

proptest! {
    #[test]
    fn the_binding_limit_is_the_least(load in loads(), limits in limits()) {
        let plan = planned(&load, &limits);
        let binding = plan.binding().unwrap();
        prop_assert!(plan.capacities.iter().all(|c| c.attempts_per_second >= binding.attempts_per_second));
        prop_assert_eq!(plan.course.sustained(), Some(binding.jobs_per_second));
        for capacity in &plan.capacities {
            prop_assert_eq!(
                capacity.jobs_per_second.times(load.attempts_per_job),
                capacity.attempts_per_second
            );
        }
    }

    #[test]
    fn a_higher_limit_never_makes_it_worse(load in loads(), limits in limits(), nth in 0_usize..6, more in 1_u64..1_000_000) {
        let mut raised = limits.clone();
        let nth = nth % limits.len();
        raised[nth].1 += more;
        let (before, after) = (planned(&load, &limits), planned(&load, &raised));
        prop_assert!(after.binding().unwrap().jobs_per_second >= before.binding().unwrap().jobs_per_second);
        prop_assert!(badness(after.with_arrivals()) <= badness(before.with_arrivals()) * (1.0 + 1e-9));
        prop_assert!(badness(after.alone()) <= badness(before.alone()) * (1.0 + 1e-9));
        prop_assert!(after.workers.unwrap().of_use >= before.workers.unwrap().of_use);
    }

    #[test]
    fn more_to_do_never_makes_it_better(load in loads(), limits in limits(), more in 1_u64..100) {
        let before = planned(&load, &limits);
        let arrivals = load.arrivals.times(Ratio::new(100 + more, 100).unwrap());
        for heavier in [Load { arrivals, ..load }, Load { backlog: load.backlog + more, ..load }] {
            let after = planned(&heavier, &limits);
            prop_assert!(badness(after.with_arrivals()) >= badness(before.with_arrivals()) * (1.0 - 1e-9));
            prop_assert!(after.workers.unwrap().by_utilization >= before.workers.unwrap().by_utilization);
        }
    }

    /// Time is a unit like any other: a simulation 60 times as fast has 60 times the capacity.
    #[test]
    fn scaled_time_scales_all_of_it(load in loads(), scale in 2_i64..60) {
        let load = Load { attempt: Attempt { mean: Some(Millis::new(load.attempt.mean.unwrap().get() * scale)), ..load.attempt }, ..load };
        let limits = [(Dimension::RequestsPerMinute, 600), (Dimension::TokensPerMinute, 100_000), (Dimension::InFlight, 30)];
        let factor = Ratio::whole(scale.unsigned_abs());
        let mean = Some(Millis::new(load.attempt.mean.unwrap().get() / scale));
        let faster = Load { attempt: Attempt { mean, ..load.attempt }, arrivals: load.arrivals.times(factor), ..load };
        let scaled = limits.map(|(dimension, limit)| match dimension {
            Dimension::InFlight => (dimension, limit),
            _ => (dimension, limit * scale.unsigned_abs()),
        });
        let (slow, fast) = (planned(&load, &limits), planned(&faster, &scaled));
        prop_assert_eq!(slow.binding().unwrap().jobs_per_second.times(factor), fast.binding().unwrap().jobs_per_second);
        prop_assert_eq!(slow.workers, fast.workers);
    }
}
