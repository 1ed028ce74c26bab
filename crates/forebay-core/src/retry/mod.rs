//! When a failed step may be tried again: what the provider said ([`hint`]) and what the task's policy
//! allows ([`policy`]).

pub mod hint;
pub mod policy;

pub use hint::Hint;
pub use policy::{NextTry, RetryPolicy, Try};
