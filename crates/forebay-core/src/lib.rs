//! The rules of Forebay.
//!
//! Everything that Forebay decides is decided here, by functions that take the facts, the time and any
//! random number as arguments and return a value. There is no async code, no I/O and no clock in this crate,
//! so every rule can be tested by calling it.
//!
//! * [`lifecycle`]: what may happen to a job, one command per file.
//! * [`plan`]: what a job does next, from its task and its journal.
//! * [`retry`]: when a failed step may be tried again, and what a provider's hint means.
//! * [`grant`] and [`window`]: capacity and money, reserved at the claim and settled to what was used.
//! * [`capacity`]: how much work fits below limits, and how long it takes.
//! * [`fairness`]: whose turn it is in a pool, and how much one turn takes.
//! * [`request`]: strict parsing, the normal form of a request, and its hash.
//! * [`extract`]: what a model's answer about a document must pass before it may be called a success.
//! * [`dataset`]: master data that answers are compared with.
//! * [`review`]: what a person decides about an output in doubt, and what a correction changed.
//! * [`definition`]: tasks, models, pools, providers and policies, ready to use.

pub mod attempt;
pub mod capacity;
pub mod dataset;
pub mod definition;
pub mod digest;
pub mod event;
pub mod extract;
pub mod failure;
pub mod fairness;
#[cfg(test)]
mod fuzz;
pub mod grant;
pub mod id;
pub mod job;
pub mod lifecycle;
pub mod limits;
pub mod money;
pub mod plan;
pub mod prompt;
pub mod rate;
pub mod request;
pub mod retry;
pub mod review;
pub mod text;
pub mod time;
pub mod window;
pub mod word;
