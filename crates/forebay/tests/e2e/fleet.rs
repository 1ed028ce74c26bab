//! Three processes with the API, three with workers and two with maintenance, on one PostgreSQL database, while they and
//! the database are killed, stopped and started again. What is left is judged as that of one process is ([`crate::crash`]).
//!
//! `FOREBAY_FLEET_ROUNDS` and `FOREBAY_FLEET_SEED` choose how many rounds and which; `FOREBAY_FLEET_REPORT` names a file
//! that gets the report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay::sim::SimHandle;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::crash::{
    Address, BILL, Chance, Replays, call_in, drained, follow, from_environment, look_after, patient, reading,
    written,
};
use crate::harness::{Home, Server, definitions};
use crate::judge::{ClientLog, all_holds, logged_simulator};
use crate::postgres::DatabaseServer;

/// Who is in it, by roles; the first three have the API.
const ROLES: [&str; 8] = ["api", "api", "api", "work", "work", "work", "maintain", "maintain"];

/// What happens in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// kill -9 of one process.
    Kill(usize),
    /// kill -9 of all with one role.
    KillRole(&'static str),
    /// One stands still beyond its lease, and goes on.
    Stop(usize),
    /// The database dies as in a crash, and recovers.
    Database,
}

impl Kind {
    fn choose(chance: &mut Chance) -> Self {
        let one = usize::try_from(chance.below(8)).expect("small");
        match chance.below(10) {
            0..=3 => Kind::Kill(one),
            4 => Kind::KillRole(chance.one_of(&["api", "work", "maintain"])),
            5..=7 => Kind::Stop(one),
            _ => Kind::Database,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Kill(_) => "kill -9 of one process",
            Kind::KillRole(_) => "kill -9 of all processes with a role",
            Kind::Stop(_) => "one process stopped beyond its lease, then let go on",
            Kind::Database => "the database crashed and recovered",
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_and_nothing_unexplained_whichever_process_ends() {
    let (rounds, seed) =
        (from_environment("FOREBAY_FLEET_ROUNDS", 30), from_environment("FOREBAY_FLEET_SEED", 5_432));
    let mut fleet = Fleet::new(seed).await;
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for _ in 0..rounds {
        let kind = Kind::choose(&mut fleet.chance);
        fleet.round(kind).await;
        *kinds.entry(kind.name()).or_default() += 1;
    }
    fleet.finish().await;
    let report = all_holds(&fleet.home, &["--drained"]);
    let figures = &report["figures"];
    assert!(figures["promised"].as_u64() > Some(100), "{figures}");
    let same = [("lost", 0), ("unexplained_calls", 0), ("money_difference_micros", 0)];
    assert!(same.iter().all(|(figure, zero)| figures[*figure] == *zero), "{figures}");
    if let Ok(path) = std::env::var("FOREBAY_FLEET_REPORT") {
        std::fs::write(path, written(rounds, seed, &kinds, fleet.kills, &report)).unwrap();
    }
}

/// All processes, what they work for, and who uses them.
struct Fleet {
    chance: Chance,
    database: DatabaseServer,
    home: Home,
    sim: SimHandle,
    members: Vec<Option<Server>>,
    /// Of those with the API.
    addresses: Vec<Address>,
    log: Arc<ClientLog>,
    stop: Arc<AtomicBool>,
    callers: Vec<JoinHandle<()>>,
    kills: u64,
}

impl Fleet {
    async fn new(seed: u64) -> Self {
        let database = DatabaseServer::start();
        let home = Home::on(&database.url);
        let scenario = json!({
            "seed": seed,
            "defaults": {"first_token_ms": {"min": 5, "max": 60}, "per_token_ms": 1, "output_tokens": 8},
            "rules": [
                {"match": {"contains": "[slow]"}, "first_token_ms": {"min": 300, "max": 900}},
                {"probability": 0.03, "fault": {"kind": "status", "status": 500}},
                {"probability": 0.03, "fault": {"kind": "cut", "after_chunks": 2}},
                {"probability": 0.02, "fault": {"kind": "status", "status": 429, "retry_after": 0.2}},
                {"match": {"contains": "Total EUR"}, "probability": 0.5, "reply": reading("Total EUR 717,79")},
                {"match": {"contains": "Total EUR"}, "reply": reading("Total EUR 717,97")},
            ],
        });
        let sim = logged_simulator(&home, &scenario).await;
        let members = ROLES.map(|_| None).into();
        let addresses: Vec<Address> = (0..3).map(|_| Address::default()).collect();
        let (log, stop) = (Arc::new(ClientLog::of(&home)), Arc::new(AtomicBool::new(false)));
        let mut fleet = Self {
            chance: Chance(seed),
            database,
            home,
            sim,
            members,
            addresses,
            log,
            stop,
            callers: Vec::new(),
            kills: 0,
        };
        // The first makes the tables and the key, and knows what there is to do before any other starts.
        fleet.start(0).await;
        let tasks = definitions(&fleet.sim.base_url(), "max_in_flight = 24", &patient("chat"));
        let first = fleet.members[0].as_ref().expect("the first");
        first.apply(&format!("{tasks}{BILL}{}", patient("bill"))).await;
        fleet.start_all().await;
        let shared = |nth: usize| {
            (Arc::clone(&fleet.addresses[nth % 3]), Arc::clone(&fleet.log), Arc::clone(&fleet.stop))
        };
        let mut callers: Vec<_> = (0..4).map(|nth| tokio::spawn(call_in(nth as u64, shared(nth)))).collect();
        callers.push(tokio::spawn(follow(shared(1))));
        callers.push(tokio::spawn(look_after(shared(2), Replays::Made)));
        fleet.callers = callers;
        fleet
    }

    /// Starts a member; tries again where the database is not there yet.
    async fn start(&mut self, nth: usize) {
        let environment =
            [("FOREBAY_LEASE_MS", "900"), ("FOREBAY_HEARTBEAT_MS", "100"), ("FOREBAY_ROLES", ROLES[nth])];
        let mut said = String::new();
        for _ in 0..20 {
            match Server::try_start(&self.home, &self.sim.base_url(), &environment) {
                Ok(server) => {
                    if let Some(address) = self.addresses.get(nth) {
                        *address.write().await = Some((server.url.clone(), server.key.clone()));
                    }
                    self.members[nth] = Some(server);
                    return;
                }
                Err(line) => said = line,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("member {nth} does not start: {said}");
    }

    async fn start_all(&mut self) {
        for nth in 0..ROLES.len() {
            if self.members[nth].as_mut().is_none_or(Server::has_ended) {
                self.start(nth).await;
            }
        }
    }

    async fn kill(&mut self, nth: usize) {
        if let Some(address) = self.addresses.get(nth) {
            *address.write().await = None;
        }
        if let Some(server) = self.members[nth].take() {
            server.kill_9();
            self.kills += 1;
        }
    }

    async fn round(&mut self, kind: Kind) {
        self.wait(100, 500).await;
        match kind {
            Kind::Kill(nth) => self.kill(nth).await,
            Kind::KillRole(role) => {
                for nth in (0..ROLES.len()).filter(|nth| ROLES[*nth] == role) {
                    self.kill(nth).await;
                }
            }
            Kind::Stop(nth) => {
                let signal = |name: &str| self.members[nth].as_ref().expect("a member").signal(name);
                signal("STOP");
                tokio::time::sleep(Duration::from_millis(1_200)).await;
                signal("CONT");
            }
            Kind::Database => self.database.crash(),
        }
        self.wait(50, 300).await;
        self.start_all().await;
    }

    async fn wait(&mut self, from: u64, to: u64) {
        tokio::time::sleep(Duration::from_millis(from + self.chance.below(to - from))).await;
    }

    /// Lets all work end, and then everybody.
    async fn finish(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for caller in std::mem::take(&mut self.callers) {
            caller.await.unwrap();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let shared = (Arc::clone(&self.addresses[0]), Arc::clone(&self.log), Arc::clone(&stop));
        let last = tokio::spawn(look_after(shared, Replays::Left));
        drained(self.members[0].as_ref().expect("the first")).await;
        stop.store(true, Ordering::SeqCst);
        last.await.unwrap();
        for nth in 0..ROLES.len() {
            self.kill(nth).await;
        }
    }
}
