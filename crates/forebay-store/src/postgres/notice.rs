//! A notice as the text that the server carries: `1 SENDER` and words, one a fact.

use std::fmt;

use forebay_core::id::JobId;

use crate::ledger::outbox::Notice;
use crate::record::Taken;

/// What this build writes.
const VERSION: &str = "1";
/// The server takes less than 8,000 bytes.
const MOST: usize = 7_800;
const LOG: &str = "log";
const REVISION: &str = "revision";
const ALL: &str = "all";

/// Which process has sent a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender(u64);

impl Sender {
    pub(super) fn new() -> Self {
        Self(rand::random())
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What has been heard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// What this process has sent itself.
    Echo,
    Notice(Notice),
    /// Something may have happened anywhere: a newer build said more than this one understands, or there was too much.
    Anything,
}

/// A notice without news: whoever has sent it hears whether it comes back.
pub(super) fn ping(sender: Sender) -> String {
    format!("{VERSION} {sender}")
}

pub(super) fn write(sender: Sender, notice: &Notice) -> String {
    let mut text = ping(sender);
    let pools = notice.pools.iter().map(|pool| format!("pool:{pool}"));
    let taken = notice.taken.iter().map(|taken| format!("taken:{}:{}", taken.job_id, taken.fence));
    let log = notice.log.then(|| LOG.to_owned());
    let revision = notice.revision.then(|| REVISION.to_owned());
    for word in pools.chain(taken).chain(log).chain(revision) {
        if text.len() + word.len() > MOST {
            return format!("{} {ALL}", ping(sender));
        }
        text.push(' ');
        text.push_str(&word);
    }
    text
}

pub(super) fn read(own: Sender, text: &str) -> Heard {
    let mut words = text.split(' ');
    if words.next() != Some(VERSION) {
        return Heard::Anything;
    }
    if words.next() == Some(&own.to_string()) {
        return Heard::Echo;
    }
    let mut notice = Notice::default();
    for word in words {
        match word.split_once(':') {
            Some(("pool", name)) => drop(notice.pools.insert(name.to_owned())),
            Some(("taken", taken)) => match read_taken(taken) {
                Some(taken) => notice.taken.push(taken),
                None => return Heard::Anything,
            },
            None if word == LOG => notice.log = true,
            None if word == REVISION => notice.revision = true,
            _ => return Heard::Anything,
        }
    }
    Heard::Notice(notice)
}

fn read_taken(text: &str) -> Option<Taken> {
    let (job, fence) = text.split_once(':')?;
    Some(Taken { job_id: job.parse::<JobId>().ok()?, fence: fence.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(pools: &[&str]) -> Notice {
        Notice { pools: pools.iter().map(|&pool| pool.to_owned()).collect(), ..Notice::default() }
    }

    #[test]
    fn what_is_written_is_what_others_read() {
        let (one, other) = (Sender::new(), Sender::new());
        let full = Notice {
            taken: vec![Taken { job_id: JobId::from_bytes([7; 16]), fence: 3 }],
            log: true,
            revision: true,
            ..notice(&["main", "a-b.c_d"])
        };
        for notice in [full, notice(&["main"]), Notice::default()] {
            let text = write(one, &notice);
            assert_eq!(read(other, &text), Heard::Notice(notice), "{text}");
            assert_eq!(read(one, &text), Heard::Echo);
        }
    }

    #[test]
    fn whatever_is_not_understood_may_be_anything() {
        let own = Sender::new();
        for text in ["", "2 x", "1 0 new", "1 0 taken:job_1:2", "1 0 colour:blue", "1 0 all"] {
            assert_eq!(read(own, text), Heard::Anything, "{text}");
        }
        let many: Vec<_> = (0..500).map(|nth| format!("a-pool-with-a-long-name-{nth}")).collect();
        let text = write(Sender::new(), &notice(&many.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(text.len() < 8_000);
        assert_eq!(read(own, &text), Heard::Anything);
    }
}
