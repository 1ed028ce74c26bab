use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn call(input_tokens: u64, output_tokens: u64) -> Reservation {
    Reservation { input_tokens, output_tokens, ..Reservation::default() }
}

fn after(millis: i64) -> Timestamp {
    NOW.after(Millis::new(millis))
}

/// The window as it is at another time.
fn at(window: &Window, now: Timestamp) -> Window {
    Window::new(window.used.clone(), now)
}

fn limits(dimension: Dimension, limit: u64) -> PoolLimits {
    let mut limits = PoolLimits::default();
    let field = match dimension {
        Dimension::RequestsPerMinute => &mut limits.requests_per_minute,
        Dimension::InputTokensPerMinute => &mut limits.input_tokens_per_minute,
        Dimension::OutputTokensPerMinute => &mut limits.output_tokens_per_minute,
        Dimension::TokensPerMinute => &mut limits.tokens_per_minute,
        Dimension::RequestsPerDay => &mut limits.requests_per_day,
        Dimension::TokensPerDay => &mut limits.tokens_per_day,
        Dimension::InFlight => &mut limits.max_in_flight,
        Dimension::TokensInFlight => &mut limits.max_tokens_in_flight,
    };
    *field = Some(limit);
    limits
}

#[test]
fn each_dimension_holds_at_its_limit() {
    for dimension in Dimension::ALL {
        let one = call(30, 20);
        let limits = limits(dimension, 3 * dimension.need(&one));
        let mut window = Window::default();
        for _ in 0..3 {
            window.take(&one, &limits, NOW).unwrap();
        }
        let full = window.take(&one, &limits, NOW).unwrap_err();
        assert_eq!((full.dimension, full.is_paced), (dimension, false));
        assert_eq!(
            full.until.is_some(),
            dimension.span().is_some(),
            "{dimension:?}: time frees it or a call"
        );
        assert_eq!(window.used().of(dimension), 3 * dimension.need(&one));
        if let Some(until) = full.until {
            assert!(at(&window, until.before(Millis::new(1))).take(&one, &limits, until).is_err());
            assert!(at(&window, until).take(&one, &limits, until).is_ok(), "{dimension:?}");
        }
    }
}

#[test]
fn a_refusal_on_one_dimension_takes_nothing_from_the_others() {
    let limits = PoolLimits {
        requests_per_minute: Some(10),
        tokens_per_minute: Some(100),
        max_in_flight: Some(10),
        ..PoolLimits::default()
    };
    let mut window = Window::default();
    window.take(&call(60, 0), &limits, NOW).unwrap();
    let before = window.clone();
    let full = window.take(&call(60, 0), &limits, NOW).unwrap_err();
    assert_eq!(full.dimension, Dimension::TokensPerMinute);
    assert_eq!(window, before);
    window.take(&call(40, 0), &limits, NOW).unwrap();
}

#[test]
fn a_call_larger_than_a_limit_never_fits_not_even_alone() {
    for dimension in [Dimension::TokensPerMinute, Dimension::TokensPerDay, Dimension::TokensInFlight] {
        let limits = limits(dimension, 100);
        let never = Err(Full { dimension, until: None, is_paced: false });
        assert_eq!(Window::default().take(&call(60, 41), &limits, NOW), never);
        assert!(Window::default().take(&call(60, 40), &limits, NOW).is_ok());
    }
}

#[test]
fn a_charge_counts_for_a_minute_and_the_slack() {
    let limits = limits(Dimension::RequestsPerMinute, 1);
    let mut window = Window::default();
    window.take(&call(1, 0), &limits, NOW).unwrap();
    let full = window.take(&call(1, 0), &limits, NOW).unwrap_err();
    assert_eq!(full.until, Some(after(60_750)));
}

#[test]
fn a_day_counts_in_quarters_of_an_hour() {
    let limits = limits(Dimension::RequestsPerDay, 1);
    let start = Timestamp::from_millis(900_000 * 1_000);
    let mut window = Window::default();
    window.take(&call(1, 0), &limits, start.after(Millis::from_secs(800))).unwrap();
    let full = window.take(&call(1, 0), &limits, start.after(Millis::from_secs(900))).unwrap_err();
    assert_eq!(full.until, Some(start.after(Millis::from_secs(900 + 86_400)).after(SLACK)));
}

#[test]
fn a_margin_is_left_of_what_the_provider_counts() {
    let limits = PoolLimits {
        safety_margin_percent: 10,
        max_in_flight: Some(10),
        ..limits(Dimension::TokensPerMinute, 1_000)
    };
    assert_eq!(
        (limits.of(Dimension::TokensPerMinute), limits.of(Dimension::InFlight)),
        (Some(900), Some(10))
    );
    assert_eq!(limits.rules_out(&call(901, 0)), Some((Dimension::TokensPerMinute, 900)));
    let least = PoolLimits {
        safety_margin_percent: 50,
        ..PoolLimits { requests_per_minute: Some(1), ..PoolLimits::default() }
    };
    assert_eq!(least.of(Dimension::RequestsPerMinute), Some(1), "something goes through");
}

