//! The router as a whole, over a store in a folder of its own.

mod access;
mod audit;
mod autoscaling;
mod batches;
mod broken;
mod contract;
mod datasets;
mod documents;
mod events;
mod foreign;
mod jobs;
mod letters;
mod limits;
mod outer;
mod rates;
mod retention;
mod reviews;
mod revisions;
mod server;
mod usage;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::Response;
use forebay_core::attempt::Outcome;
use forebay_core::definition::{CountTokens, PoolLimits};
use forebay_core::id::ClaimId;
use forebay_core::time::Millis;
use forebay_store::blob::FsBlobs;
use forebay_store::record::{
    Actor, AttemptClose, Claim, EventQuery, NewKey, Place, Scope, StepCommit, TenantSettings, Then,
};
use forebay_store::sqlite::SqliteStore;
use forebay_store::{Store, SystemClock};
use http::request::Builder;
use http::{Request, StatusCode};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use super::auth::mint_key;
use super::{DEFAULT_TENANT, router};
use crate::app::{App, Process};
use crate::config::Settings;
use crate::datasets::Tables;
use crate::definitions;
use crate::door::Door;
use crate::metrics::Metrics;
use crate::revisions::Revisions;
use crate::runtime::Tasks;

/// The API over an empty store, without workers: what is submitted stays READY.
struct Bench {
    _folder: TempDir,
    app: App,
    router: Router,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("forebay.db");
        let settings = Settings::for_database(&database);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&database, Arc::new(SystemClock)).unwrap());
        store
            .put_tenant(DEFAULT_TENANT.to_owned(), TenantSettings::default(), Actor::program())
            .await
            .unwrap();
        let blobs = Arc::new(FsBlobs::open(folder.path().join("blobs")).unwrap());
        let app = App {
            tables: Arc::new(Tables::new(blobs.clone())),
            blobs,
            revisions: Arc::new(Revisions::open(Arc::clone(&store), definitions::DEFAULT).await.unwrap()),
            process: Arc::new(Process::starting(store.now())),
            settings: Arc::new(settings),
            metrics: Arc::new(Metrics::new()),
            tasks: Tasks::default(),
            store,
        };
        let router = router(app.clone(), Arc::new(Door::new(app.clone())));
        Self { _folder: folder, app, router }
    }

    /// A key of a tenant, which is made where it is missing.
    async fn key(&self, tenant: &str, scopes: &[Scope]) -> String {
        let tenant = match self.app.store.tenant(tenant).await.unwrap() {
            Some(tenant) => tenant,
            None => self
                .app
                .store
                .put_tenant(tenant.to_owned(), TenantSettings::default(), Actor::program())
                .await
                .unwrap(),
        };
        let minted = mint_key();
        let key = NewKey {
            tenant: tenant.id,
            name: "test".to_owned(),
            digest: minted.digest,
            hint: minted.hint,
            scopes: scopes.to_vec(),
            expires_at: None,
            max_in_flight: None,
        };
        self.app.store.add_key(key, Actor::program()).await.unwrap();
        minted.text.expose_secret().to_owned()
    }

    /// Sends a request as it is.
    async fn send(&self, request: Request<Body>) -> Answer {
        Answer::read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    async fn get(&self, key: &str, path: &str) -> Answer {
        self.send(asked(key, "GET", path).body(Body::empty()).unwrap()).await
    }

    async fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        self.send(asked(key, "POST", path).body(Body::from(body.to_string())).unwrap()).await
    }

    /// Everything that requests can leave behind, to be compared before and after.
    async fn rows(&self) -> String {
        let store = &self.app.store;
        let (tenants, counts) = (store.tenants().await.unwrap(), store.counts(None).await.unwrap());
        let mut rows = format!("{tenants:?} {counts:?} {}", self.app.revisions.active().number);
        for tenant in tenants {
            let keys = store.keys(tenant.id).await.unwrap().len();
            let events = store
                .events(tenant.id, EventQuery { job: None, after: Place::START, limit: 1_000 })
                .await
                .unwrap();
            rows.push_str(&format!(" {keys} keys, {} events", events.events.len()));
        }
        let blobs = std::fs::read_dir(self._folder.path().join("blobs")).unwrap().count();
        format!("{rows} {blobs} folders of blobs")
    }

    /// Submits a job of the first task; gives its id.
    async fn submit(&self, key: &str) -> String {
        let answer = self.post(key, "/v1/jobs", &submission()).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
        answer.body["job_id"].as_str().unwrap().to_owned()
    }
}

impl Bench {
    /// Runs the job whose turn it is, as a worker whose attempt comes to this.
    async fn commit_one(&self, outcome: Outcome, then: Then) {
        let store = &self.app.store;
        let revision = self.app.revisions.active();
        let models = revision.definitions.models.values();
        let claim = Claim {
            id: ClaimId::new(store.now(), rand::random()),
            pool: revision.task("chat").unwrap().model.pool.name.clone(),
            limits: PoolLimits::default(),
            prices: models.map(|model| (model.name.clone(), model.price)).collect(),
            slots: 1,
            tasks: std::collections::BTreeSet::new(),
            task_limits: std::collections::BTreeMap::new(),
            lease: Millis::from_secs(30),
            worker: "test".to_owned(),
            build: "test",
        };
        let claimed = store.claim(claim).await.unwrap().claimed.remove(0);
        let failure = match &then {
            Then::FailJob { failure, .. } | Then::Review { failure, .. } => Some(failure.clone()),
            _ => None,
        };
        let close = AttemptClose {
            outcome,
            failure,
            usage: None,
            provider_request_id: None,
            provider_model: None,
            count_tokens: CountTokens::Reserved,
            cooldown: None,
        };
        let commit = StepCommit {
            job_id: claimed.job_id,
            attempt_id: claimed.attempt_id,
            fence: claimed.fence,
            incarnation: store.origin().incarnation,
            close,
            then,
        };
        store.commit_step(commit).await.unwrap();
    }
}

/// A job that the default definitions have a task for.
fn submission() -> Value {
    json!({"task": "chat", "input": {"prompt": "hello"}, "metadata": {"order": "4711"}})
}

fn asked(key: &str, method: &str, path: &str) -> Builder {
    let request = Request::builder().method(method).uri(path);
    if key.is_empty() { request } else { request.header("authorization", format!("Bearer {key}")) }
}

/// An answer, read whole.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: http::HeaderMap,
    bytes: Vec<u8>,
    /// The body, where it is JSON.
    body: Value,
}

impl Answer {
    async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { status: parts.status, headers: parts.headers, bytes, body }
    }

    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
