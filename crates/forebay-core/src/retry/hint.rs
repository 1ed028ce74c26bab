//! What a provider said about when to come back.

use crate::time::Millis;

/// A provider's word on how long to wait, counted from when its answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// Not to come back earlier than this.
    pub wait: Millis,
}
