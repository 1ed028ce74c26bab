//! placeholder for the extraction rules
/// placeholder
#[derive(Debug)]
pub struct Policy;
/// placeholder
#[derive(Debug)]
pub struct Schema;
