//! How fast jobs may be handed in.

use forebay_core::definition::SubmitLimits;
use forebay_core::rate::{MOST_PER_MINUTE, Rate};

use super::fault::Faults;
use super::written;

const SECTION: &str = "submit_limits";

/// Reads `[submit_limits]`, which need not be there.
pub(super) fn submit_limits(faults: &mut Faults<'_>) -> SubmitLimits {
    if !faults.source.has(&[SECTION]) {
        return SubmitLimits::default();
    }
    let (written, wrong) = faults.source.read::<written::SubmitLimits>(&[SECTION]);
    wrong.into_iter().for_each(|fault| faults.push(fault));
    let written = written.unwrap_or_default();
    SubmitLimits {
        tenant: rate(faults, "tenant_per_minute", written.tenant_per_minute),
        key: rate(faults, "key_per_minute", written.key_per_minute),
        user: rate(faults, "user_per_minute", written.user_per_minute),
    }
}

fn rate(faults: &mut Faults<'_>, member: &str, written: Option<u64>) -> Option<Rate> {
    let rate = written.and_then(Rate::per_minute);
    let rule = format!("it has to be from 1 to {MOST_PER_MINUTE}; no limit is said by leaving it out");
    faults.when(written.is_some() && rate.is_none(), &[SECTION, member], &rule);
    rate
}
