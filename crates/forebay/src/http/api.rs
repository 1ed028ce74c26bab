//! What the handlers share.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::auth::KeyCache;
use super::cursor::Cursors;
use super::events::StreamCounts;
use super::intake::Intake;
use super::openapi;
use crate::app::App;

/// Documents that are held in memory at the same time, on their way in or out.
const DOCUMENTS_IN_MEMORY: usize = 16;

/// What the handlers share; cheap to clone.
#[derive(Clone)]
pub(super) struct Api(Arc<Shared>);

pub(super) struct Shared {
    pub(super) app: App,
    pub(super) intake: Arc<dyn Intake>,
    pub(super) keys: KeyCache,
    pub(super) cursors: Cursors,
    pub(super) streams: Arc<StreamCounts>,
    pub(super) documents: Arc<Semaphore>,
    pub(super) manual: LazyLock<Manual>,
}

/// The API's own documentation, in both forms. Made when it is first asked for: making it takes megabytes, which a
/// process that nobody asks need not have.
pub(super) struct Manual {
    pub(super) openapi: Bytes,
    pub(super) page: Bytes,
}

fn manual() -> Manual {
    let document = openapi::document(&super::routes());
    Manual { openapi: Bytes::from(document.to_string()), page: Bytes::from(openapi::page::render(&document)) }
}

impl Api {
    pub(super) fn new(app: App, intake: Arc<dyn Intake>) -> Self {
        let origin = app.store.origin();
        Self(Arc::new(Shared {
            keys: KeyCache::new(Arc::clone(&app.store)),
            cursors: Cursors::new(app.store.cursor_secret(), origin),
            streams: Arc::new(StreamCounts::default()),
            documents: Arc::new(Semaphore::new(DOCUMENTS_IN_MEMORY)),
            manual: LazyLock::new(manual),
            app,
            intake,
        }))
    }
}

impl Deref for Api {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
