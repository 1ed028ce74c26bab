//! Fair shares of a pool: whose turn it is, and how much one turn takes.
//!
//! The lanes of a pool take turns in the order of their numbers, round after round. In each round every lane is given
//! `quantum * weight` units of cost, and takes jobs as long as it has credit left; the job that uses up the credit may
//! go beyond it, and what it went beyond is missing in the next round. So each turn takes at least one job, whatever
//! it costs, and over any number of rounds a lane takes its weighted share, give or take one job.
//!
//! The quantum is the same for all lanes of a round: the largest cost that was taken in the round before. Then no debt
//! outlasts the next turn. Small jobs make short rounds, and a large one is paid back in the round that follows it.
//!
//! **The bound.** Let two lanes both have jobs all the time, and let `c` be the largest cost of a job. What they take in
//! that time, each divided by its weight, differs by at most [`DEVIATION`]` * c`: a debt of each, and one turn that one
//! of them has had and the other has not. A lane that gets its first job waits until every other lane has had one turn
//! at most.

/// How many largest jobs the normalised service of two lanes may lie apart.
pub const DEVIATION: u64 = 3;

/// Costs are counted up to here: what is larger is as large as this.
const MOST: u64 = 1 << 40;

/// How much of a pool a lane takes beside others: twice the weight, twice as much. 1 unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u64);

impl Weight {
    /// The largest.
    pub const MOST: u64 = 1_000;

    /// A weight from 1 to [`Weight::MOST`].
    pub fn new(weight: u64) -> Option<Self> {
        (1..=Self::MOST).contains(&weight).then_some(Self(weight))
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

/// Where the lanes of a pool are in taking turns: what is kept between claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// The lane whose turn it is or was; lanes have numbers above 0.
    pub turn: i64,
    /// Whether that turn is still under way.
    pub is_on: bool,
    /// What a lane of weight 1 is given in this round.
    pub quantum: u64,
    /// The largest cost that was taken in this round: the next one's quantum.
    pub largest: u64,
}

/// What a lane may still take: less than nothing where its last job went beyond what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Credit(pub i64);

/// Why a turn ends before the credit is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The lane has no jobs any more: what it had left is gone, and so is its debt.
    Empty,
    /// Limits of its own keep the lane from taking more: it can't save up for later.
    Blocked,
}

impl Round {
    /// The smallest number whose turn may be next: that of the lane itself while its turn is under way. Where there is no
    /// such lane, the smallest of all is next, in a new round.
    pub fn next_from(&self) -> i64 {
        if self.is_on { self.turn } else { self.turn.saturating_add(1) }
    }

    /// Gives the turn to a lane whose next job has that cost, and the lane what a turn gives; one that is under way goes
    /// on. Where nothing was taken in the round before, this job is the measure.
    pub fn give(&mut self, lane: i64, weight: Weight, cost: u64, credit: &mut Credit) {
        if self.is_on && lane == self.turn {
            return;
        }
        self.pass(lane);
        self.is_on = true;
        if self.quantum == 0 {
            self.quantum = counted(cost);
        }
        credit.0 = credit.0.saturating_add_unsigned(self.quantum * weight.get());
    }

    /// Passes over a lane that can take nothing.
    pub fn pass(&mut self, lane: i64) {
        if lane <= self.turn {
            self.quantum = std::mem::take(&mut self.largest);
        }
        self.turn = lane;
        self.is_on = false;
    }

    /// Whether the lane whose turn it is may take one more job. If not, its turn is over.
    pub fn goes_on(&mut self, credit: Credit) -> bool {
        self.is_on = credit.0 > 0;
        self.is_on
    }

    /// Takes a job of that cost for the lane whose turn it is.
    pub fn take(&mut self, cost: u64, credit: &mut Credit) {
        let cost = counted(cost);
        self.largest = self.largest.max(cost);
        credit.0 = credit.0.saturating_sub_unsigned(cost);
    }

    /// Ends a turn for want of jobs, or of room for them.
    pub fn leave(&mut self, credit: &mut Credit, why: Leaves) {
        self.is_on = false;
        credit.0 = match why {
            Leaves::Empty => 0,
            Leaves::Blocked => credit.0.min(0),
        };
    }
}

