use super::*;
use forebay_core::definition::Pacing;
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::grant::Account;
use forebay_core::id::ProcessId;
use forebay_core::job::{Failure, Job, Priority};
use forebay_core::money::Micros;
use forebay_core::window::{Bucket, Use};
use forebay_store::record::{JobRecord, JobUsage, PoolStatus, StepRecord};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn at(seconds: i64) -> Timestamp {
    NOW.after(Millis::from_secs(seconds))
}

fn job(state: JobState) -> JobRecord {
    JobRecord {
        id: JobId::from_bytes([1; 16]),
        seq: 1,
        tenant: 1,
        task: "invoice".to_owned(),
        kind: "extract".to_owned(),
        revision: 1,
        job: Job {
            state,
            state_version: 1,
            fence: 0,
            generation: 1,
            step: 1,
            attempts: 0,
            deferrals: 0,
            step_since: NOW,
            available_at: NOW,
            lease_until: None,
            deadline: at(3_600),
            open_children: 0,
            failure: None,
        },
        priority: Priority::Normal,
        pool: "main".to_owned(),
        ordering_key: None,
        behind_key: false,
        keeps_key: false,
        usage: JobUsage::default(),
        created_at: NOW,
        updated_at: NOW,
        finished_at: None,
        metadata: None,
        correlation_id: None,
        replay_of: None,
        request_digest: Digest::of(b"r"),
        document: None,
        batch: None,
        replayed_by: None,
    }
}

fn queue(state: JobState) -> Queue {
    Queue {
        job: job(state),
        ahead: 0,
        lanes: 1,
        keys: 1,
        kept_by: None,
        step: StepRecord {
            generation: 1,
            number: 1,
            kind: "chat".to_owned(),
            pool: "main".to_owned(),
            model: "small".to_owned(),
            input_tokens: 600,
            output_tokens: 400,
            planned_at: NOW,
            finished_at: None,
            attempts: 0,
            entry: None,
        },
        pool: PoolStatus {
            name: "main".to_owned(),
            used: Use::default(),
            cooldown_until: None,
            cooldown_class: None,
            waiting: 1,
        },
        tenant_in_flight: (0, None),
        key_in_flight: (0, None),
        task_in_flight: 0,
        account: Account::default(),
        recent_durations: vec![],
    }
}

fn facts() -> Facts {
    let price =
        Price { input_per_mtok: Micros(1_000_000), output_per_mtok: Micros(1_000_000), ..Price::default() };
    Facts {
        now: NOW,
        limits: Some(PoolLimits::default()),
        price,
        task_limit: None,
        slots: 4,
        has_worker: true,
        review_due: None,
    }
}

fn kinds(explanation: &Explanation) -> Vec<&'static str> {
    explanation.waiting_for.iter().map(|reason| reason.kind).collect()
}

#[test]
fn a_due_job_with_nothing_in_its_way_waits_for_a_worker() {
    let explanation = facts().explain(&queue(JobState::Ready));
    assert_eq!(kinds(&explanation), ["worker"]);
    assert_eq!(explanation.ahead, Some(0));
    assert_eq!(explanation.eta, None, "nothing was measured yet");
}

#[test]
fn a_job_that_no_process_works_on_says_so() {
    let ready = queue(JobState::Ready);
    let explanation = Facts { has_worker: false, ..facts() }.explain(&ready);
    assert_eq!(kinds(&explanation), ["no_worker"]);
    let detail = &explanation.waiting_for[0].detail;
    assert!(detail.contains("`invoice`") && detail.contains("`main`"), "{detail}");
    let ended = Facts { has_worker: false, ..facts() }.explain(&queue(JobState::Succeeded));
    assert!(ended.waiting_for.is_empty());
}

#[test]
fn who_works_on_a_job_has_the_role_is_heard_of_and_is_not_restricted_to_others() {
    let queue = queue(JobState::Ready);
    let names = |names: &[&str]| Some(names.iter().copied().map(str::to_owned).collect::<Vec<_>>());
    let process = |roles: &[&str], pools, tasks| ProcessRecord {
        report: ProcessReport {
            id: ProcessId::from_bytes([1; 16]),
            name: "host-1".to_owned(),
            build: "forebay/1.2.3".to_owned(),
            roles: names(roles).unwrap(),
            slots: 1,
            pools,
            tasks,
            in_hand: 0,
            started_at: NOW,
        },
        heard_at: NOW,
        leads: vec![],
    };
    let works = |process: &ProcessRecord| works_on(process, &queue, NOW);
    let all = process(&["api", "work"], None, None);
    assert!(works(&all) && works(&process(&["work"], names(&["a", "main"]), names(&["invoice"]))));
    assert!(!works_on(&all, &queue, at(60)), "it is not heard of any more");
    assert!(!works(&process(&["api"], None, None)));
    assert!(!works(&process(&["work"], names(&["other"]), None)));
    assert!(!works(&process(&["work"], None, names(&["other"]))));
}

