//! The key by which a caller's second try is recognised.

use crate::limits::IDEMPOTENCY_KEY_CHARS;

/// Why a text is no idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// It has no characters.
    #[error("an idempotency key needs at least one character")]
    Empty,
    /// It has too many characters.
    #[error("an idempotency key has at most {IDEMPOTENCY_KEY_CHARS} characters")]
    TooLong,
    /// It has a character that is not visible ASCII.
    #[error("an idempotency key consists of visible ASCII characters (no spaces)")]
    NotVisible,
    /// It starts as a quoted string and does not end as one.
    #[error("an idempotency key that starts with a quotation mark is a quoted string and has to end as one")]
    BadQuotes,
}

/// Reads the value of an `Idempotency-Key` header: the key as it is, or the quoted string that the IETF draft
/// `draft-ietf-httpapi-idempotency-key-header` asks for (an `sf-string` of RFC 8941). Both spellings of a key
/// are the same key.
///
/// # Errors
///
/// When it is no key of 1 to 255 visible ASCII characters.
pub fn from_header(value: &[u8]) -> Result<String, KeyFault> {
    let value = value.trim_ascii();
    match value.strip_prefix(b"\"") {
        Some(quoted) => check(&unquote(quoted)?),
        None => check(value),
    }
}

/// Checks a key that stands in a body, where nothing is quoted.
///
/// # Errors
///
/// When it is no key of 1 to 255 visible ASCII characters.
pub fn from_member(value: &str) -> Result<String, KeyFault> {
    check(value.as_bytes())
}

fn check(key: &[u8]) -> Result<String, KeyFault> {
    if key.is_empty() {
        return Err(KeyFault::Empty);
    }
    if !key.iter().all(u8::is_ascii_graphic) {
        return Err(KeyFault::NotVisible);
    }
    if key.len() > IDEMPOTENCY_KEY_CHARS {
        return Err(KeyFault::TooLong);
    }
    Ok(key.iter().map(|byte| char::from(*byte)).collect())
}

/// Reads what follows the opening quotation mark of an `sf-string`.
fn unquote(quoted: &[u8]) -> Result<Vec<u8>, KeyFault> {
    let inside = quoted.strip_suffix(b"\"").ok_or(KeyFault::BadQuotes)?;
    let mut key = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return Err(KeyFault::BadQuotes),
            b'\\' => match bytes.next() {
                Some(escaped @ (b'"' | b'\\')) => key.push(*escaped),
                _ => return Err(KeyFault::BadQuotes),
            },
            _ => key.push(*byte),
        }
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_key() {
        assert_eq!(from_header(b"inv-2026-001").unwrap(), "inv-2026-001");
        assert_eq!(from_header(b"\"inv-2026-001\"").unwrap(), "inv-2026-001");
        assert_eq!(from_header(br#""a\"b\\c""#).unwrap(), r#"a"b\c"#);
        assert_eq!(from_header(b" a\"b ").unwrap(), "a\"b");
        assert_eq!(from_member("\"a\"").unwrap(), "\"a\"");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let table: [(&[u8], KeyFault); 10] = [
            (b"", KeyFault::Empty),
            (b"\"\"", KeyFault::Empty),
            (b"a b", KeyFault::NotVisible),
            (b"\"a b\"", KeyFault::NotVisible),
            (b"a\tb", KeyFault::NotVisible),
            ("ä".as_bytes(), KeyFault::NotVisible),
            (b"\"", KeyFault::BadQuotes),
            (b"\"abc", KeyFault::BadQuotes),
            (b"\"a\"b\"", KeyFault::BadQuotes),
            (b"\"a\\\"", KeyFault::BadQuotes),
        ];
        for (value, fault) in table {
            assert_eq!(from_header(value), Err(fault), "{value:?}");
        }
    }

    #[test]
    fn the_length_is_held_at_n_and_refused_at_n_and_one() {
        assert!(from_header(&[b'k'; IDEMPOTENCY_KEY_CHARS]).is_ok());
        assert_eq!(from_header(&[b'k'; IDEMPOTENCY_KEY_CHARS + 1]), Err(KeyFault::TooLong));
        let quoted = format!("\"{}\"", "k".repeat(IDEMPOTENCY_KEY_CHARS));
        assert!(from_header(quoted.as_bytes()).is_ok());
    }
}
