//! Where the jobs of a pool begin, as this process remembers it, for when it takes long to look.
//!
//! What was claimed stays in an index of PostgreSQL as long as somebody has a snapshot from before: with an old one open, a
//! claim walks over all that was claimed since, from the head of each lane. Then claims begin where the one before
//! stopped, and only some look from the true beginning, so that looking takes a small part of the time. Meanwhile what
//! another process has put in front, or into a lane that was not seen yet, waits until the next look from the beginning; what
//! this process puts there is known at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::ledger::transaction::News;

/// A look is slow that takes longer than this, and than this for each job that it brings.
const SLOW: Duration = Duration::from_millis(3);
const SLOW_JOB: Duration = Duration::from_micros(30);
/// After a slow look the next one from the beginning comes so much later, and after so many times its length.
const APART: Duration = Duration::from_millis(250);
const TIMES: u32 = 10;
/// Lanes that are remembered of a pool at most.
const MOST: usize = 4_096;
/// For how long a pool that has too many lanes is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// The due jobs of a key of a tenant that have the same task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubLane {
    pub tenant: i64,
    pub lane: i64,
    pub task: String,
}

/// A place in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub place: i64,
    pub seq: i64,
}

/// The pools in which looks have become slow.
#[derive(Debug, Default)]
pub struct Marks(Mutex<HashMap<String, Remembered>>);

/// What is remembered of a pool.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Nothing of a lane is due before this, as far as is known.
    starts: BTreeMap<SubLane, Place>,
    /// The key of each tenant that was served last.
    turns: HashMap<i64, i64>,
    /// Until when no look from the beginning is needed.
    until: Option<Instant>,
    /// Whether the last one has seen all lanes.
    has_all_lanes: bool,
    /// Whether it has seen everything in them, too.
    is_all: bool,
    /// How often something became due of which it is not known where.
    missed: u64,
    /// Until when it is not tried again to know all lanes: there are too many.
    left_alone: Option<Instant>,
}

/// What a transaction has learned of a pool, once it is committed.
#[derive(Debug)]
pub enum Learned {
    /// Something is due: there, or somewhere.
    Due(String, Option<(SubLane, Place)>),
    /// A claim went on from what was known to what is known now; without that, looks are quick again.
    Looked { pool: String, before: Option<Remembered>, now: Option<Remembered> },
}

impl Marks {
    /// What is known of a pool in which looks are slow.
    pub fn of(&self, pool: &str) -> Option<Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(pool).cloned()
    }

    /// Remembers what was committed.
    pub fn heed(&self, news: &News) {
        if news.learned.is_empty() {
            return;
        }
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for learned in &news.learned {
            match learned {
                Learned::Due(pool, what) => {
                    pools.get_mut(pool).into_iter().for_each(|known| known.add(what.as_ref()));
                }
                Learned::Looked { pool, now: None, .. } => drop(pools.remove(pool)),
                Learned::Looked { pool, before, now: Some(now) } => {
                    pools.entry(pool.clone()).or_default().go_on(before.as_ref(), now);
                }
            }
        }
    }
}

/// What a look is for.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The number that the first tenant has, or the next one with jobs.
    pub from: i64,
    /// Tenants at most.
    pub tenants: usize,
    /// Jobs that are to be divided between them.
    pub jobs: usize,
}

impl Remembered {
    /// Whether a look that took so long and brought so many jobs was slow; then no other one is needed for a while.
    pub fn is_slow(took: Duration, jobs: usize) -> bool {
        took > SLOW + SLOW_JOB * u32::try_from(jobs).unwrap_or(u32::MAX)
    }

    /// Notes a slow look from the beginning that has seen all lanes, and whether it has seen everything in them.
    pub fn looked(&mut self, now: Instant, took: Duration, is_all: bool) {
        self.until = Some(now + APART.max(took * TIMES));
        self.has_all_lanes = true;
        self.is_all = is_all;
    }

    /// Notes a slow look from the beginning that has not seen all lanes.
    pub fn looked_at_some(&mut self) {
        self.until = None;
        self.has_all_lanes = false;
    }

