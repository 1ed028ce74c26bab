//! What was used, by day.

use forebay_core::money::Micros;
use forebay_core::time::Timestamp;

/// What use is told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// Who pays.
    Tenant,
    /// The day (UTC) on which the attempts were settled.
    Day,
    /// The task of their jobs.
    Task,
    /// The model that was called.
    Model,
    /// The pool that it was called through.
    Pool,
}

impl UsageBy {
    /// All of it, in the order of names in an export.
    pub const ALL: [UsageBy; 5] =
        [UsageBy::Tenant, UsageBy::Day, UsageBy::Task, UsageBy::Model, UsageBy::Pool];

    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            UsageBy::Tenant => "tenant",
            UsageBy::Day => "day",
            UsageBy::Task => "task",
            UsageBy::Model => "model",
            UsageBy::Pool => "pool",
        }
    }

    /// That of a name; `None` where it is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// Whose use of which days, and how it is told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// Only that of this tenant; that of all where absent.
    pub tenant: Option<i64>,
    /// From this time's day on.
    pub from: Timestamp,
    /// Up to this time's day, included.
    pub to: Timestamp,
    /// What makes a row of its own; everything else is added up.
    pub by: Vec<UsageBy>,
    /// Only rows behind this one.
    pub after: Option<UsageKey>,
    /// The most rows.
    pub limit: usize,
}

impl UsageQuery {
    /// All rows of a tenant by day, task, model and pool.
    pub fn of(tenant: i64, from: Timestamp, to: Timestamp) -> Self {
        let by = vec![UsageBy::Day, UsageBy::Task, UsageBy::Model, UsageBy::Pool];
        Self { tenant: Some(tenant), from, to, by, after: None, limit: usize::MAX }
    }

    /// Whether rows are told apart by this.
    pub fn is_by(&self, by: UsageBy) -> bool {
        self.by.contains(&by)
    }
}

/// What a row is about. Absent is what it was added up over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the API")]
pub struct UsageKey {
    pub tenant: Option<String>,
    /// Its first millisecond.
    pub day: Option<Timestamp>,
    pub task: Option<String>,
    pub model: Option<String>,
    pub pool: Option<String>,
}

/// What was used. Rows are ordered by day, then by the names of tenant, task, model and pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the API")]
pub struct UsageRow {
    pub key: UsageKey,
    pub attempts: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost: Micros,
    /// What may have been billed, and nobody knows.
    pub uncertain: Micros,
}
