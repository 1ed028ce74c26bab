//! The Rust sources as the house rules see them: without comments, texts and tests.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::root;

/// One file that a crate compiles.
pub struct Source {
    /// From the root of the repository.
    pub path: PathBuf,
    /// The crate's name.
    pub krate: String,
    /// The module, from the crate's root.
    pub module: Vec<String>,
    /// Whether it is compiled for tests only.
    pub test_only: bool,
    /// The code: comments, texts and test modules are blanks, so that places and lines stay as they are.
    pub code: String,
    /// The texts in it, outside of test modules, with their places.
    pub texts: Vec<(usize, String)>,
    /// How many lines it has without test modules.
    pub lines: usize,
}

impl Source {
    /// Identifiers and single signs of the code, with their places.
    pub fn tokens(&self) -> Vec<(usize, &str)> {
        tokens(&self.code)
    }

    /// The number of the line at a place, from 1.
    pub fn line(&self, place: usize) -> usize {
        self.code[..place].matches('\n').count() + 1
    }
}

/// Every file that the crates of the workspace compile, found by following `mod` declarations.
pub static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut sources = Vec::new();
    for krate in crates() {
        let name = krate.file_name().expect("a name").to_string_lossy().into_owned();
        for file in ["src/lib.rs", "src/main.rs"].map(|file| krate.join(file)) {
            if file.exists() {
                read(&name, file, Vec::new(), false, &mut sources);
            }
        }
    }
    sources
});

/// The folders of the crates.
pub fn crates() -> Vec<PathBuf> {
    let mut crates: Vec<_> = std::fs::read_dir(root().join("crates"))
        .expect("crates/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("Cargo.toml").exists())
        .collect();
    crates.sort();
    crates
}

/// Every file below a folder whose name ends in one of these ways.
pub fn files(folder: &Path, endings: &[&str]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            found.insert(path);
        }
    }
    found
}

fn read(krate: &str, path: PathBuf, module: Vec<String>, test_only: bool, sources: &mut Vec<Source>) {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut code, mut texts) = without_comments_and_texts(&text);
    let tests = test_items(&code);
    let lines_of_tests: usize = tests.iter().map(|range| code[range.clone()].lines().count()).sum();
    let lines = text.lines().count() - lines_of_tests;
    for declared in modules(&code, &texts) {
        let inside = tests.iter().any(|range| range.contains(&declared.place));
        let file = declared.file(&path, module.is_empty());
        let deeper = module.iter().cloned().chain([declared.name]).collect();
        read(krate, file, deeper, test_only || inside, sources);
    }
    for range in &tests {
        blank(&mut code, range.clone());
    }
    texts.retain(|(place, _)| !tests.iter().any(|range| range.contains(place)));
    let path = path.strip_prefix(root()).expect("below the root").to_owned();
    sources.push(Source { path, krate: krate.to_owned(), module, test_only, code, texts, lines });
}

struct Declared {
    place: usize,
    name: String,
    attribute: Option<String>,
}

impl Declared {
    /// The file of a module that is declared in the file `by`.
    fn file(&self, by: &Path, by_root: bool) -> PathBuf {
        let folder = by.parent().expect("a folder");
        if let Some(file) = &self.attribute {
            return folder.join(file);
        }
        let owns_folder = by_root || by.file_name().is_some_and(|name| name == "mod.rs");
        let folder = if owns_folder { folder.to_owned() } else { by.with_extension("") };
        let flat = folder.join(format!("{}.rs", self.name));
        if flat.exists() { flat } else { folder.join(&self.name).join("mod.rs") }
    }
}

/// The declarations `mod name;`, with the file of an attribute `path`.
fn modules(code: &str, texts: &[(usize, String)]) -> Vec<Declared> {
    let tokens = tokens(code);
    let declarations = tokens
        .windows(3)
        .enumerate()
        .filter(|(_, window)| window[0].1 == "mod" && window[2].1 == ";" && window[1].1.starts_with(is_word));
    declarations
        .map(|(nth, window)| {
            // `#[path = "..."]` directly before it.
            let before = nth.checked_sub(6).map(|from| &tokens[from..nth]);
            let named =
                before.filter(|before| before.iter().map(|t| t.1).eq(["[", "path", "=", "\"", "\"", "]"]));
            let attribute = named.and_then(|before| {
                let range = before[2].0..before[5].0;
                texts.iter().find(|(place, _)| range.contains(place)).map(|(_, text)| text.clone())
            });
            Declared { place: window[0].0, name: window[1].1.to_owned(), attribute }
        })
        .collect()
}

/// Where items that are compiled for tests only stand.
fn test_items(code: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let starts = code.match_indices(MARK).map(|(start, _)| start);
    starts.map(|start| start..end_of_item(code, start + MARK.len())).collect()
}