    /// Notes that there are more lanes than it is worth to know.
    pub fn leave_alone(&mut self, now: Instant) {
        *self = Self { left_alone: Some(now + LEFT_ALONE), missed: self.missed, ..Self::default() };
    }

    /// Whether there were too many lanes a short while ago.
    pub fn is_left_alone(&self, now: Instant) -> bool {
        self.left_alone.is_some_and(|until| now < until)
    }

    /// Whether there were too many lanes the last time.
    pub fn was_left_alone(&self) -> bool {
        self.left_alone.is_some()
    }

    /// How many lanes there are, where all are known.
    pub fn lanes(&self) -> Option<usize> {
        self.has_all_lanes.then_some(self.starts.len())
    }

    /// Whether all lanes are known in which something is due.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// For how long no look from the beginning is needed.
    pub fn holds(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Something of a lane is due, or something somewhere.
    pub fn add(&mut self, due: Option<&(SubLane, Place)>) {
        match due {
            _ if self.left_alone.is_some() => self.missed += 1,
            Some((lane, at)) => {
                let start = self.starts.entry(lane.clone()).or_insert(*at);
                *start = (*start).min(*at);
            }
            None => {
                self.until = None;
                self.missed += 1;
            }
        }
    }

    /// A lane begins there now.
    pub fn begins(&mut self, lane: SubLane, at: Place) {
        if self.left_alone.is_none() {
            self.starts.insert(lane, at);
        }
    }

    /// The key of a tenant that was served last.
    pub fn turn(&mut self, tenant: i64, lane: i64) {
        if self.left_alone.is_none() {
            self.turns.insert(tenant, lane);
        }
    }

    /// Takes over what a claim has learned, which began with what was known before. What was added meanwhile stays.
    fn go_on(&mut self, before: Option<&Remembered>, now: &Remembered) {
        let left_alone = self.left_alone.max(now.left_alone);
        if left_alone.is_some() && left_alone != before.and_then(|before| before.left_alone) {
            *self = Self { left_alone, missed: self.missed, ..Self::default() };
            return;
        }
        self.left_alone = now.left_alone;
        for (lane, at) in &now.starts {
            let began = before.and_then(|before| before.starts.get(lane));
            match self.starts.get_mut(lane) {
                Some(start) if Some(&*start) != began => *start = (*start).min(*at),
                Some(start) => *start = *at,
                None => drop(self.starts.insert(lane.clone(), *at)),
            }
        }
        self.turns.extend(&now.turns);
        // Something may have become due that this claim has not seen: somewhere, or while nothing was remembered. Claims
        // of one process overlap, though: that one has remembered more since this one began is no reason to doubt either.
        if before.is_some_and(|before| before.missed == self.missed) {
            self.until = self.until.max(now.until);
            self.is_all = now.is_all;
        }
        self.has_all_lanes = now.has_all_lanes;
        if self.starts.len() > MOST {
            *self = Self::default();
        }
    }

    /// The lanes that a claim looks at, as `claim/front` takes them: the next tenants, the next keys of each, and their
    /// tasks.
    pub fn next(&self, span: &Span) -> Value {
        let tenants: BTreeSet<_> = self.starts.keys().map(|lane| lane.tenant).collect();
        let in_turn: Vec<_> = around(&tenants, span.from).take(span.tenants).collect();
        let want = span.jobs.div_ceil(in_turn.len().max(1)).max(1);
        (1_i64..).zip(in_turn).flat_map(|(n, tenant)| self.keys(n, tenant, want)).collect()
    }

    fn keys(&self, n: i64, tenant: i64, want: usize) -> Vec<Value> {
        let from = SubLane { tenant, lane: i64::MIN, task: String::new() };
        let of_tenant = || self.starts.range(from.clone()..).take_while(|(lane, _)| lane.tenant == tenant);
        let keys: BTreeSet<_> = of_tenant().map(|(lane, _)| lane.lane).collect();
        let turn = self.turns.get(&tenant).copied().unwrap_or_default();
        let in_turn: Vec<_> = around(&keys, turn.saturating_add(1)).take(want).collect();
        let of_key = want.div_ceil(in_turn.len().max(1));
        let place = |key: i64| (1_i64..).zip(&in_turn).find(|(_, lane)| **lane == key).map(|(k, _)| k);
        let row = |(lane, at): (&SubLane, &Place)| {
            let k = place(lane.lane)?;
            Some(json!({
                "n": n, "k": k, "tenant": tenant, "lane": lane.lane, "more_keys": in_turn.len() == want, "want": of_key,
                "task": lane.task, "place": at.place, "seq": at.seq,
            }))
        };
        of_tenant().filter_map(row).collect()
    }
}

/// The numbers from one on, and then those before it.
fn around(all: &BTreeSet<i64>, from: i64) -> impl Iterator<Item = i64> {
    all.range(from..).chain(all.range(..from)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(tenant: i64, lane: i64, task: &str) -> SubLane {
        SubLane { tenant, lane, task: task.to_owned() }
    }

    fn at(place: i64) -> Place {
        Place { place, seq: place }
    }

    fn known(lanes: &[(SubLane, i64)]) -> Remembered {
        let starts = lanes.iter().map(|(lane, place)| (lane.clone(), at(*place))).collect();
        Remembered { starts, until: Some(Instant::now() + APART), ..Remembered::default() }
    }

    fn due(what: Option<(SubLane, Place)>) -> News {
        News { learned: vec![Learned::Due("main".to_owned(), what)], ..News::default() }
    }

    fn looked(before: Option<Remembered>, now: Option<Remembered>) -> News {
        News { learned: vec![Learned::Looked { pool: "main".to_owned(), before, now }], ..News::default() }
    }

    fn start(marks: &Marks, of: &SubLane) -> Option<i64> {
        marks.of("main")?.starts.get(of).map(|at| at.place)
    }

    #[test]
    fn nothing_is_remembered_where_looks_are_quick() {
        let marks = Marks::default();
        marks.heed(&due(Some((lane(1, 0, "a"), at(5)))));
        assert!(marks.of("main").is_none());
        marks.heed(&looked(None, Some(known(&[(lane(1, 0, "a"), 5)]))));
        assert_eq!(start(&marks, &lane(1, 0, "a")), Some(5));
        marks.heed(&looked(marks.of("main"), None));
        assert!(marks.of("main").is_none());
    }

    #[test]
    fn what_comes_before_a_mark_is_not_lost_by_a_claim_that_did_not_see_it() {
        let marks = Marks::default();
        let one = lane(1, 0, "a");
        marks.heed(&looked(None, Some(known(&[(one.clone(), 5)]))));
        let before = marks.of("main");
        let mut now = before.clone().unwrap();
        now.begins(one.clone(), at(9));
        marks.heed(&due(Some((one.clone(), at(3)))));
        marks.heed(&due(Some((lane(2, 0, "a"), at(7)))));
        marks.heed(&looked(before, Some(now)));
        assert_eq!((start(&marks, &one), start(&marks, &lane(2, 0, "a"))), (Some(3), Some(7)));
        let before = marks.of("main");
        let mut now = before.clone().unwrap();
        now.begins(one.clone(), at(9));
        marks.heed(&looked(before, Some(now)));
        assert_eq!(start(&marks, &one), Some(9));
    }

    #[test]
    fn what_is_due_somewhere_has_the_next_claim_look_from_the_beginning() {
        let marks = Marks::default();
        marks.heed(&looked(None, Some(known(&[]))));
        let before = marks.of("main");
        assert!(
            before.as_ref().unwrap().holds(Instant::now()).is_none(),
            "what came meanwhile was not remembered"
        );
        marks.heed(&looked(before, Some(known(&[]))));
        let before = marks.of("main");
        assert!(before.as_ref().unwrap().holds(Instant::now()).is_some());
        marks.heed(&due(None));
        assert!(marks.of("main").unwrap().holds(Instant::now()).is_none());
        let now = before.clone();
        marks.heed(&looked(before, now));
        assert!(marks.of("main").unwrap().holds(Instant::now()).is_none(), "that claim has not seen it");
    }

    #[test]
    fn claims_that_overlap_go_on_from_what_they_know_together() {
        let marks = Marks::default();
        let one = lane(1, 0, "a");
        marks.heed(&looked(None, Some(known(&[(one.clone(), 1)]))));
        let mut before = marks.of("main");
        for place in [2, 3, 4] {
            // Each begins when the one before it is committed and not remembered yet.
            let next = marks.of("main");
            marks.heed(&looked(before, Some(known(&[(one.clone(), place)]))));
            before = next;
            assert!(marks.of("main").unwrap().holds(Instant::now()).is_some());
        }
        assert!(start(&marks, &one) >= Some(3), "it goes on");
    }

    #[test]
    fn slow_looks_take_a_tenth_of_the_time_at_most() {
        assert!(!Remembered::is_slow(Duration::from_millis(6), 100));
        assert!(Remembered::is_slow(Duration::from_millis(7), 100));
        let now = Instant::now();
        let mut known = Remembered::default();
        known.looked(now, Duration::from_millis(3), true);
        assert_eq!(known.holds(now), Some(APART));
        known.looked(now, Duration::from_secs(1), false);
        assert_eq!(known.holds(now + Duration::from_secs(4)), Some(Duration::from_secs(6)));
        assert_eq!(known.holds(now + Duration::from_secs(10)), None);
    }

    #[test]
    fn the_next_tenants_and_their_next_keys_are_looked_at() {
        let mut known = known(&[
            (lane(1, 0, "a"), 1),
            (lane(2, 4, "a"), 2),
            (lane(2, 4, "b"), 3),
            (lane(2, 7, "a"), 4),
            (lane(3, 0, "a"), 5),
        ]);
        known.turn(2, 4);
        let rows = known.next(&Span { from: 2, tenants: 2, jobs: 8 });
        let seen: Vec<_> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let number = |name: &str| row[name].as_i64().unwrap();
                (number("n"), number("k"), number("tenant"), number("lane"), number("want"), number("place"))
            })
            .collect();
        assert_eq!(seen, [(1, 2, 2, 4, 2, 2), (1, 2, 2, 4, 2, 3), (1, 1, 2, 7, 2, 4), (2, 1, 3, 0, 4, 5)]);
        let rows = known.next(&Span { from: 4, tenants: 1, jobs: 1 });
        assert_eq!((rows.as_array().unwrap().len(), &rows[0]["tenant"]), (1, &json!(1)), "it goes around");
    }

