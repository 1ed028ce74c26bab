//! The bugs of `tests/planted-bugs` can still be planted: each patch fits the code as it is, to the letter.

use std::path::PathBuf;

use crate::source::files;
use crate::{none, root};

/// A patch of `scripts/planted-bugs`.
struct Bug {
    file: PathBuf,
    text: String,
}

impl Bug {
    fn all() -> Vec<Self> {
        let read = |file: PathBuf| Bug { text: std::fs::read_to_string(&file).expect("a patch"), file };
        files(&root().join("tests/planted-bugs"), &[".patch"]).into_iter().map(read).collect()
    }

    fn name(&self) -> &str {
        self.file.file_stem().and_then(|name| name.to_str()).expect("a name")
    }

    fn headline(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// What does not fit, if anything.
    fn misfits(&self) -> Option<String> {
        if !self.text.lines().any(|line| line.starts_with("Stages: ")) {
            return Some("no line `Stages: `".to_owned());
        }
        let hunks = self.hunks();
        let misfit = hunks.iter().find(|(target, before)| {
            let code = std::fs::read_to_string(root().join(target)).unwrap_or_default();
            format!("\n{code}").matches(before.as_str()).count() != 1
        });
        match misfit {
            Some((target, before)) => Some(format!("{target} does not have once:{before}")),
            None => hunks.is_empty().then(|| "it changes nothing".to_owned()),
        }
    }

    /// The lines that each part of the patch finds in its file, with the end of a line before each.
    fn hunks(&self) -> Vec<(&str, String)> {
        let mut hunks: Vec<(&str, String)> = Vec::new();
        let mut target = "";
        for line in self.text.lines() {
            if let Some(file) = line.strip_prefix("--- ") {
                target = file;
            } else if line.starts_with("@@") {
                hunks.push((target, "\n".to_owned()));
            } else if let (Some(was), Some((_, before))) =
                (line.strip_prefix([' ', '-']), hunks.last_mut().filter(|(file, _)| *file == target))
            {
                before.push_str(was);
                before.push('\n');
            }
        }
        hunks
    }
}

#[test]
fn planted_bugs_fit_the_code() {
    let bugs = Bug::all();
    assert!(bugs.len() > 15, "{} bugs", bugs.len());
    let misfits = bugs.iter().filter_map(|bug| bug.misfits().map(|why| format!("{}: {why}", bug.name())));
    none(
        &misfits.collect::<Vec<_>>(),
        "Plant the bug in the code as it is now (tests/planted-bugs), and run scripts/planted-bugs --only with its number.",
    );
}

#[test]
fn planted_bugs_are_documented_with_what_noticed_them() {
    let table = std::fs::read_to_string(root().join("docs/planted-bugs.md")).expect("the table");
    let missing = Bug::all().into_iter().filter(|bug| {
        let number = bug.name().split('-').next().unwrap_or_default();
        let row = format!("| {number} | {} | ", bug.headline().trim_end_matches('.'));
        !table.lines().any(|line| line.starts_with(&row) && !line.contains("**"))
    });
    let missing: Vec<_> = missing.map(|bug| bug.name().to_owned()).collect();
    none(&missing, "Run scripts/planted-bugs --only with their numbers: it writes the table.");
}
