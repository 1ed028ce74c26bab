//! Request headers that mean something here.

use std::time::Duration;

use forebay_core::limits::LONG_POLL_SECONDS;
use forebay_core::request::idempotency;
use forebay_store::record::RateLeft;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

use super::problem::{Code, Problem};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The one value of a header; refuses a header that is sent twice.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        Some(_) => Err(Problem::parameter(name.as_str(), "the header is sent twice")),
        None => Ok(first),
    }
}

/// The idempotency key, plain or as a quoted string.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let value = single(headers, &IDEMPOTENCY_KEY)?;
    let key = value.map(|value| idempotency::from_header(value.as_bytes())).transpose();
    key.map_err(|fault| Problem::parameter("Idempotency-Key", fault.to_string()))
}

/// Says where limits are, as draft-ietf-httpapi-ratelimit-headers-10 writes it: how many jobs (`r`) would be taken in at once,
/// and after how many seconds (`t`) it is as if none had been, or, where none would be, one is.
pub(super) fn rate_limit(headers: &mut HeaderMap, rates: &[RateLeft]) {
    if rates.is_empty() {
        return;
    }
    let policy = |left: &RateLeft| format!("\"{}\";q={};w=60", left.counted.name(), left.rate.get());
    let seconds = |left: &RateLeft| left.until.get().saturating_add(999) / 1_000;
    let state = |left: &RateLeft| format!("\"{}\";r={};t={}", left.counted.name(), left.jobs, seconds(left));
    for (name, items) in [
        (RATE_LIMIT_POLICY, rates.iter().map(policy).collect::<Vec<_>>()),
        (RATE_LIMIT, rates.iter().map(state).collect()),
    ] {
        if let Ok(value) = HeaderValue::from_str(&items.join(", ")) {
            headers.insert(name, value);
        }
    }
}

/// The cursor that a stream goes on from.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = single(headers, &LAST_EVENT_ID)? else { return Ok(None) };
    let text = value.to_str().map_err(|_| Problem::parameter("Last-Event-ID", "it is no cursor"))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned))
}

/// How long the caller wants to be held (`Prefer: wait=N`, RFC 7240), at most the published limit.
/// Preferences that are not understood are ignored, as the RFC asks.
pub(super) fn prefer_wait(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    preferences.flat_map(|value| value.split(',')).find_map(wait_of).map(Duration::from_secs)
}

fn wait_of(preference: &str) -> Option<u64> {
    let (name, value) = preference.split(';').next()?.split_once('=')?;
    let seconds: u64 = value.trim().trim_matches('"').parse().ok()?;
    name.trim().eq_ignore_ascii_case("wait").then_some(seconds.min(LONG_POLL_SECONDS))
}

/// Whether the caller has this version already (`If-None-Match`, weak comparison).
pub(super) fn none_match(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// The version that must be the latest for a change to be made (`If-Match`).
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    let version = |value: &HeaderValue| {
        let tag = value.to_str().ok()?.trim().strip_prefix('"')?.strip_suffix('"')?;
        tag.parse().ok().filter(|_| tag.starts_with(|first: char| matches!(first, '1'..='9')))
    };
    let Some(tag) = single(headers, &IF_MATCH)? else { return Ok(None) };
    let expected = "expected one ETag as it was given, such as \"3\"";
    version(tag).map(Some).ok_or_else(|| Problem::parameter("If-Match", expected))
}

/// Refuses a caller that can't read what will come.
pub(super) fn accepts(headers: &HeaderMap, media_types: &[&str]) -> Result<(), Problem> {
    let mut ranges = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if ranges.peek().is_none() {
        return Ok(());
    }
    let essences: Vec<_> = media_types.iter().map(|media_type| essence(media_type)).collect();
    let allows = |range: &str| essences.iter().any(|essence| range_allows(range, essence));
    if ranges.flat_map(|value| value.split(',')).any(allows) {
        return Ok(());
    }
    Err(Problem::new(Code::NotAcceptable, format!("this address answers with {}", essences.join(" or "))))
}

