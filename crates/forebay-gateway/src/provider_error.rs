//! What an error answer means, whichever provider wrote it.

use forebay_core::failure::FailureClass;
use forebay_core::limits::MESSAGE_CHARS;
use forebay_core::retry::Hint;
use forebay_core::text::storable;
use serde_json::Value;

use crate::failed::Failed;
use crate::hints::{self, Wait};

/// Words by which a provider says that the account has no credit, so that waiting a minute is of no use.
const QUOTA_TAGS: [&str; 4] =
    ["insufficient_quota", "billing_error", "contract_spend_limit_reached", "enforced_spend_limit_reached"];

/// Words by which a provider says that its content filter refused the request.
const FILTER_TAGS: [&str; 3] = ["content_filter", "content_policy_violation", "responsibleaipolicyviolation"];

/// An error in one form for all providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// What a person reads; storable, and empty when the provider said nothing.
    pub(crate) message: String,
    /// Types and codes in lower case, wherever they stood.
    tags: Vec<String>,
    /// The status that the body names, for errors that come with another one.
    status: Option<u16>,
    /// What the body says about when to come back.
    pub(crate) wait: Option<Wait>,
}

impl ProviderError {
    /// Reads the body of an error answer: JSON of any provider, or text.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(json) => Self::from_json(&json),
            Err(_) => Self::from_text(&String::from_utf8_lossy(body)),
        }
    }

    /// Reads an error body or event: an `error` object, else `message`, `type` and `code` at the top, else the
    /// first element of an array, else whatever it is as text.
    pub(crate) fn from_json(json: &Value) -> Self {
        match json {
            Value::Object(top) => match &top.get("error") {
                Some(error @ Value::Object(_)) => Self::from_object(error, json),
                Some(Value::String(message)) => {
                    Self { message: kept(message), ..Self::from_object(json, json) }
                }
                _ => Self::from_object(json, json),
            },
            Value::Array(elements) if !elements.is_empty() => Self::from_json(&elements[0]),
            Value::String(text) => Self::from_text(text),
            other => Self::from_text(&other.to_string()),
        }
    }

    fn from_object(error: &Value, whole: &Value) -> Self {
        let message = error["message"].as_str().map_or_else(|| whole.to_string(), str::to_owned);
        let status = [&error["code"], &error["status"]].into_iter().find_map(status_in);
        Self { message: kept(&message), tags: tags_of(error), status, wait: hints::in_error(error) }
    }

    fn from_text(text: &str) -> Self {
        Self { message: kept(text.trim()), tags: Vec::new(), status: None, wait: hints::in_text(text) }
    }

    /// Types and codes in lower case, wherever they stood.
    pub(crate) fn tags(&self) -> &[String] {
        &self.tags
    }

    /// What the body says about when to come back, as retries need it.
    pub(crate) fn hint(&self) -> Option<Hint> {
        self.wait.map(Hint::from)
    }

    /// What the error means when it came with this status.
    pub(crate) fn class(&self, status: u16) -> FailureClass {
        match status {
            402 => FailureClass::QuotaExhausted,
            429 if self.is_about_quota() => FailureClass::QuotaExhausted,
            429 => FailureClass::RateLimited,
            498 | 503 | 529 => FailureClass::Overloaded,
            401 | 403 => FailureClass::Auth,
            // The provider answered that it didn't manage, or that two requests met: its matter, not ours.
            408 | 409 | 425 => FailureClass::ProviderError,
            400..=499 if self.has_tag(&FILTER_TAGS) => FailureClass::ContentFiltered,
            // 501 is a server that was started without the feature: no use in asking again.
            400..=499 | 501 => FailureClass::InvalidRequest,
            _ => FailureClass::ProviderError,
        }
    }

    /// Whether the account's credit or the day's quota is used up, by codes and types, never by the message.
    fn is_about_quota(&self) -> bool {
        self.has_tag(&QUOTA_TAGS) || self.tags.iter().any(|tag| tag.contains("perday"))
    }

    fn has_tag(&self, words: &[&str]) -> bool {
        self.tags.iter().any(|tag| words.contains(&tag.as_str()))
    }
}

/// Whether JSON that came with a success status, or as an event, is an error.
pub(crate) fn is_error(json: &Value) -> bool {
    let marked = json["object"] == "error" || json["type"] == "error";
    marked || !json["error"].is_null() || json.get(0).is_some_and(|first| !first["error"].is_null())
}

/// The failure that an error status is; `hint` is what its headers say about when to come back.
pub(crate) fn with_status(status: u16, body: &[u8], hint: Option<Hint>) -> Failed {
    if (300..400).contains(&status) {
        let message = format!("HTTP {status}: redirects are not followed; the address must be the final one");
        return Failed::after_send(FailureClass::ProviderError, message);
    }
    let error = ProviderError::from_body(body);
    let words = if error.message.is_empty() { "no message" } else { &error.message };
    Failed::after_send(error.class(status), format!("the provider answered HTTP {status}"))
        .saying(words)
        .with_hint(hint.max(error.hint()))
}

