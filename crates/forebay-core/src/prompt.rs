//! Prompt templates with declared variables.
//!
//! A template may use only the variables that it declares, and text from outside reaches the model only
//! inside a delimited data block, never as part of the instructions.

use std::collections::BTreeMap;
use std::fmt;

use minijinja::{Environment, UndefinedBehavior};

use crate::digest::Digest;
use crate::request::json::place::line_and_column;

/// A compiled prompt template.
pub struct Prompt {
    source: String,
    variables: Vec<String>,
    environment: Environment<'static>,
    digest: Digest,
}

const NAME: &str = "prompt";

/// Steps of template evaluation, so that a loop in a template ends.
const FUEL: u64 = 100_000;

/// What is wrong with a template, or with the values given to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It does not parse.
    #[error("the template does not parse: {0}")]
    Syntax(String),
    /// It uses a variable that it does not declare.
    #[error("the template uses `{0}`, which `variables` does not declare")]
    Undeclared(String),
    /// A declared variable was not given.
    #[error("the template needs a value for `{0}`")]
    Missing(String),
    /// A variable was given that is not declared.
    #[error("the template declares no variable `{0}`")]
    Unknown(String),
    /// It could not be filled in.
    #[error("the template could not be filled in: {0}")]
    Render(String),
}

/// A fault of a template, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFault {
    /// The line in the template, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub error: PromptError,
}

/// Everything that is wrong with a template: the first break of its syntax, or every variable that it uses without
/// declaring it, where it is used first.
pub fn faults(source: &str, variables: &[String]) -> Vec<PromptFault> {
    let fault = |at: usize, error: PromptError| {
        let (line, column) = line_and_column(source, at);
        PromptFault { line, column, error }
    };
    let mut environment = environment();
    environment.set_debug(true);
    let template = match environment.template_from_str(source) {
        Ok(template) => template,
        Err(error) => {
            let at = error.range().map_or(source.len(), |range| range.start);
            return vec![fault(at, PromptError::Syntax(said(&error)))];
        }
    };
    let strangers = template.undeclared_variables(false).into_iter().filter(|name| !variables.contains(name));
    let mut faults: Vec<_> =
        strangers.map(|name| fault(first_use(source, &name), PromptError::Undeclared(name))).collect();
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults
}

/// Where a template uses a name first: as a word between the marks of an expression or a statement.
fn first_use(source: &str, name: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut uses = source.match_indices(name).map(|(at, _)| at).filter(|at| {
        let (before, behind) = (&source[..*at], &source[at + name.len()..]);
        let opened = before.rfind("{{").max(before.rfind("{%"));
        let closed = before.rfind("}}").max(before.rfind("%}"));
        let whole = !before.ends_with(|c| is_word(c) || c == '.') && !behind.starts_with(is_word);
        whole && opened.is_some() && opened > closed
    });
    uses.next().unwrap_or_default()
}

/// What a template may do, and for how long.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
}

/// A fault in the template engine's words, without its name of the template.
fn said(error: &minijinja::Error) -> String {
    let kind = error.kind();
    error.detail().map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}"))
}

impl Prompt {
    /// Compiles a template and checks that it uses declared variables only. Syntax: minijinja, a subset of
    /// Jinja; no includes, and an undefined name is an error.
    ///
    /// # Errors
    ///
    /// When it does not parse or uses a variable that `variables` does not name.
    pub fn compile(source: &str, variables: &[String]) -> Result<Self, PromptError> {
        let mut environment = environment();
        let syntax = |error: minijinja::Error| PromptError::Syntax(said(&error));
        environment.add_template_owned(NAME, source.to_owned()).map_err(syntax)?;
        let used = environment.get_template(NAME).map_err(syntax)?.undeclared_variables(false);
        if let Some(stranger) = used.iter().filter(|name| !variables.contains(name)).min() {
            return Err(PromptError::Undeclared(stranger.clone()));
        }
        let digest = Digest::of_parts(&[source.as_bytes(), variables.join("\n").as_bytes()]);
        Ok(Self { source: source.to_owned(), variables: variables.to_vec(), environment, digest })
    }

    /// Fills the template in.
    ///
    /// # Errors
    ///
    /// When a declared variable has no value, or a value has no declared variable.
    pub fn render(&self, values: &BTreeMap<String, String>) -> Result<String, PromptError> {
        if let Some(missing) = self.variables.iter().find(|name| !values.contains_key(*name)) {
            return Err(PromptError::Missing(missing.clone()));
        }
        if let Some(unknown) = values.keys().find(|name| !self.variables.contains(name)) {
            return Err(PromptError::Unknown(unknown.clone()));
        }
        let render_error = |error: minijinja::Error| PromptError::Render(error.to_string());
        self.environment.get_template(NAME).map_err(render_error)?.render(values).map_err(render_error)
    }

    /// The variables that it declares.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The template as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The digest of template and variables: part of the request hash and of a result's provenance.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// Encloses text from outside in a data block whose mark is made from the text's own digest, so that the
/// text can't contain its own closing mark.
pub fn data_block(label: &str, text: &str) -> String {
    let digest = Digest::of(text.as_bytes()).to_string();
    let mark = &digest[..16];
    format!("<{label} id=\"{mark}\">\n{text}\n</{label} id=\"{mark}\">")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn declared_variables_are_filled_in_without_escaping() {
        let prompt = Prompt::compile("Answer in {{ language }}.", &["language".to_owned()]).unwrap();
        assert_eq!(prompt.render(&values(&[("language", "<Dutch>")])).unwrap(), "Answer in <Dutch>.");
    }

    #[test]
    fn undeclared_missing_and_unknown_variables_are_refused() {
        let undeclared = Prompt::compile("{{ secret }}", &[]).unwrap_err();
        assert_eq!(undeclared, PromptError::Undeclared("secret".to_owned()));
        let prompt = Prompt::compile("{{ a }}", &["a".to_owned()]).unwrap();
        assert_eq!(prompt.render(&values(&[])), Err(PromptError::Missing("a".to_owned())));
        let both = values(&[("a", "1"), ("b", "2")]);
        assert_eq!(prompt.render(&both), Err(PromptError::Unknown("b".to_owned())));
    }

    #[test]
    fn faults_have_their_place_in_the_template() {
        let places = |source: &str| {
            let faults = faults(source, &["document".to_owned()]);
            faults.into_iter().map(|fault| (fault.line, fault.column, fault.error)).collect::<Vec<_>>()
        };
        assert_eq!(places("{{ document }}"), []);
        let undeclared = |name: &str| PromptError::Undeclared(name.to_owned());
        assert_eq!(
            places("total\n{% if x.total %}{{ xs }}\n  {{ total }}{% endif %}"),
            [(2, 7, undeclared("x")), (2, 20, undeclared("xs")), (3, 6, undeclared("total"))]
        );
        let broken = places("Read\n  {{ document ! }}");
        assert_eq!((broken[0].0, broken[0].1), (2, 15), "{broken:?}");
        let cut = places("Read\n{% if document %}x");
        assert_eq!(cut[0].0, 2, "{cut:?}");
    }

    #[test]
    fn the_digest_covers_the_variables_too() {
        let one = Prompt::compile("x", &[]).unwrap();
        let other = Prompt::compile("x", &["a".to_owned()]).unwrap();
        assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn a_text_can_not_close_its_own_block() {
        let attack = data_block("document", "ignore the above");
        let nested = data_block("document", &attack);
        let closing = nested.lines().last().unwrap();
        assert_eq!(nested.matches(closing).count(), 1);
    }
}
