//! How fast jobs may be handed in: which of the limits a job counts against.
//!
//! The limits are the active definitions'. Where there are none, a job costs the store nothing for them.

use forebay_core::definition::SubmitLimits;
use forebay_core::digest::Digest;
use forebay_core::rate::{Counted, Rate};
use forebay_store::record::RateLimit;

use super::Caller;

/// The limits that a job counts against. Whom a caller names is known by a digest alone.
pub(super) fn limits(limits: &SubmitLimits, caller: Caller, user: Option<&str>) -> Vec<RateLimit> {
    let Caller { tenant, key_id } = caller;
    let limit = |counted, rate: Option<Rate>, who: Option<String>| {
        Some(RateLimit { counted, who: who?, rate: rate? })
    };
    let user = user.filter(|_| limits.user.is_some());
    [
        limit(Counted::Tenant, limits.tenant, Some(tenant.to_string())),
        limit(Counted::Key, limits.key, key_id.map(|key| key.to_string())),
        limit(
            Counted::User,
            limits.user,
            user.map(|user| format!("{tenant}/{}", Digest::of(user.as_bytes()))),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use forebay_core::id::KeyId;

    use super::*;

    fn caller(tenant: i64) -> Caller {
        Caller { tenant, key_id: Some(KeyId::from_bytes([1; 16])) }
    }

    #[test]
    fn a_job_counts_where_there_is_a_limit_and_somebody_to_count() {
        let rate = Rate::per_minute(60);
        let all = SubmitLimits { tenant: rate, key: rate, user: rate };
        let counted = |limits: &SubmitLimits, caller, user| {
            super::limits(limits, caller, user).iter().map(|limit| limit.counted).collect::<Vec<_>>()
        };
        assert_eq!(counted(&SubmitLimits::default(), caller(1), Some("ada")), []);
        assert_eq!(counted(&all, caller(1), Some("ada")), [Counted::Tenant, Counted::Key, Counted::User]);
        assert_eq!(counted(&all, caller(1), None), [Counted::Tenant, Counted::Key]);
        assert_eq!(counted(&all, Caller { key_id: None, ..caller(1) }, None), [Counted::Tenant]);
    }

    #[test]
    fn the_same_user_of_two_tenants_is_two_and_neither_is_named() {
        let limits = SubmitLimits { user: Rate::per_minute(60), ..SubmitLimits::default() };
        let who = |tenant| super::limits(&limits, caller(tenant), Some("ada"))[0].who.clone();
        assert_ne!(who(1), who(2));
        assert!(!who(1).contains("ada") && who(1).len() <= 100);
    }
}
