//! Requests to a server, and what its answers mean to a command.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use reqwest::{Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::connection::is_loopback;
use super::error::{CliError, chain};
use super::problem::Problem;

const USER_AGENT: &str = concat!("forebay-cli/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A stream sends comments when it has nothing else; silence for this long means that the line is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);
const TRIES: u32 = 4;
/// Longer hints are a matter for whoever started the command.
const LONGEST_HINT: Duration = Duration::from_secs(60);

/// The header that makes a repeated submission find its first job.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that says that a submission was a repeated one.
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The header that asks to hold an answer back.
pub const PREFER: HeaderName = HeaderName::from_static("prefer");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Talks to one server as one key.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    key: Option<SecretString>,
    /// Why there is no key, where there is none.
    without_key: String,
}

/// A request before it is sent.
#[derive(Debug, Clone)]
pub struct Ask {
    method: Method,
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Option<Bytes>,
    timeout: Duration,
    is_repeatable: bool,
}

impl Ask {
    /// A request for the path that these segments make.
    pub fn new(method: Method, path: &[&str]) -> Self {
        Self {
            is_repeatable: method != Method::POST,
            method,
            path: path.iter().map(ToString::to_string).collect(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: None,
            timeout: Duration::from_secs(60),
        }
    }

    /// To look at something.
    pub fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path)
    }

    /// To have something done.
    pub fn post(path: &[&str]) -> Self {
        Self::new(Method::POST, path)
    }

    /// Adds a parameter; one without a value is left out.
    #[must_use]
    pub fn query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name.to_owned(), value.to_string())));
        self
    }

    /// Adds a header.
    ///
    /// # Errors
    ///
    /// When a header can't hold the value.
    pub fn header(mut self, name: HeaderName, value: &str) -> Result<Self, CliError> {
        let value = HeaderValue::from_str(value).map_err(|_| {
            let problem = format!("{name}: `{value}` can't stand in a header");
            CliError::usage(problem, "use visible ASCII characters only")
        })?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sends a JSON document.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.bytes(HeaderValue::from_static("application/json"), Bytes::from(body.to_string()))
    }

    /// Sends bytes.
    #[must_use]
    pub fn bytes(mut self, media_type: HeaderValue, body: Bytes) -> Self {
        self.headers.insert(CONTENT_TYPE, media_type);
        self.body = Some(body);
        self
    }

    /// How long it may take in all. Default 60 s.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Says that sending it twice does no more than sending it once, as is so for everything but POST.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Whether sending it twice does no more than sending it once.
    fn is_repeatable(&self) -> bool {
        self.is_repeatable || self.headers.contains_key(IDEMPOTENCY_KEY)
    }
}

/// What a server answered, when it did what it was asked.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status, below 400.
    pub status: StatusCode,
    /// The head.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn json(&self) -> Result<Value, CliError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            CliError::Failed(format!(
                "the answer is no JSON ({error})\n  fix: check that FOREBAY_URL is the address of a Forebay server"
            ))
        })
    }
}

impl Client {
    /// A client for a server.
    ///
    /// # Errors
    ///
    /// When the machine's trusted certificates can't be used.
    pub fn new(base: Url, key: Option<SecretString>) -> Result<Self, CliError> {
        // The HTTP library takes its cryptography from the process, and which one that is, is for the program
        // to say. That it was said before is no failure.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT);
        if base.scheme() == "http" {
            // Without TLS no certificates are needed; reading them fails on a machine that has none.
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| CliError::failed("can't set up HTTP", &error))?;
        Ok(Self { http, base, key, without_key: String::new() })
    }

    /// The same, knowing what to say when a key is missing.
    #[must_use]
    pub fn without_key(mut self, reason: String) -> Self {
        self.without_key = reason;
        self
    }

    /// Whether there is a key to send.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sends a request and gives back the answer's JSON.
    ///
    /// # Errors
    ///
    /// As [`Client::send`], and when the answer is no JSON.
    pub async fn json(&self, ask: Ask) -> Result<Value, CliError> {
        self.send(ask).await?.json()
    }

    /// Sends a request. What can be repeated without harm is repeated after a lost connection, and after an
    /// answer that says how long to wait.
    ///
    /// # Errors
    ///
    /// When nobody answers, or the answer is a problem.
    pub async fn send(&self, ask: Ask) -> Result<Answer, CliError> {
        let mut made = 1;
        loop {
            let failed = match self.try_once(&ask).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let pause = failed.repeat_after.filter(|_| ask.is_repeatable() && made < TRIES);
            let Some(pause) = pause else { return Err(failed.error) };
            tracing::debug!(error = %failed.error, ?pause, "a request is repeated");
            tokio::time::sleep(pause).await;
            made += 1;
        }
    }

    async fn try_once(&self, ask: &Ask) -> Result<Answer, Failed> {
        let response = self.request(ask)?.timeout(ask.timeout).send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_client_error() || status.is_server_error() {
            return Err(self.refused(ask, status, &headers, &body));
        }
        Ok(Answer { status, headers, body })
    }

    /// Opens a stream of events, after the event with that id where one is known.
    ///
    /// # Errors
    ///
    /// When nobody answers, or the answer is a problem.
    pub async fn stream(&self, path: &[&str], last_event_id: Option<&str>) -> Result<Response, CliError> {
        let mut ask = Ask::get(path).header(ACCEPT, "text/event-stream")?;
        if let Some(id) = last_event_id {
            ask = ask.header(LAST_EVENT_ID, id)?;
        }
        self.open(&ask).await
    }

