//! Definitions by revision: the active ones for pools, limits and prices, and each job's own for its task,
//! schema, prompt and policy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use forebay_core::definition::{Definitions, Task};
use forebay_store::record::{Actor, NewRevision, RevisionRecord};
use forebay_store::{Store, StoreError};

use crate::definitions::{self, DefinitionFault};

/// Definitions ready to use, with their number.
#[derive(Debug)]
pub struct Revision {
    /// The number that jobs record.
    pub number: u32,
    /// What they say.
    pub definitions: Definitions,
}

impl Revision {
    /// The task of that name.
    pub fn task(&self, name: &str) -> Option<&Arc<Task>> {
        self.definitions.tasks.get(name)
    }
}

/// Revisions of one store.
pub struct Revisions {
    store: Arc<dyn Store>,
    active: ArcSwap<Revision>,
    loaded: Mutex<HashMap<u32, Arc<Revision>>>,
}

/// Why definitions can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// They are wrong.
    #[error("the definitions have {} faults; the first: {}", .0.len(), .0.first().map(ToString::to_string).unwrap_or_default())]
    Faults(Vec<DefinitionFault>),
    /// There is none of that number.
    #[error("there is no revision {0}")]
    Unknown(u32),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Revisions {
    /// Loads the active revision of a store; a store without one is given the default definitions.
    ///
    /// # Errors
    ///
    /// When the store fails, or holds definitions that this build can't read.
    pub async fn open(store: Arc<dyn Store>, default: &str) -> Result<Self, RevisionError> {
        let record = match store.active_revision().await? {
            Some(record) => record,
            None => apply_checked(&store, default, Some("the default definitions"), Actor::program()).await?,
        };
        let active = Arc::new(read(&record)?);
        let loaded = Mutex::new(HashMap::from([(active.number, Arc::clone(&active))]));
        Ok(Self { store, active: ArcSwap::new(active), loaded })
    }

    /// The active revision.
    pub fn active(&self) -> Arc<Revision> {
        self.active.load_full()
    }

    /// A revision by its number.
    ///
    /// # Errors
    ///
    /// When there is none, or this build can't read it.
    pub async fn get(&self, number: u32) -> Result<Arc<Revision>, RevisionError> {
        let known = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(revision) = known {
            return Ok(revision);
        }
        let record = self.store.revision(number).await?.ok_or(RevisionError::Unknown(number))?;
        Ok(self.keep(read(&record)?))
    }

    /// Checks definitions as a whole and makes them the active revision.
    ///
    /// # Errors
    ///
    /// When they are wrong, in which case nothing changes, or the store fails.
    pub async fn apply(
        &self,
        source: &str,
        comment: Option<&str>,
        by: Actor,
    ) -> Result<RevisionRecord, RevisionError> {
        let record = apply_checked(&self.store, source, comment, by).await?;
        let revision = self.keep(read(&record)?);
        self.active.rcu(|active| {
            if active.number < revision.number { Arc::clone(&revision) } else { Arc::clone(active) }
        });
        Ok(record)
    }

    fn keep(&self, revision: Revision) -> Arc<Revision> {
        let revision = Arc::new(revision);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(loaded.entry(revision.number).or_insert(revision))
    }
}

async fn apply_checked(
    store: &Arc<dyn Store>,
    source: &str,
    comment: Option<&str>,
    by: Actor,
) -> Result<RevisionRecord, RevisionError> {
    definitions::load(source, &definitions::no_files).map_err(RevisionError::Faults)?;
    let revision = NewRevision { source: source.to_owned(), comment: comment.map(str::to_owned), by };
    Ok(store.apply_revision(revision).await?)
}

fn read(record: &RevisionRecord) -> Result<Revision, RevisionError> {
    let definitions =
        definitions::load(&record.source, &definitions::no_files).map_err(RevisionError::Faults)?;
    Ok(Revision { number: record.number, definitions })
}
