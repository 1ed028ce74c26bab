//! What holds for every history of a job, whatever is asked of it in whatever order.

use proptest::prelude::*;

use super::*;
use crate::failure::FailureClass;
use crate::job::Failure;
use crate::lifecycle::testing::NOW;
use crate::time::Millis;

/// One thing that somebody asks, with numbers that are right or wrong by chance.
#[derive(Debug, Clone)]
struct Ask {
    command: Command,
    fence_back: u64,
    wait_ms: i64,
    class: FailureClass,
    end: u8,
    children: u32,
}

fn ask() -> impl Strategy<Value = Ask> {
    (
        proptest::sample::select(Command::ALL.to_vec()),
        prop_oneof![4 => Just(0_u64), 1 => 1_u64..3],
        prop_oneof![3 => 0_i64..5_000, 1 => 0_i64..2_000_000],
        proptest::sample::select(FailureClass::ALL.to_vec()),
        0_u8..3,
        0_u32..2,
    )
        .prop_map(|(command, fence_back, wait_ms, class, end, children)| Ask {
            command,
            fence_back,
            wait_ms,
            class,
            end,
            children,
        })
}

fn apply(job: &Job, ask: &Ask, now: Timestamp) -> Result<Change, Refusal> {
    let fence = job.fence.saturating_sub(ask.fence_back);
    let seen = job.state_version - ask.fence_back.min(job.state_version);
    let lease = Millis::from_secs(30);
    let failure = Failure::new(ask.class, "by chance");
    let failed = Failed { fence, now, ..Failed::example(ask.class) };
    match ask.command {
        Command::Claim => claim(job, now, lease),
        Command::Reroute => reroute(job),
        Command::Extend => {
            extend(job, fence, now, lease).map(|job| Change { job, event: EventType::Progress })
        }
        Command::Release => release(job, fence),
        Command::StepDone => step_done(job, fence, now),
        Command::Wait => {
            wait(&Job { open_children: ask.children, ..job.clone() }, fence, WaitFor::Children, now)
        }
        Command::Wake => wake(&Job { open_children: 0, ..job.clone() }, now),
        Command::Finish => {
            let end = [End::Succeeded, End::Review(failure.clone()), End::Failed(failure)]
                [usize::from(ask.end)]
            .clone();
            finish(job, fence, end)
        }
        Command::Fail => fail(job, &failed),
        Command::Rescue => rescue(job, &failed),
        Command::Expire => expire(job, now),
        Command::Cancel => cancel(job),
        Command::Approve => approve(job, seen, ask.end > 0),
        Command::Correct => correct(job, seen),
        Command::Reject => reject(job, seen, "no"),
        Command::Rerun => rerun(job, seen, now, now.after(Millis::from_secs(600))),
        Command::Replay => replay(job),
    }
}

/// Commands that leave the version as it is: a heartbeat, and the note that a new job replays this one.
fn keeps_version(command: Command) -> bool {
    matches!(command, Command::Extend | Command::Replay)
}

proptest! {
    #[test]
    fn every_history_keeps_the_promises(asks in proptest::collection::vec(ask(), 1..60)) {
        let mut now = NOW;
        let deadline = now.after(Millis::from_secs(900));
        let first = submit(&Submitted { now, not_before: None, deadline });
        let mut job = first.job;
        for ask in asks {
            now = now.after(Millis::new(ask.wait_ms));
            let Ok(change) = apply(&job, &ask, now) else { continue };
            let after = change.job;
            prop_assert!(after.fence >= job.fence, "the fence never goes back");
            prop_assert!(!job.state.is_terminal() || after == job, "terminal jobs never change");
            let step = u64::from(!keeps_version(ask.command));
            prop_assert_eq!(after.state_version, job.state_version + step, "the version rises by one");
            prop_assert!(TABLE.iter().any(|(from, command, to)| {
                (*from, *command) == (job.state, ask.command) && to.contains(&after.state)
            }), "every event has a cause in the table");
            prop_assert_eq!(after.lease_until.is_some(), after.state == State::Running);
            prop_assert!(after.generation > job.generation || after.step >= job.step);
            prop_assert!(after.attempts <= RetryBound::MAX, "attempts never exceed the maximum of their step");
            let stale = ask.fence_back > 0 && job.fence > 0;
            prop_assert!(!(stale && is_owners(ask.command)), "a stale owner changes nothing");
            job = after;
        }
    }
}

/// The policy of [`Failed::example`] allows five attempts; releases and deferrals give theirs back.
struct RetryBound;
impl RetryBound {
    const MAX: u32 = 5;
}

fn is_owners(command: Command) -> bool {
    matches!(
        command,
        Command::Extend
            | Command::Release
            | Command::StepDone
            | Command::Wait
            | Command::Finish
            | Command::Fail
    )
}
