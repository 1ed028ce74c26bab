use FailureClass as F;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// 2026-12-01T10:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_796_119_200_000);

fn answer(status: u16, headers: &[(&str, &str)], body: &Value) -> Signals {
    let header = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let body = if body.is_null() { String::new() } else { body.to_string() };
    read(status, header, body.as_bytes(), NOW)
}

fn wait(headers: &[(&str, &str)]) -> Option<i64> {
    answer(429, headers, &Value::Null).wait.map(|wait| wait.wait.get())
}

/// An answer of a provider, and what it means.
struct Case {
    name: &'static str,
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: Value,
    class: FailureClass,
    wait: Option<(i64, Source)>,
    exceeded: &'static [Dimension],
}

fn case(
    name: &'static str,
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: Value,
    class: FailureClass,
    wait: Option<(i64, Source)>,
    exceeded: &'static [Dimension],
) -> Case {
    Case { name, status, headers, body, class, wait, exceeded }
}

fn openai(kind: &str, code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn anthropic(kind: &str, code: &Value) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": "words", "details": {"error_code": code}}})
}

fn gemini(quota: &str) -> Value {
    let violations = json!([{"quotaMetric": "generativelanguage.googleapis.com/x", "quotaId": quota}]);
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"});
    json!([{"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations}, retry]}}])
}

#[allow(clippy::too_many_lines, reason = "one table")]
fn cases() -> Vec<Case> {
    const TOKENS_GONE: &[(&str, &str)] = &[
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-limit-tokens", "150000"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "6m0s"),
        ("retry-after", "20"),
        ("retry-after-ms", "19500"),
    ];
    const OUTPUT_GONE: &[(&str, &str)] = &[
        ("date", "Tue, 01 Dec 2026 09:00:00 GMT"),
        ("anthropic-ratelimit-requests-limit", "50"),
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2026-12-01T09:00:02Z"),
        ("anthropic-ratelimit-output-tokens-limit", "8000"),
        ("anthropic-ratelimit-output-tokens-remaining", "0"),
        ("anthropic-ratelimit-output-tokens-reset", "2026-12-01T09:00:45Z"),
        ("retry-after", "40"),
    ];
    let mistral = json!({"object": "error", "message": "Requests rate limit exceeded", "type": "rate_limited",
        "param": null, "code": "1300"});
    let context = json!({"error": {"code": 400, "message": "the request exceeds the available context size",
        "type": "exceed_context_size_error"}});
    vec![
        case(
            "openai: tokens",
            429,
            TOKENS_GONE,
            openai("tokens", "rate_limit_exceeded", "Rate limit reached"),
            F::RateLimited,
            Some((360_000, Source::Reset(Dimension::Tokens))),
            &[Dimension::Tokens],
        ),
        case(
            "openai: requests, in words",
            429,
            &[],
            openai("requests", "rate_limit_exceeded", "Limit 3, Used 3. Please try again in 1m30s. Visit"),
            F::RateLimited,
            Some((90_000, Source::Message)),
            &[Dimension::Requests],
        ),
        case(
            "openai: milliseconds in words",
            429,
            &[],
            openai("tokens", "rate_limit_exceeded", "Please try again in 6ms."),
            F::RateLimited,
            Some((6, Source::Message)),
            &[Dimension::Tokens],
        ),
        case(
            "openai: no credit",
            429,
            &[],
            openai("insufficient_quota", "insufficient_quota", "check your plan"),
            F::QuotaExhausted,
            None,
            &[],
        ),
        case(
            "openai: bad key",
            401,
            &[],
            openai("invalid_request_error", "invalid_api_key", "Incorrect API key"),
            F::Auth,
            None,
            &[],
        ),
        case(
            "openai: no access",
            403,
            &[],
            openai("invalid_request_error", "model_not_allowed", "no"),
            F::Auth,
            None,
            &[],
        ),
        case(
            "openai: slow down",
            503,
            &[("retry-after", "7")],
            openai("server_error", "slow_down", "Slow down"),
            F::Overloaded,
            Some((7_000, Source::RetryAfter)),
            &[],
        ),
        case(
            "openai: flex has no room",
            429,
            &[("retry-after-ms", "1500")],
            openai("", "", "Resource Unavailable"),
            F::RateLimited,
            Some((1_500, Source::RetryAfterMs)),
            &[],
        ),
        case(
            "openai: its own fault",
            500,
            &[],
            openai("server_error", "", "oops"),
            F::ProviderError,
            None,
            &[],
        ),
        case(
            "azure: limits that mean nothing",
            429,
            &[
                ("x-ratelimit-limit-tokens", "-1"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "9h"),
                ("x-ms-retry-after-ms", "2000"),
                ("retry-after", "3"),
            ],
            openai("", "429", "busy"),
            F::RateLimited,
            Some((2_000, Source::RetryAfterMs)),
            &[],
        ),
        case(
            "anthropic: output tokens, by its own clock",
            429,
            OUTPUT_GONE,
            anthropic("rate_limit_error", &Value::Null),
            F::RateLimited,
            Some((45_000, Source::Reset(Dimension::OutputTokens))),
            &[Dimension::OutputTokens],
        ),
        case(
            "anthropic: growth too fast",
            429,
            &[("retry-after", "11")],
            anthropic("rate_limit_error", &json!("ramp_limit_exceeded")),
            F::RateLimited,
            Some((11_000, Source::RetryAfter)),
            &[],
        ),
        case(
            "anthropic: spend limit",
            429,
            &[],
            anthropic("rate_limit_error", &json!("contract_spend_limit_reached")),
            F::QuotaExhausted,
            None,
            &[],
        ),
        case(
            "anthropic: enforced spend limit",
            429,
            &[],
            anthropic("rate_limit_error", &json!("enforced_spend_limit_reached")),
            F::QuotaExhausted,
            None,
            &[],
        ),
        case(
            "anthropic: billing",
            402,
            &[],
            anthropic("billing_error", &Value::Null),
            F::QuotaExhausted,
            None,
            &[],
        ),
        case(
            "anthropic: overloaded",
            529,
            &[],
            anthropic("overloaded_error", &Value::Null),
            F::Overloaded,
            None,
            &[],
        ),
        case(
            "anthropic: conflict",
            409,
            &[],
            anthropic("conflict_error", &Value::Null),
            F::ProviderError,
            None,
            &[],
        ),
        case(
            "gemini: a minute",
            429,
            &[],
            gemini("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
            F::RateLimited,
            Some((34_000, Source::RetryInfo)),
            &[Dimension::Requests],
        ),
        case(
            "gemini: input tokens",
            429,
            &[],
            gemini("GenerateContentInputTokensPerModelPerMinute-FreeTier"),
            F::RateLimited,
            Some((34_000, Source::RetryInfo)),
            &[Dimension::InputTokens],
        ),
        case(
            "gemini: a day",
            429,
            &[],
            gemini("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            F::QuotaExhausted,
            Some((34_000, Source::RetryInfo)),
            &[Dimension::RequestsPerDay],
        ),
        case(
            "vllm: queue full",
            503,
            &[],
            openai("Service Unavailable", "", "queue is full"),
            F::Overloaded,
            None,
            &[],
        ),
        case("llama.cpp: context", 400, &[], context, F::InvalidRequest, None, &[]),
        case("dynamo: overload", 529, &[], Value::Null, F::Overloaded, None, &[]),
        case(
            "groq: no capacity",
            498,
            &[],
            openai("", "capacity_exceeded", "flex"),
            F::Overloaded,
            None,
            &[],
        ),
        case("mistral: no wrapper", 429, &[], mistral, F::RateLimited, None, &[]),
        case(
            "a proxy's page",
            502,
            &[("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT")],
            json!("Bad Gateway"),
            F::ProviderError,
            Some((30_000, Source::RetryAfter)),
            &[],
        ),
    ]
}

#[test]
fn what_each_provider_means() {
    for case in cases() {
        let signals = answer(case.status, case.headers, &case.body);
        assert_eq!(signals.class, Some(case.class), "{}", case.name);
        let wait = case.wait.map(|(millis, source)| Wait { wait: Millis::new(millis), source });
        assert_eq!(signals.wait, wait, "{}", case.name);
        assert_eq!(signals.exceeded, case.exceeded, "{}", case.name);
    }
}

#[test]
fn a_success_says_what_is_left_and_makes_nobody_wait() {
    let headers = [
        ("x-ratelimit-limit-requests", "500"),
        ("x-ratelimit-remaining-requests", "499"),
        ("x-ratelimit-reset-requests", "120ms"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "1e3"),
        ("x-ratelimit-remaining-tokens-day", "many"),
        ("retry-after", "7"),
    ];
    let signals = answer(200, &headers, &Value::Null);
    let requests = LimitState {
        dimension: Dimension::Requests,
        limit: Some(500),
        remaining: Some(499),
        reset: Some(Millis::new(120)),
    };
    let tokens = LimitState {
        dimension: Dimension::Tokens,
        limit: None,
        remaining: Some(0),
        reset: Some(Millis::from_secs(1_000)),
    };
    assert_eq!(signals, Signals { limits: vec![requests, tokens], ..Signals::default() });
}

#[test]
fn resets_in_all_their_forms() {
    for (text, expected) in [
        ("6m0s", Some(360_000)),
        ("2026-12-01T10:00:45Z", Some(45_000)),
        ("2026-12-01T11:00:45+01:00", Some(45_000)),
        ("2020-01-01T00:00:00Z", Some(0)),
        ("60", Some(60_000)),
        ("1796119230", Some(30_000)),
        ("1796119230000", Some(30_000)),
        ("-5", Some(0)),
        ("soon", None),
        ("", None),
    ] {
        assert_eq!(reset(text, NOW).map(Millis::get), expected, "{text}");
    }
}

#[test]
fn retry_after_in_numbers() {
    for (text, expected) in [
        ("7", Some(7_000)),
        (" 7 ", Some(7_000)),
        ("0.0001", Some(1)),
        ("1.2345", Some(1_235)),
        ("0", Some(0)),
        ("-3", Some(0)),
        ("1e9", Some(2_678_400_000)),
        ("1000000000", Some(2_678_400_000)),
        ("99999999999999999999999", Some(2_678_400_000)),
        ("1e999", Some(2_678_400_000)),
        ("", None),
        ("soon", None),
        ("inf", None),
        ("NaN", None),
        ("7s", None),
        ("7, 7", None),
        ("0x10", None),
        ("--1", None),
    ] {
        assert_eq!(wait(&[("retry-after", text)]), expected, "{text:?}");
    }
}

#[test]
fn milliseconds_are_more_exact_than_seconds() {
    let seconds = ("retry-after", "2");
    for (name, text, expected) in [
        ("retry-after-ms", "1500", 1_500),
        ("x-ms-retry-after-ms", "1500", 1_500),
        ("retry-after-ms", "10.2", 11),
        ("retry-after-ms", "0", 0),
        ("retry-after-ms", "-5", 0),
        ("retry-after-ms", "garbage", 2_000),
        ("x-ms-retry-after-ms", "", 2_000),
    ] {
        assert_eq!(wait(&[seconds, (name, text)]), Some(expected), "{name}: {text:?}");
    }
}

#[test]
fn a_date_is_measured_from_the_providers_own_clock() {
    let at = |text| ("retry-after", text);
    let date = ("date", "Tue, 01 Dec 2026 09:00:00 GMT");
    for (headers, expected) in [
        (vec![at("Tue, 01 Dec 2026 09:00:07 GMT"), date], Some(7_000)),
        (vec![at("Tue, 01 Dec 2026 08:00:00 GMT"), date], Some(0)),
        (vec![at("Tue, 01 Dec 2026 10:00:07 GMT")], Some(7_000)),
        (vec![at("Tue, 01 Dec 2026 10:00:07 GMT"), ("date", "today")], Some(7_000)),
        (vec![at("Tue, 01 Dec 2026 09:00:07 GMT")], Some(0)),
        (vec![at("Thu, 31 Dec 9998 23:59:59 GMT"), date], Some(2_678_400_000)),
        (vec![at("Mon, 01 Dec 2026 10:00:07 GMT")], None),
        (vec![at("2026-12-01T10:00:07Z")], None),
    ] {
        assert_eq!(wait(&headers), expected, "{headers:?}");
    }
}

#[test]
fn only_a_limit_that_is_used_up_makes_one_wait_for_its_reset() {
    let requests = ("x-ratelimit-reset-requests", "6m0s");
    let tokens = ("x-ratelimit-reset-tokens", "12ms");
    let no_requests = ("x-ratelimit-remaining-requests", "0");
    let no_tokens = ("x-ratelimit-remaining-tokens", "0");
    for (headers, expected) in [
        (vec![requests, tokens], None),
        (vec![requests, tokens, ("x-ratelimit-remaining-tokens", "12")], None),
        (vec![requests, tokens, no_requests], Some(360_000)),
        (vec![requests, tokens, no_tokens], Some(12)),
        (vec![requests, tokens, no_tokens, no_requests], Some(360_000)),
        (vec![requests, no_requests, ("retry-after", "7")], Some(360_000)),
        (vec![tokens, no_tokens, ("retry-after", "7")], Some(7_000)),
        (vec![requests, ("x-ratelimit-remaining-requests", "-1")], None),
        (vec![requests, no_requests, ("x-ratelimit-limit-requests", "-1")], None),
        (vec![requests, no_requests, ("x-ratelimit-limit-requests", "500")], Some(360_000)),
        (vec![no_requests], None),
    ] {
        assert_eq!(wait(&headers), expected, "{headers:?}");
    }
}

#[test]
fn hints_in_error_bodies() {
    let retry_info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"});
    let other_detail = json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []});
    for (error, expected) in [
        (json!({"details": [other_detail, retry_info]}), Some(34_000)),
        (json!({"details": [retry_info], "message": "Please retry in 34.2s."}), Some(34_200)),
        (json!({"details": [{"retryDelay": 34}, {"retryDelay": "soon"}]}), None),
        (json!({"details": {"error_code": "ramp_limit_exceeded"}}), None),
        (json!({"retry_after": 2.5}), Some(2_500)),
        (json!({"retry_after": -1}), Some(0)),
        (json!({"retry_after": "later"}), None),
        (json!({"message": "Limit 3, Used 3. Please try again in 7.2s. Visit ..."}), Some(7_200)),
        (json!({"message": null}), None),
        (json!("busy"), None),
        (Value::Null, None),
    ] {
        assert_eq!(in_error(&error).map(|hint| hint.wait.get()), expected, "{error}");
    }
}

#[test]
fn hints_in_words() {
    for (text, expected) in [
        ("Please try again in 20ms.", Some(20)),
        ("Please try again in 7m12s. Visit", Some(432_000)),
        ("Please retry after 6 seconds.", Some(6_000)),
        ("TRY AGAIN IN 1 MINUTE!", Some(60_000)),
        ("Please retry in 34.07s", Some(34_070)),
        ("try again in 0 seconds", Some(0)),
        ("try again in a moment", None),
        ("try again in ", None),
        ("try again in 5", None),
        ("try again later", None),
        ("", None),
    ] {
        assert_eq!(in_text(text).map(|hint| hint.wait.get()), expected, "{text:?}");
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "[-+0-9.eE]{0,24}",
        "-?([0-9]{1,20}(\\.[0-9]{0,9})?(ns|us|ms|s|m|h|d)){0,4}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        "Tue, [0-9]{2} Dec [0-9]{4} 09:00:00 GMT",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn nothing_panics_and_no_wait_is_longer_than_the_longest(
        status in 100..600_u16,
        values in proptest::collection::vec(value(), 8),
        body in prop_oneof![
            any::<Vec<u8>>(),
            value().prop_map(|text| json!({"error": {"message": format!("try again in {text}"),
                "details": [{"retryDelay": text}]}}).to_string().into_bytes()),
            any::<f64>().prop_map(|number| json!({"error": {"retry_after": number}}).to_string().into_bytes()),
        ],
    ) {
        let names = [
            "retry-after", "retry-after-ms", "x-ms-retry-after-ms", "date", "x-ratelimit-remaining-tokens",
            "x-ratelimit-reset-tokens", "anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-reset",
        ];
        let header = |name: &str| {
            let nth = names.iter().position(|known| *known == name)?;
            Some(values[nth].as_str())
        };
        let signals = read(status, header, &body, NOW);
        let waits = signals.limits.iter().filter_map(|limit| limit.reset);
        for wait in waits.chain(signals.wait.map(|wait| wait.wait)) {
            prop_assert!(Millis::ZERO <= wait && wait <= LONGEST_WAIT, "{wait:?}");
        }
        prop_assert_eq!(signals.class.is_none(), (200..300).contains(&status));
    }
}
