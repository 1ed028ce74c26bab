//! placeholder
pub mod sim;
