//! What the server or the way to it says, in the store's words.

use tokio_postgres::error::SqlState;

use crate::StoreError;

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let text = match std::error::Error::source(&error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            };
            // Anything else than a broken link is a fault of ours: a value of the wrong type, a column that is not there.
            return if error.is_closed() || is_of_the_link(&error) {
                StoreError::Unavailable(text)
            } else {
                StoreError::Database(text)
            };
        };
        let text = match refusal.constraint() {
            Some(constraint) => format!("{} ({constraint})", refusal.message()),
            None => refusal.message().to_owned(),
        };
        match refusal.code() {
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::UNIQUE_VIOLATION => StoreError::Raced(text),
            // How a statement of ours says that it does not find what it was made for: nothing else divides.
            &SqlState::DIVISION_BY_ZERO => {
                StoreError::Raced("what it was to change had been changed meanwhile".to_owned())
            }
            &SqlState::READ_ONLY_SQL_TRANSACTION => {
                StoreError::Unavailable(format!("the server takes no writes at the moment: {text}"))
            }
            // What failed was sent before it, in the same message, and its own word comes later or not at all. Where it was no
            // race, the next try says so.
            &SqlState::IN_FAILED_SQL_TRANSACTION => StoreError::Raced(text),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Corrupt(text),
            // Resources, the operator's doing, the connection, the system.
            code if ["08", "53", "57", "58", "25"].iter().any(|class| code.code().starts_with(class)) => {
                StoreError::Unavailable(text)
            }
            _ => StoreError::Database(text),
        }
    }
}

fn is_of_the_link(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}
