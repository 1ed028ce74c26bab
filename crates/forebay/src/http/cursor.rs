//! Positions that callers hold: opaque, and useless to forge.
//!
//! A cursor is a payload and the first half of a keyed SHA-256 over it, in base64url. The payload has one
//! length, is hashed with its length before it, and only half of the digest is shown, so that nothing can be
//! appended to a known cursor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use forebay_core::digest::Digest;
use forebay_core::event::Origin;
use forebay_core::id::Incarnation;
use forebay_store::record::Place;

use super::auth::Principal;
use super::problem::Problem;

const PAYLOAD: usize = 1 + 8 + 4 + 8 + 8 + 8;
/// Where the filters stand, or the epoch of an event.
const EPOCH: usize = 1 + 8 + 4 + 8;
const TAG: usize = 16;

/// What a cursor is a position in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// The log of events, of a tenant or of one of its jobs; the part of it in which the position is.
    Events(i64),
    /// A list of jobs, under the filters with this digest.
    Jobs(u64),
    /// A list of dead letters, as above.
    DeadLetters(u64),
    /// The revisions.
    Revisions,
    /// The audit, under the filters with this digest.
    Audit(u64),
    /// A list of batches.
    Batches,
    /// Dead letters that are being replayed, oldest first, as above.
    Replays(u64),
    /// A list of open reviews, under the filters with this digest.
    Reviews(u64),
    /// Decided reviews, whatever the filters: each line has its place among all of them.
    Decisions,
}

impl Series {
    fn tag(self) -> (u8, u64) {
        match self {
            Series::Events(epoch) => (1, epoch.cast_unsigned()),
            Series::Jobs(filters) => (2, filters),
            Series::DeadLetters(filters) => (3, filters),
            Series::Revisions => (4, 0),
            Series::Audit(filters) => (5, filters),
            Series::Batches => (6, 0),
            Series::Replays(filters) => (7, filters),
            Series::Reviews(filters) => (8, filters),
            Series::Decisions => (9, 0),
        }
    }
}

/// A position in this store, or in what it was before a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The store's life in which it was given.
    pub incarnation: Incarnation,
    /// The number in the series.
    pub seq: i64,
}

/// The text is no cursor of this store, tenant and series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor that this server gave to this tenant for this list")]
pub struct Forged;

/// Makes and reads cursors of one store.
#[derive(Clone)]
pub struct Cursors {
    secret: [u8; 32],
    origin: Origin,
}

impl Cursors {
    /// Signs with the store's secret.
    pub fn new(secret: [u8; 32], origin: Origin) -> Self {
        Self { secret, origin }
    }

    /// The store's life that new cursors belong to.
    pub fn incarnation(&self) -> Incarnation {
        self.origin.incarnation
    }

    /// A cursor for a tenant.
    pub fn write(&self, tenant: i64, series: Series, seq: i64) -> String {
        self.write_in(self.origin.incarnation, tenant, series, seq)
    }

