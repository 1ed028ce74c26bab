//! Values whose printed form can be read in two ways although the whole document was looked at. All of them are read
//! the other way at once, as the other style would have it: where that breaks a rule that holds now, it was no doubt.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::amounts::{self, Output};
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::policy::Role;
use crate::extract::resolve::Span;
use crate::extract::{Case, dates};

/// How a value stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand<T> {
    /// It does.
    Yes,
    /// What stands there can as well be this.
    Doubt(T, Kind),
    /// It does not.
    No,
}

impl<T> Stand<T> {
    pub(super) fn map<U>(self, other: impl FnOnce(T) -> U) -> Stand<U> {
        match self {
            Stand::Yes => Stand::Yes,
            Stand::Doubt(value, kind) => Stand::Doubt(other(value), kind),
            Stand::No => Stand::No,
        }
    }
}

/// What can be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Decimals or thousands: `1,234`.
    Mark,
    /// Thousands or two numbers: `1 234,56`.
    Space,
    /// Day and month: `03/04/2023`.
    Day,
}

/// A value that may be another one.
pub(super) struct Doubt {
    pub(super) pointer: String,
    pub(super) other: Other,
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The other reading.
pub(super) enum Other {
    Number(Decimal),
    Date(Date),
}

impl Other {
    fn text(&self) -> String {
        match self {
            Other::Number(number) => number.to_string(),
            Other::Date(date) => date.to_string(),
        }
    }
}

/// Adds a finding for each doubt that no rule settles.
pub(super) fn settle(doubts: &[Doubt], case: &Case<'_>, findings: &mut Findings) {
    for kind in [Kind::Mark, Kind::Space, Kind::Day] {
        let doubts: Vec<_> = doubts.iter().filter(|doubt| doubt.kind == kind).collect();
        if doubts.is_empty() || is_settled(&doubts, case) {
            continue;
        }
        for doubt in doubts {
            let code =
                if kind == Kind::Day { FindingCode::DateAmbiguous } else { FindingCode::NumberAmbiguous };
            let message = format!("what the document prints may as well be {}", doubt.other.text());
            findings.push(Finding::new(code, doubt.pointer.as_str(), message).at(doubt.span));
        }
    }
}

fn is_settled(doubts: &[&Doubt], case: &Case<'_>) -> bool {
    let too_fine = |doubt: &&Doubt| match &doubt.other {
        Other::Number(number) => {
            case.roles.role(&doubt.pointer) == Role::Amount && number.scale() > case.unit.scale()
        }
        Other::Date(_) => false,
    };
    if doubts.iter().copied().any(|doubt| too_fine(&doubt)) {
        return true;
    }
    let mut other = case.output.value.clone();
    for doubt in doubts {
        if let Some(value) = other.pointer_mut(&doubt.pointer) {
            *value = Value::String(doubt.other.text());
        }
    }
    broken(&other, case) > broken(case.output.value, case)
}

/// How many findings about amounts and dates there are in an output.
fn broken(value: &Value, case: &Case<'_>) -> usize {
    let output = Output { value, inexact_numbers: case.output.inexact_numbers };
    let other = Case { output, roles: Default::default(), ..*case };
    let mut findings = Findings::default();
    if let Some(rule) = &case.policy.amounts {
        amounts::check(rule, &other, &mut findings);
    }
    dates::check(&case.policy.dates, case.references.today, value, &mut findings);
    findings.into_vec().len()
}
