//! How Forebay talks to model providers.
//!
//! One call in, one [`Report`] out: what came of it for the ledger ([`forebay_core::attempt::Outcome`]), the
//! answer or the class of the failure, what the provider says it used, and what it says about when to come
//! back. Nothing is decided here about retries, and nothing is ever sent twice.
//!
//! * [`Gateway`] makes the call; `exchange.rs` reads the answer within the deadlines of `deadline.rs`.
//! * `sse.rs` cuts a stream into events; `wire.rs` is the seam behind which the formats stand: `openai` (chat
//!   completions and embeddings, as many servers have them), `responses` and `anthropic`. `said.rs` is what
//!   their answers have in common, `schema.rs` what a provider takes of a JSON Schema.
//! * `count.rs` asks a provider how many tokens a call has.
//! * [`hints`] reads what an answer says about the provider's limits and when to come back.
//! * `provider_error.rs` finds out what an error answer means, whichever provider wrote it.

mod anthropic;
mod call;
mod count;
mod deadline;
mod exchange;
mod failed;
#[cfg(test)]
mod fuzz;
mod gateway;
pub mod hints;
mod openai;
mod outgoing;
mod provider_error;
mod report;
mod responses;
mod said;
mod schema;
mod sse;
mod tls;
mod wire;

pub use call::{Call, ChatCall, EmbeddingsCall, ResponseFormat, Target};
pub use count::{Counted, CountedBy};
pub use gateway::{Gateway, NoGateway};
pub use report::{Answer, Report};
