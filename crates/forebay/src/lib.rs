//! placeholder
pub mod definitions;
pub mod sim;
