//! What the simulator shall do: defaults, account limits, and rules for single calls.
//!
//! A scenario is read strictly: a member that nobody knows is refused by its name, so that a misspelt `modle`
//! does not silently match every call.

mod fault;
mod shape;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use fault::fault_or_name;
pub use fault::{Fault, StatusFault};
pub use shape::{MAX_OUTPUT_TOKENS, MAX_SPAN_MS, MAX_USAGE, OutputTokens, Span, UsageCounts, UsageOverride};

/// A whole scenario. Everything has a default; `Scenario::default()` answers every call at once.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Seed of every random choice. The n-th call of a run draws the same numbers in each run.
    pub seed: u64,
    /// How many times faster than written everything runs: at 60 a minute lasts a second. Above 0, at most
    /// 100,000.
    pub time_scale: f64,
    /// The models that exist. Empty: every name is answered, and the list of models shows `forebay-sim`.
    pub models: Vec<String>,
    /// What holds where no rule says otherwise.
    pub defaults: Defaults,
    /// What each API key's account may use.
    pub limits: Limits,
    /// In order; the first that applies to a call decides.
    pub rules: Vec<Rule>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            seed: 0,
            time_scale: 1.0,
            models: Vec::new(),
            defaults: Defaults::default(),
            limits: Limits::default(),
            rules: Vec::new(),
        }
    }
}

/// What holds where no rule says otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// From the request to the first token.
    pub first_token_ms: Span,
    /// For each token.
    pub per_token_ms: Span,
    /// Tokens of a generated text. A reply that is given, and JSON by a schema, have the tokens they have.
    pub output_tokens: OutputTokens,
    /// Tokens in one chunk of a stream.
    pub chunk_tokens: u32,
    /// Numbers in an embedding when the request does not say.
    pub embedding_dimensions: u32,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            first_token_ms: Span::Fixed(0.0),
            per_token_ms: Span::Fixed(0.0),
            output_tokens: OutputTokens::fixed(32),
            chunk_tokens: 4,
            embedding_dimensions: 1_536,
        }
    }
}

/// What each API key's account may use. A limit that is absent does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls in any sliding minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Tokens in any sliding minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// Calls that run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u64>,
    /// Which tokens count.
    pub count: TokenCounting,
    /// Output tokens that a request without a maximum counts with at its arrival.
    pub default_max_tokens: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            tokens_per_minute: None,
            max_in_flight: None,
            count: TokenCounting::Reserved,
            default_max_tokens: 256,
        }
    }
}

/// Which tokens count against `tokens_per_minute`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCounting {
    /// Prompt and requested maximum, whatever the answer uses.
    Reserved,
    /// The same at arrival; once the call has ended, prompt and output as used.
    Used,
}

/// What happens to the calls that match.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// How the log calls the rule; default `rule 1`, `rule 2`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which calls match; empty matches all.
    pub r#match: Match,
    /// How often the rule applies at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The share of the matching calls that the rule applies to, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// In place of the default of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<Span>,
    /// In place of the default of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_token_ms: Option<Span>,
    /// In place of the default of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<OutputTokens>,
    /// In place of the default of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_tokens: Option<u32>,
    /// The text of the answer, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// A file with the text of the answer, relative to the scenario's file; read when the scenario is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_file: Option<PathBuf>,
    /// What the answer says about its usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageOverride>,
    /// What goes wrong.
    #[serde(deserialize_with = "fault_or_name", skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Which calls a rule matches: those that fulfil every member that is present.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The model; a `*` at the end stands for any ending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The path, as in `/v1/embeddings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A text that stands in one of the last four messages (or in an input of an embedding).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The `X-Forebay-Attempt` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The `Idempotency-Key` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The first eight hex digits of the API key's SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_sha8: Option<String>,
    /// Whether the request asks for a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Only the n-th call, from 1, of those that fulfil the other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Only each n-th call of those that fulfil the other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
}

/// Why a scenario is refused.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The text is no TOML, or has a member that no scenario has.
    #[error("the scenario is refused: {0}")]
    Toml(#[from] Box<toml::de::Error>),
    /// The text is no JSON, or has a member that no scenario has.
    #[error("the scenario is refused: {0}")]
    Json(#[from] serde_json::Error),
    /// A member has a value that it cannot have.
    #[error("the scenario is refused: {0}")]
    Value(String),
}

impl Scenario {
    /// Reads a scenario from a file: JSON when its name ends in `.json`, else TOML.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = read(path)?;
        let json = path.extension().is_some_and(|extension| extension == "json");
        let mut scenario: Self = if json { serde_json::from_str(&text)? } else { from_toml(&text)? };
        let folder = path.parent().unwrap_or(Path::new("."));
        for rule in &mut scenario.rules {
            rule.load_reply(folder)?;
        }
        scenario.checked()
    }

    /// Reads a scenario from TOML. `reply_file` is refused: only [`Scenario::load`] reads files.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        from_toml(text)?.checked()
    }

    /// Reads a scenario from JSON. `reply_file` is refused: only [`Scenario::load`] reads files.
    pub fn from_json(text: &[u8]) -> Result<Self, ScenarioError> {
        serde_json::from_slice::<Self>(text)?.checked()
    }

    fn checked(self) -> Result<Self, ScenarioError> {
        self.check().map_err(ScenarioError::Value)?;
        Ok(self)
    }

    fn check(&self) -> Result<(), String> {
        if !(self.time_scale > 0.0 && self.time_scale <= 100_000.0) {
            return Err(format!("time_scale {}: expected above 0, at most 100000", self.time_scale));
        }
        if self.defaults.chunk_tokens == 0 {
            return Err("defaults.chunk_tokens: expected at least 1".to_owned());
        }
        if !(1..=65_536).contains(&self.defaults.embedding_dimensions) {
            return Err("defaults.embedding_dimensions: expected 1 to 65536".to_owned());
        }
        for (index, rule) in self.rules.iter().enumerate() {
            rule.check().map_err(|message| format!("{}: {message}", rule.label(index)))?;
        }
        Ok(())
    }
}

