//! One rule for text from outside that is going to be stored: provider errors, model output in messages,
//! names that callers choose.

/// Makes text from outside storable in every database and readable in every terminal: control characters
/// (NUL among them) become their visible picture (`␀`), line breaks and tabs stay, and what lies beyond
/// `max_chars` characters is cut with an ellipsis.
///
/// Lone surrogates can't reach this function: they are no UTF-8, and [`lossy`] has replaced them.
pub fn storable(text: &str, max_chars: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(max_chars * 4));
    for (count, char) in text.chars().enumerate() {
        if count == max_chars {
            kept.push('…');
            break;
        }
        kept.push(match char {
            '\n' | '\t' => char,
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}'),
            '\u{7f}' => '\u{2421}',
            '\u{80}'..='\u{9f}' => '\u{fffd}',
            _ => char,
        });
    }
    kept
}

/// Reads bytes from outside as text; what is not UTF-8 becomes U+FFFD.
pub fn lossy(bytes: &[u8], max_chars: usize) -> String {
    storable(&String::from_utf8_lossy(bytes), max_chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(storable("a\u{0}b\u{1b}[31m\n", 100), "a␀b␛[31m\n");
        assert_eq!(storable("\u{7f}\u{85}", 100), "␡\u{fffd}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(storable("äöü", 2), "äö…");
        assert_eq!(storable("äö", 2), "äö");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(lossy(&[0x61, 0xff, 0xed, 0xa0, 0x80], 10), "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
    }
}
