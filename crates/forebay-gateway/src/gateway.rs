//! The one client that all provider calls go through.

use std::time::Duration;

use forebay_core::attempt::Outcome;
use forebay_core::definition::{Deadlines, ProviderKind};
use forebay_core::failure::FailureClass;
use forebay_core::id::AttemptId;
use forebay_core::time::Timestamp;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::call::{Call, Target};
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::report::Report;
use crate::tls;
use crate::wire;

/// Tells the provider which attempt a call belongs to.
const ATTEMPT_HEADER: &str = "x-forebay-attempt";

/// The version of Anthropic's interface that requests are written in; the only one there has been since 2023.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Idle connections are closed before the shortest usual patience of servers (uvicorn, which vLLM runs on,
/// closes after 5 s): a connection that the server closes just as a request is written costs an attempt whose
/// outcome nobody knows.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// Makes provider calls. Cheap to clone; the clones share their connections.
#[derive(Debug, Clone)]
pub struct Gateway {
    client: Client,
}

/// The gateway could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum NoGateway {
    /// The TLS library refuses its configuration.
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
    /// The HTTP client refuses its configuration.
    #[error("the HTTP client could not be set up")]
    Client(#[from] reqwest::Error),
}

impl Gateway {
    /// A gateway with a pool of connections of its own. Reads the system's trusted certificates.
    ///
    /// Every call is one request on the wire: nothing is tried again, no redirect is followed, no proxy is
    /// taken from the environment, no cookie is kept. Calls use HTTP/1.1, one connection each, so that ending
    /// a call closes its connection, and a broken connection breaks one call.
    pub fn new() -> Result<Gateway, NoGateway> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client_config()?)
            .http1_only()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_idle_timeout(IDLE_CONNECTION)
            .build()?;
        Ok(Gateway { client })
    }

    /// The HTTP client that calls are made with, for other requests by the same rules.
    pub fn http(&self) -> Client {
        self.client.clone()
    }

    /// Makes one call and reads its answer.
    ///
    /// `now` is the time by the store's clock; only a provider that names a date to come back, and sends no
    /// date of its own, is measured by it. Dropping the future closes the connection; the provider may bill
    /// the call all the same.
    pub async fn call(
        &self,
        target: &Target,
        call: Call,
        deadlines: Deadlines,
        attempt_id: AttemptId,
        now: Timestamp,
    ) -> Report {
        let mut exchange = Exchange::start(deadlines, now);
        let mut reader = wire::reader(&call, target.kind);
        let request = self.prepare(target, &call, attempt_id, &exchange);
        // As bytes it is enough: thousands of calls may wait for their answers at the same time.
        drop(call);
        let read = match request {
            Ok(request) => exchange.run(request, reader.as_mut()).await,
            Err(failed) => Err(failed),
        };
        let reading = reader.finish();
        let (outcome, result) = match read.and(reading.answer) {
            Ok(answer) => (Outcome::Succeeded, Ok(answer)),
            Err(failed) => (failed.outcome, Err(without_key(failed, target.api_key.as_ref()).failure)),
        };
        Report {
            outcome,
            partial: reading.text.filter(|_| result.is_err()),
            result,
            usage: reading.usage,
            provider_request_id: exchange.provider_request_id(),
            signals: exchange.signals(),
            model: reading.model,
            first_byte: exchange.first_byte(),
            total: exchange.elapsed(),
        }
    }

    /// The request, ready to be sent.
    fn prepare(
        &self,
        target: &Target,
        call: &Call,
        attempt_id: AttemptId,
        exchange: &Exchange,
    ) -> Result<reqwest::RequestBuilder, Failed> {
        let base = base_url(&target.base_url)?;
        let request = wire::encode(call, target.kind)?;
        let url = format!("{}{}", base.as_str().trim_end_matches('/'), request.path);
        let mut headers = headers(target)?;
        if let Ok(id) = HeaderValue::try_from(attempt_id.to_string()) {
            headers.insert(ATTEMPT_HEADER, id);
        }
        Ok(self.client.post(url).headers(headers).body(exchange.body(request.body)))
    }
}