#[test]
fn everything_that_binds_is_named() {
    let mut queue = queue(JobState::RetryScheduled);
    queue.job.job.available_at = at(10);
    queue.job.job.failure = Some(Failure::new(FailureClass::Overloaded, "503"));
    queue.job.ordering_key = Some("a".to_owned());
    queue.job.behind_key = true;
    queue.pool.cooldown_until = Some(at(20));
    queue.pool.cooldown_class = Some(FailureClass::RateLimited);
    queue.account = Account { limit: Some(Micros(999)), ..Account::default() };
    queue.pool.used.in_flight = 2;
    queue.tenant_in_flight = (2, Some(2));
    queue.key_in_flight = (5, Some(4));
    queue.task_in_flight = 7;
    queue.ahead = 412;
    queue.lanes = 3;
    queue.keys = 2;
    let limits = Some(PoolLimits { max_in_flight: Some(2), ..PoolLimits::default() });
    let explanation = Facts { limits, task_limit: Some(7), ..facts() }.explain(&queue);
    assert_eq!(
        kinds(&explanation),
        [
            "ordering_key",
            "retry_at",
            "cooldown",
            "budget",
            "pool_limit",
            "in_flight_limit",
            "in_flight_limit",
            "in_flight_limit",
            "fair_share"
        ]
    );
    let details: Vec<_> = explanation.waiting_for.iter().map(|reason| reason.detail.as_str()).collect();
    assert!(details[1].contains("overloaded"), "{details:?}");
    assert!(details[2].contains("rate_limited"), "{details:?}");
    assert!(details[3].contains("1000 micros") && details[3].contains("999 left"), "{details:?}");
    assert!(details[5].starts_with("The tenant has 2 calls"), "{details:?}");
    assert!(details[6].starts_with("The key that handed it in has 5 calls"), "{details:?}");
    assert!(details[7].starts_with("The task `invoice` has 7 calls"), "{details:?}");
    assert_eq!(
        details[8],
        "412 jobs of the same key go first, and turns are taken with 1 other key and 2 other tenants in pool `main`."
    );
}

#[test]
fn a_job_that_keeps_the_key_is_named() {
    let mut queue = queue(JobState::Ready);
    queue.job.ordering_key = Some("a".to_owned());
    queue.job.behind_key = true;
    queue.kept_by = Some(JobId::from_bytes([7; 16]));
    let explanation = facts().explain(&queue);
    assert_eq!(kinds(&explanation), ["ordering_key"]);
    assert!(explanation.waiting_for[0].detail.contains("job_07070707"), "{explanation:?}");
}

#[test]
fn a_minute_limit_says_when_there_is_room() {
    let mut queue = queue(JobState::Ready);
    queue.pool.used.minute = vec![Bucket { start: NOW, requests: 1, input_tokens: 400, output_tokens: 100 }];
    let limits = Some(PoolLimits { tokens_per_minute: Some(1_200), ..PoolLimits::default() });
    let explanation = Facts { limits, ..facts() }.explain(&queue);
    assert_eq!(kinds(&explanation), ["pool_limit"]);
    assert_eq!(explanation.waiting_for[0].until, Some(queue.pool.used.minute[0].free_at(Span::Minute)));
    assert!(explanation.waiting_for[0].detail.contains("tokens_per_minute"));
}

