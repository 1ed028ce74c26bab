//! The retry policy of a task.

use forebay_core::retry::RetryPolicy;
use forebay_core::retry::policy::Backoff;
use forebay_core::time::Millis;

use super::fault::Faults;
use super::parts::{long_millis, within};
use super::written;

fn millis(given: Option<u32>, otherwise: Millis) -> Millis {
    given.map_or(otherwise, |ms| Millis::new(ms.into()))
}

/// Makes `[tasks.NAME.retry]` ready; `path` is the path of that table.
pub(super) fn retry(faults: &mut Faults<'_>, path: &[&str], written: &written::Retry) -> RetryPolicy {
    let default = RetryPolicy::default();
    let backoff = backoff(faults, path, written);
    let fixed_attempts = match &backoff {
        Backoff::Fixed(delays) => u32::try_from(delays.len()).ok().map(|delays| delays.saturating_add(1)),
        Backoff::Exponential { .. } => None,
    };
    check_attempts(faults, path, written, fixed_attempts);
    let elapsed = written.max_elapsed_ms;
    faults.when(elapsed == Some(0), &within(path, "max_elapsed_ms"), "leave it out for no limit of its own");
    RetryPolicy {
        max_attempts: written.max_attempts.or(fixed_attempts).unwrap_or(default.max_attempts),
        backoff,
        max_elapsed: elapsed.map(long_millis),
        max_deferrals: written.max_deferrals.unwrap_or(default.max_deferrals),
        commit_margin: millis(written.commit_margin_ms, default.commit_margin),
    }
}

fn check_attempts(faults: &mut Faults<'_>, path: &[&str], written: &written::Retry, fixed: Option<u32>) {
    let path = within(path, "max_attempts");
    let Some(attempts) = written.max_attempts else { return };
    faults.when(attempts == 0, &path, "the first try is an attempt too; give at least 1");
    if let Some(fixed) = fixed.filter(|fixed| attempts > *fixed) {
        let delays = fixed - 1;
        faults.at(&path, format!("delays_ms has {delays} delays, so there are {fixed} attempts at most"));
    }
}

fn backoff(faults: &mut Faults<'_>, path: &[&str], written: &written::Retry) -> Backoff {
    match &written.delays_ms {
        Some(delays) => fixed(faults, path, written, delays),
        None => exponential(faults, path, written),
    }
}

fn fixed(faults: &mut Faults<'_>, path: &[&str], written: &written::Retry, delays: &[u32]) -> Backoff {
    let message = "a list without delays allows no retry; give max_attempts = 1 for that";
    faults.when(delays.is_empty(), &within(path, "delays_ms"), message);
    let growing = [("base_ms", written.base_ms), ("factor", written.factor), ("cap_ms", written.cap_ms)];
    for (name, given) in growing {
        let message = "give delays_ms or a growing delay (base_ms, factor, cap_ms), not both";
        faults.when(given.is_some(), &within(path, name), message);
    }
    Backoff::Fixed(delays.iter().map(|delay| Millis::new((*delay).into())).collect())
}

fn exponential(faults: &mut Faults<'_>, path: &[&str], written: &written::Retry) -> Backoff {
    let Backoff::Exponential { base, factor, cap } = Backoff::default() else {
        return Backoff::default();
    };
    let (base, cap) = (millis(written.base_ms, base), millis(written.cap_ms, cap));
    let factor = written.factor.unwrap_or(factor);
    faults.when(base == Millis::ZERO, &within(path, "base_ms"), "a delay of 0 is a storm; give at least 1");
    faults.when(factor == 0, &within(path, "factor"), "a factor of 0 is no delay at all; give at least 1");
    let path = within(path, "cap_ms");
    let whose = faults.whose(&path);
    let message = format!("{whose}{} ms is below the first delay, {} ms", cap.get(), base.get());
    faults.when(cap < base, &path, message);
    Backoff::Exponential { base, factor, cap }
}
