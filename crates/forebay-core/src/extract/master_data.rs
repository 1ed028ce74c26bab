//! The record of a dataset that an output leads to, and what it says. Nothing of a record is repeated in a finding:
//! findings are shown to the model, and an answer may not be bent until it fits.

use serde_json::Value;

use crate::dataset::{Dataset, Row};
use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::{Column, MasterDataRule};
use crate::extract::references::References;

/// Rows that are looked at for one value.
const MAX_ROWS: usize = 100;

/// A field that has a value, and that value.
struct Known<'a> {
    column: &'a Column,
    value: String,
}

/// Checks that the output leads to one record of each dataset, and agrees with it.
pub(super) fn check(
    rules: &[MasterDataRule],
    output: &Value,
    references: &References<'_>,
    findings: &mut Findings,
) {
    for rule in rules {
        let first = rule.r#match.first().map_or("", |column| column.field.as_str());
        match dataset(rule, references) {
            Ok(dataset) => findings.extend(against(rule, dataset, output)),
            Err(message) => findings.push(Finding::new(FindingCode::DatasetMissing, first, message)),
        }
    }
}

/// The dataset, if it is there and has every column that the rule names.
fn dataset<'r>(rule: &MasterDataRule, references: &References<'r>) -> Result<&'r Dataset, String> {
    let name = &rule.dataset;
    let known = references.datasets.iter().find(|dataset| dataset.name == *name);
    let dataset = known.ok_or_else(|| {
        if references.unreadable.contains(name) {
            format!(
                "the dataset `{name}` can't be read, so nothing was compared with it: an operator has to look"
            )
        } else {
            format!("there is no dataset `{name}`, so nothing can be compared with it")
        }
    })?;
    let columns = rule.r#match.iter().chain(&rule.equal).map(|column| &column.column);
    match columns.into_iter().find(|column| !dataset.table.has_column(column)) {
        Some(column) => {
            Err(format!("version {} of the dataset `{name}` has no column `{column}`", dataset.version))
        }
        None => Ok(dataset),
    }
}

fn against(rule: &MasterDataRule, dataset: &Dataset, output: &Value) -> Vec<Finding> {
    let (keys, facts) = (known(&rule.r#match, output), known(&rule.equal, output));
    let first = rule.r#match.first().map_or("", |column| column.field.as_str());
    let name = format!("version {} of the dataset `{}`", dataset.version, dataset.name);
    let found = find(&keys, dataset);
    if found.is_empty() {
        let values: Vec<_> = keys.iter().map(|key| shown(&key.value)).collect();
        let message = match values.len() {
            0 => format!("there is no value to find a record of {name} by"),
            _ => format!("{name} has no record for {}", values.join(" or ")),
        };
        return vec![Finding::new(FindingCode::RecordUnknown, first, message)];
    }
    let fitting: Vec<_> =
        found.iter().filter(|row| keys.iter().all(|key| key.may_be(row))).copied().collect();
    if fitting.is_empty() {
        return contradictions(&keys, &found, &name);
    }
    let agreeing: Vec<_> =
        fitting.iter().filter(|row| facts.iter().all(|fact| fact.is(row))).copied().collect();
    if agreeing.is_empty() {
        return mismatches(&facts, &fitting, &name);
    }
    let columns = || rule.r#match.iter().chain(&rule.equal);
    let same = |row: &Row<'_>| columns().all(|column| key(column, row) == key(column, &agreeing[0]));
    if agreeing.iter().all(same) {
        return Vec::new();
    }
    let message = format!("{} records of {name} fit, and they differ: which one is meant?", agreeing.len());
    vec![Finding::new(FindingCode::RecordAmbiguous, first, message)]
}

/// The values that are there.
fn known<'a>(columns: &'a [Column], output: &Value) -> Vec<Known<'a>> {
    let value = |column: &Column| match column.field.lookup(output)? {
        Value::String(text) => Some(text.clone()),
        number @ Value::Number(_) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let known = columns.iter().filter_map(|column| Some(Known { column, value: value(column)? }));
    known.filter(|known| !known.column.likeness.key(&known.value).is_empty()).collect()
}

/// The rows that one of the keys leads to, each once.
fn find<'d>(keys: &[Known<'_>], dataset: &'d Dataset) -> Vec<Row<'d>> {
    let rows = |key: &Known<'_>| {
        dataset.table.find(&key.column.column, &key.value, key.column.likeness).take(MAX_ROWS)
    };
    let mut found: Vec<_> = keys.iter().flat_map(rows).collect();
    found.sort_unstable_by_key(Row::number);
    found.dedup_by_key(|row| row.number());
    found
}

/// What of a row's value matters.
fn key(column: &Column, row: &Row<'_>) -> Option<String> {
    row.get(&column.column).map(|value| column.likeness.key(value))
}

impl Known<'_> {
    fn is(&self, row: &Row<'_>) -> bool {
        key(self.column, row) == Some(self.column.likeness.key(&self.value))
    }

    /// Whether the record says the same, or nothing.
    fn may_be(&self, row: &Row<'_>) -> bool {
        row.get(&self.column.column).is_none() || self.is(row)
    }
}

