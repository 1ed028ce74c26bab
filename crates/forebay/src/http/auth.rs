//! Who asks, and whether the key may.
//!
//! A key is known by its digest alone. What was found is kept for a few seconds, so that a busy caller does not
//! cost a read per request; a revocation in this process takes effect at once, one in another process after
//! [`CACHE_TTL`] at most.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use forebay_core::digest::Digest;
use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;
use forebay_store::record::{Actor, KeyRecord, Scope};
use forebay_store::{Store, StoreError};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use secrecy::SecretString;
use tokio::time::Instant;

use super::DEFAULT_TENANT;
use super::api::Api;
use super::problem::{Code, Problem};
use crate::runtime::random_bytes;

/// How long a key that was found is not looked up again.
pub const CACHE_TTL: Duration = Duration::from_secs(5);
/// Keys that are remembered; beyond it, the old ones are forgotten early.
const CACHE_SIZE: usize = 10_000;
/// Characters of a key that are worth looking up.
const KEY_CHARS: usize = 200;
const PREFIX: &str = "fbk_";
/// Characters of a key that are kept to recognise it by.
const HINT_CHARS: usize = 10;

/// Who asks; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(Arc<KeyHolder>);

impl Deref for Principal {
    type Target = KeyHolder;

    fn deref(&self) -> &KeyHolder {
        &self.0
    }
}

/// What is known of whoever has a key.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The tenant's number.
    pub tenant: i64,
    /// The tenant's name.
    pub tenant_name: String,
    /// The key.
    pub key_id: KeyId,
    /// What the key is called.
    pub key_name: String,
    /// What the key may do.
    pub scopes: Vec<Scope>,
}

impl Principal {
    /// Whether the key may do what the scope stands for.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Whether the key looks after the whole installation: an admin of the tenant `default`.
    pub fn is_installation_admin(&self) -> bool {
        self.tenant_name == DEFAULT_TENANT && self.has(Scope::Admin)
    }

    /// Who asks, for the audit.
    pub fn actor(&self) -> Actor {
        Actor { key: Some(self.key_id), name: self.key_name.clone() }
    }

    /// Refuses everybody but admins of the whole installation.
    ///
    /// # Errors
    ///
    /// 403.
    pub fn must_be_installation_admin(&self) -> Result<(), Problem> {
        if self.is_installation_admin() {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!("only a key of the tenant `{DEFAULT_TENANT}` with the scope `admin` may do this"),
        ))
    }
}

impl From<KeyRecord> for Principal {
    fn from(key: KeyRecord) -> Self {
        Self(Arc::new(KeyHolder {
            tenant: key.tenant,
            tenant_name: key.tenant_name,
            key_id: key.id,
            key_name: key.name,
            scopes: key.scopes,
        }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Absent only where a handler asks for a principal on a route that is open to everybody.
        parts.extensions.get::<Principal>().cloned().ok_or_else(Problem::internal)
    }
}

/// The digest of the key that a request came with, for those who ask again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credential(Digest);

impl<S: Send + Sync> FromRequestParts<S> for Credential {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Credential>().copied().ok_or_else(Problem::internal)
    }
}

/// Who asks, and by which key.
pub(super) struct Identity {
    pub(super) principal: Principal,
    pub(super) credential: Credential,
}

/// Says who asks; refuses a request without a key that works and has the scope.
pub(super) async fn admit(api: &Api, headers: &HeaderMap, scope: Scope) -> Result<Identity, Problem> {
    let credential = Credential(Digest::of(bearer(headers)?.as_bytes()));
    let principal = api.keys.principal(credential).await?;
    if principal.has(scope) {
        Ok(Identity { principal, credential })
    } else {
        Err(Problem::new(Code::Forbidden, format!("the key lacks the scope `{}`", scope.name())))
    }
}

/// The text of the key that the request carries.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(unauthorized("the request has no key"));
    };
    let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).unwrap_or_default();
    let key = key.trim();
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if scheme.eq_ignore_ascii_case("bearer") && key.starts_with(PREFIX) && visible && key.len() <= KEY_CHARS {
        return Ok(key);
    }
    Err(unauthorized("the header Authorization is not `Bearer fbk_...`"))
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

/// Keys that were looked up lately.
pub(super) struct KeyCache {
    store: Arc<dyn Store>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    keys: HashMap<Digest, (KnownKey, Instant)>,
    /// Rises with each revocation: what was read before one is not remembered after it.
    revocations: u64,
}

impl KeyCache {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, known: Mutex::default() }
    }

    /// Who has the key.
    ///
    /// # Errors
    ///
    /// 401 when the key is unknown, expired or revoked.
    pub(super) async fn principal(&self, credential: Credential) -> Result<Principal, Problem> {
        let key = self.find(credential.0).await?.ok_or_else(|| unauthorized("the key is not known"))?;
        key.check(self.store.now())?;
        Ok(key.principal)
    }

    /// Takes note that a key was revoked.
    pub(super) fn forget(&self, key: KeyId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys.retain(|_, (known, _)| known.principal.key_id != key);
        known.revocations += 1;
    }

    async fn find(&self, digest: Digest) -> Result<Option<KnownKey>, StoreError> {
        let now = Instant::now();
        let revocations = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            match known.keys.get(&digest) {
                Some((key, read_at)) if now.duration_since(*read_at) < CACHE_TTL => {
                    return Ok(Some(key.clone()));
                }
                _ => known.revocations,
            }
        };
        let found = self.store.key_by_digest(digest).await?.map(KnownKey::from);
        if let Some(key) = &found {
            self.remember(digest, key.clone(), now, revocations);
        }
        Ok(found)
    }

    fn remember(&self, digest: Digest, key: KnownKey, read_at: Instant, revocations: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.revocations != revocations {
            return;
        }
        if known.keys.len() >= CACHE_SIZE {
            known.keys.retain(|_, (_, at)| read_at.saturating_duration_since(*at) < CACHE_TTL);
        }
        if known.keys.len() < CACHE_SIZE {
            known.keys.insert(digest, (key, read_at));
        }
    }
}

