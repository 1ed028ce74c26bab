//! What migrations may do: an expansion only adds, so that the release before works on beside it.

use std::collections::BTreeSet;
use std::fs;

use super::{none, root};

#[test]
fn every_migration_says_what_it_is_and_an_expansion_only_adds() {
    let mut findings = Vec::new();
    for database in ["sqlite", "postgres"] {
        let folder = root().join("crates/forebay-store/migrations").join(database);
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = format!("{database}/{}", path.file_name().unwrap().to_string_lossy());
            let faults = faults(&fs::read_to_string(path).unwrap());
            findings.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    none(&findings, "CONTRIBUTING.md and docs/upgrades.md say what each kind of migration may do.");
}

/// What is wrong with a migration.
fn faults(sql: &str) -> Vec<String> {
    let first = sql.lines().next().unwrap_or_default();
    if let Some(needs) = first.strip_prefix("-- contract: needs ") {
        let parts: Vec<_> = needs.split('.').collect();
        let is_release = parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok());
        return if is_release { Vec::new() } else { vec![format!("`{needs}` is no release")] };
    }
    if first != "-- expand" {
        return vec!["its first line is neither `-- expand` nor `-- contract: needs 1.2.3`".to_owned()];
    }
    let statements = statements(sql);
    let own: BTreeSet<&str> =
        statements.iter().filter_map(|words| after(words, &["CREATE", "TABLE"])).collect();
    let wrong = statements.iter().filter(|words| !only_adds(words, &own));
    wrong.map(|words| format!("this does not only add: {}", words[..words.len().min(12)].join(" "))).collect()
}

/// Whether a statement leaves alone what a release before writes and reads.
fn only_adds(words: &[String], own: &BTreeSet<&str>) -> bool {
    let is = |beginning: &[&str]| begins(words, beginning);
    let on = |at: &str| words.iter().position(|word| word == at).and_then(|at| words.get(at + 1));
    let on_own = |at: &str| on(at).is_some_and(|table| own.contains(table.as_str()));
    if is(&["CREATE", "TABLE"]) || is(&["CREATE", "VIEW"]) || is(&["CREATE", "SEQUENCE"]) {
        return true;
    }
    if is(&["CREATE", "FUNCTION"]) || is(&["CREATE", "OR", "REPLACE"]) {
        return true;
    }
    if is(&["CREATE", "UNIQUE", "INDEX"]) || is(&["CREATE", "TRIGGER"]) {
        return on_own("ON");
    }
    if is(&["CREATE", "INDEX"]) {
        // On a table that is there, it may have been made by hand, without holding up those who write.
        return on_own("ON") || is(&["CREATE", "INDEX", "IF", "NOT", "EXISTS"]);
    }
    if is(&["INSERT", "INTO"]) {
        return on_own("INTO");
    }
    let adds_column = is(&["ALTER", "TABLE"]) && words.get(3).is_some_and(|word| word == "ADD");
    let optional =
        !words.windows(2).any(|pair| pair == ["NOT", "NULL"]) || words.iter().any(|word| word == "DEFAULT");
    let free = ["CONSTRAINT", "CHECK", "UNIQUE", "REFERENCES", "PRIMARY"];
    adds_column
        && optional
        && !words.iter().any(|word| free.contains(&word.as_str()))
        && words.get(4).is_some_and(|word| word == "COLUMN")
}

fn begins(words: &[String], beginning: &[&str]) -> bool {
    words.len() > beginning.len() && words.iter().zip(beginning).all(|(word, expected)| word == expected)
}

fn after<'w>(words: &'w [String], beginning: &[&str]) -> Option<&'w str> {
    begins(words, beginning).then(|| words[beginning.len()].as_str())
}

/// The words of each statement in capitals, without comments, texts and the bodies of functions and triggers.
fn statements(sql: &str) -> Vec<Vec<String>> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    let text: String = text.split("$$").step_by(2).collect::<Vec<_>>().join(" ");
    let text: String = text.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let mut found: Vec<Vec<String>> = Vec::new();
    for statement in text.split(';') {
        let words = statement.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_uppercase).collect();
        // The end of a trigger's body belongs to the trigger.
        if !words.is_empty() && words != ["END"] {
            found.push(words);
        }
    }
    found
}

#[test]
fn what_an_older_process_would_stumble_over_is_found() {
    for statement in [
        "DROP TABLE jobs",
        "ALTER TABLE jobs DROP COLUMN pool",
        "ALTER TABLE jobs RENAME COLUMN pool TO pond",
        "ALTER TABLE jobs RENAME TO tasks",
        "ALTER TABLE jobs ADD COLUMN dreams BIGINT NOT NULL",
        "ALTER TABLE jobs ADD COLUMN dreams BIGINT CHECK (dreams > 0)",
        "ALTER TABLE jobs ADD CONSTRAINT c CHECK (fence > 0)",
        "ALTER TABLE jobs ALTER COLUMN pool TYPE BIGINT",
        "ALTER TABLE jobs ALTER COLUMN batch SET NOT NULL",
        "CREATE UNIQUE INDEX jobs_unique ON jobs (task)",
        "CREATE INDEX jobs_slow ON jobs (task)",
        "CREATE TRIGGER t BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()",
        "UPDATE jobs SET pool = 'other'",
        "DELETE FROM jobs",
        "INSERT INTO jobs (seq) VALUES (1)",
    ] {
        assert_eq!(faults(&format!("-- expand\n{statement};")).len(), 1, "{statement}");
        assert_eq!(faults(&format!("-- contract: needs 1.2.3\n{statement};")), [""; 0], "{statement}");
    }
    for statement in [
        "ALTER TABLE jobs ADD COLUMN dreams BIGINT",
        "ALTER TABLE jobs ADD COLUMN dreams TEXT NOT NULL DEFAULT 'none; of them'",
        "CREATE TABLE dreams (id BIGINT PRIMARY KEY CHECK (id > 0)); CREATE UNIQUE INDEX d ON dreams (id)",
        "CREATE INDEX IF NOT EXISTS jobs_slow ON jobs (task)",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
    ] {
        assert_eq!(faults(&format!("-- expand\n{statement};")), [""; 0], "{statement}");
    }
    assert_eq!(faults("CREATE TABLE a (b);").len(), 1);
    assert_eq!(faults("-- contract: needs more\nDROP TABLE a;").len(), 1);
}
