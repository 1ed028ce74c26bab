//! Metadata: `order=4711`.

/// Reads a name and a value; the first `=` parts them.
///
/// # Errors
///
/// When there is no `=`, or nothing before it.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name and a value: order=4711".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_equals_sign_parts_name_and_value() {
        assert_eq!(pair("order=4711"), Ok(("order".to_owned(), "4711".to_owned())));
        assert_eq!(pair("q=a=b"), Ok(("q".to_owned(), "a=b".to_owned())));
        assert_eq!(pair("empty="), Ok(("empty".to_owned(), String::new())));
    }

    #[test]
    fn a_pair_needs_a_name() {
        assert!(pair("order").is_err());
        assert!(pair("=4711").is_err());
    }
}
