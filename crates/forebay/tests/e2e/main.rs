//! The service from outside: real processes, real sockets, the simulator or a real model as the provider.

mod capacity;
mod command_line;
mod crash;
mod harness;
mod journey;
mod real_model;
mod refusals;
mod shutdown;
