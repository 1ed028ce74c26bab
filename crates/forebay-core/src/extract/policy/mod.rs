//! What an output must satisfy beyond its schema, as a task declares it. This is the form that is written
//! in the definitions; the rules themselves stand beside this folder, each in a file of its name.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::extract::pointer::Pointer;
use crate::extract::schema::Schema;

mod amounts;
mod currency;
mod document;
mod lines;
mod outside;
mod text;

pub use amounts::{Adjustment, AmountsRule, Counts, Effect, LineAmounts, Rounding, TaxesRule};
pub use currency::CurrencyRule;
pub use document::{
    CreditAmounts, CreditNotesRule, DateOrder, DecimalMark, LabelRule, PrintedTaxRule, StyleRule,
};
pub use lines::{HeadsRule, LineRule, SubLinesRule, Unexplained};
pub use outside::{Column, DuplicatesRule, MasterDataRule};

/// A validation policy. A rule that is absent checks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Its version, from 1; results name it as their provenance.
    pub version: u32,
    /// Fields that may not be null, blank or absent. `*` stands for every line of a list.
    #[serde(default)]
    pub required: Vec<Pointer>,
    /// How documents write numbers and dates.
    #[serde(default, skip_serializing_if = "is_default")]
    pub style: StyleRule,
    /// What must add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amounts: Option<AmountsRule>,
    /// A tax of zero where the document prints another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_tax: Option<PrintedTaxRule>,
    /// Documents that give money back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit_notes: Option<CreditNotesRule>,
    /// Which currency the amounts are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<CurrencyRule>,
    /// What is known about dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dates: Vec<DateRule>,
    /// Fields that are bank accounts: an IBAN of its country's length whose check digits are right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ibans: Vec<Pointer>,
    /// What stands beside a value in the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelRule>,
    /// Which values must stand in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceRule>,
    /// Records that the output must lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub master_data: Vec<MasterDataRule>,
    /// What makes two documents the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicatesRule>,
}

/// A date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateRule {
    /// Where it stands, as `YYYY-MM-DD`. It may be null unless it is required.
    pub field: Pointer,
    /// The first plausible day.
    #[serde(default, with = "text::optional_date", skip_serializing_if = "Option::is_none")]
    pub earliest: Option<Date>,
    /// The last plausible day.
    #[serde(default, with = "text::optional_date", skip_serializing_if = "Option::is_none")]
    pub latest: Option<Date>,
    /// How many days it may lie after the day on which the answer is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_future_days: Option<u32>,
    /// How many days it may lie before that day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_days: Option<u32>,
    /// Another date of this policy that it may not precede.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_field: Option<Pointer>,
}

/// Which values need a quote. All that are not null do, down to the last leaf, except as said here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRule {
    /// Fields that need no quote.
    #[serde(default)]
    pub exempt: Vec<Pointer>,
    /// Fields beside those of `amounts` that are compared as numbers. All others are compared as text, without
    /// regard to case, except those that a rule of their own says more about.
    #[serde(default)]
    pub numbers: Vec<Pointer>,
    /// Texts that are compared character by character, and as a whole: numbers of invoices and orders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<Pointer>,
    /// Whether net, tax and total need no quote where the declared sums give them exactly from amounts that have
    /// one: a tax of two rates is often printed by rate alone. Default: no.
    #[serde(default, skip_serializing_if = "is_default")]
    pub derived_amounts_exempt: bool,
    /// Whether a number that is zero needs no quote: a tax of 0 is often not printed.
    #[serde(default)]
    pub zero_amounts_exempt: bool,
}

/// A policy contradicts itself, or the schema of a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}`: {message}")]
pub struct PolicyError {
    /// The member, as in the definitions: `amounts.tolerance`.
    pub member: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// What a field is to the policy, and so as what it is looked for in its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Money in the document's currency.
    Amount,
    /// Another number: a quantity, a unit price.
    Number,
    /// A number that may be printed with a percent sign.
    Percent,
    Currency,
    Date,
    Iban,
    /// What the document is.
    DocumentType,
    /// A text that is compared character by character.
    Exact,
    /// An array.
    List,
    /// What the output says about itself, such as which line belongs to which: it does not stand in the document.
    Structure,
    /// Anything else.
    Text,
}

