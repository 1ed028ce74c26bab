//! The numbers of a text as written, beside the reader that rounds them.

/// Finds the numbers that `serde_json` hands over as doubles, in the order of the text.
///
/// `serde_json` turns an integer that does not fit 64 bits into a double without a word, and its quick
/// conversion of decimals can miss the nearest double by one. So whenever it hands over a double, this finds
/// the digits it was made from. Texts without such numbers are never looked at.
pub(crate) struct Numbers<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Numbers<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next number that is no 64-bit integer. The text must be valid JSON as far as that number.
    pub(crate) fn next_float(&mut self) -> Option<&'t str> {
        loop {
            match self.text.as_bytes().get(self.at)? {
                b'"' => self.skip_string(),
                b'-' | b'0'..=b'9' => {
                    let token = self.token()?;
                    if is_float(token) {
                        return Some(token);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }

    fn token(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..)?;
        let ends = |byte: u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length)
    }
}

fn is_float(token: &str) -> bool {
    // Eighteen characters of digits always fit; the common case needs no conversion.
    let short = token.len() <= 18 && token != "-0";
    let integer = !token.contains(['.', 'e', 'E']);
    !integer
        || (!short && (token == "-0" || (token.parse::<i64>().is_err() && token.parse::<u64>().is_err())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_integer_is_found_and_strings_are_passed_over() {
        let text =
            r#"{"1.5": [1, -2, "3.5\"4.5", 5.5, 18446744073709551615, 18446744073709551616, -0, 1e2]}"#;
        let mut numbers = Numbers::new(text);
        let found: Vec<_> = std::iter::from_fn(|| numbers.next_float()).collect();
        assert_eq!(found, ["5.5", "18446744073709551616", "-0", "1e2"]);
    }
}
