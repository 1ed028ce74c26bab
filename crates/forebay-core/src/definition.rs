//! Definitions, ready to use: what an applied revision says about tasks, models, pools and providers. The
//! service reads them from TOML, checks them as a whole and hands them on in this form.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::extract::{Policy, Schema};
use crate::money::Price;
use crate::prompt::Prompt;
use crate::rate::Rate;
use crate::retry::RetryPolicy;
use crate::review::ReviewDefault;
use crate::time::Millis;

/// All definitions of one revision.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// Providers by name.
    pub providers: BTreeMap<String, Arc<Provider>>,
    /// Pools by name.
    pub pools: BTreeMap<String, Arc<Pool>>,
    /// Models by name.
    pub models: BTreeMap<String, Arc<Model>>,
    /// Tasks by name.
    pub tasks: BTreeMap<String, Arc<Task>>,
    /// How long what has ended is kept.
    pub retention: Retention,
    /// How fast jobs may be handed in.
    pub submit_limits: SubmitLimits,
}

/// How fast jobs may be handed in; no limit where absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubmitLimits {
    /// By each tenant, over all its keys.
    pub tenant: Option<Rate>,
    /// With each key.
    pub key: Option<Rate>,
    /// For each `user` that a tenant names.
    pub user: Option<Rate>,
}

/// How long what has ended is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// A job with its result, attempts and events, from its end on. Default 30 days.
    pub results: Millis,
    /// A job that failed, from when somebody last dealt with its dead letter. Default 90 days.
    pub dead_letters: Millis,
    /// A document that no job refers to, from when it was uploaded or in use last. Default 30 days.
    pub documents: Millis,
}

impl Default for Retention {
    fn default() -> Self {
        let days = |days: i64| Millis::from_secs(days * 24 * 3_600);
        Self { results: days(30), dead_letters: days(90), documents: days(30) }
    }
}

/// A place that runs models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name in the definitions.
    pub name: String,
    /// Whose interface it has. Default: what [`ProviderKind::of_host`] says of its address.
    pub kind: ProviderKind,
    /// The address up to and including the version, without a slash at its end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Where the key comes from; absent for servers that want none.
    pub credential: Option<Credential>,
    /// How long each part of a call may take.
    pub deadlines: Deadlines,
}

/// Whose interface a provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// OpenAI's own service.
    Openai,
    /// Azure OpenAI by its `/openai/v1` address.
    Azure,
    /// Anthropic's Messages.
    Anthropic,
    /// A vLLM server.
    Vllm,
    /// A llama.cpp server.
    LlamaCpp,
    /// Any other server that understands OpenAI's chat completions.
    Compatible,
}

impl ProviderKind {
    /// The kind that a host is known to be; [`ProviderKind::Compatible`] for all others.
    pub fn of_host(host: &str) -> ProviderKind {
        match host {
            "api.openai.com" => ProviderKind::Openai,
            "api.anthropic.com" => ProviderKind::Anthropic,
            azure if azure.ends_with(".openai.azure.com") => ProviderKind::Azure,
            _ => ProviderKind::Compatible,
        }
    }
}

/// Where a secret is found when it is needed; never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// In an environment variable of the process.
    Env(String),
    /// In a file that the process can read; surrounding white space is dropped.
    File(String),
}

/// How long each part of a provider call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// Until the connection stands, TLS included. Default 5 s.
    pub connect: Millis,
    /// From then until the first byte of the answer. Default 60 s.
    pub first_byte: Millis,
    /// Between two pieces of the answer. Default 30 s.
    pub idle: Millis,
    /// For the whole attempt. Default 120 s.
    pub total: Millis,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Millis::from_secs(5),
            first_byte: Millis::from_secs(60),
            idle: Millis::from_secs(30),
            total: Millis::from_secs(120),
        }
    }
}

/// A capacity domain: one provider account, project or model group whose limits are shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name in the definitions.
    pub name: String,
    /// The provider that its models are called at.
    pub provider: Arc<Provider>,
    /// What it may take.
    pub limits: PoolLimits,
}

/// What a pool may take; an absent limit does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolLimits {
    /// Calls in any sliding minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens sent in any sliding minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Tokens generated in any sliding minute.
    pub output_tokens_per_minute: Option<u64>,
    /// Tokens in both directions in any sliding minute.
    pub tokens_per_minute: Option<u64>,
    /// Calls in any 24 hours.
    pub requests_per_day: Option<u64>,
    /// Tokens in both directions in any 24 hours.
    pub tokens_per_day: Option<u64>,
    /// Calls at the same time.
    pub max_in_flight: Option<u64>,
    /// Tokens that the calls under way may need together, their output limits included: what fills the memory of a
    /// server that runs models itself.
    pub max_tokens_in_flight: Option<u64>,
    /// How many hundredths of the limits per minute and day are left unused, for what else uses the account. Default 0.
    pub safety_margin_percent: u8,
    /// Whether calls are spread over the minute.
    pub pacing: Pacing,
    /// What a call counts with once it is over.
    pub count_tokens: CountTokens,
}

