//! How much work fits: calculated before it comes, and found out while it runs.
//!
//! * [`planner`]: from arrivals, service time, tokens and limits to capacity, workers and the time that a backlog takes.
//! * [`course`]: how a backlog changes over time.
//! * [`ratio`]: the exact numbers of both.
//! * [`adaptive`]: how many calls at a time a provider takes well.
//! * [`sizing`]: how many calls at a time workers are to hold.
//! * [`calibration`]: how far estimates of tokens are off.

pub mod adaptive;
pub mod calibration;
pub mod course;
pub mod planner;
pub mod ratio;
pub mod sizing;