    /// Sends a request and leaves the answer's body to be read as it comes.
    ///
    /// # Errors
    ///
    /// When nobody answers, or the answer is a problem.
    pub async fn open(&self, ask: &Ask) -> Result<Response, CliError> {
        let response = self.request(ask)?.send().await.map_err(|error| self.unreachable(&error).error)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.unwrap_or_default();
        Err(self.refused(ask, status, &headers, &body).error)
    }

    fn request(&self, ask: &Ask) -> Result<reqwest::RequestBuilder, CliError> {
        let mut request = self.http.request(ask.method.clone(), self.url(ask)?).headers(ask.headers.clone());
        if let Some(key) = &self.key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()));
            let mut value = value.map_err(|_| {
                CliError::usage("FOREBAY_KEY is no key", "copy the key without spaces and line breaks")
            })?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        Ok(match &ask.body {
            Some(body) => request.body(body.clone()),
            None => request,
        })
    }

    fn url(&self, ask: &Ask) -> Result<Url, CliError> {
        let mut url = self.base.clone();
        let no_base = || CliError::usage(format!("`{}` has no path", self.base), "write http://host:port");
        url.path_segments_mut().map_err(|()| no_base())?.pop_if_empty().extend(&ask.path);
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        Ok(url)
    }

    /// What an answer that is none means, with what only this side knows.
    fn refused(&self, ask: &Ask, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failed {
        let request_id = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let query: Vec<_> = ask.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let address = format!("/{}{mark}{}", ask.path.join("/"), query.join("&"));
        let mut problem = Problem::of(status, body, request_id).at(&address);
        if problem.is("unauthorized") && self.key.is_none() && !self.without_key.is_empty() {
            problem.detail = Some(self.without_key.clone());
        }
        refused(problem, headers)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failed {
        let reason = match root_cause(error) {
            _ if error.is_timeout() => "no answer in time".to_owned(),
            cause if cause.contains("InvalidContentType") => {
                "no TLS is spoken there; write http://".to_owned()
            }
            cause => cause,
        };
        let url = self.base.as_str().trim_end_matches('/').to_owned();
        // Where nobody listens, nobody will a moment later; a connection that broke may be made again.
        let repeat_after = (!error.is_connect() && !error.is_timeout()).then_some(Duration::from_millis(300));
        Failed { error: CliError::Unreachable { url, reason }, repeat_after }
    }
}

/// Why one try failed, and when another makes sense.
struct Failed {
    error: CliError,
    repeat_after: Option<Duration>,
}

impl From<CliError> for Failed {
    fn from(error: CliError) -> Self {
        Self { error, repeat_after: None }
    }
}

fn refused(problem: Problem, headers: &HeaderMap) -> Failed {
    let hint = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let hint = hint.map(Duration::from_secs).filter(|hint| *hint <= LONGEST_HINT);
    let passes = problem.is("rate_limited") || problem.is("overloaded");
    Failed { repeat_after: hint.filter(|_| passes), error: CliError::Problem(Box::new(problem)) }
}

/// What the operating system or the library at the bottom said.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if cause.to_string().is_empty() { chain(error) } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(base: &str) -> Client {
        Client::new(Url::parse(base).unwrap(), Some(SecretString::from("fbk_secret"))).unwrap()
    }

    #[test]
    fn segments_and_parameters_are_escaped() {
        let ask = Ask::get(&["v1", "tasks", "a/b ?"]).query("state", Some("A&B")).query("task", None::<&str>);
        let url = client("http://127.0.0.1:7120").url(&ask).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:7120/v1/tasks/a%2Fb%20%3F?state=A%26B");
        let behind_a_proxy = client("https://example.com/forebay/").url(&ask).unwrap();
        assert!(behind_a_proxy.as_str().starts_with("https://example.com/forebay/v1/tasks/"));
    }

    #[test]
    fn the_key_is_sent_and_not_shown() {
        let client = client("http://127.0.0.1:7120");
        let request = client.request(&Ask::get(&["v1"])).unwrap().build().unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer fbk_secret");
        assert!(!format!("{client:?}{request:?}").contains("fbk_secret"));
    }

    #[test]
    fn only_what_does_no_harm_is_repeated() {
        assert!(Ask::get(&[]).is_repeatable());
        assert!(Ask::new(Method::PUT, &[]).is_repeatable());
        assert!(!Ask::post(&[]).is_repeatable());
        assert!(Ask::post(&[]).repeatable().is_repeatable());
        assert!(Ask::post(&[]).header(IDEMPOTENCY_KEY, "k").unwrap().is_repeatable());
    }

    #[test]
    fn a_hint_counts_only_for_what_passes_by_itself() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        let pause = |code: &str, headers: &HeaderMap| {
            let problem = Problem { code: Some(code.to_owned()), ..Problem::default() };
            refused(problem, headers).repeat_after
        };
        assert_eq!(pause("overloaded", &headers), Some(Duration::from_secs(7)));
        assert_eq!(pause("budget_exhausted", &headers), None);
        assert_eq!(pause("overloaded", &HeaderMap::new()), None);
        headers.insert(RETRY_AFTER, HeaderValue::from_static("3600"));
        assert_eq!(pause("rate_limited", &headers), None);
    }

    #[tokio::test]
    async fn a_port_that_nobody_listens_on_is_unreachable() {
        let error = client("http://127.0.0.1:1").send(Ask::get(&["livez"])).await.unwrap_err();
        assert_eq!(error.exit().code(), 5);
        assert!(error.to_string().starts_with("http://127.0.0.1:1 can't be reached: "), "{error}");
    }
}
