//! What can go wrong below the domain. That a job is in another state or a key is taken is no error: the
//! verbs say so in their results.

/// A failure of the store itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process has the file open.
    #[error(
        "{path} is in use by another process: an embedded store belongs to one process at a time. \
         Stop the other one, or talk to it over HTTP (FOREBAY_URL)"
    )]
    InUse {
        /// The database file.
        path: String,
    },
    /// The file was written by a newer build, or its migrations were changed.
    #[error("{path} can't be used by this build: {reason}")]
    Incompatible {
        /// The database file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is not whole.
    #[error("{path} is damaged ({reason}): restore it from a backup")]
    Damaged {
        /// The database file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to the server of the database when it is opened; later that is [`Self::Unavailable`].
    #[error(transparent)]
    Unreachable(#[from] crate::postgres::ConnectError),
    /// The ledger or the blob store can't work at the moment: disk full, read-only, closing, out of reach.
    #[error("the store is not available at the moment: {0}")]
    Unavailable(String),
    /// A commit was sent and nobody can say what became of it: nothing is done about it by itself.
    #[error("whether it was written is not known: {0}")]
    Unknown(String),
    /// Another process was faster: the store tries again by itself.
    #[error("another process was faster: {0}")]
    Raced(String),
    /// What is stored does not read as it should.
    #[error("a stored value can't be read: {0}")]
    Corrupt(String),
    /// The database refused a statement.
    #[error("the database refused: {0}")]
    Database(String),
    /// A blob can't be read or written.
    #[error("blob {digest}: {reason}")]
    Blob {
        /// Which one.
        digest: String,
        /// Why.
        reason: String,
    },
}
