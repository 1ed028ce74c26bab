//! Fractions of whole numbers: `5 / 0.7` is 50/7, and whether that is more than 7 does not depend on rounding.

use std::cmp::Ordering;

/// A fraction that is not negative, in lowest terms.
///
/// Numerator and denominator have 128 bits. What a plan is made from is bounded
/// ([`planner::MOST_PARTS`](super::planner::MOST_PARTS)) so that nothing calculated from it comes near; beyond, results
/// stay at the largest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio::whole(0);
    /// The whole.
    pub const ONE: Ratio = Ratio::whole(1);

    /// A whole number.
    pub const fn whole(number: u64) -> Self {
        Self { numerator: number as u128, denominator: 1 }
    }

    /// `numerator / denominator`; `None` where the denominator is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        (denominator > 0).then(|| Self::reduced(numerator.into(), denominator.into()))
    }

    /// Reads a decimal number, such as `1.10`: digits, with a point and further digits or without.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return None;
        }
        let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
        let whole: u64 = whole.parse().ok()?;
        Self::new(whole.checked_mul(scale)?.checked_add(part.parse().ok()?)?, scale)
    }

    /// The larger of numerator and denominator, in lowest terms.
    pub fn parts(self) -> u128 {
        self.numerator.max(self.denominator)
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Ratio) -> Self {
        let (left, below_right) = cancelled(self.numerator, other.denominator);
        let (right, below_left) = cancelled(other.numerator, self.denominator);
        Self {
            numerator: left.saturating_mul(right),
            denominator: below_left.saturating_mul(below_right).max(1),
        }
    }

    /// The quotient; `None` where `other` is 0.
    #[must_use]
    pub fn over(self, other: Ratio) -> Option<Self> {
        let inverse = Self { numerator: other.denominator, denominator: other.numerator };
        (!other.is_zero()).then(|| self.times(inverse))
    }

    /// The difference; `None` where `other` is more.
    #[must_use]
    pub fn minus(self, other: Ratio) -> Option<Self> {
        let left = self.numerator.saturating_mul(other.denominator);
        let right = other.numerator.saturating_mul(self.denominator);
        let difference = left.checked_sub(right)?;
        Some(Self::reduced(difference, self.denominator.saturating_mul(other.denominator)))
    }

    /// The smallest whole number that is not less.
    pub fn ceil(self) -> u64 {
        u64::try_from(self.numerator.div_ceil(self.denominator)).unwrap_or(u64::MAX)
    }

    /// The nearest number with a floating point, for showing and estimating.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    fn reduced(numerator: u128, denominator: u128) -> Self {
        let (numerator, denominator) = cancelled(numerator, denominator);
        Self { numerator, denominator }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = self.numerator.saturating_mul(other.denominator);
        left.cmp(&other.numerator.saturating_mul(self.denominator))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Both without their greatest common divisor.
fn cancelled(left: u128, right: u128) -> (u128, u128) {
    let (mut divisor, mut rest) = (left, right);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let divisor = divisor.max(1);
    (left / divisor, right / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(numerator: u64, denominator: u64) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    #[test]
    fn decimals_are_read_exactly() {
        assert_eq!(Ratio::parse("1.10"), Some(ratio(11, 10)));
        assert_eq!(Ratio::parse("0.7"), Some(ratio(7, 10)));
        assert_eq!(Ratio::parse("20"), Some(Ratio::whole(20)));
        for wrong in ["", ".", "1.", ".5", "-1", "1e3", "1.5.2", "1,5", "+1", "0.00000000000000000001"] {
            assert_eq!(Ratio::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nothing_divides_by_nothing() {
        assert_eq!(Ratio::new(1, 0), None);
        assert_eq!(Ratio::ONE.over(Ratio::ZERO), None);
        assert_eq!(Ratio::ZERO.over(Ratio::ONE), Some(Ratio::ZERO));
    }

    proptest! {
        #[test]
        fn it_calculates_as_fractions_do(
            (a, b, c, d) in (0_u64..1_000_000, 1_u64..1_000_000, 1_u64..1_000_000, 1_u64..1_000_000),
        ) {
            let (left, right) = (ratio(a, b), ratio(c, d));
            prop_assert_eq!(left.times(right), right.times(left));
            prop_assert_eq!(left.over(right).unwrap().times(right), left);
            prop_assert_eq!(left.cmp(&right), (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b))));
            match left.minus(right) {
                Some(rest) => prop_assert_eq!(left.minus(rest), Some(right)),
                None => prop_assert!(left < right),
            }
            prop_assert_eq!(left.ceil(), a.div_ceil(b));
        }
    }
}