/// A key that was looked up.
#[derive(Clone)]
struct KnownKey {
    principal: Principal,
    expires_at: Option<Timestamp>,
    revoked: bool,
}

impl From<KeyRecord> for KnownKey {
    fn from(key: KeyRecord) -> Self {
        let (expires_at, revoked) = (key.expires_at, key.revoked_at.is_some());
        Self { principal: Principal::from(key), expires_at, revoked }
    }
}

impl KnownKey {
    fn check(&self, now: Timestamp) -> Result<(), Problem> {
        if self.revoked {
            return Err(unauthorized("the key was revoked"));
        }
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(unauthorized("the key has expired"));
        }
        Ok(())
    }
}

/// A new key: its text, which nobody can find out again, and what is kept of it.
pub struct MintedKey {
    /// What the caller sends: `fbk_` and 43 characters.
    pub text: SecretString,
    /// What the key is known by.
    pub digest: Digest,
    /// Its first characters, to recognise it by.
    pub hint: String,
}

/// Makes a new key out of 32 random bytes.
pub fn mint_key() -> MintedKey {
    let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random_bytes::<32>()));
    MintedKey {
        digest: Digest::of(text.as_bytes()),
        hint: text.chars().take(HINT_CHARS).collect(),
        text: SecretString::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use secrecy::ExposeSecret as _;

    fn principal(tenant_name: &str, scopes: &[Scope]) -> Principal {
        let key_id = KeyId::from_bytes([1; 16]);
        let (tenant_name, key_name) = (tenant_name.to_owned(), "test".to_owned());
        Principal(Arc::new(KeyHolder { tenant: 1, tenant_name, key_id, key_name, scopes: scopes.to_vec() }))
    }

    #[test]
    fn a_scope_gives_itself_and_admin_gives_all() {
        for held in Scope::ALL {
            for wanted in Scope::ALL {
                let expected = held == wanted || held == Scope::Admin;
                assert_eq!(principal("a", &[held]).has(wanted), expected, "{held:?} {wanted:?}");
            }
        }
        assert!(!principal("a", &[]).has(Scope::Read));
    }

    #[test]
    fn only_admins_of_the_default_tenant_look_after_the_installation() {
        assert!(principal("default", &[Scope::Admin]).is_installation_admin());
        assert!(!principal("default", &[Scope::Operate]).is_installation_admin());
        assert!(!principal("acme", &[Scope::Admin]).is_installation_admin());
    }

    #[test]
    fn a_key_is_32_random_bytes_and_known_by_its_digest() {
        let (one, other) = (mint_key(), mint_key());
        let text = one.text.expose_secret();
        assert_eq!(text.len(), 4 + 43);
        assert!(text.starts_with(&one.hint) && one.hint.len() == HINT_CHARS);
        assert_eq!(one.digest, Digest::of(text.as_bytes()));
        assert_ne!(one.digest, other.digest);
    }

    #[test]
    fn only_a_bearer_key_of_ours_is_looked_up() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            bearer(&headers).map(str::to_owned).map_err(|problem| problem.code())
        };
        assert_eq!(read("Bearer fbk_abc"), Ok("fbk_abc".to_owned()));
        assert_eq!(read("bearer fbk_abc"), Ok("fbk_abc".to_owned()));
        for refused in ["Basic fbk_abc", "Bearer sk-abc", "fbk_abc", "Bearer fbk_a b", "Bearer "] {
            assert_eq!(read(refused), Err(Code::Unauthorized), "{refused}");
        }
        assert_eq!(bearer(&HeaderMap::new()).map_err(|problem| problem.code()), Err(Code::Unauthorized));
    }

    #[test]
    fn expired_and_revoked_keys_do_not_work() {
        let now = Timestamp::from_millis(1_000);
        let key = KeyRecord {
            id: KeyId::from_bytes([1; 16]),
            tenant: 1,
            tenant_name: "a".to_owned(),
            name: "k".to_owned(),
            hint: "fbk_abc".to_owned(),
            scopes: vec![],
            created_at: now,
            expires_at: None,
            revoked_at: None,
            max_in_flight: None,
            in_flight: 0,
        };
        let check = |key: KeyRecord| KnownKey::from(key).check(now);
        assert!(check(key.clone()).is_ok());
        let expiring = |at| KeyRecord { expires_at: Some(Timestamp::from_millis(at)), ..key.clone() };
        assert!(check(expiring(1_001)).is_ok());
        assert!(check(expiring(1_000)).is_err());
        assert!(check(KeyRecord { revoked_at: Some(now), ..key }).is_err());
    }
}
