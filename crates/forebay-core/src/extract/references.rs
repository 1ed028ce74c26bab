//! What an answer is held against beside its document.

use jiff::civil::Date;

use crate::dataset::Dataset;

/// What is known outside the document. It comes with every evaluation, since the core has no clock and no store.
#[derive(Debug, Clone, Copy)]
pub struct References<'a> {
    /// The day of the evaluation, in UTC.
    pub today: Date,
    /// The tenant's datasets that the policy names, in the version that counts; see
    /// [`Policy::datasets`](super::Policy::datasets).
    pub datasets: &'a [Dataset],
    /// Those of them that are there and can't be read.
    pub unreadable: &'a [String],
    /// The job that had the same document before, by the fingerprint that an earlier evaluation of this answer
    /// gave; absent when there is none, or nobody has looked yet.
    pub seen: Option<&'a str>,
}

impl References<'_> {
    /// Nothing but the day.
    pub fn on(today: Date) -> Self {
        Self { today, datasets: &[], unreadable: &[], seen: None }
    }
}