#[test]
fn every_limit_of_a_pool_is_told_apart() {
    let mut queue = queue(JobState::Ready);
    let used = vec![Bucket { start: NOW, requests: 40, input_tokens: 400, output_tokens: 100 }];
    queue.pool.used = Use { in_flight: 2, tokens_in_flight: 500, minute: used.clone(), day: used };
    let told = |limits: PoolLimits| {
        let mut reasons = Facts { limits: Some(limits), ..facts() }.explain(&queue).waiting_for;
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        (reasons[0].until, reasons.remove(0).detail)
    };
    let (until, detail) = told(PoolLimits { requests_per_day: Some(40), ..PoolLimits::default() });
    assert_eq!(until, Some(queue.pool.used.day[0].free_at(Span::Day)));
    assert!(detail.starts_with("Pool `main` has used up requests_per_day; room"), "{detail}");
    let (until, detail) = told(PoolLimits { max_tokens_in_flight: Some(1_400), ..PoolLimits::default() });
    assert_eq!(until, None);
    assert!(
        detail.contains("may need 500 tokens together") && detail.contains("the 1000 of this one"),
        "{detail}"
    );
    let paced = PoolLimits { requests_per_minute: Some(400), pacing: Pacing::Even, ..PoolLimits::default() };
    let (until, detail) = told(paced);
    assert_eq!(until, Some(NOW.after(Millis::new(5_250))));
    assert!(detail.contains("spreads its calls over the minute"), "{detail}");
}

#[test]
fn what_a_day_has_left_is_not_waited_for() {
    let mut queue = queue(JobState::Ready);
    queue.recent_durations = vec![2_000];
    queue.ahead = 8;
    let used = vec![Bucket { start: NOW, requests: 4, input_tokens: 0, output_tokens: 0 }];
    queue.pool.used.day = used;
    let eta = |limit| {
        let limits = Some(PoolLimits { requests_per_day: Some(limit), ..PoolLimits::default() });
        Facts { limits, ..facts() }.explain(&queue).eta.unwrap().p50
    };
    // Eight calls, four at a time.
    assert_eq!(eta(100), at(4 + 2));
    assert_eq!(eta(10), at(86_400 * 2 / 10 + 2), "two of the eight are beyond the day's ten");
}

#[test]
fn a_job_that_may_not_start_yet_is_no_retry() {
    let mut queue = queue(JobState::Ready);
    queue.job.job.available_at = at(10);
    let explanation = facts().explain(&queue);
    assert_eq!(kinds(&explanation), ["not_before"]);
    assert_eq!(explanation.waiting_for[0].until, Some(at(10)));
}

#[test]
fn a_pool_that_is_gone_pauses_its_jobs() {
    let explanation = Facts { limits: None, ..facts() }.explain(&queue(JobState::Ready));
    assert_eq!(kinds(&explanation), ["paused"]);
}

#[test]
fn the_other_states_wait_for_what_their_docs_say() {
    let explain = |state| kinds(&facts().explain(&queue(state)));
    assert_eq!(explain(JobState::Waiting), ["callback"]);
    assert_eq!(explain(JobState::ReviewRequired), ["approval"]);
    for state in [JobState::Running, JobState::Succeeded, JobState::FailedTerminal, JobState::Cancelled] {
        assert!(explain(state).is_empty(), "{state:?}");
    }
    let mut parent = queue(JobState::Waiting);
    parent.job.job.open_children = 3;
    assert_eq!(kinds(&facts().explain(&parent)), ["child"]);
}

#[test]
fn the_eta_is_the_queue_at_the_allowed_rate_and_one_call() {
    let mut queue = queue(JobState::Ready);
    queue.recent_durations = vec![2_000, 2_000, 6_000];
    queue.ahead = 30;
    let limits = Some(PoolLimits { requests_per_minute: Some(10), ..PoolLimits::default() });
    let eta = Facts { limits, ..facts() }.explain(&queue).eta.unwrap();
    assert_eq!((eta.p50, eta.p90), (at(180 + 2), at(180 + 6)));
    queue.lanes = 2;
    let limits = Some(PoolLimits { max_in_flight: Some(1), ..PoolLimits::default() });
    let eta = Facts { limits, ..facts() }.explain(&queue).eta.unwrap();
    assert_eq!((eta.p50, eta.p90), (at(120 + 2), at(360 + 6)));
}

#[test]
fn there_is_no_eta_where_no_clock_decides() {
    let mut queue = queue(JobState::Ready);
    queue.recent_durations = vec![1_000];
    queue.account = Account { limit: Some(Micros(0)), ..Account::default() };
    assert_eq!(facts().explain(&queue).eta, None);
    queue.account = Account::default();
    queue.job.job.state = JobState::Running;
    assert_eq!(facts().explain(&queue).eta, Some(Eta { p50: at(1), p90: at(1) }));
}
