//! The service: HTTP API, workers, maintenance, simulator, command line.
//!
//! * [`http`] answers callers, [`accept`] takes their jobs in, [`work`] runs them, [`maintain`] does what nobody
//!   asks for, [`review`] what persons decide. They meet in [`app`] and share nothing but the store.
//! * [`blobs`] opens what keeps documents and everything too large for a row.
//! * [`definitions`] reads what tasks, models and pools are; [`revisions`] keeps them by number.
//! * [`verify`] judges a store from outside, by its records, and shares nothing with the rest.
//! * [`service`] starts and ends all of it; [`cli`] is the command line; [`sim`] is a provider for tests.

pub mod accept;
pub mod app;
pub mod blobs;
pub mod cli;
pub mod config;
pub mod datasets;
pub mod definitions;
pub mod door;
pub mod http;
pub mod maintain;
pub mod metrics;
pub mod presence;
pub mod review;
pub mod revisions;
pub mod runtime;
pub mod service;
pub mod sim;
pub mod verify;
pub mod work;
