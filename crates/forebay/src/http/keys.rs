//! API keys of a tenant.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;
use forebay_store::record::{NewKey, Scope};
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::api::Api;
use super::auth::{Principal, mint_key};
use super::body::Payload;
use super::dto::{Key, KeyBody, KeyList, NewKeyAnswer, NewKeyBody};
use super::fields::Fields;
use super::params::{Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, delete, get, post, put};
use super::tenants::visible;

/// Characters of a key's name.
const NAME_CHARS: usize = 100;

/// The routes of keys.
pub(super) fn routes() -> Vec<Route> {
    let doc = |summary| {
        Doc::of("keys", summary)
            .query(
                "tenant",
                r#"{"type":"string"}"#,
                "Whose keys; the caller's own tenant where absent. Others only for admins of the tenant `default`",
            )
            .refuses(&[Code::NotFound])
    };
    vec![
        get("/v1/keys", list)
            .needs(Scope::Admin, doc("Keys, newest first, revoked ones included").gives::<KeyList>(200, "The keys")),
        post("/v1/keys", make).needs(
            Scope::Admin,
            doc("Make a key")
                .takes::<NewKeyBody>(
                    "What the key is for and may do",
                    json!({"name": "checkout service", "scopes": ["submit", "read"]}),
                )
                .gives::<NewKeyAnswer>(201, "The key, with its text, which is shown here and never again")
                .refuses(&[Code::InvalidJson, Code::InvalidMember, Code::MissingMember, Code::UnknownMember]),
        ),
        put("/v1/keys/{key_id}", limit).needs(
            Scope::Admin,
            doc("Change how much a key may do at the same time")
                .more("What the body leaves out is unlimited. It counts at once, also for jobs that wait.")
                .path("key_id", "The id of a key: `key_...`; not the key itself")
                .takes::<KeyBody>("What the key may do", json!({"max_in_flight": 10}))
                .gives::<Key>(200, "The key with its new limit")
                .refuses(&[Code::InvalidJson, Code::InvalidMember, Code::UnknownMember]),
        ),
        delete("/v1/keys/{key_id}", revoke).needs(
            Scope::Admin,
            doc("Revoke a key")
                .more("Requests with it are refused at once; its open streams end within 30 s. May be repeated.")
                .path("key_id", "The id of a key: `key_...`; not the key itself")
                .gives::<Key>(200, "The revoked key"),
        ),
    ]
}

/// The tenant whose keys are meant.
async fn tenant(api: &Api, principal: &Principal, mut params: Params) -> Result<i64, Problem> {
    let name = params.text("tenant")?;
    params.end()?;
    match name {
        Some(name) => Ok(visible(api, principal, &name).await?.id),
        None => Ok(principal.tenant),
    }
}

/// `GET /v1/keys`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    params: Params,
) -> Result<Json<KeyList>, Problem> {
    let tenant = tenant(&api, &principal, params).await?;
    let keys = api.app.store.keys(tenant).await?;
    Ok(Json(KeyList { data: keys.into_iter().map(Key::from).collect() }))
}

/// `POST /v1/keys`
async fn make(
    State(api): State<Api>,
    principal: Principal,
    params: Params,
    payload: Payload,
) -> Result<Response, Problem> {
    let tenant = tenant(&api, &principal, params).await?;
    let wanted = wanted(payload.json()?, api.app.store.now())?;
    let minted = mint_key();
    let key = NewKey {
        tenant,
        name: wanted.name,
        digest: minted.digest,
        hint: minted.hint,
        scopes: wanted.scopes,
        expires_at: wanted.expires_at,
        max_in_flight: wanted.max_in_flight,
    };
    let record = api.app.store.add_key(key, principal.actor()).await?;
    let answer = NewKeyAnswer { record: Key::from(record), key: minted.text.expose_secret().to_owned() };
    let mut response = (StatusCode::CREATED, Json(answer)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[derive(Debug, PartialEq)]
struct Wanted {
    name: String,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
    max_in_flight: Option<u64>,
}

fn wanted(body: Value, now: Timestamp) -> Result<Wanted, Problem> {
    let mut fields = Fields::of(body);
    let name = fields.required("name", &format!("a text of up to {NAME_CHARS} characters"), |value| {
        super::fields::short_text(value, NAME_CHARS)
    });
    let known = Scope::ALL.map(Scope::name).join(", ");
    let scopes = fields.required("scopes", &format!("a list of one or more of {known}"), scopes);
    let expires_at = fields.time("expires_at");
    if expires_at.is_some_and(|at| at <= now) {
        fields.invalid("expires_at", "the time is past");
    }
    let max_in_flight = fields.whole("max_in_flight");
    fields.end()?;
    Ok(Wanted {
        name: name.unwrap_or_default(),
        scopes: scopes.unwrap_or_default(),
        expires_at,
        max_in_flight,
    })
}

/// A list of scopes, each once.
fn scopes(value: &Value) -> Option<Vec<Scope>> {
    let names = value.as_array()?.iter().map(|name| Scope::from_name(name.as_str()?));
    let mut scopes: Vec<Scope> = names.collect::<Option<_>>()?;
    scopes.sort_unstable();
    scopes.dedup();
    (!scopes.is_empty()).then_some(scopes)
}

/// `PUT /v1/keys/{key_id}`
async fn limit(
    State(api): State<Api>,
    principal: Principal,
    PathId(key): PathId<KeyId>,
    params: Params,
    payload: Payload,
) -> Result<Json<Key>, Problem> {
    let tenant = tenant(&api, &principal, params).await?;
    let mut fields = Fields::of(payload.json()?);
    let max_in_flight = fields.whole("max_in_flight");
    fields.end()?;
    let limited = api.app.store.limit_key(tenant, key, max_in_flight, principal.actor()).await?;
    Ok(Json(limited.ok_or_else(Problem::not_found)?.into()))
}

/// `DELETE /v1/keys/{key_id}`
async fn revoke(
    State(api): State<Api>,
    principal: Principal,
    PathId(key): PathId<KeyId>,
    params: Params,
) -> Result<Json<Key>, Problem> {
    let tenant = tenant(&api, &principal, params).await?;
    let record =
        api.app.store.revoke_key(tenant, key, principal.actor()).await?.ok_or_else(Problem::not_found)?;
    api.keys.forget(key);
    Ok(Json(record.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    #[test]
    fn a_key_has_a_name_and_scopes() {
        let read =
            wanted(json!({"name": "a", "scopes": ["read", "submit", "read"], "max_in_flight": 4}), NOW)
                .unwrap();
        assert_eq!(
            read,
            Wanted {
                name: "a".to_owned(),
                scopes: vec![Scope::Submit, Scope::Read],
                expires_at: None,
                max_in_flight: Some(4),
            }
        );
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let refused = [
            (json!({"scopes": ["read"]}), "missing_member"),
            (json!({"name": "a", "scopes": []}), "invalid_member"),
            (json!({"name": "a", "scopes": ["root"]}), "invalid_member"),
            (json!({"name": " ", "scopes": ["read"]}), "invalid_member"),
            (
                json!({"name": "a", "scopes": ["read"], "expires_at": "1970-01-01T00:00:01Z"}),
                "invalid_member",
            ),
            (json!({"name": "a", "scopes": ["read"], "tenant": "b"}), "unknown_member"),
        ];
        for (body, code) in refused {
            assert_eq!(wanted(body.clone(), NOW).unwrap_err().code().name(), code, "{body}");
        }
    }
}