#[test]
fn pacing_leaves_something_of_the_minute_to_those_who_come_later() {
    let limits = PoolLimits { pacing: Pacing::Even, ..limits(Dimension::RequestsPerMinute, 600) };
    let mut window = Window::default();
    for _ in 0..55 {
        window.take(&call(1, 0), &limits, NOW).unwrap();
    }
    let full = window.take(&call(1, 0), &limits, NOW).unwrap_err();
    assert_eq!(
        full,
        Full { dimension: Dimension::RequestsPerMinute, until: Some(after(5_250)), is_paced: true }
    );
    assert!(at(&window, after(5_250)).take(&call(1, 0), &limits, after(5_250)).is_ok());
}

#[test]
fn pacing_lets_large_calls_through_one_after_the_other() {
    let limits = PoolLimits { pacing: Pacing::Even, ..limits(Dimension::TokensPerMinute, 6_000) };
    let mut window = Window::default();
    window.take(&call(500, 0), &limits, NOW).unwrap();
    window.take(&call(5_000, 0), &limits, NOW).unwrap();
    assert!(window.take(&call(1, 0), &limits, NOW).unwrap_err().is_paced);
}

/// Grants as many calls as fit, each time that time makes room, for so long; gives the share of the limit that the
/// minutes after the first have used on average.
fn used_when_work_waits(limits: &PoolLimits, calls: &[Reservation], dimension: Dimension) -> f64 {
    const MINUTES: i64 = 8;
    let (mut now, mut window, mut taken, mut next) = (NOW, Window::default(), 0_u64, 0_usize);
    while now < after((MINUTES + 1) * 60_000) {
        window = at(&window, now);
        let one = calls[next % calls.len()];
        match window.take(&one, limits, now) {
            Ok(()) => {
                next += 1;
                if now >= after(60_000) {
                    taken += dimension.need(&one);
                }
            }
            // As late as a worker may look.
            Err(full) => now = full.until.unwrap().after(Millis::new(20)),
        }
    }
    #[allow(clippy::cast_precision_loss)]
    let share = taken as f64 / (limits.of(dimension).unwrap() * MINUTES.unsigned_abs()) as f64;
    share
}

#[test]
fn at_least_98_percent_is_used_where_work_waits() {
    for pacing in [Pacing::Off, Pacing::Even] {
        for (dimension, limit) in [
            (Dimension::RequestsPerMinute, 600),
            (Dimension::TokensPerMinute, 600_000),
            (Dimension::OutputTokensPerMinute, 200_000),
        ] {
            let limits = PoolLimits { pacing, ..limits(dimension, limit) };
            let calls: Vec<_> = (0..97).map(|n| call(500 + n * 7, 100 + n * 13)).collect();
            let share = used_when_work_waits(&limits, &calls, dimension);
            assert!((0.98..=1.0).contains(&share), "{dimension:?} {pacing:?}: {share}");
        }
    }
}

proptest! {
    /// Whatever the arrivals, no sliding minute holds more than the limits, even if each call reaches
    /// the provider anywhere within the slack after its grant.
    #[test]
    fn no_sliding_minute_holds_more_than_the_limit(
        arrivals in proptest::collection::vec((0_i64..9_000, 1_u64..70, 0_u64..70, 0_i64..500), 1..120),
        is_paced: bool,
    ) {
        let limits = PoolLimits {
            requests_per_minute: Some(7),
            input_tokens_per_minute: Some(100),
            output_tokens_per_minute: Some(90),
            tokens_per_minute: Some(120),
            pacing: if is_paced { Pacing::Even } else { Pacing::Off },
            ..PoolLimits::default()
        };
        let mut now = NOW;
        let mut window = Window::default();
        let mut seen: Vec<(i64, Reservation)> = Vec::new();
        for (gap, input, output, late) in arrivals {
            now = now.after(Millis::new(gap));
            window = at(&window, now);
            let one = call(input, output);
            if window.take(&one, &limits, now).is_ok() {
                seen.push((now.as_millis() + late, one));
            }
        }
        let minute = Dimension::ALL.into_iter().filter(|of| of.span() == Some(Span::Minute));
        for (dimension, (start, _)) in minute.flat_map(|of| seen.iter().map(move |call| (of, call))) {
            let calls = seen.iter().filter(|(at, _)| (*start..start + 60_000).contains(at));
            let used: u64 = calls.map(|(_, one)| dimension.need(one)).sum();
            prop_assert!(used <= limits.of(dimension).unwrap(), "{dimension:?}: {used}");
        }
    }

    /// When a window says that room is there at a time, it is, as long as nobody else has taken it.
    #[test]
    fn there_is_room_when_it_says_so(
        arrivals in proptest::collection::vec((0_i64..4_000, 1_u64..100), 1..60),
        is_paced: bool,
    ) {
        let pacing = if is_paced { Pacing::Even } else { Pacing::Off };
        let limits = PoolLimits { requests_per_minute: Some(9), pacing, ..limits(Dimension::TokensPerMinute, 300) };
        let (mut now, mut window) = (NOW, Window::default());
        for (gap, tokens) in arrivals {
            now = now.after(Millis::new(gap));
            window = at(&window, now);
            let one = call(tokens, 0);
            // Several may bind, one after the other.
            for _ in 0..3 {
                match window.clone().take(&one, &limits, now) {
                    Ok(()) => break,
                    Err(full) => {
                        prop_assert!(full.until > Some(now));
                        now = full.until.unwrap();
                        window = at(&window, now);
                    }
                }
            }
            prop_assert_eq!(window.take(&one, &limits, now), Ok(()));
        }
    }
}