/// How far the service of lanes lies apart that had jobs all the time: the most and the least of what they took, each divided
/// by its weight, in jobs of the largest cost. [`DEVIATION`] at most, where nothing else keeps them from taking jobs.
#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
pub fn deviation(served: impl IntoIterator<Item = (Weight, u64)>, largest: u64) -> f64 {
    let shares = served.into_iter().map(|(weight, cost)| cost as f64 / weight.get() as f64);
    let (least, most) =
        shares.fold((f64::INFINITY, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    (most - least).max(0.0) / counted(largest) as f64
}

/// A cost as it counts: nothing is for nothing.
fn counted(cost: u64) -> u64 {
    cost.clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::*;
    use proptest::prelude::*;

    /// A lane as a pool has it: its weight, and the costs of the jobs that wait in it. What is endless has them again and
    /// again.
    #[derive(Debug, Clone, Default)]
    struct Lane {
        weight: u64,
        jobs: VecDeque<u64>,
        is_endless: bool,
        credit: Credit,
    }

    #[derive(Debug, Clone, Default)]
    struct Pool {
        round: Round,
        lanes: BTreeMap<i64, Lane>,
    }

    impl Pool {
        fn of(lanes: &[(u64, Vec<u64>)], is_endless: bool) -> Self {
            let lane = |(weight, jobs): &(u64, Vec<u64>)| Lane {
                weight: *weight,
                jobs: jobs.clone().into(),
                is_endless,
                credit: Credit::default(),
            };
            Self { round: Round::default(), lanes: (1..).zip(lanes.iter().map(lane)).collect() }
        }

        /// Serves one job: whose, and of what cost.
        fn serve(&mut self) -> Option<(i64, u64)> {
            loop {
                let waiting = |(_, lane): &(&i64, &Lane)| !lane.jobs.is_empty();
                let from = self.round.next_from();
                let next = self.lanes.range(from..).find(waiting).or_else(|| self.lanes.iter().find(waiting));
                let id = *next?.0;
                let lane = self.lanes.get_mut(&id)?;
                self.round.give(id, weight(lane.weight), *lane.jobs.front()?, &mut lane.credit);
                if !self.round.goes_on(lane.credit) {
                    continue;
                }
                let cost = lane.jobs.pop_front()?;
                self.round.take(cost, &mut lane.credit);
                if lane.is_endless {
                    lane.jobs.push_back(cost);
                }
                if lane.jobs.is_empty() {
                    self.round.leave(&mut lane.credit, Leaves::Empty);
                }
                return Some((id, cost));
            }
        }

        fn serve_many(&mut self, jobs: usize) -> Vec<i64> {
            (0..jobs).map(|_| self.serve().unwrap().0).collect()
        }
    }

    fn weight(weight: u64) -> Weight {
        Weight::new(weight).unwrap()
    }

    #[test]
    fn a_weight_is_a_number_from_one_to_a_thousand() {
        let read: Vec<_> =
            [0, 1, 1_000, 1_001].into_iter().map(|weight| Weight::new(weight).map(Weight::get)).collect();
        assert_eq!(read, [None, Some(1), Some(1_000), None]);
        assert_eq!(Weight::default().get(), 1);
    }

    #[test]
    fn equal_jobs_of_equal_lanes_take_turns_and_leave_nothing() {
        let mut pool = Pool::of(&[(1, vec![5; 4]), (1, vec![5; 4]), (1, vec![5; 4])], false);
        assert_eq!(pool.serve_many(6), [1, 2, 3, 1, 2, 3]);
        assert!(pool.lanes.values().all(|lane| lane.credit == Credit(0)));
    }

    #[test]
    fn a_weight_of_three_takes_three() {
        let mut pool = Pool::of(&[(3, vec![7]), (1, vec![7])], true);
        assert_eq!(pool.serve_many(8), [1, 1, 1, 2, 1, 1, 1, 2]);
    }

    #[test]
    fn small_jobs_are_taken_for_a_large_one() {
        let mut pool = Pool::of(&[(1, vec![100]), (1, vec![25])], true);
        assert_eq!(pool.serve_many(10), [1, 2, 2, 2, 2, 1, 2, 2, 2, 2]);
    }

    /// I19: whatever the first lane queues, and whatever the job costs.
    #[test]
    fn a_single_job_waits_for_one_turn_of_each_other_lane() {
        let mut pool = Pool::of(&[(1, vec![10]), (1, vec![])], true);
        pool.serve_many(5);
        pool.lanes.get_mut(&2).unwrap().jobs.push_back(1_000_000);
        assert_eq!(pool.serve_many(1), [2]);
    }

    #[test]
    fn what_is_not_used_is_gone() {
        let mut round = Round { quantum: 100, ..Round::default() };
        let mut credit = Credit(0);
        round.give(1, weight(2), 30, &mut credit);
        round.take(30, &mut credit);
        round.leave(&mut credit, Leaves::Blocked);
        assert_eq!((credit, round.is_on), (Credit(0), false));
        credit = Credit(-50);
        round.leave(&mut credit, Leaves::Blocked);
        assert_eq!(credit, Credit(-50), "a debt stays as long as there are jobs");
        round.leave(&mut credit, Leaves::Empty);
        assert_eq!(credit, Credit(0));
    }

    #[test]
    fn a_turn_that_is_under_way_goes_on_without_a_new_gift() {
        let mut round = Round { quantum: 100, ..Round::default() };
        let mut credit = Credit(0);
        round.give(4, weight(1), 30, &mut credit);
        round.take(30, &mut credit);
        assert_eq!(round.next_from(), 4);
        let kept = (round, credit);
        round.give(4, weight(1), 30, &mut credit);
        assert_eq!((round, credit), kept);
        round.take(70, &mut credit);
        assert!(!round.goes_on(credit));
        assert_eq!(round.next_from(), 5);
    }

    #[test]
    fn the_largest_numbers_overflow_nothing() {
        let mut round = Round { quantum: MOST, ..Round::default() };
        let mut credit = Credit(0);
        for lane in [1, 1, 1] {
            round.give(lane, weight(Weight::MOST), u64::MAX, &mut credit);
            round.take(u64::MAX, &mut credit);
            round.is_on = false;
        }
        assert!(credit.0 > 0 && round.largest == MOST);
    }

    #[test]
    fn service_lies_apart_by_the_most_and_the_least_of_the_weighted_shares() {
        let served =
            |costs: &[(u64, u64)]| costs.iter().map(|(w, cost)| (weight(*w), *cost)).collect::<Vec<_>>();
        let apart = |costs: &[(u64, u64)], largest| (deviation(served(costs), largest) * 100.0).round();
        assert_eq!(apart(&[], 10).to_bits(), 0.0_f64.to_bits());
        assert_eq!(apart(&[(1, 70)], 10).to_bits(), 0.0_f64.to_bits());
        assert_eq!(apart(&[(1, 70), (2, 100), (3, 210)], 10).to_bits(), 200.0_f64.to_bits());
        assert_eq!(apart(&[(1, 5), (1, 0)], 0).to_bits(), 500.0_f64.to_bits());
    }

    fn lanes() -> impl Strategy<Value = Vec<(u64, Vec<u64>)>> {
        let cost = prop_oneof![1_u64..20, 1_u64..2_000];
        proptest::collection::vec((1_u64..9, proptest::collection::vec(cost, 1..9)), 2..7)
    }

    proptest! {
        /// The bound: over any interval in which all lanes have jobs.
        #[test]
        fn lanes_with_jobs_take_their_weighted_shares(lanes in lanes(), from in 0_usize..200, span in 1_usize..250) {
            let mut pool = Pool::of(&lanes, true);
            let largest = *lanes.iter().flat_map(|(_, jobs)| jobs).max().unwrap();
            pool.serve_many(from);
            let mut served = BTreeMap::<i64, u64>::new();
            for _ in 0..span {
                let (lane, cost) = pool.serve().unwrap();
                *served.entry(lane).or_default() += cost;
            }
            let share = |id: &i64| served.get(id).copied().unwrap_or_default() * 1_000 / pool.lanes[id].weight;
            let shares: Vec<_> = pool.lanes.keys().map(share).collect();
            let apart = shares.iter().max().unwrap() - shares.iter().min().unwrap();
            prop_assert!(apart <= DEVIATION * largest * 1_000 + 1_000, "{served:?} of {lanes:?}");
        }

        /// Every turn takes a job, so that a lane waits for one turn of each other lane at most; and none takes more
        /// than what it is given and one job.
        #[test]
        fn each_turn_takes_a_job_and_no_more_than_its_share(lanes in lanes(), steps in 1_usize..400) {
            let mut pool = Pool::of(&lanes, true);
            let mut turns = Vec::<(i64, u64)>::new();
            let mut goes_on = false;
            for _ in 0..steps {
                let (lane, cost) = pool.serve().unwrap();
                match turns.last_mut() {
                    Some((of, taken)) if *of == lane && goes_on => *taken += cost,
                    _ => turns.push((lane, cost)),
                }
                let given = pool.round.quantum * pool.lanes[&lane].weight;
                prop_assert!(turns.last().unwrap().1 < given + cost, "{turns:?}");
                goes_on = pool.lanes[&lane].credit.0 > 0;
            }
            let count = i64::try_from(lanes.len()).unwrap();
            for pair in turns.windows(2) {
                prop_assert_eq!(pair[1].0, pair[0].0 % count + 1, "nobody is left out: {:?}", turns);
            }
        }
    }
}
