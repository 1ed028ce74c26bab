//! The ground gives way below the store: the disk is full, a write or a sync fails, the clock is set. No 202 for
//! what is lost, a clear refusal meanwhile, and everything goes on by itself when it is over.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Home, PATIENCE, Server, definitions};
use crate::journey::eventually;
use crate::judge::{Answer, ClientLog, all_holds, logged_simulator};

const TASK: &str =
    "on_unknown = \"retry\"\n[tasks.chat.retry]\nmax_attempts = 50\nbase_ms = 20\ncap_ms = 200";

/// A file system of a few megabytes, unmounted at the end.
struct SmallDisk<'h>(&'h Path);

impl<'h> SmallDisk<'h> {
    fn mount(at: &'h Path) -> Self {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(at).output();
        let mount = mount.expect("mount runs");
        assert!(
            mount.status.success(),
            "this test fills a disk, so it must be able to mount a small one: run it as root, in a container with \
             CAP_SYS_ADMIN. mount said: {}",
            String::from_utf8_lossy(&mount.stderr)
        );
        Self(at)
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let full = std::fs::write(self.0.join("filler"), vec![0; 64 << 20]);
        assert!(full.is_err(), "the disk is larger than it should be");
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("the filler");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Lazily: a test that failed may still have a server in it.
        Command::new("umount").arg("-l").arg(self.0).status().expect("umount runs");
    }
}

/// A file that nobody can write, not even root, until this is dropped.
struct ReadOnly<'f>(&'f Path);

impl<'f> ReadOnly<'f> {
    fn make(file: &'f Path) -> Self {
        let mount = |options: &[&str]| {
            let done = Command::new("mount").args(options).arg(file).status().expect("mount runs");
            assert!(done.success(), "this test mounts a file on itself: run it as root, with CAP_SYS_ADMIN");
        };
        mount(&["--bind", file.to_str().expect("a path")]);
        let read_only = Self(file);
        mount(&["-o", "remount,bind,ro"]);
        read_only
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().expect("umount runs");
    }
}

/// System calls of a process that fail for a while.
struct Failing(Child);

impl Failing {
    /// Lets these calls of the process fail from now on.
    fn start(pid: u32, calls: &str, error: &str) -> Self {
        let inject = format!("inject={calls}:error={error}");
        let strace = Command::new("strace")
            .args(["-f", "-qq", "-e", &format!("trace={calls}"), "-e", &inject, "-o", "/dev/null", "-p"])
            .arg(pid.to_string())
            .stdin(Stdio::null())
            .spawn();
        Self(strace.unwrap_or_else(|error| {
            panic!("this test lets system calls fail by strace: {error}; scripts/setup installs it")
        }))
    }

    /// Lets them succeed again.
    fn end(mut self) {
        let pid = self.0.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        self.0.wait().expect("its end");
    }
}

/// The system calls of a process, one a line, with the files that they are about.
struct Traced {
    strace: Child,
    calls: PathBuf,
}

impl Traced {
    /// Begins, and waits until all threads of the process are watched.
    async fn start(pid: u32, calls: &str, home: &Home) -> Self {
        let file = home.path().join("trace");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-y", "-e", &format!("trace={calls}"), "-o"]).arg(&file);
        let strace = command.args(["-p", &pid.to_string()]).stdin(Stdio::null()).spawn();
        let strace = strace.unwrap_or_else(|error| panic!("strace: {error}; scripts/setup installs it"));
        let is_watched = |task: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(task.expect("a task").path().join("status"));
            // A thread that has ended meanwhile need not be.
            status.map_or(true, |status| !status.contains("TracerPid:\t0\n"))
        };
        let tasks = format!("/proc/{pid}/task");
        eventually("strace watches", || std::fs::read_dir(&tasks).unwrap().all(is_watched)).await;
        Self { strace, calls: file }
    }

    /// Lets go of the process; says what it called meanwhile.
    fn end(mut self) -> Vec<String> {
        let pid = self.strace.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        self.strace.wait().expect("its end");
        let calls = std::fs::read_to_string(self.calls).expect("the trace");
        calls.lines().map(str::to_owned).collect()
    }
}

/// A server under load, and the log of who loads it.
struct Stage {
    home: Home,
    server: Server,
    log: ClientLog,
    submitted: u32,
}