/// The keys lead to records, and to different ones, or to one that another key contradicts.
fn contradictions(keys: &[Known<'_>], found: &[Row<'_>], name: &str) -> Vec<Finding> {
    let contradicted = |key: &&Known<'_>| !found.iter().all(|row| key.may_be(row));
    let finding = |key: &Known<'_>| {
        let field = key.column.field.as_str();
        let message = format!(
            "{} is not what the record says that the other fields lead to, in {name}",
            shown(&key.value)
        );
        Finding::new(FindingCode::RecordMismatch, field, message)
    };
    keys.iter().filter(contradicted).map(finding).collect()
}

/// No record that fits says all of this.
fn mismatches(facts: &[Known<'_>], fitting: &[Row<'_>], name: &str) -> Vec<Finding> {
    let unsaid = |fact: &&Known<'_>| !fitting.iter().any(|row| fact.is(row));
    let wrong: Vec<_> = facts.iter().filter(unsaid).collect();
    // Each is said by some record, and no record says all of them.
    let wrong = if wrong.is_empty() { facts.iter().collect() } else { wrong };
    let finding = |fact: &Known<'_>| {
        let message = format!("{} is not what the record says, in {name}", shown(&fact.value));
        Finding::new(FindingCode::RecordMismatch, fact.column.field.as_str(), message)
    };
    wrong.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::dataset::Table;

    const SUPPLIERS: &str = "name,vat_id,iban\n\
        Coolblue B.V.,NL810433941B01,NL91ABNA0417164300\n\
        QualityHosting AG,DE232446240,DE89370400440532013000\n\
        QualityHosting AG,DE232446240,DE02120300000000202051\n\
        Twin GmbH,,DE02500105170137075030\n\
        Twin GmbH,,DE02100500000054540402\n\
        Azure Interior,,\n";

    fn codes(output: &Value) -> Vec<(&'static str, String)> {
        let datasets = [Dataset {
            name: "suppliers".to_owned(),
            version: 3,
            table: Arc::new(Table::from_csv(SUPPLIERS.as_bytes()).unwrap()),
        }];
        codes_in(output, &datasets, "suppliers")
    }

    fn codes_in(output: &Value, datasets: &[Dataset], dataset: &str) -> Vec<(&'static str, String)> {
        let rule = json!([{
            "dataset": dataset,
            "match": [{"field": "/supplier", "column": "name"}, {"field": "/vat", "column": "vat_id", "as": "code"}],
            "equal": [{"field": "/iban", "column": "iban", "as": "code"}],
        }]);
        let references = References { datasets, ..References::on(jiff::civil::date(2024, 2, 29)) };
        let mut findings = Findings::default();
        check(
            &serde_json::from_value::<Vec<MasterDataRule>>(rule).unwrap(),
            output,
            &references,
            &mut findings,
        );
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    fn one(code: &'static str, pointer: &str) -> Vec<(&'static str, String)> {
        vec![(code, pointer.to_owned())]
    }

    #[test]
    fn a_record_is_found_by_any_key_that_another_does_not_contradict() {
        for fine in [
            json!({"supplier": "coolblue  b.v.", "vat": "NL 810433941 B01", "iban": "NL91 ABNA 0417 1643 00"}),
            json!({"supplier": "Coolblue B.V.", "vat": null, "iban": null}),
            json!({"vat": "NL810433941B01"}),
            json!({"supplier": "QualityHosting AG", "iban": "DE02120300000000202051"}),
            json!({"supplier": "Azure Interior", "vat": "US 1"}),
            json!({"supplier": "Twin GmbH", "iban": "DE02100500000054540402"}),
        ] {
            assert_eq!(codes(&fine), [], "{fine}");
        }
    }

    #[test]
    fn an_unknown_supplier_and_an_unclear_one_are_findings() {
        assert_eq!(codes(&json!({"supplier": "Pino Bluebird"})), one("record_unknown", "/supplier"));
        assert_eq!(codes(&json!({"supplier": null})), one("record_unknown", "/supplier"));
        assert_eq!(codes(&json!({"supplier": "Twin GmbH"})), one("record_ambiguous", "/supplier"));
    }

    #[test]
    fn an_account_that_is_not_the_suppliers_is_a_finding() {
        let swapped = json!({"supplier": "Coolblue B.V.", "iban": "DE89370400440532013000"});
        assert_eq!(codes(&swapped), one("record_mismatch", "/iban"));
        let unrecorded = json!({"supplier": "Azure Interior", "iban": "DE89370400440532013000"});
        assert_eq!(codes(&unrecorded), one("record_mismatch", "/iban"));
        let two_suppliers = json!({"supplier": "Coolblue B.V.", "vat": "DE232446240"});
        let both = [("record_mismatch", "/supplier".to_owned()), ("record_mismatch", "/vat".to_owned())];
        assert_eq!(codes(&two_suppliers), both);
    }

    #[test]
    fn without_the_dataset_nothing_passes() {
        assert_eq!(
            codes_in(&json!({"supplier": "A"}), &[], "suppliers"),
            one("dataset_missing", "/supplier")
        );
        let table = Arc::new(Table::from_csv(b"name\nA\n").unwrap());
        let datasets = [Dataset { name: "short".to_owned(), version: 1, table }];
        assert_eq!(
            codes_in(&json!({"supplier": "A"}), &datasets, "short"),
            one("dataset_missing", "/supplier")
        );
    }
}