/// Whether what a minute allows is spread over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// What is there may be used at once. The rest of the minute then has nothing for anybody.
    #[default]
    Off,
    /// A few seconds may use little more than their part of the minute. The definitions' default.
    Even,
}

/// What a call counts with against the limits for tokens once it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountTokens {
    /// With what was reserved for it: the provider gives nothing back.
    #[default]
    Reserved,
    /// With what it used.
    Used,
}

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// Chat completions, or what takes their place at a provider of another kind.
    Chat,
    /// OpenAI's Responses; for tasks the same as chat.
    Responses,
    /// Embeddings.
    Embeddings,
}

/// A model of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name in the definitions.
    pub name: String,
    /// The pool whose limits it shares.
    pub pool: Arc<Pool>,
    /// Its name at the provider.
    pub provider_model: String,
    /// What it is called for.
    pub endpoint: Endpoint,
    /// Tokens that input and output may have together.
    pub context_tokens: u64,
    /// Tokens that an answer may have at most.
    pub max_output_tokens: u64,
    /// What tokens cost.
    pub price: Price,
    /// How a JSON Schema is passed on: strictly, as plain JSON mode, or not at all.
    pub structured_output: StructuredOutput,
}

/// How a provider is told what shape the answer must have. The answer is validated here in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// `response_format: {type: json_schema, strict: true}`.
    #[default]
    JsonSchema,
    /// `response_format: {type: json_object}`.
    JsonObject,
    /// By the prompt alone.
    None,
}

/// A named definition of work.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it is for, in the words of its author.
    pub description: String,
    /// What kind of work it is, with what only that kind has.
    pub kind: TaskKind,
    /// The model that its calls go to.
    pub model: Arc<Model>,
    /// The most tokens that an answer may have, whatever a request asks for.
    pub max_output_tokens: u64,
    /// Request parameters beside the model and the limits, as JSON: the task's own defaults.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Names of parameters that a request may set.
    pub allowed_params: Vec<String>,
    /// How failed tries are repeated.
    pub retry: RetryPolicy,
    /// What happens when nobody knows whether a call was billed.
    pub on_unknown: OnUnknown,
    /// How long a job may take when its request does not say.
    pub default_ttl: Millis,
    /// How long one attempt may take.
    pub attempt_total: Millis,
    /// What happens when the budget is used up.
    pub at_budget: AtBudget,
    /// Calls at the same time, over all pools and tenants; no limit where absent.
    pub max_in_flight: Option<u64>,
    /// What a job that fails means for those behind it under its ordering key.
    pub on_failure: OnFailure,
    /// How long a person has for a review.
    pub review_due: Millis,
    /// What is decided when nobody has decided until then.
    pub review_default: ReviewDefault,
    /// Covers everything above that can change a result.
    pub digest: Digest,
}

/// What kind of work a task is.
#[derive(Debug, Clone)]
pub enum TaskKind {
    /// One model call: chat or embeddings.
    Llm {
        /// Put before the messages of a request, where the task has one.
        prompt: Option<Arc<Prompt>>,
    },
    /// A document in, JSON by schema and policy out.
    Extract(Arc<Extraction>),
}

impl TaskKind {
    /// The name in the API and the database.
    pub const fn name(&self) -> &'static str {
        match self {
            TaskKind::Llm { .. } => "llm",
            TaskKind::Extract(_) => "extract",
        }
    }
}

/// What an `extract` task works by.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// What the model is told.
    pub prompt: Arc<Prompt>,
    /// What the output must look like.
    pub schema: Arc<Schema>,
    /// What the output must satisfy.
    pub policy: Arc<Policy>,
    /// The policy's name and version, as provenance says it: `invoice@1`.
    pub policy_name: String,
    /// How often the model is told its findings and asked again. At most 1.
    pub corrections: u32,
}

/// What happens when nobody knows whether a call was billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// The call is made again: right for calls without effects outside.
    #[default]
    Retry,
    /// The job fails rather than pay twice.
    Once,
    /// A person decides.
    Review,
}

/// What a job that fails for good means for those behind it under its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// They go on without it.
    #[default]
    Continue,
    /// They wait until its work was done again, or somebody has dealt with its dead letter.
    Block,
}

/// What happens to a job when its tenant's budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtBudget {
    /// It waits for the next period or a higher limit, until its deadline.
    #[default]
    Wait,
    /// It is refused when it is submitted.
    Refuse,
}
