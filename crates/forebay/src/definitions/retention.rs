//! How long what has ended is kept.

use forebay_core::definition::Retention;
use forebay_core::time::Millis;

use super::fault::Faults;
use super::parts::long_millis;
use super::written;

const SECTION: &str = "retention";
/// A second; less would delete what somebody is about to fetch.
const LEAST: u64 = 1_000;
/// A hundred years.
const MOST: u64 = 100 * 366 * 24 * 3_600 * 1_000;

/// Reads `[retention]`, which need not be there.
pub(super) fn retention(faults: &mut Faults<'_>) -> Retention {
    if !faults.source.has(&[SECTION]) {
        return Retention::default();
    }
    let (written, wrong) = faults.source.read::<written::Retention>(&[SECTION]);
    wrong.into_iter().for_each(|fault| faults.push(fault));
    let written = written.unwrap_or_default();
    let default = Retention::default();
    Retention {
        results: span(faults, "results_ms", written.results_ms, default.results),
        dead_letters: span(faults, "dead_letters_ms", written.dead_letters_ms, default.dead_letters),
        documents: span(faults, "documents_ms", written.documents_ms, default.documents),
    }
}

fn span(faults: &mut Faults<'_>, member: &str, written: Option<u64>, default: Millis) -> Millis {
    let Some(millis) = written else { return default };
    let rule = format!("it has to be from {LEAST} (a second) to {MOST} (a hundred years)");
    faults.when(!(LEAST..=MOST).contains(&millis), &[SECTION, member], &rule);
    long_millis(millis)
}
