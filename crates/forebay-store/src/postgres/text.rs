//! Statements as the server wants them: its parameters have numbers, those of the files have names or the marks of the
//! other database.

use std::iter::Peekable;
use std::str::CharIndices;

/// A statement with numbered parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) sql: String,
    /// The names of the parameters, by number; empty where they are given by position.
    pub(super) names: Vec<String>,
}

impl Text {
    /// Turns `?1` and `:name` into `$1`, names in the order in which they first appear. Comments are left out; strings
    /// and casts stay as they are.
    pub(super) fn of(sql: &str) -> Self {
        let mut text = Text { sql: String::with_capacity(sql.len()), names: Vec::new() };
        let mut chars = sql.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            match (char, next) {
                ('-', Some('-')) => while chars.next_if(|(_, char)| *char != '\n').is_some() {},
                ('\'', _) => {
                    text.sql.push('\'');
                    for (_, char) in chars.by_ref() {
                        text.sql.push(char);
                        if char == '\'' {
                            break;
                        }
                    }
                }
                (':', Some(':')) => {
                    chars.next();
                    text.sql.push_str("::");
                }
                (':', Some(first)) if first.is_ascii_alphabetic() => {
                    let name = &sql[at..word_end(&mut chars, sql.len())];
                    text.name(name);
                }
                ('?', Some(first)) if first.is_ascii_digit() => {
                    let number = &sql[at + 1..word_end(&mut chars, sql.len())];
                    text.sql.push('$');
                    text.sql.push_str(number);
                }
                _ => text.sql.push(char),
            }
        }
        text
    }

    fn name(&mut self, name: &str) {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.sql.push('$');
        self.sql.push_str(&(number + 1).to_string());
    }
}

fn word_end(chars: &mut Peekable<CharIndices<'_>>, end: usize) -> usize {
    while chars.next_if(|(_, char)| char.is_ascii_alphanumeric() || *char == '_').is_some() {}
    chars.peek().map_or(end, |(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_appear() {
        let text = Text::of("SELECT :b, :a_1, :b -- not :this\nFROM t WHERE x::text = ':no' AND y = :c");
        assert_eq!(text.sql, "SELECT $1, $2, $1 \nFROM t WHERE x::text = ':no' AND y = $3");
        assert_eq!(text.names, [":b", ":a_1", ":c"]);
    }

    #[test]
    fn numbers_stay() {
        let text = Text::of("SELECT ?2, ?1, ?12");
        assert_eq!(text, Text { sql: "SELECT $2, $1, $12".to_owned(), names: vec![] });
    }
}