fn range_allows(range: &str, essence: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default().to_ascii_lowercase();
    let excluded = parts.any(|part| {
        part.split_once('=').is_some_and(|(name, weight)| {
            name.trim().eq_ignore_ascii_case("q") && weight.trim().parse() == Ok(0.0_f32)
        })
    });
    let group = range.strip_suffix('*');
    !excluded
        && (range == "*/*"
            || range == essence
            || group.is_some_and(|group| group.ends_with('/') && essence.starts_with(group)))
}

/// What kind of body the caller says it sends, without parameters, in lower case.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence)
}

/// A media type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn both_spellings_of_an_idempotency_key_are_one() {
        let key =
            |values: &[&str]| idempotency_key(&headers("idempotency-key", values)).map_err(|p| p.code());
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&["inv-1"]), Ok(Some("inv-1".to_owned())));
        assert_eq!(key(&["\"inv-1\""]), Ok(Some("inv-1".to_owned())));
        assert_eq!(key(&["a b"]), Err(Code::InvalidParameter));
        assert_eq!(key(&["a", "a"]), Err(Code::InvalidParameter));
    }

    #[test]
    fn a_wait_is_found_among_preferences_and_capped() {
        let wait = |values: &[&str]| prefer_wait(&headers("prefer", values)).map(|wait| wait.as_secs());
        assert_eq!(wait(&["wait=20"]), Some(20));
        assert_eq!(wait(&["respond-async, wait=10"]), Some(10));
        assert_eq!(wait(&["respond-async", "WAIT = \"7\""]), Some(7));
        assert_eq!(wait(&["wait=61"]), Some(60));
        assert_eq!(wait(&["wait=60"]), Some(60));
        assert_eq!(wait(&["wait=soon"]), None);
        assert_eq!(wait(&["respond-async"]), None);
    }

    #[test]
    fn versions_are_compared_weakly() {
        let has = |value: &str| none_match(&headers("if-none-match", &[value]), "\"7\"");
        assert!(has("\"7\"") && has("W/\"7\"") && has("\"1\", \"7\"") && has("*"));
        assert!(!has("\"8\"") && !has("7") && !none_match(&HeaderMap::new(), "\"7\""));
    }

    #[test]
    fn a_change_may_be_bound_to_a_version() {
        let expected = |values: &[&str]| if_match(&headers("if-match", values)).map_err(|p| p.code());
        assert_eq!(expected(&[]), Ok(None));
        assert_eq!(expected(&["\"3\""]), Ok(Some(3)));
        for refused in ["3", "*", "W/\"3\"", "\"3\", \"4\"", "\"\"", "\"0\"", "\"-1\""] {
            assert_eq!(expected(&[refused]), Err(Code::InvalidParameter), "{refused}");
        }
        assert_eq!(expected(&["\"3\"", "\"3\""]), Err(Code::InvalidParameter));
    }

    #[test]
    fn what_the_caller_accepts() {
        let ok =
            |value: &str| accepts(&headers("accept", &[value]), &["application/json; charset=utf-8"]).is_ok();
        assert!(ok("*/*") && ok("application/json") && ok("application/*") && ok("text/html, */*;q=0.1"));
        assert!(ok("Application/JSON; charset=utf-8"));
        assert!(!ok("text/html") && !ok("application/json;q=0") && !ok("text/*"));
        assert!(accepts(&HeaderMap::new(), &["application/json"]).is_ok());
        assert!(accepts(&headers("accept", &["text/csv"]), &["application/json", "text/csv"]).is_ok());
    }

    #[test]
    fn an_empty_last_event_id_is_none() {
        assert_eq!(last_event_id(&headers("last-event-id", &[" "])).unwrap(), None);
        assert_eq!(last_event_id(&headers("last-event-id", &["abc"])).unwrap(), Some("abc".to_owned()));
    }
}
