//! Definitions as they are written. Every member is explained in `defaults/definitions.toml`, which a test
//! compares with what is read here.

use forebay_core::definition::{
    AtBudget, CountTokens, Endpoint, OnFailure, OnUnknown, Pacing, ProviderKind, StructuredOutput,
};
use forebay_core::review::ReviewDefault;
use serde::Deserialize;
use serde_json::{Map, Value};

/// `[providers.NAME]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Provider {
    pub(super) kind: Option<ProviderKind>,
    pub(super) base_url: String,
    pub(super) base_url_env: Option<String>,
    pub(super) api_key_env: Option<String>,
    pub(super) api_key_file: Option<String>,
    pub(super) connect_ms: Option<u32>,
    pub(super) first_byte_ms: Option<u32>,
    pub(super) idle_ms: Option<u32>,
    pub(super) total_ms: Option<u32>,
}

/// `[pools.NAME]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    pub(super) provider: String,
    pub(super) requests_per_minute: Option<u32>,
    pub(super) input_tokens_per_minute: Option<u32>,
    pub(super) output_tokens_per_minute: Option<u32>,
    pub(super) tokens_per_minute: Option<u32>,
    pub(super) requests_per_day: Option<u32>,
    pub(super) tokens_per_day: Option<u64>,
    pub(super) max_in_flight: Option<u32>,
    pub(super) max_tokens_in_flight: Option<u32>,
    pub(super) safety_margin_percent: Option<u8>,
    #[serde(default = "even")]
    pub(super) pacing: Pacing,
    #[serde(default)]
    pub(super) count_tokens: CountTokens,
}

fn even() -> Pacing {
    Pacing::Even
}

/// `[models.NAME]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) pool: String,
    pub(super) provider_model: String,
    #[serde(default = "chat")]
    pub(super) endpoint: Endpoint,
    pub(super) context_tokens: u32,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) input_micros_per_mtok: u32,
    pub(super) cached_input_micros_per_mtok: Option<u32>,
    pub(super) output_micros_per_mtok: Option<u32>,
    pub(super) structured_output: Option<StructuredOutput>,
}

fn chat() -> Endpoint {
    Endpoint::Chat
}

/// Which kind of work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Llm,
    Extract,
}

/// `[tasks.NAME]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) description: String,
    pub(super) model: String,
    pub(super) prompt: Option<String>,
    pub(super) prompt_file: Option<String>,
    pub(super) variables: Option<Vec<String>>,
    pub(super) schema: Option<String>,
    pub(super) schema_file: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) corrections: Option<u32>,
    pub(super) max_output_tokens: Option<u32>,
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    #[serde(default)]
    pub(super) allowed_params: Vec<String>,
    #[serde(default)]
    pub(super) retry: Retry,
    #[serde(default)]
    pub(super) on_unknown: OnUnknown,
    pub(super) default_ttl_ms: Option<u64>,
    pub(super) attempt_total_ms: Option<u32>,
    #[serde(default)]
    pub(super) at_budget: AtBudget,
    pub(super) max_in_flight: Option<u32>,
    #[serde(default)]
    pub(super) on_failure: OnFailure,
    pub(super) review_due_ms: Option<u64>,
    #[serde(default)]
    pub(super) review_default: ReviewDefault,
}

/// `[retention]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Retention {
    pub(super) results_ms: Option<u64>,
    pub(super) dead_letters_ms: Option<u64>,
    pub(super) documents_ms: Option<u64>,
}

/// `[submit_limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitLimits {
    pub(super) tenant_per_minute: Option<u64>,
    pub(super) key_per_minute: Option<u64>,
    pub(super) user_per_minute: Option<u64>,
}

/// `[tasks.NAME.retry]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Retry {
    pub(super) max_attempts: Option<u32>,
    pub(super) base_ms: Option<u32>,
    pub(super) factor: Option<u32>,
    pub(super) cap_ms: Option<u32>,
    pub(super) delays_ms: Option<Vec<u32>>,
    pub(super) max_elapsed_ms: Option<u64>,
    pub(super) max_deferrals: Option<u32>,
    pub(super) commit_margin_ms: Option<u32>,
}
