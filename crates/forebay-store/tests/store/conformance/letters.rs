//! Dead letters, and doing their work again.

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::limits::NOTES;
use forebay_core::time::Millis;
use forebay_store::record::{
    AcceptRefused, Accepted, Actor, AuditAction, AuditQuery, Bytes, Cancelled, JobRecord, LetterChange,
    LetterChanged, LetterFilter, LetterQuery, LetterState, NewJob, NewReplay, OpenLetters, ReplayQuery,
    ReplayRefused, TenantSettings,
};

use crate::bundle::Bundle;

/// A job of alpha that fails for a reason that is never tried again.
pub async fn dead(b: &Bundle, job: NewJob, class: FailureClass) -> JobId {
    let job = b.accept(job).await;
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, b.fail(&claimed, class).await), (job, State::FailedTerminal));
    job
}

async fn dead_one(b: &Bundle) -> JobId {
    dead(b, b.new_job(), FailureClass::InvalidRequest).await
}

/// A job that does the work of `original` again, as somebody asks for it.
pub fn replay_of(b: &Bundle, original: JobId) -> NewReplay {
    let job = NewJob { replay_of: Some(original), ..b.new_job() };
    NewReplay { job, reason: Some("the prompt is mended".to_owned()), again: false, by: Actor::program() }
}

async fn replay(b: &Bundle, original: JobId) -> Result<Accepted, ReplayRefused> {
    b.store().replay(replay_of(b, original)).await.unwrap()
}

async fn found(b: &Bundle, state: LetterState, filter: LetterFilter) -> Vec<JobId> {
    let query = LetterQuery { filter, state, before: None, limit: 100 };
    let page = b.store().letters(b.alpha, query).await.unwrap();
    page.letters.into_iter().map(|letter| letter.job.id).collect()
}

async fn open(b: &Bundle) -> Vec<JobId> {
    found(b, LetterState::Open, LetterFilter::default()).await
}

async fn left(b: &Bundle, query: ReplayQuery) -> u64 {
    b.store().letters_left(b.alpha, query).await.unwrap()
}

async fn change(b: &Bundle, job: JobId, change: LetterChange) -> Option<LetterChanged> {
    let changed = b.store().change_letters(b.alpha, vec![job], change, Actor::program()).await.unwrap();
    changed.into_iter().next().flatten()
}

async fn set(b: &Bundle, job: JobId, state: LetterState) -> LetterState {
    let wanted = LetterChange { state: Some(state), ..LetterChange::default() };
    match change(b, job, wanted).await {
        Some(LetterChanged::Done(letter)) => letter.state,
        other => panic!("{other:?}"),
    }
}

async fn cancel(b: &Bundle, job: JobId) {
    let answer = b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    assert!(matches!(answer, Some(Cancelled::Done(_))));
}

/// I23: it is one in the transaction that fails it.
pub async fn a_job_that_fails_is_a_dead_letter(b: &Bundle) {
    let late = b.accept(NewJob { deadline: b.now().after(Millis::new(1)), ..b.new_job() }).await;
    b.wait(Millis::new(1));
    b.store().expire(late).await.unwrap().unwrap();
    let refused = dead_one(b).await;
    b.accept_one().await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    cancel(b, b.accept_one().await).await;
    assert_eq!(open(b).await, [refused, late]);
    let letter = b.store().letter(b.alpha, late).await.unwrap().unwrap();
    assert_eq!((letter.record.job, letter.record.owner), (b.job(late).await, None));
    assert_eq!(b.store().letter(b.beta, late).await.unwrap().map(|letter| letter.record), None);
    let all = b.store().open_letters().await.unwrap();
    assert_eq!(all, OpenLetters { count: 2, oldest: Some(b.now()) });
}

