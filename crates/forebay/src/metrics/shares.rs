//! Whether tenants get their shares: what their lanes were served within the last minute, as seen at the scrapes.

use std::collections::{HashMap, VecDeque};

use forebay_core::fairness;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{LaneShare, Shares};

/// How far back is looked.
const SPAN: Millis = Millis::from_secs(60);
/// Looks that are kept of each pool at most, however often somebody scrapes.
const KEPT: usize = 64;

/// What was seen, by pool.
#[derive(Debug, Default)]
pub(super) struct Looks(HashMap<String, VecDeque<Look>>);

/// The lanes of a pool at one time, by tenant.
#[derive(Debug)]
struct Look {
    at: Timestamp,
    largest: u64,
    lanes: HashMap<i64, LaneShare>,
}

impl Looks {
    /// Adds what is seen now; gives the deviation of each pool.
    pub(super) fn add(&mut self, now: Timestamp, pools: &[Shares]) -> Vec<(String, f64)> {
        self.0.retain(|pool, _| pools.iter().any(|seen| seen.pool == *pool));
        pools.iter().map(|seen| (seen.pool.clone(), self.look(now, seen))).collect()
    }

    fn look(&mut self, now: Timestamp, seen: &Shares) -> f64 {
        let looks = self.0.entry(seen.pool.clone()).or_default();
        // The first one that is kept is a whole span ago, or the oldest there is.
        while looks.len() > KEPT || looks.get(1).is_some_and(|second| second.at <= now.before(SPAN)) {
            looks.pop_front();
        }
        let lanes = seen.lanes.iter().map(|lane| (lane.tenant, *lane)).collect();
        looks.push_back(Look { at: now, largest: seen.largest, lanes });
        let largest = looks.iter().map(|look| look.largest).max().unwrap_or_default();
        match (looks.front(), looks.back()) {
            (Some(first), Some(last)) => fairness::deviation(last.since(first), largest),
            _ => 0.0,
        }
    }
}

impl Look {
    /// What lanes were served since then that had something to take all the time.
    fn since(&self, first: &Look) -> impl Iterator<Item = (fairness::Weight, u64)> {
        self.lanes.values().filter_map(|lane| {
            let then = first.lanes.get(&lane.tenant).filter(|then| then.weight == lane.weight)?;
            (lane.yielded_at < first.at).then(|| (lane.weight, lane.served.saturating_sub(then.served)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + seconds * 1_000)
    }

    /// Lanes of tenants 1, 2 ... with weight, service, and the second when each yielded.
    fn seen(largest: u64, lanes: &[(u64, u64, i64)]) -> Vec<Shares> {
        let lane = |(tenant, (weight, served, yielded)): (i64, &(u64, u64, i64))| LaneShare {
            tenant,
            weight: fairness::Weight::new(*weight).unwrap(),
            served: *served,
            yielded_at: at(*yielded),
        };
        let lanes = (1..).zip(lanes).map(lane).collect();
        vec![Shares { pool: "main".to_owned(), largest, lanes }]
    }

    fn deviation(looks: &mut Looks, second: i64, pools: &[Shares]) -> String {
        let found = looks.add(at(second), pools);
        found.iter().map(|(pool, deviation)| format!("{pool} {deviation:.2}")).collect()
    }

    #[test]
    fn what_lanes_with_jobs_were_served_in_a_minute_is_compared() {
        let mut looks = Looks::default();
        assert_eq!(deviation(&mut looks, 0, &seen(10, &[(1, 500, -9), (3, 90, -9)])), "main 0.00");
        // 100 to 60 of a weight of 3.
        assert_eq!(deviation(&mut looks, 30, &seen(10, &[(1, 600, -9), (3, 150, -9)])), "main 8.00");
        assert_eq!(deviation(&mut looks, 60, &seen(10, &[(1, 600, -9), (3, 390, -9)])), "main 0.00");
        // From the second look on.
        assert_eq!(deviation(&mut looks, 90, &seen(10, &[(1, 700, -9), (3, 420, -9)])), "main 1.00");
    }

    #[test]
    fn who_had_nothing_to_take_does_not_count() {
        let mut looks = Looks::default();
        deviation(&mut looks, 0, &seen(10, &[(1, 0, -9), (1, 0, -9), (1, 0, -9)]));
        assert_eq!(
            deviation(&mut looks, 9, &seen(10, &[(1, 900, -9), (1, 0, 5), (1, 880, -9)])),
            "main 2.00"
        );
        assert_eq!(deviation(&mut looks, 10, &seen(10, &[(1, 950, -9)])), "main 0.00");
        assert_eq!(looks.add(at(11), &[]), []);
        assert!(looks.0.is_empty(), "a pool that is gone is forgotten");
    }

    #[test]
    fn however_often_one_looks_little_is_kept() {
        let mut looks = Looks::default();
        (0..1_000).for_each(|_| drop(looks.add(at(0), &seen(1, &[(1, 1, 0)]))));
        assert!(looks.0["main"].len() <= KEPT + 1);
    }
}