fn from_toml(text: &str) -> Result<Scenario, ScenarioError> {
    toml::from_str(text).map_err(|error| ScenarioError::Toml(Box::new(error)))
}

fn read(path: &Path) -> Result<String, ScenarioError> {
    std::fs::read_to_string(path)
        .map_err(|source| ScenarioError::Unreadable { path: path.to_owned(), source })
}

impl Rule {
    /// How messages and the log call the rule at this place in the list.
    pub fn label(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("rule {}", index + 1))
    }

    fn load_reply(&mut self, folder: &Path) -> Result<(), ScenarioError> {
        if self.reply.is_some() {
            return Ok(());
        }
        if let Some(file) = self.reply_file.take() {
            self.reply = Some(read(&folder.join(file))?);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if let Some(file) = &self.reply_file {
            let file = file.display();
            return Err(format!(
                "reply_file {file}: give `reply`; or leave `reply` out in a scenario's file"
            ));
        }
        if self.r#match.nth.is_some() && self.r#match.every.is_some() {
            return Err("match: `nth` and `every` exclude each other".to_owned());
        }
        if self.r#match.nth == Some(0) || self.r#match.every == Some(0) {
            return Err("match: `nth` and `every` count from 1".to_owned());
        }
        if self.chunk_tokens == Some(0) {
            return Err("chunk_tokens: expected at least 1".to_owned());
        }
        if self.probability.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("probability: expected 0 to 1".to_owned());
        }
        if matches!(self.usage, Some(UsageOverride::Counts(counts)) if counts.is_absurd()) {
            return Err(format!("usage: expected at most {MAX_USAGE} tokens"));
        }
        self.fault.as_ref().map_or(Ok(()), Fault::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Scenario::from_toml(text).map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    }

    #[test]
    fn an_unknown_member_is_refused_by_its_name_at_every_depth() {
        for (text, name) in [
            ("sed = 1", "sed"),
            ("[defaults]\nfirst_token = 1", "first_token"),
            ("[defaults]\nfirst_token_ms = { mid = 1 }", "mid"),
            ("[limits]\nrpm = 1", "rpm"),
            ("[[rules]]\nfualt = \"hang\"", "fualt"),
            ("[[rules]]\nmatch = { modle = \"x\" }", "modle"),
            ("[[rules]]\nfault = \"hagn\"", "hagn"),
            ("[[rules]]\nfault = { kind = \"hang\", fro_ms = 1 }", "fro_ms"),
            ("[[rules]]\nfault = { kind = \"empty_choices\", n = 1 }", "n"),
            ("[[rules]]\nfault = { kind = \"status\", status = 500, hint = 1 }", "hint"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(&format!("`{name}`")), "{text}: {refusal}");
        }
        assert!(refusal("[limits]\n\nrpm = 1").contains("line 3"));
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        for (text, reason) in [
            ("time_scale = 0", "time_scale"),
            ("[defaults]\nchunk_tokens = 0", "chunk_tokens"),
            ("[defaults]\noutput_tokens = 0", "output tokens"),
            ("[[rules]]\nmatch = { nth = 0 }", "count from 1"),
            ("[[rules]]\nmatch = { nth = 1, every = 2 }", "exclude"),
            ("[[rules]]\nusage = { input_tokens = 1, output_tokens = 1000000000001 }", "usage"),
            ("[[rules]]\nname = \"odd\"\nprobability = 2", "odd: probability"),
            ("[[rules]]\nreply_file = \"/etc/passwd\"", "reply_file"),
            ("[[rules]]\nfault = \"status\"", "missing field `status`"),
            ("[[rules]]\nfault = { kind = \"status\", status = 200 }", "400 to 599"),
            ("[[rules]]\nfault = { kind = \"redirect\", status = 200 }", "300 to 399"),
            ("[[rules]]\nfault = { kind = \"drip\", every_ms = -1 }", "every_ms"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
    }

    #[test]
    fn what_is_shown_can_be_given_back() {
        let text = r#"
            seed = 3
            time_scale = 60
            models = ["a"]
            [defaults]
            first_token_ms = { mean = 400, p95 = 900 }
            output_tokens = { min = 2, max = 9 }
            [limits]
            requests_per_minute = 2
            count = "used"
            [[rules]]
            match = { model = "a*", every = 2 }
            usage = "zero"
            fault = { kind = "status", status = 429, retry_after = 2.5, body = { detail = "no" } }
            [[rules]]
            fault = "giant_line"
        "#;
        let scenario = Scenario::from_toml(text).unwrap();
        let shown = serde_json::to_vec(&scenario).unwrap();
        assert_eq!(Scenario::from_json(&shown).unwrap(), scenario);
    }

    #[test]
    fn a_reply_file_is_read_next_to_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("reply.txt"), "as filed").unwrap();
        std::fs::write(folder.path().join("s.json"), r#"{"rules": [{"reply_file": "reply.txt"}]}"#).unwrap();
        let scenario = Scenario::load(&folder.path().join("s.json")).unwrap();
        assert_eq!(scenario.rules[0].reply.as_deref(), Some("as filed"));

        std::fs::write(folder.path().join("s.toml"), "[[rules]]\nreply_file = \"gone.txt\"").unwrap();
        let refused = Scenario::load(&folder.path().join("s.toml")).unwrap_err();
        assert!(matches!(refused, ScenarioError::Unreadable { .. }));
    }
}
