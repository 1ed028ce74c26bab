//! Statements by name: one text for each database, with the same parameters and the same columns.

/// A statement, as each database takes it.
#[derive(Debug)]
pub struct Statement {
    /// Where its files are: `sql/DATABASE/NAME.sql`.
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

/// The statement in `sql/sqlite/NAME.sql` and `sql/postgres/NAME.sql`.
macro_rules! sql {
    ($name:literal) => {{
        static STATEMENT: $crate::ledger::statement::Statement = $crate::ledger::statement::Statement {
            name: $name,
            sqlite: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/", $name, ".sql")),
        };
        &STATEMENT
    }};
}
pub(crate) use sql;
