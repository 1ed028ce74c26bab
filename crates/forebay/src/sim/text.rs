//! Token counting and generated text.

use rand::RngExt;
use rand::rngs::StdRng;

/// Bytes of a token.
const TOKEN_BYTES: usize = 4;
/// How generated text begins: three tokens.
const MARK: &str = "[simulated] ";
/// Each is one token together with the space behind it.
const WORDS: [&str; 16] = [
    "and ", "the ", "for ", "sea ", "sun ", "day ", "oak ", "ink ", "map ", "red ", "new ", "old ", "air ",
    "ice ", "key ", "way ",
];

/// The tokens of a text: its bytes divided by four, rounded up, at least one.
pub(super) fn count_tokens(bytes: usize) -> u64 {
    (bytes.div_ceil(TOKEN_BYTES) as u64).max(1)
}

/// A text of exactly that many tokens that says that it is simulated. Texts of one or two tokens have room
/// only for the start of it.
pub(super) fn filler(tokens: u64, rng: &mut StdRng) -> String {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    let mut text = String::with_capacity(bytes.saturating_add(MARK.len()));
    text.push_str(MARK);
    while text.len() < bytes {
        text.push_str(WORDS[rng.random_range(0..WORDS.len())]);
    }
    text.truncate(bytes);
    if text.ends_with(' ') {
        text.pop();
        text.push('.');
    }
    text
}

/// The start of a text that has at most that many tokens.
pub(super) fn clip(text: &str, tokens: u64) -> &str {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    &text[..text.floor_char_boundary(bytes.min(text.len()))]
}

/// A text in pieces of that many tokens; characters stay whole.
pub(super) fn pieces(text: &str, tokens: u32) -> Vec<&str> {
    let size = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(size.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_text_has_the_tokens_asked_for() {
        let mut rng = StdRng::seed_from_u64(1);
        for tokens in [1, 2, 3, 4, 7, 500] {
            let text = filler(tokens, &mut rng);
            assert_eq!(count_tokens(text.len()), tokens, "{text}");
            assert!(tokens < 4 || text.starts_with(MARK));
        }
        assert_eq!([0, 1, 4, 5].map(count_tokens), [1, 1, 1, 2]);
    }

    #[test]
    fn pieces_keep_characters_whole_and_lose_nothing() {
        let text = "äöü€𝄞 invoice 4711 — größte";
        for tokens in 1..5 {
            let pieces = pieces(text, tokens);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.len() <= tokens as usize * TOKEN_BYTES));
        }
        assert_eq!(clip(text, 2), "äöü");
        assert_eq!(clip("ab", 9), "ab");
    }
}