pub async fn letters_are_found_by_what_is_asked(b: &Bundle) {
    let metadata = Some(r#"{"order":"4711"}"#.to_owned());
    let special = NewJob { task: "report".to_owned(), revision: 2, metadata, ..b.new_job() };
    let first = dead(b, special, FailureClass::InvalidRequest).await;
    b.wait_secs(10);
    let middle = b.now();
    let second = dead(b, b.new_job(), FailureClass::Auth).await;
    let owned = LetterChange { owner: Some(Some("anna".to_owned())), ..LetterChange::default() };
    change(b, second, owned).await.unwrap();
    let all = LetterFilter::default;
    let table = [
        (LetterFilter { task: Some("report".to_owned()), ..all() }, first),
        (LetterFilter { class: Some(FailureClass::Auth), ..all() }, second),
        (LetterFilter { revision: Some(2), ..all() }, first),
        (LetterFilter { owner: Some("anna".to_owned()), ..all() }, second),
        (LetterFilter { unowned: true, ..all() }, first),
        (LetterFilter { failed_after: Some(middle), ..all() }, second),
        (LetterFilter { failed_before: Some(middle), ..all() }, first),
        (LetterFilter { created_after: Some(middle), ..all() }, second),
        (LetterFilter { created_before: Some(middle), ..all() }, first),
        (LetterFilter { metadata: vec![("order".to_owned(), "4711".to_owned())], ..all() }, first),
    ];
    for (filter, expected) in table {
        assert_eq!(found(b, LetterState::Open, filter.clone()).await, [expected], "{filter:?}");
        let query = ReplayQuery { filter: filter.clone(), ..ReplayQuery::default() };
        let sources = b.store().replayable(b.alpha, query.clone(), 10).await.unwrap();
        let sources: Vec<JobId> = sources.into_iter().map(|source| source.job.id).collect();
        assert_eq!((sources, left(b, query).await), (vec![expected], 1), "{filter:?}");
    }
}

pub async fn letters_are_counted_by_task_and_class(b: &Bundle) {
    let began = b.now();
    for class in [FailureClass::Auth, FailureClass::InvalidRequest, FailureClass::InvalidRequest] {
        dead(b, b.new_job(), class).await;
        b.wait_secs(1);
    }
    dead(b, NewJob { task: "report".to_owned(), ..b.new_job() }, FailureClass::Auth).await;
    let groups = b.store().letter_groups(b.alpha, LetterState::Open, LetterFilter::default()).await.unwrap();
    let counts: Vec<_> = groups.iter().map(|group| (&group.task[..], group.class, group.count)).collect();
    let (auth, invalid) = (FailureClass::Auth, FailureClass::InvalidRequest);
    assert_eq!(counts, [("chat", invalid, 2), ("chat", auth, 1), ("report", auth, 1)]);
    let times = (groups[0].oldest, groups[0].newest);
    assert_eq!(times, (began.after(Millis::from_secs(1)), began.after(Millis::from_secs(2))));
    let theirs = b.store().letter_groups(b.beta, LetterState::Open, LetterFilter::default()).await.unwrap();
    assert_eq!(theirs, []);
}

pub async fn pages_hold_each_letter_once(b: &Bundle) {
    let mut letters = Vec::new();
    for _ in 0..5 {
        letters.push(dead_one(b).await);
    }
    let (mut before, mut paged) = (None, Vec::new());
    loop {
        let query = LetterQuery { before, limit: 2, ..LetterQuery::default() };
        let page = b.store().letters(b.alpha, query).await.unwrap();
        paged.extend(page.letters.iter().map(|letter| letter.job.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    paged.reverse();
    assert_eq!(paged, letters);
}

/// Owner, state and notes change; the job's row does not (I13).
pub async fn a_person_deals_with_a_letter(b: &Bundle) {
    let job = dead_one(b).await;
    let before = b.job(job).await;
    let note = LetterChange {
        owner: Some(Some("anna".to_owned())),
        note: Some("the supplier changed its template".to_owned()),
        ..LetterChange::default()
    };
    change(b, job, note).await.unwrap();
    assert_eq!(set(b, job, LetterState::Dismissed).await, LetterState::Dismissed);
    assert_eq!((open(b).await, b.job(job).await), (vec![], before));
    let letter = b.store().letter(b.alpha, job).await.unwrap().unwrap();
    assert_eq!((letter.record.owner.as_deref(), letter.record.notes), (Some("anna"), 1));
    assert_eq!((letter.notes[0].at, &letter.notes[0].author), (b.now(), &Actor::program()));
    assert_eq!(letter.notes[0].text, "the supplier changed its template");
    assert_eq!(set(b, job, LetterState::Open).await, LetterState::Open);
    set(b, job, LetterState::Open).await;
    let query = AuditQuery { subject: Some(job.to_string()), limit: 9, ..AuditQuery::default() };
    let records = b.store().audit(query).await.unwrap().records;
    let actions: Vec<_> = records.iter().map(|record| *record.action.known().unwrap()).collect();
    let put = AuditAction::DeadLetterPut;
    assert_eq!(
        actions,
        [put, put, AuditAction::DeadLetterNote, put],
        "what changes nothing leaves no record"
    );
    assert_eq!(records[1].after.as_ref().unwrap()["state"], "dismissed");
    let store = b.store();
    let foreign = store.change_letters(b.beta, vec![job], LetterChange::default(), Actor::program());
    assert!(matches!(foreign.await.unwrap()[..], [None]));
}

pub async fn many_letters_are_changed_at_once_each_by_itself(b: &Bundle) {
    let (first, second) = (dead_one(b).await, dead_one(b).await);
    let strange = b.accept_one().await;
    let wanted = LetterChange {
        state: Some(LetterState::Dismissed),
        note: Some("the account was closed".to_owned()),
        ..LetterChange::default()
    };
    let store = b.store();
    let changed = store.change_letters(b.alpha, vec![first, strange, second], wanted, Actor::program());
    let changed = changed.await.unwrap();
    assert!(
        matches!(changed[..], [Some(LetterChanged::Done(_)), None, Some(LetterChanged::Done(_))]),
        "{changed:?}"
    );
    assert_eq!(found(b, LetterState::Dismissed, LetterFilter::default()).await, [second, first]);
    for job in [first, second] {
        let query = AuditQuery { subject: Some(job.to_string()), limit: 9, ..AuditQuery::default() };
        assert_eq!(b.store().audit(query).await.unwrap().records.len(), 2, "each has its own records");
    }
}

pub async fn a_letter_takes_so_many_notes_and_not_one_more(b: &Bundle) {
    let job = dead_one(b).await;
    let note = || LetterChange { note: Some("again".to_owned()), ..LetterChange::default() };
    for _ in 0..NOTES {
        assert!(matches!(change(b, job, note()).await, Some(LetterChanged::Done(_))));
    }
    assert!(matches!(change(b, job, note()).await, Some(LetterChanged::TooManyNotes)));
    assert_eq!(b.store().letter(b.alpha, job).await.unwrap().unwrap().notes.len(), NOTES);
}

/// I13: a new job that points to the old one, whose row is as it was.
pub async fn a_replay_is_a_new_job(b: &Bundle) {
    let input = Bytes::Blob(Digest::of(b"large"));
    let series = Some(("inv-1".to_owned(), 2));
    let given = NewJob { input: input.clone(), series: series.clone(), ..b.new_job() };
    let original = dead(b, given, FailureClass::InvalidRequest).await;
    let before = b.job(original).await;
    let source = b.store().replay_source(b.alpha, original).await.unwrap().unwrap();
    assert_eq!((source.input, source.series, &source.job), (input, series, &before));
    let accepted = replay(b, original).await.unwrap();
    let new = b.job(accepted.job_id).await;
    assert_eq!((new.replay_of, new.job.state, accepted.replayed), (Some(original), State::Ready, false));
    let after = b.job(original).await;
    assert_eq!(after.replayed_by, Some(new.id));
    assert_eq!(JobRecord { replayed_by: None, ..after }, before);
    let story = b.story(original).await;
    assert_eq!(story[story.len() - 2..], [EventType::Failed, EventType::Replayed]);
    let event = b.events(b.alpha, Some(original)).await.pop().unwrap();
    let event: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
    assert_eq!(event["data"]["replayed_by"], new.id.to_string());
    assert_eq!(event["data"]["state_version"], before.job.state_version);
    assert_eq!(open(b).await, []);
    assert_eq!(found(b, LetterState::Replayed, LetterFilter::default()).await, [original]);
    let query = AuditQuery { action: Some(AuditAction::JobReplay), limit: 9, ..AuditQuery::default() };
    let record = b.store().audit(query).await.unwrap().records.remove(0);
    let what = record.after.unwrap();
    assert_eq!((record.subject, &what["replay"]), (original.to_string(), &new.id.to_string().into()));
    assert_eq!(what["reason"], "the prompt is mended");
}

/// F67, F142: what is at work or has succeeded is done again only where that is asked for.
pub async fn the_same_letter_is_not_replayed_twice(b: &Bundle) {
    let original = dead_one(b).await;
    let first = replay(b, original).await.unwrap().job_id;
    let refused = Err(ReplayRefused::Replayed { by: first });
    assert_eq!(replay(b, original).await, refused);
    let claimed = b.claim_one().await;
    assert_eq!(replay(b, original).await, refused);
    b.succeed(&claimed).await;
    assert_eq!(replay(b, original).await, refused);
    let again = NewReplay { again: true, ..replay_of(b, original) };
    let second = b.store().replay(again).await.unwrap().unwrap().job_id;
    assert_eq!(b.job(original).await.replayed_by, Some(second));
    assert_eq!(replay(b, original).await, refused.map_err(|_| ReplayRefused::Replayed { by: second }));
}

/// F67.
pub async fn what_did_not_fail_is_not_replayed(b: &Bundle) {
    let not_failed = |state| Err(ReplayRefused::NotFailed { state });
    let job = b.accept_one().await;
    assert_eq!(replay(b, job).await, not_failed(State::Ready));
    let claimed = b.claim_one().await;
    assert_eq!(replay(b, job).await, not_failed(State::Running));
    b.succeed(&claimed).await;
    assert_eq!(replay(b, job).await, not_failed(State::Succeeded));
    let theirs = NewReplay { job: NewJob { tenant: b.beta, ..replay_of(b, job).job }, ..replay_of(b, job) };
    assert_eq!(b.store().replay(theirs).await.unwrap(), Err(ReplayRefused::NoJob));
    assert_eq!(b.all_jobs(b.alpha).await.len(), 1);
}

/// A replay is counted as any job is (F142).
pub async fn a_replay_passes_admission(b: &Bundle) {
    let (first, second) = (dead_one(b).await, dead_one(b).await);
    b.allow(b.alpha, TenantSettings { max_pending_jobs: Some(1), ..TenantSettings::default() }).await;
    replay(b, first).await.unwrap();
    let full = ReplayRefused::NotAccepted(AcceptRefused::TenantFull { limit: 1 });
    assert_eq!(replay(b, second).await, Err(full));
    assert_eq!(open(b).await, [second], "nothing was written");
    assert_eq!(b.story(second).await.last(), Some(&EventType::Failed));
}

/// I2, for the call that asks for it.
pub async fn a_replay_under_a_key_is_one_replay(b: &Bundle) {
    let original = dead_one(b).await;
    let keyed = || {
        let new = replay_of(b, original);
        NewReplay { job: NewJob { idempotency_key: Some("again-1".to_owned()), ..new.job.clone() }, ..new }
    };
    let first = b.store().replay(keyed()).await.unwrap().unwrap();
    let second = b.store().replay(keyed()).await.unwrap().unwrap();
    assert_eq!((second.job_id, second.replayed), (first.job_id, true));
    assert_eq!(b.all_jobs(b.alpha).await.len(), 2);
}

/// Its replay stands in its place: it is a dead letter of its own then.
pub async fn a_replay_that_fails_is_the_letter_that_is_left(b: &Bundle) {
    let original = dead_one(b).await;
    let new = replay(b, original).await.unwrap().job_id;
    let claimed = b.claim_one().await;
    b.fail(&claimed, FailureClass::Auth).await;
    assert_eq!(open(b).await, [new]);
    assert_eq!(left(b, ReplayQuery::default()).await, 1);
    assert_eq!(left(b, ReplayQuery { again: true, ..ReplayQuery::default() }).await, 2);
    replay(b, original).await.expect("by itself it may be asked for: nothing is at work");
}

/// F142: replays that were a mistake are cancelled, and everything is as it was.
pub async fn a_replay_that_is_cancelled_leaves_the_letter_open(b: &Bundle) {
    let original = dead_one(b).await;
    let first = replay(b, original).await.unwrap().job_id;
    let again = NewReplay { again: true, ..replay_of(b, original) };
    let second = b.store().replay(again).await.unwrap().unwrap().job_id;
    cancel(b, second).await;
    assert_eq!(open(b).await, [], "another one is at work");
    cancel(b, first).await;
    assert_eq!(open(b).await, [original]);
    set(b, original, LetterState::Dismissed).await;
    let third = replay(b, original).await.unwrap().job_id;
    assert_eq!(set(b, original, LetterState::Open).await, LetterState::Replayed);
    set(b, original, LetterState::Resolved).await;
    cancel(b, third).await;
    assert_eq!(found(b, LetterState::Resolved, LetterFilter::default()).await, [original]);
}

/// In the order of failing, from wherever the call before ended.
pub async fn what_is_to_be_replayed_comes_oldest_first(b: &Bundle) {
    let mut letters = Vec::new();
    for _ in 0..5 {
        letters.push(dead_one(b).await);
    }
    replay(b, letters[1]).await.unwrap();
    let ask = async |again: bool, after: i64, limit: usize| {
        let query = ReplayQuery { again, after, ..ReplayQuery::default() };
        b.store().replayable(b.alpha, query, limit).await.unwrap()
    };
    let ids = |sources: &[forebay_store::record::ReplaySource]| -> Vec<JobId> {
        sources.iter().map(|source| source.job.id).collect()
    };
    let first = ask(false, 0, 2).await;
    assert_eq!(ids(&first), [letters[0], letters[2]]);
    let after = first[1].seq;
    assert_eq!(ids(&ask(false, after, 9).await), letters[3..]);
    assert_eq!(left(b, ReplayQuery { after, ..ReplayQuery::default() }).await, 2);
    assert_eq!(ids(&ask(true, 0, 9).await), letters);
}