impl Stage {
    async fn submit(&mut self, prompt: &str) -> Answer {
        self.submitted += 1;
        let key = format!("nr-{}", self.submitted);
        let body =
            json!({"task": "chat", "input": {"prompt": format!("{prompt} {key} {}", "x".repeat(4_000))}});
        let ask = self.server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", &key).json(&body);
        let answer = Answer::to(ask).await;
        self.log.submitted(&key, &body, answer.as_ref());
        answer.expect("an answer, also when nothing can be written")
    }

    /// Submits until nothing can be written any more. Whatever the answer is, it is 202 or 503 with a hint.
    async fn until_refused(&mut self) {
        let began = Instant::now();
        loop {
            let answer = self.submit("more").await;
            if answer.status == StatusCode::SERVICE_UNAVAILABLE {
                assert!(answer.retry_after.is_some(), "{}", answer.body);
                assert_eq!(answer.body["code"], "overloaded", "{}", answer.body);
                return;
            }
            assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
            assert!(began.elapsed() < PATIENCE, "the fault has no effect");
        }
    }

    /// Submits until it is accepted again, without a restart.
    async fn until_accepted(&mut self) {
        let began = Instant::now();
        while self.submit("again").await.status != StatusCode::ACCEPTED {
            assert!(began.elapsed() < PATIENCE, "it does not recover");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for the end of all jobs, ends the server and judges.
    async fn judged(self, flags: &[&str]) -> Value {
        crate::crash::drained(&self.server).await;
        self.server.kill_9();
        all_holds(&self.home, flags)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_refuses_jobs_and_keeps_what_was_paid_for() {
    let home = Home::new();
    let disk_at = home.path().to_owned();
    let disk = SmallDisk::mount(&disk_at);
    let sim = logged_simulator(
        &home,
        &json!({"rules": [{"match": {"contains": "slow"}, "first_token_ms": 1_500}]}),
    )
    .await;
    let lease = [("FOREBAY_LEASE_MS", "900"), ("FOREBAY_HEARTBEAT_MS", "300")];
    let server = Server::start_with(&home, &sim.base_url(), &lease);
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 8", TASK)).await;
    let log = ClientLog::of(&home);
    let mut stage = Stage { home, server, log, submitted: 0 };
    let slow = stage.submit("slow").await.job_id().expect("accepted").to_owned();
    eventually("the call is under way", || !sim.requests(0).is_empty()).await;
    disk.fill();
    stage.until_refused().await;
    // The call ends, its lease lapses, and nothing of it can be written.
    eventually("the call has ended", || sim.requests(0)[0].ended_us.is_some()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let job = stage.server.get(&format!("/v1/jobs/{slow}")).await;
    assert_eq!(job["state"], "RUNNING", "{job}");
    disk.make_room();
    stage.until_accepted().await;
    let job = stage.server.settled(&slow).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    stage.judged(&["--drained"]).await;
    drop(sim);
}

/// What the tests below have in common: a fault while a call is under way.
async fn through_a_fault(calls: &str, error: &str) {
    let home = Home::new();
    let sim = logged_simulator(&home, &json!({"defaults": {"first_token_ms": 30}})).await;
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 8", TASK)).await;
    let log = ClientLog::of(&home);
    let mut stage = Stage { home, server, log, submitted: 0 };
    for _ in 0..5 {
        assert_eq!(stage.submit("before").await.status, StatusCode::ACCEPTED);
    }
    let failing = Failing::start(stage.server.pid(), calls, error);
    stage.until_refused().await;
    failing.end();
    stage.until_accepted().await;
    stage.judged(&["--drained"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sync_that_fails_is_no_commit() {
    through_a_fault("fsync,fdatasync", "EIO").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_became_read_only_refuses_jobs_until_it_is_writable_again() {
    through_a_fault("pwrite64", "EROFS").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_on_the_disk_before_its_upload_is_answered() {
    let sim = crate::harness::simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let traced = Traced::start(server.pid(), "fsync,rename,renameat,renameat2", &home).await;
    let document = server.upload("a document to keep").await;
    let calls = traced.end();
    let digest = document.strip_prefix("doc_").unwrap();
    let folder = format!(".blobs/{}", &digest[..2]);
    let named = calls.iter().position(|call| call.contains("rename") && call.contains(digest));
    let named = named.unwrap_or_else(|| panic!("{calls:#?}"));
    let synced = |calls: &[String], file: &str| {
        calls.iter().any(|call| call.contains("fsync(") && call.contains(file))
    };
    assert!(
        synced(&calls[..named], &format!("{folder}/.")),
        "the content, before it has its name: {calls:#?}"
    );
    assert!(synced(&calls[named..], &format!("{folder}>")), "the name, before it is answered: {calls:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_read_only_is_refused_at_the_start_and_left_alone() {
    let sim = crate::harness::simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job = server.submit(&json!({"task": "chat", "input": {"prompt": "a job to keep"}})).await;
    server.kill_9();
    let database = home.database();
    let before = std::fs::read(&database).unwrap();
    let read_only = ReadOnly::make(&database);
    let started = Server::try_start(&home, &sim.base_url(), &[]);
    assert!(started.is_err(), "it starts all the same");
    let said = std::fs::read_to_string(home.path().join("server.log")).unwrap();
    assert!(said.contains(database.to_str().unwrap()) && said.contains("can't be written"), "{said}");
    assert_eq!(std::fs::read(&database).unwrap(), before);
    drop(read_only);
    let server = Server::start(&home, &sim.base_url());
    assert_eq!(server.settled(&job).await["state"], "SUCCEEDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_log_that_can_not_be_written_ends_nothing() {
    let home = Home::new();
    let sim = logged_simulator(&home, &json!({"rules": [{"times": 1, "fault": "hang"}]})).await;
    std::os::unix::fs::symlink("/dev/full", home.path().join("server.log")).unwrap();
    let verbose = [("FOREBAY_LOG", "debug"), ("FOREBAY_LEASE_MS", "900"), ("FOREBAY_HEARTBEAT_MS", "300")];
    let server = Server::start_with(&home, &sim.base_url(), &verbose);
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 8", TASK)).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "something to say"}})).await;
    eventually("the call is under way", || !sim.requests(0).is_empty()).await;
    // Standing still costs the lease, so that workers and maintenance have something to say.
    server.signal("STOP");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.signal("CONT");
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_that_is_set_ends_no_job_twice() {
    const HOUR: i64 = 3_600_000;
    let home = Home::new();
    let sim = logged_simulator(&home, &json!({"defaults": {"first_token_ms": 300}})).await;
    let clock = home.path().join("clock");
    let set = |offset: i64| std::fs::write(&clock, offset.to_string()).unwrap();
    set(0);
    let environment = [
        ("FAILPOINTS_CLOCK", clock.to_str().unwrap()),
        ("FOREBAY_LEASE_MS", "900"),
        ("FOREBAY_HEARTBEAT_MS", "200"),
    ];
    let server = Server::start_with(&home, &sim.base_url(), &environment);
    let task = format!("default_ttl_ms = 36000000\n{TASK}");
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 4", &task)).await;
    let log = ClientLog::of(&home);
    let mut stage = Stage { home, server, log, submitted: 0 };
    let mut jobs = Vec::new();
    for offset in [0, HOUR, -HOUR, 0] {
        set(offset);
        for _ in 0..6 {
            jobs.push(stage.submit("at any time").await.job_id().expect("accepted").to_owned());
        }
        // Some of them run while the clock is set.
        let calls = sim.requests(0).len();
        eventually("a call is made", || sim.requests(0).len() > calls).await;
    }
    // What was put off while the clock was ahead is due when it is there again.
    set(HOUR);
    for job_id in &jobs {
        let job = stage.server.settled(job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
    }
    stage.judged(&["--drained", "--clock-moved"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_refused_at_the_start_and_left_alone() {
    type Damage = fn(&mut Vec<u8>);
    let damage: [(&str, Damage); 3] = [
        ("cut off", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a page of noise", |bytes| bytes[8_192..12_288].fill(0x5a)),
        ("another file", |bytes| *bytes = b"This is a letter and no database at all. ".repeat(300)),
    ];
    let sim = crate::harness::simulator(&json!({})).await;
    for (what, change) in damage {
        let home = Home::new();
        let server = Server::start(&home, &sim.base_url());
        server.submit(&json!({"task": "chat", "input": {"prompt": "a job to lose"}})).await;
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
        // Nothing is left in front of the database that could mend it.
        let database = rusqlite::Connection::open(home.database()).unwrap();
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
        drop(database);
        let mut bytes = std::fs::read(home.database()).unwrap();
        change(&mut bytes);
        std::fs::write(home.database(), &bytes).unwrap();
        let started = Server::try_start(&home, &sim.base_url(), &[]);
        assert!(started.is_err(), "{what}: it starts all the same");
        let said = std::fs::read_to_string(home.path().join("server.log")).unwrap();
        assert!(said.contains("is damaged") && said.contains("restore it from a backup"), "{what}: {said}");
        assert_eq!(std::fs::read(home.database()).unwrap(), bytes, "{what}: nothing is built upon it");
    }
}
