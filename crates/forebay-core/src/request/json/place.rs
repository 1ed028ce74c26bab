//! Where something stands in a text that is known to be JSON.

/// What stands between the brackets of an array or object and its commas, each as it is written. The text must be one
/// that is known to be JSON, with nothing around it.
pub fn parts(text: &str) -> Vec<&str> {
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// A member's name, where it is one that can be read, and its value, of a part of an object.
pub(crate) fn named(member: &str) -> (Option<String>, &str) {
    let mut reader = serde_json::Deserializer::from_str(member).into_iter();
    let name = reader.next().and_then(Result::ok);
    let value = member[reader.byte_offset()..].trim_start();
    (name, value.strip_prefix(':').unwrap_or(value).trim_start())
}

/// Line and column, in characters, both from 1, of the member or element that a JSON pointer leads to; as far as it
/// leads. The text must be one that is known to be JSON.
pub fn position(text: &str, pointer: &str) -> (usize, usize) {
    let (mut value, mut place) = (text.trim(), text.trim());
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let found = match value.as_bytes().first() {
            Some(b'{') => parts(value).into_iter().find_map(|part| {
                let (name, value) = named(part);
                (name.as_deref() == Some(&token)).then_some((part, value))
            }),
            Some(b'[') => {
                token.parse().ok().and_then(|nth| parts(value).into_iter().nth(nth)).map(|part| (part, part))
            }
            _ => None,
        };
        let Some(found) = found else { break };
        (place, value) = found;
    }
    line_and_column(text, place.as_ptr() as usize - text.as_ptr() as usize)
}

/// Line and column, in characters, both from 1, of a byte of a text.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_a_line_and_a_column() {
        let text = "{\n  \"ä\": [1, {\"x/y\": 2}],\n  \"b\" : {}\n}\n";
        for (pointer, place) in [
            ("", (1, 1)),
            ("/ä", (2, 3)),
            ("/ä/1", (2, 12)),
            ("/ä/1/x~1y", (2, 13)),
            ("/b", (3, 3)),
            ("/b/none/below", (3, 3)),
            ("/ä/7", (2, 3)),
        ] {
            assert_eq!(position(text, pointer), place, "{pointer}");
        }
    }
}
