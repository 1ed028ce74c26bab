//! The checks: pure functions over what was read. Each names the invariant that it judges, and the rows that
//! contradict each other where it does not hold.

mod accept;
mod batches;
mod calls;
mod counts;
mod explain;
mod log;
mod money;
mod owner;
mod results;
mod reviews;
mod secrets;
#[cfg(test)]
pub(super) mod testing;
mod time;

use super::report::Findings;
use super::world::World;

/// Judges everything.
pub fn all(world: &World<'_>, findings: &mut Findings) {
    findings.figures.jobs = world.store.jobs.len() as u64;
    findings.figures.attempts = world.store.attempts.len() as u64;
    findings.figures.events = world.store.events.len() as u64;
    findings.figures.unknown =
        world.store.attempts.iter().filter(|attempt| attempt.outcome.as_deref() == Some("unknown")).count()
            as u64;
    accept::check(world, findings);
    owner::check(world, findings);
    calls::check(world, findings);
    money::check(world, findings);
    results::check(world, findings);
    reviews::check(world, findings);
    log::check(world, findings);
    time::check(world, findings);
    counts::check(world, findings);
    batches::check(world, findings);
    secrets::check(world, findings);
    explain::check(world, findings);
}
