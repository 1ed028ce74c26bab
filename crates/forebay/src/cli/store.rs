//! The store that a command opens itself.

use super::error::CliError;
use crate::config::{PASSWORD_VARIABLE, StoreUrl};

/// Reads what `--store` or `FOREBAY_STORE` says.
///
/// # Errors
///
/// When it names no store. What was written is not repeated: it may hold a password.
pub fn named(store: &str) -> Result<StoreUrl, CliError> {
    let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
    StoreUrl::parse(store, password).map_err(|refusal| {
        CliError::usage(format!("the store (--store or FOREBAY_STORE): {}", refusal.problem), refusal.fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_store_is_refused_without_its_password() {
        let refusal = named("postgres://forebay:secret@db?sslmode=off").unwrap_err();
        assert_eq!(refusal.exit().code(), 2);
        assert!(!refusal.to_string().contains("secret"), "{refusal}");
    }
}
