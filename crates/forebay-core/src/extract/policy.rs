//! What an output must satisfy beyond its schema, as a task declares it. This is the form that is written
//! in the definitions; the rules themselves stand in `amounts`, `currency`, `dates` and `evidence`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::extract::pointer::Pointer;
use crate::extract::resolve::fold;

/// A validation policy. A rule that is absent checks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Its version, from 1; results name it as their provenance.
    pub version: u32,
    /// Fields that may not be null, blank or absent. `*` stands for every line of a list.
    #[serde(default)]
    pub required: Vec<Pointer>,
    /// What must add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amounts: Option<AmountsRule>,
    /// Which currency the amounts are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<CurrencyRule>,
    /// What is known about dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dates: Vec<DateRule>,
    /// Which values must stand in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceRule>,
}

/// Amounts and their sums. Every amount that is named here must be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountsRule {
    /// The amount before tax. With `tax`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Pointer>,
    /// The tax. With `net`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Pointer>,
    /// The amount to pay: net and tax.
    pub total: Pointer,
    /// The array of lines. With `line_amount`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Pointer>,
    /// The amount within a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_amount: Option<Pointer>,
    /// By how much net + tax may differ from the total. Default 0: not at all.
    #[serde(default, with = "decimal_text")]
    pub tolerance: Decimal,
    /// By how much the sum of the lines may differ; invoices that round each line need some. Default: as
    /// `tolerance`.
    #[serde(default, with = "optional_decimal_text", skip_serializing_if = "Option::is_none")]
    pub line_tolerance: Option<Decimal>,
    /// What the lines add up to. Default: either.
    #[serde(default)]
    pub line_amounts: LineAmounts,
}

/// Whether line amounts include the tax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAmounts {
    /// They add up to the net amount.
    Net,
    /// They add up to the total.
    Gross,
    /// To one of the two.
    #[default]
    Either,
}

/// The currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurrencyRule {
    /// Where its code stands.
    pub field: Pointer,
    /// Codes that are accepted, as ISO 4217 writes them: `EUR`.
    pub allowed: Vec<String>,
    /// How documents write a code otherwise: `USD = ["$", "US Dollars"]`. Case does not matter.
    #[serde(default)]
    pub aliases: BTreeMap<String, Vec<String>>,
}

/// A date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateRule {
    /// Where it stands, as `YYYY-MM-DD`. It may be null unless it is required.
    pub field: Pointer,
    /// The first plausible day.
    #[serde(default, with = "optional_date_text", skip_serializing_if = "Option::is_none")]
    pub earliest: Option<Date>,
    /// The last plausible day.
    #[serde(default, with = "optional_date_text", skip_serializing_if = "Option::is_none")]
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
    /// Fields beside the amounts that are compared as numbers: quantities, unit prices. All others are
    /// compared as text, except the currency and the dates.
    #[serde(default)]
    pub numbers: Vec<Pointer>,
    /// Whether a number that is zero needs no quote: a tax of 0 is often not printed.
    #[serde(default)]
    pub zero_amounts_exempt: bool,
}

/// A policy contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}`: {message}")]
pub struct PolicyError {
    /// The member, as in the definitions: `amounts.tolerance`.
    pub member: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// An error, where the condition holds.
fn refuse_if(wrong: bool, member: &str, message: impl Into<String>) -> Result<(), PolicyError> {
    if wrong { Err(PolicyError { member: member.to_owned(), message: message.into() }) } else { Ok(()) }
}

impl Policy {
    /// Checks that the rules do not contradict each other.
    ///
    /// # Errors
    ///
    /// With the name of the first member that can't be meant as written.
    pub fn validate(&self) -> Result<(), PolicyError> {
        refuse_if(self.version == 0, "version", "versions start at 1")?;
        self.amounts.as_ref().map_or(Ok(()), AmountsRule::validate)?;
        self.currency.as_ref().map_or(Ok(()), CurrencyRule::validate)?;
        self.validate_dates()?;
        self.validate_roles()?;
        self.validate_evidence()
    }

    fn validate_dates(&self) -> Result<(), PolicyError> {
        for rule in &self.dates {
            let out_of_order =
                rule.earliest.zip(rule.latest).is_some_and(|(earliest, latest)| earliest > latest);
            refuse_if(out_of_order, "dates.earliest", format!("is after the `latest` of {}", rule.field))?;
            let Some(other) = &rule.not_before_field else { continue };
            let member = "dates.not_before_field";
            refuse_if(*other == rule.field, member, format!("{other} can't precede itself"))?;
            let known = self.dates.iter().any(|rule| rule.field == *other);
            refuse_if(!known, member, format!("{other} has no entry of its own in `dates`"))?;
        }
        Ok(())
    }

    /// No field has two roles: an amount is not a date.
    fn validate_roles(&self) -> Result<(), PolicyError> {
        let amounts = self.amounts.iter().flat_map(AmountsRule::fields);
        let currency = self.currency.iter().map(|rule| ("currency.field", &rule.field));
        let dates = self.dates.iter().map(|rule| ("dates.field", &rule.field));
        let mut taken = BTreeSet::new();
        for (member, field) in amounts.chain(currency).chain(dates) {
            refuse_if(field.is_pattern(), member, format!("{field} must name one field, without `*`"))?;
            refuse_if(!taken.insert(field), member, format!("{field} is named twice"))?;
        }
        let stranger =
            self.evidence.iter().flat_map(|rule| &rule.numbers).find(|field| taken.contains(field));
        refuse_if(
            stranger.is_some(),
            "evidence.numbers",
            stranger.map_or_else(String::new, |field| {
                format!("{field} already is an amount, a currency or a date")
            }),
        )
    }

