//! The service as a whole: what it starts, in which order, and how it ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_gateway::{Gateway, NoGateway};
use forebay_store::postgres::{self, PostgresStore};
use forebay_store::record::{Actor, NewKey, Scope, TenantSettings};
use forebay_store::sqlite::SqliteStore;
use forebay_store::{Store, StoreError, SystemClock};
use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::app::{App, Process};
use crate::blobs;
use crate::config::{Settings, StoreUrl, Unknown};
use crate::datasets::Tables;
use crate::definitions;
use crate::door::Door;
use crate::http::{self, DEFAULT_TENANT};
use crate::maintain;
use crate::metrics::Metrics;
use crate::presence;
use crate::revisions::{RevisionError, Revisions};
use crate::runtime::Tasks;
use crate::work::Worker;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of blobs can't be used.
    #[error("blobs can't be kept: {0}")]
    Blobs(String),
    /// The stored definitions can't be used.
    #[error(transparent)]
    Definitions(#[from] RevisionError),
    /// The process is told to work on what there is not.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The part that talks to providers can't be set up.
    #[error(transparent)]
    Gateway(#[from] NoGateway),
    /// The first key can't be written down.
    #[error("the admin key can't be written to {path}: {source}")]
    AdminKey {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A running service.
pub struct Service {
    /// Where its API listens.
    pub addr: SocketAddr,
    /// Where the key of the first start is, for tools on this machine, if this is where it was made.
    pub admin_key_file: PathBuf,
    app: App,
    worker: Worker,
    /// Told when the last call is over.
    done: CancellationToken,
}

/// Starts everything: store, definitions, API, workers, maintenance.
///
/// # Errors
///
/// When a part can't start; then none runs.
pub async fn start(settings: Settings) -> Result<Service, StartError> {
    start_with(settings, definitions::DEFAULT).await
}

/// As [`start`], with other definitions for a store that has none.
///
/// # Errors
///
/// When a part can't start; then none runs.
pub async fn start_with(settings: Settings, first_definitions: &str) -> Result<Service, StartError> {
    let listener = listen(settings.listen).await?;
    let addr =
        listener.local_addr().map_err(|source| StartError::Listen { address: settings.listen, source })?;
    let store = open(&settings.store, settings.notify, settings.readers).await?;
    let gateway = Gateway::new()?;
    let blobs = blobs::open(&settings, &gateway).await.map_err(StartError::Blobs)?;
    let revisions = Arc::new(Revisions::open(Arc::clone(&store), first_definitions).await?);
    settings.check_names(&revisions.active().definitions)?;
    let admin_key_file = settings.store.admin_key_file();
    if settings.roles.api {
        first_key(store.as_ref(), &admin_key_file).await?;
    }
    let process = Arc::new(Process::starting(store.now()));
    let app = App {
        store,
        tables: Arc::new(Tables::new(Arc::clone(&blobs))),
        blobs,
        revisions,
        process,
        settings: Arc::new(settings),
        metrics: Arc::new(Metrics::new()),
        tasks: Tasks::default(),
    };
    let worker = Worker::new(app.clone(), gateway);
    let done = CancellationToken::new();
    let roles = app.settings.roles;
    app.tasks.spawn("http", serve_http(listener, app.clone()));
    app.tasks.spawn("revisions", follow_revisions(app.clone()));
    app.tasks.spawn("presence", presence::run(app.clone(), worker.in_hand(), done.clone()));
    if roles.maintain {
        app.tasks.spawn("maintain", maintain::run(app.clone()));
        app.tasks.spawn("retention", maintain::retention::run(app.clone()));
    }
    if roles.work {
        worker.start();
    }
    info!(%addr, revision = app.revisions.active().number, "serving");
    Ok(Service { addr, admin_key_file, app, worker, done })
}

impl Service {
    /// Jobs that have not ended, over all tenants.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn pending_jobs(&self) -> Result<u64, StoreError> {
        let tenants = self.app.store.tenants().await?;
        Ok(tenants.iter().map(|tenant| tenant.pending_jobs).sum())
    }

    /// Stops: no new claims and no new requests, calls under way finish or are handed back, then everything
    /// ends.
    pub async fn stop(self) {
        self.app.tasks.stopping().cancel();
        self.worker.drain().await;
        self.done.cancel();
        self.app.tasks.stop().await;
    }
}

async fn serve_http(listener: TcpListener, app: App) {
    let door = Arc::new(Door::new(app.clone()));
    let make = if app.settings.roles.api { http::router } else { http::health_router };
    let router = make(app.clone(), door);
    if let Err(failure) = http::serve(listener, router, app.tasks.clone()).await {
        error!(%failure, "the API ended");
    }
}

async fn follow_revisions(app: App) {
    app.revisions.follow(app.tasks.stopping()).await;
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { address, source })
}

/// Opens a store; `notify` where it is shared with processes that should be told what this one does, and tell it. On a
/// server, so many read at the same time.
///
/// # Errors
///
/// When it can't be used.
pub async fn open(store: &StoreUrl, notify: bool, readers: usize) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match store {
        StoreUrl::Sqlite(path) => Arc::new(SqliteStore::open(path, Arc::new(SystemClock))?),
        StoreUrl::Postgres(target) => {
            let settings =
                postgres::Settings { notify, readers, ..postgres::Settings::of((**target).clone()) };
            Arc::new(PostgresStore::open(settings).await?)
        }
    })
}

/// On the first start: the tenant `default`, and an admin key in a file that only its owner can read. Of several
/// processes that start at the same time, in one folder or on many machines, one makes the key.
async fn first_key(store: &dyn Store, path: &Path) -> Result<(), StartError> {
    let tenant = match store.tenant(DEFAULT_TENANT).await? {
        Some(tenant) => tenant,
        None => {
            store.put_tenant(DEFAULT_TENANT.to_owned(), TenantSettings::default(), Actor::program()).await?
        }
    };
    if has_admin(store, tenant.id).await? {
        return Ok(());
    }
    let unwritten = |source| StartError::AdminKey { path: path.to_owned(), source };
    let mut file = locked_file(path).map_err(unwritten)?;
    if has_admin(store, tenant.id).await? {
        return remove_if_empty(&file, path).map_err(unwritten);
    }
    let minted = http::mint_key();
    // The file first: a key that nobody has is worth nothing, and the next start makes another.
    write_key(&mut file, minted.text.expose_secret()).map_err(unwritten)?;
    let key = NewKey {
        tenant: tenant.id,
        name: "first admin key".to_owned(),
        digest: minted.digest,
        hint: minted.hint,
        scopes: vec![Scope::Admin],
        expires_at: None,
        max_in_flight: None,
    };
    if store.add_first_key(key, Actor::program()).await?.is_none() {
        std::fs::remove_file(path).map_err(unwritten)?;
    }
    Ok(())
}

async fn has_admin(store: &dyn Store, tenant: i64) -> Result<bool, StoreError> {
    Ok(store.keys(tenant).await?.iter().any(|key| key.scopes.contains(&Scope::Admin)))
}

/// A file for its owner alone, that one process at a time has.
fn locked_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

/// The key was made elsewhere meanwhile: a file without one would be taken for it.
fn remove_if_empty(file: &File, path: &Path) -> io::Result<()> {
    match file.metadata()?.len() {
        0 => std::fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }),
        _ => Ok(()),
    }
}

fn write_key(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}