    #[test]
    fn a_pool_of_too_many_lanes_is_left_alone_for_a_while() {
        let marks = Marks::default();
        let one = lane(1, 0, "a");
        marks.heed(&looked(None, Some(known(&[(one.clone(), 5)]))));
        let before = marks.of("main");
        let mut now = before.clone().unwrap();
        let began = Instant::now();
        now.leave_alone(began);
        marks.heed(&looked(before.clone(), Some(now)));
        marks.heed(&looked(before.clone(), before));
        marks.heed(&due(Some((one.clone(), at(3)))));
        let known_now = marks.of("main").unwrap();
        assert!(known_now.is_left_alone(began) && known_now.holds(began).is_none());
        assert_eq!(start(&marks, &one), None, "nor is anything remembered of it, also by who began before");
        let later = began + LEFT_ALONE;
        assert!(!known_now.is_left_alone(later));
        marks.heed(&looked(Some(known_now), Some(known(&[(one.clone(), 3)]))));
        assert!(!marks.of("main").unwrap().is_left_alone(began), "then it is tried again");
        assert_eq!(start(&marks, &one), Some(3));
    }

    #[test]
    fn too_much_is_forgotten() {
        let marks = Marks::default();
        let many: Vec<_> = (0..5_000).map(|tenant| (lane(tenant, 0, "a"), 1)).collect();
        marks.heed(&looked(None, Some(known(&many))));
        assert_eq!(start(&marks, &lane(1, 0, "a")), None);
        assert!(marks.of("main").unwrap().holds(Instant::now()).is_none());
    }
}