/// A field that the policy names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The member that names it, as in the definitions.
    pub(super) member: &'static str,
    /// The field, from the output's top.
    pub(super) field: Pointer,
    pub(super) role: Role,
}

impl Named {
    fn new(member: &'static str, field: Pointer, role: Role) -> Self {
        Self { member, field, role }
    }
}

/// An error, where the condition holds.
fn refuse_if(wrong: bool, member: &str, message: impl Into<String>) -> Result<(), PolicyError> {
    if wrong { Err(PolicyError { member: member.to_owned(), message: message.into() }) } else { Ok(()) }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Policy {
    /// Checks that the rules do not contradict each other.
    ///
    /// # Errors
    ///
    /// With the name of the first member that can't be meant as written.
    pub fn validate(&self) -> Result<(), PolicyError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// What each rule has that can't be meant as written: the first fault of each. Members of a list are named by their
    /// place in it: `dates.0.earliest`.
    pub fn faults(&self) -> Vec<PolicyError> {
        let nth = |nth: usize, list: &str, checked: Result<(), PolicyError>| {
            checked.map_err(|error| PolicyError {
                member: error.member.replacen(list, &format!("{list}.{nth}"), 1),
                message: error.message,
            })
        };
        let mut checked = vec![
            refuse_if(self.version == 0, "version", "versions start at 1"),
            self.amounts.as_ref().map_or(Ok(()), AmountsRule::validate),
            self.currency.as_ref().map_or(Ok(()), CurrencyRule::validate),
            self.credit_notes.as_ref().map_or(Ok(()), CreditNotesRule::validate),
            self.printed_tax.as_ref().map_or(Ok(()), PrintedTaxRule::validate),
        ];
        checked.extend((0..).zip(&self.labels).map(|(at, rule)| nth(at, "labels", rule.validate())));
        checked.push(self.duplicates.as_ref().map_or(Ok(()), DuplicatesRule::validate));
        checked
            .extend((0..).zip(&self.master_data).map(|(at, rule)| nth(at, "master_data", rule.validate())));
        checked.extend((0..).zip(&self.dates).map(|(at, rule)| nth(at, "dates", self.validate_date(rule))));
        checked.extend([self.validate_needs(), self.validate_roles(), self.validate_evidence()]);
        checked.into_iter().filter_map(Result::err).collect()
    }

    /// Every field that a schema can't have, by the member that names it: the policy could never be satisfied,
    /// or would never check anything.
    pub fn strangers_to(&self, schema: &Schema) -> Vec<PolicyError> {
        let stranger = |named: &Named| !schema.may_have(&named.field);
        let fields = self.fields();
        let strangers = fields.iter().filter(|named| stranger(named));
        strangers
            .map(|Named { member, field, .. }| PolicyError {
                member: (*member).to_owned(),
                message: format!("{field} can't be in an output: there is no such place in the schema"),
            })
            .collect()
    }

    /// The names of the datasets that an evaluation needs, each once.
    pub fn datasets(&self) -> BTreeSet<&str> {
        self.master_data.iter().map(|rule| rule.dataset.as_str()).collect()
    }

    /// All fields that the policy names.
    pub(super) fn fields(&self) -> Vec<Named> {
        let all = |member, fields: &[Pointer], role| -> Vec<Named> {
            fields.iter().map(|field| Named::new(member, field.clone(), role)).collect()
        };
        let mut named = all("required", &self.required, Role::Text);
        named.extend(self.amounts.iter().flat_map(AmountsRule::fields));
        named.extend(
            self.currency.iter().map(|rule| Named::new("currency.field", rule.field.clone(), Role::Currency)),
        );
        let kind = self.credit_notes.iter();
        let kind = kind.map(|rule| Named::new("credit_notes.field", rule.field.clone(), Role::DocumentType));
        named.extend(kind);
        named.extend(self.dates.iter().map(|rule| Named::new("dates.field", rule.field.clone(), Role::Date)));
        named.extend(all("ibans", &self.ibans, Role::Iban));
        named.extend(self.labels.iter().map(LabelRule::named));
        if let Some(evidence) = &self.evidence {
            named.extend(all("evidence.exempt", &evidence.exempt, Role::Text));
            named.extend(all("evidence.numbers", &evidence.numbers, Role::Number));
            named.extend(all("evidence.exact", &evidence.exact, Role::Exact));
        }
        named.extend(self.master_data.iter().flat_map(MasterDataRule::fields));
        named.extend(self.duplicates.iter().flat_map(DuplicatesRule::fields));
        named
    }

    fn validate_date(&self, rule: &DateRule) -> Result<(), PolicyError> {
        let out_of_order = rule.earliest.zip(rule.latest).is_some_and(|(earliest, latest)| earliest > latest);
        refuse_if(out_of_order, "dates.earliest", format!("is after the `latest` of {}", rule.field))?;
        let Some(other) = &rule.not_before_field else { return Ok(()) };
        let member = "dates.not_before_field";
        refuse_if(*other == rule.field, member, format!("{other} can't precede itself"))?;
        let known = self.dates.iter().any(|rule| rule.field == *other);
        refuse_if(!known, member, format!("{other} has no entry of its own in `dates`"))
    }

    /// Rules that work on what another rule names.
    fn validate_needs(&self) -> Result<(), PolicyError> {
        let has_tax = self.amounts.as_ref().is_some_and(|rule| rule.tax.is_some());
        let message = "holds `net`, `tax` and `total` of `amounts` against the document; name them there";
        refuse_if(self.printed_tax.is_some() && !has_tax, "printed_tax", message)?;
        let message = "is about the signs of `amounts`; name them there";
        refuse_if(self.credit_notes.is_some() && self.amounts.is_none(), "credit_notes", message)?;
        let beside = self.currency.as_ref().is_some_and(|rule| rule.decimals || rule.beside_total);
        let message = "holds the currency against `amounts`; name them there";
        refuse_if(beside && self.amounts.is_none(), "currency", message)
    }

    /// No field has two roles: an amount is not a date.
    fn validate_roles(&self) -> Result<(), PolicyError> {
        let mut taken: BTreeMap<Pointer, Role> = BTreeMap::new();
        for Named { member, field, role } in self.fields() {
            if role == Role::Text {
                continue;
            }
            let single = matches!(role, Role::Currency | Role::Date | Role::DocumentType);
            refuse_if(
                single && field.is_pattern(),
                member,
                format!("{field} must name one field, without `*`"),
            )?;
            let message = format!("{field} is named twice");
            match taken.insert(field, role) {
                // Numbers of a line may be listed among the numbers, too.
                Some(Role::Number | Role::Percent) if matches!(role, Role::Number | Role::Percent) => {}
                other => refuse_if(other.is_some(), member, message)?,
            }
        }
        Ok(())
    }

    fn validate_evidence(&self) -> Result<(), PolicyError> {
        let Some(rule) = &self.evidence else { return Ok(()) };
        let exempt: BTreeSet<_> = rule.exempt.iter().collect();
        let both = rule.numbers.iter().chain(&rule.exact).find(|field| exempt.contains(field));
        let message = both.map(|field| format!("{field} can't be exempt and compared"));
        refuse_if(both.is_some(), "evidence.exempt", message.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn whole() -> Value {
        json!({
            "version": 1,
            "required": ["/supplier", "/lines/*/description"],
            "amounts": {
                "net": "/net", "tax": "/tax", "total": "/total", "lines": "/lines", "line_amount": "/amount",
                "tolerance": "0.01", "line_tolerance": "0.05", "line_amounts": "either",
            },
            "currency": {"field": "/currency", "allowed": ["EUR", "USD"], "aliases": {"USD": ["$"], "EUR": ["€"]}},
            "dates": [
                {"field": "/invoice_date", "earliest": "2000-01-01", "latest": "2100-01-01"},
                {"field": "/due_date", "not_before_field": "/invoice_date"},
            ],
            "evidence": {"exempt": ["/note"], "numbers": ["/lines/*/quantity"], "zero_amounts_exempt": true},
        })
    }

    /// The member that is refused when something is replaced in the whole policy.
    fn refused(pointer: &str, replacement: Value) -> String {
        let mut policy = whole();
        *policy.pointer_mut(pointer).unwrap() = replacement;
        serde_json::from_value::<Policy>(policy).unwrap().validate().unwrap_err().member
    }

    #[test]
    fn a_policy_is_written_as_it_was_read() {
        let policy: Policy = serde_json::from_value(whole()).unwrap();
        assert_eq!(policy.validate(), Ok(()));
        assert_eq!(serde_json::to_value(&policy).unwrap(), whole());
        let least: Policy = serde_json::from_value(json!({"version": 1})).unwrap();
        assert_eq!(least.validate(), Ok(()));
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        for (pointer, replacement, member) in [
            ("/version", json!(0), "version"),
            ("/amounts/tolerance", json!("-0.01"), "amounts.tolerance"),
            ("/amounts/line_tolerance", json!("-1"), "amounts.line_tolerance"),
            ("/amounts/tax", json!("/net"), "amounts.tax"),
            ("/amounts/total", json!("/currency"), "currency.field"),
            ("/amounts/net", json!("/lines/*/net"), "amounts.net"),
            ("/amounts/line_amount", json!("/a/*/b"), "amounts.line_amount"),
            ("/currency/allowed", json!([]), "currency.allowed"),
            ("/currency/allowed", json!(["eur"]), "currency.allowed"),
            ("/currency/allowed", json!(["EUR"]), "currency.aliases"),
            ("/currency/aliases/USD", json!(["€"]), "currency.aliases.USD"),
            ("/currency/aliases/USD", json!([" "]), "currency.aliases.USD"),
            ("/currency/aliases/USD", json!(["eur"]), "currency.aliases.USD"),
            ("/dates/0/earliest", json!("2100-01-02"), "dates.0.earliest"),
            ("/dates/1/not_before_field", json!("/due_date"), "dates.1.not_before_field"),
            ("/dates/1/not_before_field", json!("/order_date"), "dates.1.not_before_field"),
            ("/dates/1/field", json!("/total"), "dates.field"),
            ("/evidence/numbers", json!(["/total"]), "evidence.numbers"),
            ("/evidence/exempt", json!(["/lines/*/quantity"]), "evidence.exempt"),
        ] {
            assert_eq!(refused(pointer, replacement.clone()), member, "{pointer} = {replacement}");
        }
    }

    #[test]
    fn each_rule_tells_its_fault() {
        let mut policy = whole();
        policy["version"] = json!(0);
        policy["amounts"]["tolerance"] = json!("-1");
        policy["dates"][0]["earliest"] = json!("2100-01-02");
        policy["dates"][1]["not_before_field"] = json!("/due_date");
        let faults = serde_json::from_value::<Policy>(policy).unwrap().faults();
        let members: Vec<_> = faults.iter().map(|fault| fault.member.as_str()).collect();
        assert_eq!(members, ["version", "amounts.tolerance", "dates.0.earliest", "dates.1.not_before_field"]);
    }

    #[test]
    fn halves_are_refused() {
        let amounts = |rule: Value| {
            let policy = json!({"version": 1, "amounts": rule});
            serde_json::from_value::<Policy>(policy).unwrap().validate().unwrap_err().member
        };
        assert_eq!(amounts(json!({"total": "/total", "net": "/net"})), "amounts.net");
        assert_eq!(amounts(json!({"total": "/total", "lines": "/lines"})), "amounts.lines");
        assert_eq!(amounts(json!({"total": "/total", "line_amounts": "net"})), "amounts.line_amounts");
    }

    #[test]
    fn unknown_members_and_malformed_values_do_not_parse() {
        for wrong in [
            json!({"version": 1, "amount": {}}),
            json!({"version": 1, "required": ["supplier"]}),
            json!({"version": 1, "amounts": {"total": "/total", "tolerance": 0.01}}),
            json!({"version": 1, "amounts": {"total": "/total", "tolerance": "1 cent"}}),
            json!({"version": 1, "dates": [{"field": "/a", "earliest": "2023-02-30"}]}),
        ] {
            assert!(serde_json::from_value::<Policy>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
