//! Several processes on one PostgreSQL database: what one accepts another one works on, and what is asked of one stops a
//! call in another, with NOTIFY and by looking.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forebay::sim::{Ended, SimHandle};
use forebay_core::time::Timestamp;
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::chaos_proxy::{Action, ChaosProxy, Trigger};
use crate::crash::{drained, patient};
use crate::harness::{FOREBAY, Home, PATIENCE, Server, data, definitions, simulator};
use crate::journey::eventually;
use crate::judge::{Answer, all_holds, logged_simulator};
use crate::postgres::Database;

/// How processes hear of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notices {
    On,
    /// `notify = false`.
    Off,
    /// They are wanted, and whoever works gets no connection on which it could hear any.
    Cut,
}

/// A process with the API and one that works, on a database of their own.
struct Pair {
    api: Server,
    _worker: Server,
    sim: SimHandle,
    _home: Home,
    _cut: Option<(ChaosProxy, Trigger)>,
    /// After those that use it.
    _database: Database,
}

impl Pair {
    async fn new(notices: Notices, scenario: &Value) -> Self {
        let database = Database::new();
        let (home, sim) = (database.home(), simulator(scenario).await);
        let notify = if notices == Notices::Off { "false" } else { "true" };
        let environment = |roles| [("FOREBAY_NOTIFY", notify), ("FOREBAY_ROLES", roles)];
        let api = Server::start_with(&home, &sim.base_url(), &environment("api"));
        api.apply(&definitions(&sim.base_url(), "", "")).await;
        let cut = (notices == Notices::Cut).then(|| {
            let proxy = ChaosProxy::start(database.address());
            let rule = proxy.on(b"LISTEN forebay", usize::MAX, Action::CutBefore);
            (proxy, rule)
        });
        let far = cut.as_ref().map(|(proxy, _)| Home::on(&database.url_at(proxy.address())));
        if let Some(far) = &far {
            std::fs::copy(home.admin_key_file(), far.admin_key_file()).unwrap();
        }
        let worker =
            Server::start_with(far.as_ref().unwrap_or(&home), &sim.base_url(), &environment("work,maintain"));
        Self { api, _worker: worker, sim, _home: home, _cut: cut, _database: database }
    }
}

/// Microseconds since 1970, as the simulator's log has them.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is right");
    u64::try_from(since.as_micros()).expect("not so soon")
}

fn chat(prompt: &str) -> Value {
    json!({"task": "chat", "input": {"prompt": prompt}})
}