/// The failure that an error body with a success status is.
pub(crate) fn in_success(error: &ProviderError) -> Failed {
    let by_tags = if error.is_about_quota() { 429 } else { 500 };
    let class = error.class(error.status.unwrap_or(by_tags));
    Failed::after_send(class, "an error with a success status").saying(&error.message).with_hint(error.hint())
}

/// Makes a message storable.
fn kept(message: &str) -> String {
    storable(message, MESSAGE_CHARS)
}

/// An error status written as a number or as digits.
fn status_in(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The types and codes of an error: OpenAI's `type` and `code`, Gemini's `status` and the names of the quotas
/// in `details`, Anthropic's `details.error_code`, Azure's `innererror.code`.
fn tags_of(error: &Value) -> Vec<String> {
    let places = [
        &error["type"],
        &error["code"],
        &error["status"],
        &error["details"]["error_code"],
        &error["innererror"]["code"],
    ];
    let details = error["details"].as_array().into_iter().flatten();
    let violations = details.filter_map(|detail| detail["violations"].as_array()).flatten();
    let quotas = violations.map(|violation| &violation["quotaId"]);
    places.into_iter().chain(quotas).filter_map(Value::as_str).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use FailureClass as F;
    use forebay_core::attempt::Outcome;
    use serde_json::json;

    use super::*;

    fn openai(message: &str, kind: &str, code: &str) -> Value {
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
    }

    fn anthropic(kind: &str, details: &Value) -> Value {
        let error = json!({"type": kind, "message": "words", "details": details});
        json!({"type": "error", "error": error, "request_id": "req_1"})
    }

    /// Gemini answers with one element in an array.
    fn gemini(quota: &str) -> Value {
        let violation = json!({"quotaMetric": "requests", "quotaId": quota});
        let failure =
            json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]});
        let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"});
        let error = json!({
            "code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED",
            "details": [failure, retry],
        });
        json!([{"error": error}])
    }

    fn azure_filter() -> Value {
        let inner = json!({"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}});
        let error = json!({"message": "filtered", "type": null, "param": "prompt", "code": null,
            "status": 400, "innererror": inner});
        json!({"error": error})
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "one table")]
    fn what_each_provider_means() {
        let limit = "Rate limit reached on tokens per min. Please try again in 20ms.";
        let mistral = json!({"object": "error", "message": "Requests rate limit exceeded",
            "type": "rate_limited", "param": null, "code": "1300"});
        let llama = json!({"error": {"code": 400, "message": "the request exceeds the context size",
            "type": "exceed_context_size_error", "n_prompt_tokens": 9_000, "n_ctx": 4_096}});
        let loading =
            json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
        let no_feature =
            json!({"error": {"code": 501, "message": "not supported", "type": "not_supported_error"}});
        for (status, body, class) in [
            (429, openai(limit, "tokens", "rate_limit_exceeded"), F::RateLimited),
            (429, openai("no credit", "insufficient_quota", "insufficient_quota"), F::QuotaExhausted),
            (429, openai("no credit", "insufficient_quota", ""), F::QuotaExhausted),
            (429, openai("no credit", "requests", "insufficient_quota"), F::QuotaExhausted),
            (401, openai("wrong key", "invalid_request_error", "invalid_api_key"), F::Auth),
            (403, openai("no access", "invalid_request_error", "model_not_allowed"), F::Auth),
            (404, openai("no model", "invalid_request_error", "model_not_found"), F::InvalidRequest),
            (400, openai("long", "invalid_request_error", "context_length_exceeded"), F::InvalidRequest),
            (400, openai("bad", "invalid_request_error", "content_policy_violation"), F::ContentFiltered),
            (413, openai("large", "invalid_request_error", "request_too_large"), F::InvalidRequest),
            (500, openai("oops", "server_error", ""), F::ProviderError),
            (503, openai("slow down", "server_error", "slow_down"), F::Overloaded),
            (400, openai("filtered", "", "content_filter"), F::ContentFiltered),
            (400, azure_filter(), F::ContentFiltered),
            (429, anthropic("rate_limit_error", &Value::Null), F::RateLimited),
            (
                429,
                anthropic("rate_limit_error", &json!({"error_code": "ramp_limit_exceeded"})),
                F::RateLimited,
            ),
            (
                429,
                anthropic("rate_limit_error", &json!({"error_code": "contract_spend_limit_reached"})),
                F::QuotaExhausted,
            ),
            (
                429,
                anthropic("rate_limit_error", &json!({"error_code": "enforced_spend_limit_reached"})),
                F::QuotaExhausted,
            ),
            (402, anthropic("billing_error", &Value::Null), F::QuotaExhausted),
            (409, anthropic("conflict_error", &Value::Null), F::ProviderError),
            (500, anthropic("api_error", &Value::Null), F::ProviderError),
            (504, anthropic("timeout_error", &Value::Null), F::ProviderError),
            (529, anthropic("overloaded_error", &Value::Null), F::Overloaded),
            (429, gemini("GenerateRequestsPerMinutePerProjectPerModel"), F::RateLimited),
            (429, gemini("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), F::QuotaExhausted),
            (429, mistral, F::RateLimited),
            (400, llama, F::InvalidRequest),
            (503, loading, F::Overloaded),
            (501, no_feature, F::InvalidRequest),
            (498, json!({"error": {"message": "flex", "code": "capacity_exceeded"}}), F::Overloaded),
            (529, json!({"detail": "busy"}), F::Overloaded),
        ] {
            let failed = with_status(status, body.to_string().as_bytes(), None);
            assert_eq!(failed.failure.class, class, "{status} {body}");
            assert_eq!(failed.outcome, Outcome::FailedAfterSend, "{status}");
        }
    }

    #[test]
    fn statuses_without_a_body_that_says_more() {
        for (statuses, class) in [
            (&[429][..], F::RateLimited),
            (&[402], F::QuotaExhausted),
            (&[498, 503, 529], F::Overloaded),
            (&[401, 403], F::Auth),
            (&[400, 404, 405, 413, 415, 422, 431, 451, 501], F::InvalidRequest),
            (&[408, 409, 425, 500, 502, 504, 520, 599], F::ProviderError),
            (&[301, 302, 303, 304, 307, 308, 100, 101, 600, 999], F::ProviderError),
        ] {
            for status in statuses {
                for body in ["", "<html>Bad Gateway</html>", "null", "[]", "{}", "7", "{\"error\": null}"] {
                    let failed = with_status(*status, body.as_bytes(), None);
                    assert_eq!(failed.failure.class, class, "{status} {body}");
                }
            }
        }
    }

    #[test]
    fn messages_are_found_wherever_they_stand() {
        for (body, message) in [
            (json!({"error": {"message": "a"}}).to_string(), "a"),
            (json!({"error": "a"}).to_string(), "a"),
            (json!({"message": "a", "type": "t"}).to_string(), "a"),
            (json!([{"error": {"message": "a"}}]).to_string(), "a"),
            (json!([{"message": "a"}]).to_string(), "a"),
            (json!("a").to_string(), "a"),
            ("  a\n".to_owned(), "a"),
            ("a\u{0}\u{1b}".to_owned(), "a␀␛"),
            (String::new(), "no message"),
            (json!({"detail": "a"}).to_string(), "{\"detail\":\"a\"}"),
        ] {
            let failure = with_status(500, body.as_bytes(), None).failure;
            assert_eq!(failure.message, "the provider answered HTTP 500");
            assert_eq!(failure.words.as_deref(), Some(message));
        }
        assert_eq!(with_status(500, b"a\xff", None).failure.words.unwrap(), "a\u{fffd}");
        let long = with_status(500, "ä".repeat(9_000).as_bytes(), None).failure.words.unwrap();
        assert_eq!(long.chars().count(), MESSAGE_CHARS + 1, "with the ellipsis");
    }

    #[test]
    fn the_longest_of_all_hints_counts() {
        let seconds = |secs| Some(Hint { wait: forebay_core::time::Millis::from_secs(secs) });
        let body = gemini("PerMinute").to_string();
        for (header, expected) in [(None, 34), (seconds(7), 34), (seconds(40), 40)] {
            let failed = with_status(429, body.as_bytes(), header);
            assert_eq!(failed.failure.hint, seconds(expected));
        }
        assert_eq!(with_status(429, b"busy", None).failure.hint, None);
        assert_eq!(with_status(429, b"retry after 3 seconds", None).failure.hint, seconds(3));
    }

    #[test]
    fn errors_with_a_success_status_mean_what_they_say_if_they_say_it() {
        for (body, class) in [
            (json!({"error": {"message": "limit", "code": 429}}), F::RateLimited),
            (json!({"error": {"message": "busy", "code": "503"}}), F::Overloaded),
            (json!({"error": {"message": "no credit", "code": "insufficient_quota"}}), F::QuotaExhausted),
            (json!({"error": {"message": "oops"}}), F::ProviderError),
            (json!({"error": "oops"}), F::ProviderError),
            (json!({"object": "error", "message": "oops", "code": "1300"}), F::ProviderError),
            (json!([{"error": {"code": 401}}]), F::Auth),
        ] {
            assert!(is_error(&body), "{body}");
            assert_eq!(in_success(&ProviderError::from_json(&body)).failure.class, class, "{body}");
        }
        for body in [json!({"error": null, "choices": []}), json!({}), json!([]), json!(null), json!("error")]
        {
            assert!(!is_error(&body), "{body}");
        }
    }

    #[test]
    fn a_redirect_says_what_is_wrong() {
        let failed = with_status(307, b"elsewhere", None);
        assert!(failed.failure.message.contains("redirects are not followed"));
    }
}
