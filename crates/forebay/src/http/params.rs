//! Strict query parameters: what nobody reads is refused, because it may be a misspelt one.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path, Query};
use forebay_core::time::Timestamp;
use http::request::Parts;

use super::problem::{Code, ErrorItem, Problem};

/// The query parameters of a request; each is taken out once, then [`Params::end`] refuses the rest.
#[derive(Debug, Default)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|_| Problem::new(Code::InvalidParameter, "the query can't be read"))?;
        // No text that is stored has one, and PostgreSQL takes none to compare with.
        if let Some((name, _)) = pairs.iter().find(|(name, value)| has_nul(name) || has_nul(value)) {
            return Err(Problem::parameter(name, "it holds a NUL"));
        }
        Ok(Self { pairs })
    }
}

impl Params {
    /// The value of a parameter; refused when it is given twice.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut found = self.taken(|key| key == name);
        let value = found.pop().map(|(_, value)| value);
        if found.is_empty() { Ok(value) } else { Err(Problem::parameter(name, "it is given twice")) }
    }

    /// The value of a parameter as something else.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| Problem::parameter(name, format!("expected {expected}")))
    }

    /// A point in time.
    pub(super) fn time(&mut self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let expected = "a time as RFC 3339 writes it, with an offset (a `+` is sent as %2B)";
        self.parsed(name, expected, |text| text.parse().ok())
    }

    /// How many entries the caller wants at most.
    pub(super) fn limit(&mut self, default: usize, most: usize) -> Result<usize, Problem> {
        let expected = format!("a number from 1 to {most}");
        let read = |text: &str| text.parse().ok().filter(|limit| (1..=most).contains(limit));
        Ok(self.parsed("limit", &expected, read)?.unwrap_or(default))
    }

    /// All parameters whose name starts so, without that start.
    pub(super) fn with_prefix(&mut self, prefix: &str) -> Vec<(String, String)> {
        let found = self.taken(|key| key.starts_with(prefix));
        found.into_iter().map(|(key, value)| (key[prefix.len()..].to_owned(), value)).collect()
    }

    /// Refuses what nobody has taken.
    pub(super) fn end(self) -> Result<(), Problem> {
        let Some((first, _)) = self.pairs.first() else { return Ok(()) };
        let detail = format!("`{first}` is not a parameter of this address");
        let items = self.pairs.iter().map(|(name, _)| ErrorItem::of_parameter(name, "it is not known here"));
        Err(Problem::new(Code::InvalidParameter, detail).with_errors(items.collect()))
    }

    fn taken(&mut self, is: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let (found, rest) = std::mem::take(&mut self.pairs).into_iter().partition(|(key, _)| is(key));
        self.pairs = rest;
        found
    }
}

fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

/// A route without query parameters.
pub(super) struct NoParams;

impl<S: Send + Sync> FromRequestParts<S> for NoParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Params::from_request_parts(parts, state).await?.end().map(|()| Self)
    }
}

/// The one variable part of a path. What can't be an id or a name names nothing that exists.
pub(super) struct PathId<T>(pub(super) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) =
            Path::<String>::from_request_parts(parts, state).await.map_err(|_| Problem::not_found())?;
        let id = if has_nul(&text) { None } else { text.parse().ok() };
        id.map(Self).ok_or_else(Problem::not_found)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use http::{Request, StatusCode};
    use tower::ServiceExt as _;

    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        Params { pairs: pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect() }
    }

    #[test]
    fn what_is_left_is_refused_by_name() {
        let mut query = params(&[("limit", "5"), ("stat", "READY")]);
        assert_eq!(query.limit(50, 200).unwrap(), 5);
        let problem = query.end().unwrap_err();
        assert_eq!(problem.code(), Code::InvalidParameter);
        assert_eq!(problem.errors()[0].parameter.as_deref(), Some("stat"));
    }

    #[test]
    fn a_parameter_is_given_once() {
        assert!(params(&[("a", "1"), ("a", "1")]).text("a").is_err());
        assert_eq!(params(&[("a", "1")]).text("b").unwrap(), None);
    }

    #[test]
    fn a_page_has_its_published_size() {
        let limit = |text| params(&[("limit", text)]).limit(50, 200);
        assert_eq!(limit("200").unwrap(), 200);
        assert_eq!(params(&[]).limit(50, 200).unwrap(), 50);
        for refused in ["0", "201", "-1", "many", ""] {
            assert!(limit(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn prefixed_parameters_come_without_their_prefix() {
        let mut query = params(&[("metadata.order", "1"), ("metadata.site", "2")]);
        let found = query.with_prefix("metadata.");
        assert_eq!(found, [("order".to_owned(), "1".to_owned()), ("site".to_owned(), "2".to_owned())]);
        assert!(query.end().is_ok());
    }

    #[tokio::test]
    async fn a_name_with_a_nul_names_nothing() {
        let router = Router::new().route("/{name}", get(|PathId(name): PathId<String>| async move { name }));
        for (path, status) in [("/a%20b", StatusCode::OK), ("/a%00b", StatusCode::NOT_FOUND)] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            assert_eq!(router.clone().oneshot(request).await.unwrap().status(), status, "{path}");
        }
    }
}