/// Where the item ends that begins here: at a semicolon, or where its braces close.
pub fn end_of_item(code: &str, start: usize) -> usize {
    let mut open = Vec::new();
    for (place, sign) in code[start..].char_indices().map(|(place, sign)| (start + place, sign)) {
        match sign {
            '(' | '[' | '{' => open.push(sign),
            ')' | ']' => {
                open.pop();
            }
            '}' => {
                open.pop();
                if open.is_empty() {
                    return place + 1;
                }
            }
            ';' if open.is_empty() => return place + 1,
            _ => {}
        }
    }
    code.len()
}

fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let place = code.len() - rest.len();
        let length = match first {
            word if is_word(word) => rest.find(|sign| !is_word(sign)).unwrap_or(rest.len()),
            sign => sign.len_utf8(),
        };
        if !first.is_whitespace() {
            tokens.push((place, &rest[..length]));
        }
        rest = &rest[length..];
    }
    tokens
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn blank(code: &mut String, range: Range<usize>) {
    let blanks = blanks(&code[range.clone()]);
    code.replace_range(range, &blanks);
}

/// As many bytes, with the same line ends.
fn blanks(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// The code with comments and the insides of texts as blanks, and the texts with their places.
fn without_comments_and_texts(text: &str) -> (String, Vec<(usize, String)>) {
    let mut code = String::with_capacity(text.len());
    let mut texts = Vec::new();
    while code.len() < text.len() {
        let place = code.len();
        let rest = &text[place..];
        if let Some(length) = comment(rest) {
            code.push_str(&blanks(&rest[..length]));
        } else if let Some(inside) = literal(rest, text[..place].chars().next_back()) {
            code.push_str(&rest[..inside.start]);
            let content = &rest[inside.clone()];
            code.push_str(&blanks(content));
            if rest[..inside.start].contains('"') {
                texts.push((place + inside.start - 1, content.to_owned()));
            }
            // The closing sign, which would open another text if it were looked at.
            code.extend(rest[inside.end..].chars().next());
        } else {
            code.extend(rest.chars().next());
        }
    }
    (code, texts)
}

/// The length of the comment that begins here.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    Some(at)
}

/// What is inside the text or character that begins here.
fn literal(rest: &str, before: Option<char>) -> Option<Range<usize>> {
    if before.is_some_and(is_word) {
        return None;
    }
    let prefix = rest.find(|sign| !matches!(sign, 'b' | 'c' | 'r')).filter(|length| *length <= 2)?;
    let hashes = rest[prefix..].chars().take_while(|sign| *sign == '#').count();
    let raw = rest[..prefix].ends_with('r');
    let start = prefix + hashes;
    match rest[start..].chars().next()? {
        '"' if raw => {
            let end = format!("\"{}", "#".repeat(hashes));
            let inside = start + 1;
            Some(inside..inside + rest[inside..].find(&end)?)
        }
        '"' if hashes == 0 => Some(start + 1..closing(rest, start + 1, '"')?),
        '\'' if hashes == 0 => {
            // A lifetime has no closing sign directly after its first character.
            let mut signs = rest[start + 1..].chars();
            let (first, second) = (signs.next()?, signs.next()?);
            (first == '\\' || second == '\'').then_some(())?;
            Some(start + 1..closing(rest, start + 1, '\'')?)
        }
        _ => None,
    }
}

/// Where the sign that closes a text stands, with escaped signs passed over.
fn closing(rest: &str, from: usize, sign: char) -> Option<usize> {
    let mut escaped = false;
    for (place, next) in rest[from..].char_indices() {
        match next {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            next if next == sign => return Some(from + place),
            _ => {}
        }
    }
    None
}

#[test]
fn comments_texts_and_tests_are_seen_as_such() {
    let text = r##"
        //! use crate::work;
        fn a<'x>(b: &'x str) -> char { let q = "// \" {"; let r = r#"}"#; '"' } /* { /* */ */
        #[cfg(test)]
        mod tests { fn b() { "c" } }
        fn d() {}"##;
    let (code, texts) = without_comments_and_texts(text);
    assert_eq!(code.len(), text.len());
    assert_eq!(texts.iter().map(|text| text.1.as_str()).collect::<Vec<_>>(), [r#"// \" {"#, "}", "c"]);
    assert!(!code.contains("crate"), "{code}");
    let tests = test_items(&code);
    assert_eq!(tests.len(), 1);
    assert!(code[tests[0].clone()].ends_with("}"), "{}", &code[tests[0].clone()]);
    assert!(code[tests[0].end..].trim_start().starts_with("fn d"), "{}", &code[tests[0].end..]);
}
