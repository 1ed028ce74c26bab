//! Values that arguments hold: spans of time, money, pairs, pointers.

mod duration;
mod metadata;
mod money;
mod pointer;
mod when;

pub use duration::duration;
pub use metadata::pair;
pub use money::{money, shown_money};
pub use pointer::Assignment;
pub use when::When;

/// A limit that can also be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit<T> {
    /// No limit; written `none`.
    None,
    /// This much.
    At(T),
}

/// Reads a limit.
///
/// # Errors
///
/// What `read` says about the text, unless it is `none`.
pub fn limit<T>(text: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Limit<T>, String> {
    if text == "none" { Ok(Limit::None) } else { read(text).map(Limit::At) }
}

/// Reads a count that may be `none`.
///
/// # Errors
///
/// When it is neither.
pub fn count_limit(text: &str) -> Result<Limit<u64>, String> {
    limit(text, |text| text.parse().map_err(|_| "expected a whole number, or `none`".to_owned()))
}

/// Reads an amount of money that may be `none`.
///
/// # Errors
///
/// When it is neither.
pub fn money_limit(text: &str) -> Result<Limit<i64>, String> {
    limit(text, money)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_can_be_taken_away() {
        assert_eq!(count_limit("none"), Ok(Limit::None));
        assert_eq!(count_limit("5"), Ok(Limit::At(5)));
        assert!(count_limit("-1").is_err());
        assert_eq!(money_limit("0"), Ok(Limit::At(0)));
    }
}
