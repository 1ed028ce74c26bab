//! Fuzzing on a stable compiler: entries of a checked-in corpus, mutated by a seeded generator, against properties.
//!
//! Every entry is tried as it is first, so that the corpus is a list of regressions, too. Then come mutations: some
//! thousands in a test run, or as many as fit `FOREBAY_FUZZ_SECONDS`, from `FOREBAY_FUZZ_SEED` on. A failure says with
//! which input, so that it can become an entry.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Mutations in a test run.
const ITERATIONS: u64 = 3_000;
/// Bytes that a mutation may grow to.
const MOST_BYTES: usize = 64 * 1024;

/// Holds a property for the corpus of a target and for mutations of it.
pub(crate) fn run(target: &str, dictionary: &[&str], property: impl Fn(&[u8])) {
    let corpus = corpus(target);
    let try_one = |input: &[u8], what: &str| {
        if catch_unwind(AssertUnwindSafe(|| property(input))).is_err() {
            panic!("{target} fails with {what}; keep it in fuzz/corpus/{target}:\n{}", input.escape_ascii());
        }
    };
    for (path, entry) in &corpus {
        try_one(entry, &path.display().to_string());
    }
    let entries: Vec<&[u8]> = corpus.iter().map(|(_, entry)| entry.as_slice()).collect();
    let seed = number("FOREBAY_FUZZ_SEED").unwrap_or(1);
    let mut enough = enough();
    for nth in 0.. {
        if enough(nth) {
            return;
        }
        let mut random = Random::new(seed, nth);
        let input = mutated(&mut random, &entries, dictionary);
        try_one(&input, &format!("mutation {nth} of seed {seed}"));
    }
}

/// Says when there were enough mutations.
#[allow(clippy::disallowed_methods, reason = "how long to fuzz is no behaviour of the code under test")]
fn enough() -> impl FnMut(u64) -> bool {
    let seconds = number("FOREBAY_FUZZ_SECONDS").map(Duration::from_secs);
    let began = Instant::now();
    move |nth| seconds.map_or(nth >= ITERATIONS, |seconds| began.elapsed() >= seconds)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no entries", folder.display());
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// One to eight changes of an entry.
fn mutated(random: &mut Random, entries: &[&[u8]], dictionary: &[&str]) -> Vec<u8> {
    let mut bytes = entries[random.below(entries.len())].to_vec();
    for _ in 0..=random.below(8) {
        mutate(random, &mut bytes, entries, dictionary);
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>, entries: &[&[u8]], dictionary: &[&str]) {
    const STRANGE: &[u8] = b"\0\x7f\x80\xff\xc0\xed\xef\r\n\t \"'\\{}[],:.-+eE0193";
    let from = random.below(bytes.len() + 1);
    let to = from + random.below((bytes.len() - from).min(64) + 1);
    match random.below(8) {
        0 if from < bytes.len() => bytes[from] ^= 1 << random.below(8),
        1 if from < bytes.len() => bytes[from] = STRANGE[random.below(STRANGE.len())],
        2 => bytes.insert(from, STRANGE[random.below(STRANGE.len())]),
        3 => drop(bytes.drain(from..to)),
        4 => {
            let piece = bytes[from..to].repeat(1 + random.below(4));
            bytes.splice(from..from, piece);
        }
        5 if !dictionary.is_empty() => {
            bytes.splice(from..to, dictionary[random.below(dictionary.len())].bytes());
        }
        6 => {
            let other = entries[random.below(entries.len())];
            let start = random.below(other.len() + 1);
            let end = start + random.below((other.len() - start).min(256) + 1);
            bytes.splice(from..to, other[start..end].iter().copied());
        }
        7 => bytes.truncate(from),
        _ => {}
    }
}

/// Numbers that are the same for the same seed (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, nth: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nth.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}
