//! How fast jobs may be handed in: a bucket for each of those who are counted.
//!
//! A bucket holds what a minute allows. A job takes its part out of it, and what was taken flows back evenly, so that a minute
//! after a long silence takes in twice the limit at most and every later one the limit. All that there is to know of a bucket
//! is when it will be full again (the generic cell rate algorithm, ITU-T I.371): one number a bucket.

use crate::time::{Millis, Timestamp};

/// The largest limit.
pub const MOST_PER_MINUTE: u64 = 1_000_000;

const MINUTE: u64 = 60_000_000;

/// Who is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// The tenant, over all its keys.
    Tenant,
    /// The key that jobs are handed in with.
    Key,
    /// Whom the caller names as `user`, within its tenant.
    User,
}

impl Counted {
    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Counted::Tenant => "tenant",
            Counted::Key => "key",
            Counted::User => "user",
        }
    }
}

/// Jobs in a minute, 1 to [`MOST_PER_MINUTE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// So many jobs in a minute; `None` where that is no limit.
    pub fn per_minute(jobs: u64) -> Option<Self> {
        (1..=MOST_PER_MINUTE).contains(&jobs).then_some(Self(jobs))
    }

    /// Jobs in a minute.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Microseconds in which the part of one job flows back, rounded up.
    pub const fn part(self) -> i64 {
        MINUTE.div_ceil(self.0).cast_signed()
    }

    /// Microseconds in which an empty bucket fills: a minute, and what rounding adds.
    pub const fn whole(self) -> i64 {
        self.part().saturating_mul(self.0.cast_signed())
    }
}

/// A bucket. Without anything known of it, it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// When it is full again, in microseconds since 1970.
    full_at: i64,
}

impl Bucket {
    /// As it is stored: in microseconds.
    pub const fn full_at(full_at: i64) -> Self {
        Self { full_at }
    }

    /// The bucket with a job's part taken out.
    ///
    /// # Errors
    ///
    /// How long until there is as much in it.
    pub fn take(self, rate: Rate, now: Timestamp) -> Result<Self, Millis> {
        let full_at = self.full_at.max(micros(now)).saturating_add(rate.part());
        let missing = full_at.saturating_sub(micros(now)).saturating_sub(rate.whole());
        if missing > 0 { Err(millis(missing)) } else { Ok(Self { full_at }) }
    }

    /// Jobs that can be taken out at once.
    pub fn left(self, rate: Rate, now: Timestamp) -> u64 {
        let free = rate.whole().saturating_sub(self.short_of(now));
        u64::try_from(free / rate.part()).unwrap_or_default()
    }

    /// How long until it is full, if nothing is taken.
    pub fn full_in(self, now: Timestamp) -> Millis {
        millis(self.short_of(now))
    }

    fn short_of(self, now: Timestamp) -> i64 {
        self.full_at.saturating_sub(micros(now)).max(0)
    }
}

/// A time, in the unit of buckets.
pub const fn micros(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(1_000)
}

/// Rounded up: whoever comes back then is not too early.
fn millis(micros: i64) -> Millis {
    Millis::new(micros.saturating_add(999) / 1_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_796_083_200_000);

    fn rate(per_minute: u64) -> Rate {
        Rate::per_minute(per_minute).unwrap()
    }

    #[test]
    fn a_bucket_holds_a_minute_and_then_goes_by_its_pace() {
        let (mut bucket, rate) = (Bucket::default(), rate(4));
        for left in [3, 2, 1, 0] {
            bucket = bucket.take(rate, NOW).unwrap();
            assert_eq!(bucket.left(rate, NOW), left);
        }
        assert_eq!(bucket.take(rate, NOW), Err(Millis::from_secs(15)));
        assert_eq!(bucket.full_in(NOW), Millis::from_secs(60));
        let later = NOW.after(Millis::from_secs(15));
        assert_eq!(bucket.left(rate, later), 1);
        assert!(bucket.take(rate, later).is_ok());
    }

    #[test]
    fn only_what_can_be_meant_is_a_rate() {
        assert_eq!(Rate::per_minute(0), None);
        assert_eq!(Rate::per_minute(MOST_PER_MINUTE + 1), None);
        assert_eq!(rate(MOST_PER_MINUTE).part(), 60);
    }

    proptest! {
        /// Whatever the gaps: in no span more than the bucket holds and what flows back in it; and who waits as long as
        /// told, and no less, is let in.
        #[test]
        fn never_faster_than_the_rate(per_minute in 1_u64..500, gaps in proptest::collection::vec(0_i64..2_000, 1..300)) {
            let rate = rate(per_minute);
            let (mut bucket, mut now, mut taken) = (Bucket::default(), NOW, Vec::new());
            for gap in gaps {
                now = now.after(Millis::new(gap));
                let left = bucket.left(rate, now);
                match bucket.take(rate, now) {
                    Ok(next) => {
                        prop_assert!(left > 0);
                        prop_assert_eq!(next.left(rate, now), left - 1);
                        bucket = next;
                        taken.push(now);
                    }
                    Err(wait) => {
                        prop_assert_eq!(left, 0);
                        prop_assert!(bucket.take(rate, now.after(wait)).is_ok());
                        let early = Millis::new(wait.get() - 1);
                        prop_assert!(bucket.take(rate, now.after(early)).is_err());
                    }
                }
            }
            for (first, from) in taken.iter().enumerate() {
                for (last, to) in taken.iter().enumerate().skip(first) {
                    let flowed = to.since(*from).get() as u64 * per_minute / 60_000;
                    prop_assert!(((last - first + 1) as u64) <= per_minute + flowed + 1);
                }
            }
        }

        #[test]
        fn a_lower_limit_holds_for_a_bucket_of_a_higher_one(before in 1_u64..1_000, after in 1_u64..1_000) {
            let (before, after) = (rate(before), rate(after));
            let mut bucket = Bucket::default();
            while let Ok(next) = bucket.take(before, NOW) {
                bucket = next;
            }
            prop_assert!(bucket.left(after, NOW) <= after.get());
            prop_assert!(bucket.full_in(NOW) <= Millis::from_secs(61));
        }
    }
}
