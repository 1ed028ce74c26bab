//! Definitions by revision: the active ones for pools, limits and prices, and each job's own for its task,
//! schema, prompt and policy.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use forebay_core::definition::{Definitions, Task};
use forebay_core::money::Price;
use forebay_store::record::{Actor, Applied, NewRevision, RevisionInfo, RevisionRecord};
use forebay_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::definitions::{self, DefinitionFault};

/// How often it is looked which revision is active when nobody tells.
const LOOK: Duration = Duration::from_secs(10);

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

    /// The tasks that may have so many calls at the same time only.
    pub fn task_limits(&self) -> BTreeMap<String, u64> {
        let tasks = self.definitions.tasks.values();
        tasks.filter_map(|task| Some((task.name.clone(), task.max_in_flight?))).collect()
    }
}

/// Revisions of one store.
pub struct Revisions {
    store: Arc<dyn Store>,
    active: ArcSwap<Revision>,
    loaded: Mutex<HashMap<u32, Arc<Revision>>>,
    /// What models cost last that the active revision has no more, with the number of the active revision.
    retired: Mutex<(u32, BTreeMap<String, Price>)>,
    activated: Notify,
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
    /// An older revision is not what this build takes.
    #[error("this build can't use the definitions of revision {number}, which have {} faults; the first: {}",
        .faults.len(), .faults.first().map(ToString::to_string).unwrap_or_default())]
    Unusable {
        /// Which revision.
        number: u32,
        /// What is wrong with it.
        faults: Vec<DefinitionFault>,
    },
    /// Another revision is active than the one that was expected.
    #[error("{}", moved(.expected, .active))]
    Moved {
        /// The number that was expected.
        expected: u32,
        /// What is active instead.
        active: Box<RevisionInfo>,
    },
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
            None => {
                check(default).map_err(RevisionError::Faults)?;
                let comment = Some("the default definitions".to_owned());
                // Where another process was faster, its first ones are active.
                let first =
                    NewRevision { comment, expect: Some(0), ..NewRevision::of(default, Actor::program()) };
                store.apply_revision(first).await?.active().clone()
            }
        };
        let active = Arc::new(read(&record)?);
        let loaded = Mutex::new(HashMap::from([(active.number, Arc::clone(&active))]));
        Ok(Self {
            store,
            active: ArcSwap::new(active),
            loaded,
            retired: Mutex::default(),
            activated: Notify::new(),
        })
    }

    /// The active revision.
    pub fn active(&self) -> Arc<Revision> {
        self.active.load_full()
    }

    /// Makes what other processes apply the active revision of this one, too, until it stops.
    pub async fn follow(&self, stopping: &CancellationToken) {
        let signal = self.store.revision_signal();
        loop {
            if let Err(error) = self.look().await {
                error!(%error, "the active revision can't be used: this process goes on with the one before");
            }
            tokio::select! {
                () = signal.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = stopping.cancelled() => return,
            }
        }
    }

    async fn look(&self) -> Result<(), RevisionError> {
        match self.store.active_revision().await? {
            Some(record) if record.info.number > self.active().number => {
                let number = record.info.number;
                self.activate(read(&record)?);
                info!(revision = number, "another process has applied definitions");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn activate(&self, revision: Revision) {
        let revision = self.keep(revision);
        self.active.rcu(|active| {
            if active.number < revision.number { Arc::clone(&revision) } else { Arc::clone(active) }
        });
        self.activated.notify_waiters();
    }

    /// Notified when another revision is active. Register before looking.
    pub fn activated(&self) -> &Notify {
        &self.activated
    }

    /// What models cost now: those of the active revision, and those that were recalled.
    pub fn prices(&self) -> BTreeMap<String, Price> {
        let active = self.active();
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let mut prices = if retired.0 == active.number { retired.1.clone() } else { BTreeMap::new() };
        prices.extend(active.definitions.models.iter().map(|(name, model)| (name.clone(), model.price)));
        prices
    }

    /// Finds out what a model cost last that the active revision has no more and jobs of `oldest` still use. One
    /// that this build can read in no revision costs nothing: a job of such a revision can't be run either, and the
    /// next claim says so.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn recall_price(&self, model: &str, oldest: u32) -> Result<(), StoreError> {
        let active = self.active().number;
        let mut price = Price::default();
        for number in (oldest..active).rev() {
            match self.get(number).await {
                Err(RevisionError::Store(failure)) => return Err(failure),
                Err(_) => {}
                Ok(revision) => {
                    if let Some(known) = revision.definitions.models.get(model) {
                        price = known.price;
                        break;
                    }
                }
            }
        }
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        if retired.0 != active {
            *retired = (active, BTreeMap::new());
        }
        retired.1.insert(model.to_owned(), price);
        Ok(())
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
    /// When they are wrong or another revision is active than the expected one, in which case nothing changes;
    /// or the store fails.
    pub async fn apply(&self, revision: NewRevision) -> Result<Applied, RevisionError> {
        let applied = apply_checked(&self.store, revision).await?;
        self.activate(read(applied.active())?);
        Ok(applied)
    }

    /// The text of a revision that may be made the active one again.
    ///
    /// # Errors
    ///
    /// When there is none of that number, this build can't use it, or the store fails.
    pub async fn usable(&self, number: u32) -> Result<RevisionRecord, RevisionError> {
        let record = self.store.revision(number).await?.ok_or(RevisionError::Unknown(number))?;
        match check(&record.source) {
            Ok(_) => Ok(record),
            Err(faults) => Err(RevisionError::Unusable { number, faults }),
        }
    }

    fn keep(&self, revision: Revision) -> Arc<Revision> {
        let revision = Arc::new(revision);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(loaded.entry(revision.number).or_insert(revision))
    }
}

/// Makes definitions that stand alone ready to use.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn check(source: &str) -> Result<Definitions, Vec<DefinitionFault>> {
    definitions::load(source, &definitions::no_files)
}

async fn apply_checked(store: &Arc<dyn Store>, revision: NewRevision) -> Result<Applied, RevisionError> {
    check(&revision.source).map_err(RevisionError::Faults)?;
    let expected = revision.expect;
    match (store.apply_revision(revision).await?, expected) {
        (Applied::Moved(record), Some(expected)) => {
            Err(RevisionError::Moved { expected, active: Box::new(record.info) })
        }
        (applied, _) => Ok(applied),
    }
}

fn read(record: &RevisionRecord) -> Result<Revision, RevisionError> {
    let definitions = check(&record.source).map_err(RevisionError::Faults)?;
    Ok(Revision { number: record.info.number, definitions })
}

/// Who applied what in between.
fn moved(expected: &u32, active: &RevisionInfo) -> String {
    let RevisionInfo { number, created_at, by, comment, .. } = active;
    let comment = comment.as_deref().map(|comment| format!(" ({comment})")).unwrap_or_default();
    format!("revision {number} is active, not {expected}: `{}` applied it at {created_at}{comment}", by.name)
}
