//! The requests of the S3 client over the HTTP client that Forebay has.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use super::for_content;

/// Sends each request once.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    client: reqwest::Client,
    answer: Duration,
}

/// No answer began in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0} ms")]
struct NoAnswer(u128);

impl Transport {
    /// Over this client, with so much time for an answer to begin.
    pub(super) fn new(client: reqwest::Client, answer: Duration) -> Self {
        Self { client, answer }
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let limit = for_content(self.answer, request.body().content_length());
        let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap)).map_err(failed)?;
        let answer = tokio::time::timeout(limit, self.client.execute(request)).await;
        let answer = answer
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, NoAnswer(limit.as_millis())))?
            .map_err(failed)?;
        let (head, body) = http::Response::<reqwest::Body>::from(answer).into_parts();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body.map_err(failed))))
    }
}

/// What went wrong, for the S3 client to decide whether it tries again. What it asks for here may be asked twice.
fn failed(error: reqwest::Error) -> HttpError {
    let kind = if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_builder() {
        HttpErrorKind::Unknown
    } else {
        HttpErrorKind::Interrupted
    };
    // The address is said once, by whoever tells of the bucket.
    HttpError::new_boxed(kind, Box::<dyn Error + Send + Sync>::from(error.without_url()))
}
