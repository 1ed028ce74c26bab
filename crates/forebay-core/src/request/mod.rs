//! What a caller sends, from bytes to a submission whose hash is known.
//!
//! The way in has three steps, and each refuses what the next could misread:
//!
//! 1. [`json::parse`] reads bytes strictly: what two readers could understand differently is no JSON here.
//! 2. [`Submission::parse`] knows the members, names every fault at once and brings the input to one form.
//! 3. [`Submission::body_digest`] hashes the normal form that [`canonical`] writes, so that a caller's second
//!    try is recognised however its client happens to write JSON.

pub mod batch;
pub mod canonical;
pub mod fault;
pub mod idempotency;
pub mod input;
pub mod json;
pub mod stored;
pub mod submission;

mod members;
#[cfg(test)]
mod properties;

pub use batch::BatchFault;
pub use fault::{MemberCode, MemberFault};
pub use input::Input;
pub use json::{JsonFault, JsonFaultKind, JsonLimits};
pub use members::whole_number;
pub use stored::{NotStored, StoredRequest};
pub use submission::{Series, Submission, TaskRef, When, request_digest};
