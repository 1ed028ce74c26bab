//! Validation policies; the core knows what is in one.

use forebay_core::extract::Policy;

use super::Section;
use super::fault::Faults;
use super::parts::section;

/// Reads `[policies.*]`.
pub(super) fn policies(faults: &mut Faults<'_>) -> Section<Policy> {
    section(faults, "policies", |faults, path, policy: Policy| {
        for error in policy.faults() {
            let member: Vec<&str> = path.iter().copied().chain(error.member.split('.')).collect();
            faults.at(&member, error.message);
        }
        Some(policy)
    })
}