/// The address of a provider. One that has a user, a query or a fragment in it is refused, as is every
/// scheme but HTTP's.
pub(crate) fn base_url(text: &str) -> Result<Url, Failed> {
    let refused = |what: &str| {
        Failed::before_send(FailureClass::NotSent, format!("the provider's address {what}: nothing was sent"))
    };
    let url = Url::parse(text).map_err(|error| refused(&format!("is no URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("begins with neither http:// nor https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("holds a user or a password; a key belongs into the credential"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("has a query or a fragment"));
    }
    Ok(url)
}

/// The headers of every request to this provider.
pub(crate) fn headers(target: &Target) -> Result<HeaderMap, Failed> {
    let mut headers = HeaderMap::new();
    let agent = concat!("forebay/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    // A compressed answer would have to be bounded twice; it is refused instead.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if target.kind == ProviderKind::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = &target.api_key {
        let (name, value) = credential(target.kind, key.expose_secret());
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Failed::before_send(FailureClass::Auth, "the key has characters that no HTTP header may have")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The header that carries a key.
fn credential(kind: ProviderKind, key: &str) -> (HeaderName, String) {
    match kind {
        ProviderKind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        ProviderKind::Azure => (HeaderName::from_static("api-key"), key.to_owned()),
        _ => (AUTHORIZATION, format!("Bearer {key}")),
    }
}

/// Some servers repeat the key in the message that refuses it.
fn without_key(mut failed: Failed, api_key: Option<&SecretString>) -> Failed {
    let key = api_key.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty());
    if let Some(key) = key {
        for text in [Some(&mut failed.failure.message), failed.failure.words.as_mut()].into_iter().flatten() {
            *text = text.replace(key, "[key]");
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_called() {
        for address in [
            "",
            "api.openai.com/v1",
            "ftp://localhost/v1",
            "http://",
            "https://user:secret@localhost/v1",
            "https://secret@localhost/v1",
            "https://localhost/v1?key=secret",
            "https://localhost/v1#secret",
        ] {
            let failed = base_url(address).unwrap_err();
            assert_eq!(failed.outcome, Outcome::FailedBeforeSend, "{address}");
            assert!(!failed.failure.message.contains("secret"));
        }
        assert!(base_url("https://localhost/v1/").is_ok());
    }

    fn target(kind: ProviderKind, key: &str) -> Target {
        let base_url = "http://localhost/v1".to_owned();
        Target { provider: "p".to_owned(), kind, base_url, api_key: Some(SecretString::from(key)) }
    }

    #[test]
    fn each_kind_carries_the_key_in_its_own_header() {
        for (kind, name, value) in [
            (ProviderKind::Openai, "authorization", "Bearer sk-1"),
            (ProviderKind::LlamaCpp, "authorization", "Bearer sk-1"),
            (ProviderKind::Azure, "api-key", "sk-1"),
            (ProviderKind::Anthropic, "x-api-key", "sk-1"),
        ] {
            let headers = headers(&target(kind, "sk-1")).unwrap();
            let keys = ["authorization", "api-key", "x-api-key"].map(|name| (name, headers.get(name)));
            let found: Vec<_> = keys.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            assert_eq!(found, [(name, &HeaderValue::from_static(value))], "{kind:?}");
            assert!(found[0].1.is_sensitive());
            let version = headers.contains_key("anthropic-version");
            assert_eq!(version, kind == ProviderKind::Anthropic);
        }
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_not_sent() {
        let target = target(ProviderKind::Openai, "sk-1\n2");
        let failed = headers(&target).unwrap_err();
        assert_eq!((failed.outcome, failed.failure.class), (Outcome::FailedBeforeSend, FailureClass::Auth));
    }

    #[test]
    fn a_key_in_a_message_is_taken_out() {
        let key = SecretString::from("sk-secret");
        let failed =
            Failed::after_send(FailureClass::Auth, "sk-secret").saying("sk-secret is no key, sk-secret");
        assert_eq!(without_key(failed, Some(&key)).failure.in_full(), "[key]: [key] is no key, [key]");
    }
}
