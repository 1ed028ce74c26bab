//! How many streams are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_core::limits::{STREAMS_PER_PROCESS, STREAMS_PER_TENANT};
use forebay_core::time::Millis;

use crate::http::problem::{Code, Problem};

/// When to come back after there was no place for a stream.
const RETRY: Millis = Millis::from_secs(10);

/// Open streams of this process, by tenant.
#[derive(Default)]
pub(in crate::http) struct StreamCounts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    all: usize,
    by_tenant: HashMap<i64, usize>,
}

/// The place of one open stream; free again when it is dropped.
pub(super) struct Place {
    counts: Arc<StreamCounts>,
    tenant: i64,
}

impl StreamCounts {
    /// Takes a place for a stream.
    pub(super) fn enter(self: &Arc<Self>, tenant: i64) -> Result<Place, Problem> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.all >= STREAMS_PER_PROCESS {
            let detail = format!("this server has {STREAMS_PER_PROCESS} open streams, as many as it holds");
            return Err(Problem::new(Code::Overloaded, detail).retry_after(RETRY));
        }
        let of_tenant = counts.by_tenant.entry(tenant).or_default();
        if *of_tenant >= STREAMS_PER_TENANT {
            let detail = format!("the tenant has {STREAMS_PER_TENANT} open streams, as many as it may");
            return Err(Problem::new(Code::QuotaExceeded, detail).retry_after(RETRY));
        }
        *of_tenant += 1;
        counts.all += 1;
        Ok(Place { counts: Arc::clone(self), tenant })
    }

    /// Open streams of all tenants.
    pub(in crate::http) fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all = counts.all.saturating_sub(1);
        if let Some(of_tenant) = counts.by_tenant.get_mut(&self.tenant) {
            *of_tenant = of_tenant.saturating_sub(1);
            if *of_tenant == 0 {
                counts.by_tenant.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_its_places_and_not_one_more() {
        let counts = Arc::new(StreamCounts::default());
        let mut places: Vec<_> = (0..STREAMS_PER_TENANT).map(|_| counts.enter(1).unwrap()).collect();
        assert_eq!(counts.enter(1).err().map(|problem| problem.code()), Some(Code::QuotaExceeded));
        assert!(counts.enter(2).is_ok(), "another tenant is not concerned");
        places.pop();
        assert!(counts.enter(1).is_ok());
        drop(places);
        assert_eq!(counts.open(), 0);
    }

    #[test]
    fn a_process_has_its_places_and_not_one_more() {
        let counts = Arc::new(StreamCounts::default());
        let places: Vec<_> =
            (0..STREAMS_PER_PROCESS).map(|n| counts.enter(i64::try_from(n).unwrap()).unwrap()).collect();
        assert_eq!(counts.enter(-1).err().map(|problem| problem.code()), Some(Code::Overloaded));
        drop(places);
        assert!(counts.enter(-1).is_ok());
    }
}
