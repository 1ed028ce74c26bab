//! The service from outside: real processes, real sockets, the simulator or a real model as the provider.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is no part of the service"
)]

mod bench;
mod bucket;
mod callers;
mod capacity;
#[path = "../../../forebay-store/tests/support/chaos_proxy.rs"]
#[allow(dead_code, reason = "other tests need other parts of it")]
mod chaos_proxy;
mod command_line;
mod commands;
mod crash;
mod doctor;
mod failpoints;
mod fairness;
mod faults;
mod fleet;
mod harness;
mod journey;
mod judge;
mod letters;
mod master_data;
mod outage;
mod paused;
mod postgres;
mod privacy;
mod processes;
mod real_model;
mod refusals;
mod retention;
mod reviews;
mod revisions;
mod shutdown;
mod text;