    fn write_in(&self, incarnation: Incarnation, tenant: i64, series: Series, seq: i64) -> String {
        let (kind, filters) = series.tag();
        let mut bytes = Vec::with_capacity(PAYLOAD + TAG);
        bytes.push(kind);
        bytes.extend(self.origin.store_id.to_be_bytes());
        bytes.extend(incarnation.0.to_be_bytes());
        bytes.extend(tenant.to_be_bytes());
        bytes.extend(filters.to_be_bytes());
        bytes.extend(seq.to_be_bytes());
        let tag = self.tag(&bytes);
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that this tenant was given for this series.
    ///
    /// # Errors
    ///
    /// When it was not.
    pub fn read(&self, tenant: i64, series: Series, text: &str) -> Result<Position, Forged> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Forged)?;
        let (payload, tag) = bytes.split_at_checked(PAYLOAD).ok_or(Forged)?;
        if !same(tag, &self.tag(payload)) {
            return Err(Forged);
        }
        let incarnation = Incarnation(u32::from_be_bytes(part(payload, 9)?));
        let seq = i64::from_be_bytes(part(payload, PAYLOAD - 8)?);
        // Signed by us; what remains is whether it was for this store, tenant and series.
        if self.write_in(incarnation, tenant, series, seq) == text {
            Ok(Position { incarnation, seq })
        } else {
            Err(Forged)
        }
    }

    /// A cursor for a tenant's reader of the log.
    pub fn write_place(&self, tenant: i64, place: Place) -> String {
        self.write(tenant, Series::Events(place.epoch), place.seq)
    }

    /// Reads a cursor that this tenant's reader of the log was given.
    ///
    /// # Errors
    ///
    /// When it was not.
    pub fn read_place(&self, tenant: i64, text: &str) -> Result<(Incarnation, Place), Forged> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Forged)?;
        let epoch = i64::from_be_bytes(part(&bytes, EPOCH)?);
        let Position { incarnation, seq } = self.read(tenant, Series::Events(epoch), text)?;
        Ok((incarnation, Place { epoch, seq }))
    }

    /// The number at which a page of a list begins.
    pub(super) fn position(&self, principal: &Principal, series: Series, text: &str) -> Result<i64, Problem> {
        let position = self.read(principal.tenant, series, text);
        Ok(position.map_err(|forged| Problem::parameter("cursor", forged.to_string()))?.seq)
    }

    fn tag(&self, payload: &[u8]) -> [u8; TAG] {
        let digest = Digest::of_parts(&[b"forebay cursor", &self.secret, payload]);
        let mut tag = [0; TAG];
        tag.copy_from_slice(&digest.as_bytes()[..TAG]);
        tag
    }
}

fn part<const N: usize>(payload: &[u8], at: usize) -> Result<[u8; N], Forged> {
    payload.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).ok_or(Forged)
}

/// Compares without telling by the time it takes where the first difference is.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cursors(secret: u8, incarnation: u32) -> Cursors {
        Cursors::new([secret; 32], Origin { store_id: 7, incarnation: Incarnation(incarnation) })
    }

    #[test]
    fn a_cursor_of_an_earlier_life_is_still_genuine() {
        let place = Place { epoch: 7, seq: 42 };
        let old = cursors(1, 3).write_place(5, place);
        assert_eq!(cursors(1, 4).read_place(5, &old), Ok((Incarnation(3), place)));
    }

    #[test]
    fn a_cursor_is_for_one_tenant_store_and_series() {
        let ours = cursors(1, 3);
        let cursor = ours.write(5, Series::Jobs(9), 42);
        assert!(ours.read(5, Series::Jobs(9), &cursor).is_ok());
        assert_eq!(ours.read(6, Series::Jobs(9), &cursor), Err(Forged));
        assert_eq!(ours.read(5, Series::Jobs(8), &cursor), Err(Forged));
        assert_eq!(ours.read_place(5, &cursor), Err(Forged));
        assert_eq!(cursors(2, 3).read(5, Series::Jobs(9), &cursor), Err(Forged));
        let other_store = Cursors::new([1; 32], Origin { store_id: 8, incarnation: Incarnation(3) });
        assert_eq!(other_store.read(5, Series::Jobs(9), &cursor), Err(Forged));
    }

    #[test]
    fn what_is_no_cursor_at_all_is_refused() {
        for text in ["", "0", "42", "====", "AAAA", &"A".repeat(1_000)] {
            assert_eq!(cursors(1, 1).read_place(1, text), Err(Forged), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_cursor_reads_back_and_no_changed_one_does(
            tenant: i64, epoch: i64, seq: i64, byte in 0_usize..70, flip in 1_u8..,
        ) {
            let cursors = cursors(1, 1);
            let place = Place { epoch, seq };
            let cursor = cursors.write_place(tenant, place);
            prop_assert_eq!(cursors.read_place(tenant, &cursor).map(|read| read.1), Ok(place));
            let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
            let at = byte % bytes.len();
            bytes[at] ^= flip;
            let forged = URL_SAFE_NO_PAD.encode(bytes);
            prop_assert_eq!(cursors.read_place(tenant, &forged), Err(Forged));
        }
    }
}