    fn validate_evidence(&self) -> Result<(), PolicyError> {
        let Some(rule) = &self.evidence else { return Ok(()) };
        let both = rule.numbers.iter().find(|field| rule.exempt.contains(field));
        refuse_if(
            both.is_some(),
            "evidence.exempt",
            both.map_or_else(String::new, |field| {
                format!("{field} can't be exempt and compared as a number")
            }),
        )
    }
}

impl AmountsRule {
    fn fields(&self) -> impl Iterator<Item = (&'static str, &Pointer)> {
        [
            ("amounts.net", self.net.as_ref()),
            ("amounts.tax", self.tax.as_ref()),
            ("amounts.total", Some(&self.total)),
            ("amounts.lines", self.lines.as_ref()),
        ]
        .into_iter()
        .filter_map(|(member, field)| field.map(|field| (member, field)))
    }

    fn validate(&self) -> Result<(), PolicyError> {
        let halves = self.net.is_some() != self.tax.is_some();
        refuse_if(halves, "amounts.net", "`net` and `tax` go together: the total is their sum")?;
        let halves = self.lines.is_some() != self.line_amount.is_some();
        refuse_if(halves, "amounts.lines", "`lines` and `line_amount` go together")?;
        let net_lines_without_net = self.line_amounts == LineAmounts::Net && self.net.is_none();
        refuse_if(net_lines_without_net, "amounts.line_amounts", "is `net`, and there is no `net`")?;
        let pattern = self.line_amount.as_ref().is_some_and(Pointer::is_pattern);
        refuse_if(pattern, "amounts.line_amount", "must name one field of a line, without `*`")?;
        refuse_if(self.tolerance < Decimal::ZERO, "amounts.tolerance", "can't be negative")?;
        let negative = self.line_tolerance.is_some_and(|tolerance| tolerance < Decimal::ZERO);
        refuse_if(negative, "amounts.line_tolerance", "can't be negative")
    }

    /// Whether this is one of the rule's amounts.
    pub(super) fn names(&self, pointer: &str) -> bool {
        let single = [self.net.as_ref(), self.tax.as_ref(), Some(&self.total)];
        let line =
            self.lines.as_ref().zip(self.line_amount.as_ref()).map(|(lines, member)| lines.each(member));
        single.into_iter().flatten().any(|field| field.as_str() == pointer)
            || line.is_some_and(|pattern| pattern.matches(pointer))
    }
}

impl CurrencyRule {
    fn validate(&self) -> Result<(), PolicyError> {
        refuse_if(self.allowed.is_empty(), "currency.allowed", "name at least one currency code")?;
        let is_code = |code: &&String| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(code) = self.allowed.iter().find(|code| !is_code(code)) {
            refuse_if(true, "currency.allowed", format!("`{code}` is not a code of three capital letters"))?;
        }
        let mut meaning: BTreeMap<String, &String> = BTreeMap::new();
        for (code, alias) in
            self.aliases.iter().flat_map(|(code, forms)| forms.iter().map(move |form| (code, form)))
        {
            let (member, form) = (format!("currency.aliases.{code}"), fold(alias).to_lowercase());
            refuse_if(form.is_empty(), &member, "a written form can't be blank")?;
            let other_code = self.allowed.iter().any(|other| other != code && other.to_lowercase() == form);
            refuse_if(other_code, &member, format!("`{alias}` is another currency's code"))?;
            let other = meaning.insert(form, code).filter(|other| *other != code);
            refuse_if(
                other.is_some(),
                &member,
                format!("`{alias}` also stands for another currency, so it says neither"),
            )?;
        }
        let stranger = self.aliases.keys().find(|code| !self.allowed.contains(code));
        refuse_if(
            stranger.is_some(),
            "currency.aliases",
            stranger.map_or_else(String::new, |code| format!("`{code}` is not in `allowed`")),
        )
    }
}

/// Decimals are written as text, so that no float comes between.
mod decimal_text {
    use rust_decimal::Decimal;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(decimal: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(decimal)
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let text = String::deserialize(deserializer)?;
        Decimal::from_str_exact(&text)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not a decimal such as \"0.01\"")))
    }
}

mod optional_decimal_text {
    use rust_decimal::Decimal;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        decimal: &Option<Decimal>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match decimal {
            Some(decimal) => serializer.collect_str(decimal),
            None => serializer.serialize_none(),
        }
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Decimal>, D::Error> {
        super::decimal_text::deserialize(deserializer).map(Some)
    }
}

/// Days are written as `YYYY-MM-DD`.
mod optional_date_text {
    use jiff::civil::Date;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(date: &Option<Date>, serializer: S) -> Result<S::Ok, S::Error> {
        match date {
            Some(date) => serializer.collect_str(date),
            None => serializer.serialize_none(),
        }
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Date>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let date = crate::extract::dates::iso(&text);
        date.map(Some)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a day such as \"2024-02-29\"")))
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
            ("/dates/0/earliest", json!("2100-01-02"), "dates.earliest"),
            ("/dates/1/not_before_field", json!("/due_date"), "dates.not_before_field"),
            ("/dates/1/not_before_field", json!("/order_date"), "dates.not_before_field"),
            ("/dates/1/field", json!("/total"), "dates.field"),
            ("/evidence/numbers", json!(["/total"]), "evidence.numbers"),
            ("/evidence/exempt", json!(["/lines/*/quantity"]), "evidence.exempt"),
        ] {
            assert_eq!(refused(pointer, replacement.clone()), member, "{pointer} = {replacement}");
        }
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
