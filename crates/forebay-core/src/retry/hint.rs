//! What a provider said about when to come back, as far as retries need it.

use crate::time::Millis;

/// A provider's word on how long to wait, counted from when its answer arrived. Whoever holds several hints
/// takes the largest, so that no call comes before any of them: `Option<Hint>` is ordered for that, `None`
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Not to come back earlier than this.
    pub wait: Millis,
}
