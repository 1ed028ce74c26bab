//! Pools: capacity at a provider, which calls share.

use std::sync::Arc;

use forebay_core::definition::{Pool, PoolLimits, Provider};
use forebay_core::window::{Dimension, Span};

use super::fault::Faults;
use super::parts::{section, within};
use super::{Section, written};

/// The most that may be left unused: more is another limit.
const MOST_MARGIN: u8 = 50;

/// Reads `[pools.*]`.
pub(super) fn pools(faults: &mut Faults<'_>, providers: &Section<Provider>) -> Section<Pool> {
    section(faults, "pools", |faults, path, written: written::Pool| {
        let provider = providers.resolve(faults, &within(path, "provider"), "provider", &written.provider);
        let limits = limits(faults, path, &written);
        Some(Pool { name: path[1].to_owned(), provider: Arc::clone(&provider?), limits })
    })
}

fn limits(faults: &mut Faults<'_>, path: &[&str], written: &written::Pool) -> PoolLimits {
    let margin = written.safety_margin_percent.unwrap_or_default();
    let limits = PoolLimits {
        requests_per_minute: written.requests_per_minute.map(u64::from),
        input_tokens_per_minute: written.input_tokens_per_minute.map(u64::from),
        output_tokens_per_minute: written.output_tokens_per_minute.map(u64::from),
        tokens_per_minute: written.tokens_per_minute.map(u64::from),
        requests_per_day: written.requests_per_day.map(u64::from),
        tokens_per_day: written.tokens_per_day,
        max_in_flight: written.max_in_flight.map(u64::from),
        max_tokens_in_flight: written.max_tokens_in_flight.map(u64::from),
        safety_margin_percent: margin,
        pacing: written.pacing,
        count_tokens: written.count_tokens,
    };
    for dimension in Dimension::ALL {
        let message = "a limit of 0 lets nothing through; leave it out for no limit";
        faults.when(limits.configured(dimension) == Some(0), &within(path, dimension.name()), message);
    }
    let path = within(path, "safety_margin_percent");
    let message = format!("{margin} is more than {MOST_MARGIN}: lower the limits instead");
    faults.when(margin > MOST_MARGIN, &path, message);
    let has_any = Span::ALL.into_iter().any(|span| limits.looks_back(span));
    let message = "the pool has no limit per minute or day that a margin could be taken off";
    faults.when(margin > 0 && !has_any, &path, message);
    limits
}