/// How long each of some things took is within a second, but for what a busy machine adds to one or two of them: whoever
/// looks less often is later by half of a look on average.
fn within_a_second(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let most = took[took.len() * 3 / 4];
    assert!(most <= Duration::from_secs(1), "{what} takes more than a second: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_one_process_accepts_starts_in_another_within_a_second() {
    for notices in [Notices::On, Notices::Off, Notices::Cut] {
        let pair = Pair::new(notices, &json!({})).await;
        let mut took = Vec::new();
        for nth in 0..12 {
            let job_id = pair.api.submit(&chat(&format!("nr {nth}"))).await;
            let accepted = now_us();
            eventually("the call is made", || pair.sim.requests(0).len() == nth + 1).await;
            let started = pair.sim.requests(0)[nth].started_us;
            took.push(Duration::from_micros(started.saturating_sub(accepted)));
            assert_eq!(pair.api.settled(&job_id).await["state"], "SUCCEEDED");
        }
        within_a_second(&format!("the start with notices {notices:?}"), took);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_s_call_ends_in_whichever_process_makes_it_within_a_second() {
    for notices in [Notices::On, Notices::Off, Notices::Cut] {
        let pair = Pair::new(notices, &json!({"rules": [{"fault": "hang"}]})).await;
        let mut took = Vec::new();
        for nth in 0..8 {
            let job_id = pair.api.submit(&chat("wait")).await;
            eventually("the call is made", || pair.sim.requests(0).len() == nth + 1).await;
            // Everywhere between two looks.
            tokio::time::sleep(Duration::from_millis(nth as u64 * 90)).await;
            let cancelled = now_us();
            let (status, job) = pair.api.post(&format!("/v1/jobs/{job_id}/cancel"), &json!({})).await;
            assert!(status.is_success() && job["state"] == "CANCELLED", "{job}");
            let call = || pair.sim.requests(0)[nth].clone();
            eventually("the call ends", || call().ended == Ended::ClientClosed).await;
            let ended = call().ended_us.expect("it has ended");
            took.push(Duration::from_micros(ended.saturating_sub(cancelled)));
        }
        within_a_second(&format!("the end of a call with notices {notices:?}"), took);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_shows_each_event_of_a_job_that_another_process_works_on_as_it_happens() {
    for notices in [Notices::On, Notices::Off, Notices::Cut] {
        let scenario = json!({"rules": [
            {"match": {"nth": 1}, "fault": {"kind": "status", "status": 503, "retry_after": 0.1}},
            {"first_token_ms": 1_500, "reply": "done"},
        ]});
        let pair = Pair::new(notices, &scenario).await;
        let job_id = pair.api.submit(&chat("hello")).await;
        let stream = pair.api.request(Method::GET, &format!("/v1/jobs/{job_id}/events"));
        let mut bytes = stream.send().await.unwrap().bytes_stream();
        let (mut text, mut seen_running) = (String::new(), false);
        while let Some(chunk) = bytes.next().await {
            text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
            let running = pair.sim.requests(0).last().is_some_and(|call| call.ended == Ended::Running);
            seen_running |= running && text.matches("event: job.claimed").count() == 2;
        }
        let types: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: job.")).collect();
        assert_eq!(types, ["accepted", "claimed", "retry_scheduled", "claimed", "succeeded"], "{notices:?}");
        assert!(seen_running, "the second claim is told while its call is under way: {notices:?}");
    }
}

/// Whoever listens on the channel hears of a commit, or of none.
#[tokio::test(flavor = "multi_thread")]
async fn notices_are_sent_unless_they_are_switched_off() {
    for (notices, wanted) in [(Notices::On, true), (Notices::Off, false)] {
        let pair = Pair::new(notices, &json!({})).await;
        let mut heard = pair._database.listen("forebay").await;
        let job_id = pair.api.submit(&chat("hello")).await;
        assert_eq!(pair.api.settled(&job_id).await["state"], "SUCCEEDED");
        // What is sent is sent within this.
        let notice = tokio::time::timeout(Duration::from_secs(2), heard.recv()).await;
        assert_eq!(notice.is_ok(), wanted, "{notices:?}: {notice:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_works_on_what_it_is_restricted_to_and_the_rest_waits_for_one_that_does() {
    let database = Database::new();
    let (home, sim) = (database.home(), simulator(&json!({})).await);
    let start = |environment: &[(&str, &str)]| Server::start_with(&home, &sim.base_url(), environment);
    let api = start(&[("FOREBAY_ROLES", "api,maintain")]);
    let other = "[pools.other]\nprovider = \"sim\"\n\n[models.tiny]\npool = \"other\"\nprovider_model = \"sim-tiny\"\n\
                 context_tokens = 1000\nmax_output_tokens = 100\n\
                 input_micros_per_mtok = 1\noutput_micros_per_mtok = 1\n\n[tasks.side]\nkind = \"llm\"\nmodel = \"tiny\"\n\n\
                 [tasks.twin]\nkind = \"llm\"\nmodel = \"small\"\n";
    api.apply(&format!("{}{other}", definitions(&sim.base_url(), "", ""))).await;
    let side = api.submit(&json!({"task": "side", "input": {"prompt": "hello"}})).await;
    let one = start(&[("FOREBAY_ROLES", "work"), ("FOREBAY_POOLS", "main"), ("FOREBAY_TASKS", "chat")]);
    let other = api.submit(&json!({"task": "twin", "input": {"prompt": "hello"}})).await;
    let mut jobs = Vec::new();
    for nth in 0..20 {
        jobs.push(api.submit(&chat(&format!("nr {nth}"))).await);
    }
    for job_id in &jobs {
        assert_eq!(api.settled(job_id).await["state"], "SUCCEEDED");
    }
    let waiting = api.get(&format!("/v1/jobs/{side}/explain")).await;
    assert_eq!(
        (&waiting["state"], &waiting["waiting_for"][0]["kind"]),
        (&json!("READY"), &json!("no_worker"))
    );
    let workers = api.get("/v1/workers").await;
    let restricted: Vec<_> =
        data(&workers).iter().filter(|worker| worker["pools"] == json!(["main"])).collect();
    assert_eq!(restricted.len(), 1, "{workers}");

    let two = start(&[("FOREBAY_ROLES", "work"), ("FOREBAY_TASKS", "side,twin")]);
    for job_id in [&side, &other] {
        assert_eq!(api.settled(job_id).await["state"], "SUCCEEDED");
    }
    let who = async |job_id: &str| {
        api.get(&format!("/v1/jobs/{job_id}/attempts")).await["data"][0]["worker"].as_str().map(str::to_owned)
    };
    let first = restricted[0]["name"].as_str().map(str::to_owned);
    assert_ne!(who(&side).await, first);
    for job_id in &jobs {
        assert_eq!(who(job_id).await, first, "{job_id}");
    }
    one.kill_9();
    two.kill_9();
}

#[test]
fn what_a_process_is_told_to_work_on_and_there_is_not_is_refused_with_what_there_is() {
    let home = Home::new();
    for (flag, names, wanted) in
        [("--pools", "openai,opnai", "`pools` names opnai"), ("--tasks", "chatt", "`tasks` names chatt")]
    {
        let refused = std::process::Command::new(FOREBAY)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", &home.store(), flag, names])
            .current_dir(home.path())
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(wanted) && said.contains("choose among those that there are ("), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_start_together_on_an_empty_database_are_one_installation() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let (one, two) = (database.home(), database.home());
    let provider = sim.base_url();
    let homes = [&one, &two, &one, &two, &one, &two];
    let servers: Vec<_> = std::thread::scope(|scope| {
        let starting = homes.map(|home| scope.spawn(|| Server::try_start_without_key(home, &provider, &[])));
        starting.into_iter().map(|starting| starting.join().unwrap().unwrap()).collect()
    });
    // One of the two folders has the one key that there is.
    let key = [&one, &two].into_iter().find_map(|home| std::fs::read_to_string(home.admin_key_file()).ok());
    let key = key.expect("a key").trim().to_owned();
    assert_eq!(one.admin_key_file().exists(), !two.admin_key_file().exists());
    let servers: Vec<_> = servers.into_iter().map(|server| server.with_key(&key)).collect();
    let keys = servers[0].get("/v1/keys").await;
    assert_eq!(data(&keys).len(), 1, "{keys}");
    let revisions = servers[1].get("/v1/revisions").await;
    assert_eq!(data(&revisions).len(), 1, "{revisions}");
    for (nth, server) in servers.iter().enumerate() {
        let job_id = server.submit(&chat(&format!("nr {nth}"))).await;
        let job = servers[(nth + 1) % servers.len()].settled(&job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
    }
    // The last of them may have started this very moment.
    let all = |workers: &Value| data(workers).len() == servers.len() && leaders(workers).len() == 1;
    until(&servers[2], "/v1/workers", all).await;
}

/// Who leads, by name.
pub fn leaders(workers: &Value) -> Vec<&str> {
    let leads = |worker: &&Value| {
        let tasks = worker["leads"].as_array();
        tasks.is_some_and(|tasks| tasks.contains(&json!("maintenance"))) && worker["silent"] == json!(false)
    };
    data(workers).iter().filter(leads).filter_map(|worker| worker["name"].as_str()).collect()
}

/// Asks until the answer is so; gives it.
pub async fn until(server: &Server, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = std::time::Instant::now();
    loop {
        let answer = server.get(path).await;
        if is_so(&answer) {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "{path}: {answer}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Two processes with the API are asked for the same at the same moment: one job for one key, whoever is asked, and
/// whoever asks for something else under that key is told so (F04, F05, C41).
#[tokio::test(flavor = "multi_thread")]
async fn one_key_is_one_job_whichever_process_is_asked() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let home = database.home();
    let roles = [("FOREBAY_ROLES", "api")];
    let servers = [(); 2].map(|()| Server::start_with(&home, &sim.base_url(), &roles));
    for round in 0..40 {
        let asked = (0..16).map(|nth| {
            let ask = servers[nth % 2].request(Method::POST, "/v1/jobs");
            let ask = ask.header("Idempotency-Key", format!("round-{round}"));
            // In every second round half of them ask for something else.
            let prompt = if round % 2 == 1 && nth % 4 > 1 { "other" } else { "one" };
            Answer::to(ask.json(&chat(prompt)))
        });
        let answers: Vec<_> = futures_util::future::join_all(asked)
            .await
            .into_iter()
            .map(|answer| answer.expect("one"))
            .collect();
        let jobs: HashSet<_> = answers.iter().filter_map(Answer::job_id).collect();
        assert_eq!(jobs.len(), 1, "round {round}");
        let conflicts =
            answers.iter().filter(|answer| answer.body["code"] == "idempotency_key_reused").count();
        let taken = answers.iter().filter(|answer| answer.job_id().is_some()).count();
        assert_eq!((taken, conflicts), if round % 2 == 1 { (8, 8) } else { (16, 0) }, "round {round}");
    }
    assert_eq!(data(&servers[0].get("/v1/jobs?limit=200").await).len(), 40);
}

/// A tenant's limit is one limit for all processes (F14).
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_pending_jobs_holds_over_all_processes() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let home = database.home();
    let roles = [("FOREBAY_ROLES", "api")];
    let servers = [(); 2].map(|()| Server::start_with(&home, &sim.base_url(), &roles));
    let limit =
        servers[0].request(Method::PUT, "/v1/tenants/default").json(&json!({"max_pending_jobs": 100}));
    assert!(limit.send().await.unwrap().status().is_success());
    let asked = (0..200).map(|nth| {
        let ask = servers[nth % 2].request(Method::POST, "/v1/jobs");
        Answer::to(ask.json(&chat(&format!("nr {nth}"))))
    });
    let answers = futures_util::future::join_all(asked).await;
    let count =
        |status: u16| answers.iter().flatten().filter(|answer| answer.status.as_u16() == status).count();
    assert_eq!((count(202), count(429)), (100, 100));
    assert_eq!(data(&servers[1].get("/v1/jobs?limit=200").await).len(), 100);
}

/// An end of all processes at once, with everything in hand, is nothing that the next ones have to be told of (C02, C13).
#[tokio::test(flavor = "multi_thread")]
async fn what_all_processes_had_in_hand_when_they_died_is_done_by_new_ones() {
    let database = Database::new();
    let home = database.home();
    let sim =
        logged_simulator(&home, &json!({"rules": [{"times": 200, "fault": "hang"}, {"reply": "done"}]}))
            .await;
    let short =
        |roles| [("FOREBAY_LEASE_MS", "1500"), ("FOREBAY_HEARTBEAT_MS", "500"), ("FOREBAY_ROLES", roles)];
    let start = |roles| Server::start_with(&home, &sim.base_url(), &short(roles));
    let api = start("api");
    api.apply(&definitions(&sim.base_url(), "", &patient("chat"))).await;
    let dying = [start("work"), start("work"), start("work"), start("maintain")];
    for nth in 0..200 {
        api.submit(&chat(&format!("nr {nth}"))).await;
    }
    eventually("the calls are made", || sim.requests(0).len() == 200).await;
    dying.into_iter().for_each(Server::kill_9);
    let others = [start("work,maintain"), start("work,maintain")];
    drained(&api).await;
    let jobs = api.get("/v1/jobs?state=SUCCEEDED&limit=200").await;
    assert_eq!(data(&jobs).len(), 200);
    let tries = data(&jobs).iter().map(|job| job["attempts"]["made"].as_u64().expect("a number"));
    assert!(tries.min() == Some(2), "what was lost is on record");
    others.into_iter().for_each(Server::kill_9);
    api.kill_9();
    all_holds(&home, &["--drained"]);
}

/// What a worker can't read, or what another build has planned, is never called, is tried again like anything that fails, ends
/// like it, and holds up nobody else (C03).
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_can_not_be_read_fails_alone() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let home = database.home();
    let start = |roles| Server::start_with(&home, &sim.base_url(), &[("FOREBAY_ROLES", roles)]);
    let api = start("api");
    api.apply(&definitions(&sim.base_url(), "", "")).await;
    let mut jobs = Vec::new();
    for nth in 0..12 {
        jobs.push(api.submit(&chat(&format!("nr {nth}"))).await);
    }
    let from = |nth, many| format!("(SELECT seq FROM jobs ORDER BY seq OFFSET {nth} LIMIT {many})");
    database.run(&format!("UPDATE inputs SET body = 'dreamt' WHERE job IN {}", from(0, 2)));
    database.run(&format!("UPDATE jobs SET step_kind = 'dreamt' WHERE seq IN {}", from(2, 2)));
    database.run(&format!("UPDATE jobs SET revision = 99 WHERE seq IN {}", from(4, 2)));
    // Every other one of those is at its last try.
    let last = [1, 3, 5].map(|nth| from(nth, 1)).join(", ");
    database.run(&format!("UPDATE jobs SET attempts = 4 WHERE seq IN ({last})"));
    let _worker = start("work,maintain");
    for job_id in &jobs[6..] {
        assert_eq!(api.settled(job_id).await["state"], "SUCCEEDED");
    }
    for (nth, job_id) in jobs[..6].iter().enumerate() {
        let tries = 2 - nth % 2;
        if tries == 1 {
            assert_eq!(api.settled(job_id).await["state"], "FAILED_TERMINAL");
        }
        let attempts = format!("/v1/jobs/{job_id}/attempts");
        let ended = |found: &Value| data(found).iter().filter(|a| !a["outcome"].is_null()).count() >= tries;
        for attempt in data(&until(&api, &attempts, ended).await).iter().take(tries) {
            let told = (&attempt["outcome"], &attempt["failure_class"]);
            assert_eq!(told, (&json!("failed_before_send"), &json!("undecodable")), "{attempt}");
        }
    }
    assert_eq!(sim.requests(0).len(), jobs.len() - 6);
}

/// A deadline ends a job on which nobody works (F62).
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_passes_without_any_worker() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let home = database.home();
    let start = |roles| Server::start_with(&home, &sim.base_url(), &[("FOREBAY_ROLES", roles)]);
    let (api, _maintain) = (start("api"), start("maintain"));
    api.apply(&definitions(&sim.base_url(), "", &patient("chat"))).await;
    let mut body = chat("late");
    body["ttl_ms"] = json!(1_000);
    let (_, answer) = api.post("/v1/jobs", &body).await;
    let job = api.settled(answer["job_id"].as_str().unwrap_or_else(|| panic!("{answer}"))).await;
    assert_eq!((&job["state"], &job["failure"]["class"]), (&json!("FAILED_TERMINAL"), &json!("deadline")));
}

/// Times are points in time, wherever server and processes stand (C15).
#[tokio::test(flavor = "multi_thread")]
async fn processes_and_server_may_be_in_different_time_zones() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    database.run(&format!("ALTER DATABASE {} SET timezone = 'Pacific/Kiritimati'", database.name()));
    let home = database.home();
    let start =
        |roles, zone| Server::start_with(&home, &sim.base_url(), &[("FOREBAY_ROLES", roles), ("TZ", zone)]);
    let (api, _worker) = (start("api", "America/Sao_Paulo"), start("work,maintain", "Asia/Kathmandu"));
    let (mut body, asked) = (chat("later"), now_us());
    body["delay_ms"] = json!(1_500);
    let job_id = api.submit(&body).await;
    let job = api.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let waited = Duration::from_micros(sim.requests(0)[0].started_us - asked);
    assert!((Duration::from_millis(1_500)..Duration::from_secs(10)).contains(&waited), "{waited:?}");
    let time = |member: &str| {
        let text = job[member].as_str().unwrap_or_else(|| panic!("no {member} in {job}"));
        assert!(text.ends_with('Z'), "{text}");
        u64::try_from(text.parse::<Timestamp>().expect("a time").as_millis()).unwrap() * 1_000
    };
    let (created, finished) = (time("created_at"), time("finished_at"));
    assert!(created + 1_000_000 > asked && created < asked + 10_000_000, "{job}");
    assert!(finished > created && finished <= now_us() + 1_000_000, "{job}");
}

/// A process's own clock may be wrong by minutes, either way: leases and times are by the clock of the database (F55).
#[tokio::test(flavor = "multi_thread")]
async fn processes_whose_clocks_are_wrong_lose_no_lease() {
    const TEN_MINUTES: i64 = 600_000;
    let (database, sim) = (Database::new(), simulator(&json!({"defaults": {"first_token_ms": 1_500}})).await);
    let home = database.home();
    let start = |roles, ahead: i64| {
        let clock = home.path().join(format!("clock{ahead}"));
        std::fs::write(&clock, ahead.to_string()).unwrap();
        let environment = [
            ("FOREBAY_ROLES", roles),
            ("FAILPOINTS_CLOCK", clock.to_str().unwrap()),
            ("FOREBAY_SLOTS", "4"),
            ("FOREBAY_LEASE_MS", "900"),
            ("FOREBAY_HEARTBEAT_MS", "300"),
        ];
        Server::start_with(&home, &sim.base_url(), &environment)
    };
    let api = start("api", TEN_MINUTES);
    api.apply(&definitions(&sim.base_url(), "", "")).await;
    let _others = [start("work,maintain", TEN_MINUTES), start("work,maintain", -TEN_MINUTES)];
    let mut jobs = Vec::new();
    for nth in 0..8 {
        jobs.push(api.submit(&chat(&format!("nr {nth}"))).await);
    }
    let mut workers = HashSet::new();
    for job_id in &jobs {
        let job = api.settled(job_id).await;
        let finished = job["finished_at"].as_str().unwrap_or_else(|| panic!("{job}"));
        let finished = finished.parse::<Timestamp>().unwrap().as_millis() * 1_000;
        assert!((now_us().cast_signed() - finished).abs() < 60_000_000, "{job}");
        assert_eq!((&job["state"], &job["attempts"]["made"]), (&json!("SUCCEEDED"), &json!(1)), "{job}");
        let attempts = api.get(&format!("/v1/jobs/{job_id}/attempts")).await;
        workers.insert(attempts["data"][0]["worker"].to_string());
    }
    assert_eq!(workers.len(), 2, "both had some");
    assert_eq!(sim.requests(0).len(), jobs.len());
}
