//! Master data: tables that a policy compares answers with, such as the suppliers and their bank accounts.
//!
//! A tenant sends a table as CSV or as JSON ([`Table::from_csv`], [`Table::from_json`]); how it was written makes
//! no difference to what it holds, nor to its digest. A [`Dataset`] is one version of such a table under its
//! name. Rows are found by a column's value ([`Table::find`]), as people compare: without regard to case, white
//! space and typographic signs.

mod csv;
mod fault;
mod json;
mod table;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use fault::{MAX_TABLE_FAULTS, TableFault, TableFaults};
pub use table::{Likeness, Row, Table};

use crate::digest::Digest;
pub use crate::request::submission::is_name;

/// One version of a dataset. Versions never change; a new content is a new version.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Its name within the tenant, as [`is_name`] wants it.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// What it holds.
    pub table: Arc<Table>,
}

impl Dataset {
    /// What a result says about it.
    pub fn stamp(&self) -> DatasetStamp {
        DatasetStamp { name: self.name.clone(), version: self.version, digest: self.table.digest() }
    }
}

/// Names a version of a dataset, in a journal or in a result's provenance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetStamp {
    /// The dataset's name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The digest of its content: that of its normal form as CSV.
    pub digest: Digest,
}
