//! A fault in a text, shown as a compiler shows it.

/// Where and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The file, as it was named.
    pub path: &'a str,
    /// The whole text.
    pub text: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Excerpt<'_> {
    /// `path:line:column: message`, the line, and a caret under the place.
    pub fn render(&self) -> String {
        let Self { path, text, line, column, message } = self;
        let head = format!("{path}:{line}:{column}: {message}");
        let Some(source) = line.checked_sub(1).and_then(|index| text.lines().nth(index)) else { return head };
        let margin = " ".repeat(line.to_string().len());
        // A tab before the place stays a tab, so that the caret stands under it however wide tabs are.
        let before: String = source.chars().take(column.saturating_sub(1)).map(blank).collect();
        format!("{head}\n{margin} |\n{line} | {source}\n{margin} | {before}^")
    }
}

fn blank(char: char) -> char {
    if char == '\t' { '\t' } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, line: usize, column: usize) -> String {
        Excerpt { path: "forebay.d/tasks.toml", text, line, column, message: "no such model".to_owned() }
            .render()
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        insta::assert_snapshot!(excerpt("[tasks.a]\n  model = \"x\"\n", 2, 3), @r#"
        forebay.d/tasks.toml:2:3: no such model
          |
        2 |   model = "x"
          |   ^
        "#);
        assert!(excerpt("\tä = 1", 1, 2).ends_with("| \t^"));
    }

    #[test]
    fn a_place_behind_the_text_has_no_line() {
        assert_eq!(excerpt("", 1, 1), "forebay.d/tasks.toml:1:1: no such model");
        assert_eq!(excerpt("a", 0, 0), "forebay.d/tasks.toml:0:0: no such model");
    }
}
