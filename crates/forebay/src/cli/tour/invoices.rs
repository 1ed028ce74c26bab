//! The invoices, and what the simulated model says about them.

use crate::sim::scenario::{Defaults, Match, Rule, Scenario, Span};

/// One invoice of the examples.
pub(super) struct Invoice {
    /// The file's name, without its ending.
    pub(super) name: &'static str,
    /// Its text, as it was laid out.
    pub(super) text: &'static str,
    /// A text that stands in no other one.
    mark: &'static str,
    /// What the model says first, where that is not the right answer yet.
    first: Option<&'static str>,
    /// What the model says in the end.
    answer: &'static str,
}

macro_rules! example {
    ($($file:literal),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/invoices/", $($file),+))
    };
}

macro_rules! invoice {
    ($name:literal, $mark:literal, $first:expr) => {
        Invoice {
            name: $name,
            text: example!($name, ".txt"),
            mark: $mark,
            first: $first,
            answer: example!($name, ".answer.json"),
        }
    };
}

pub(super) const INVOICES: &[Invoice] = &[
    invoice!("amazonwebservices", "42183017", None),
    invoice!("azureinterior", "INV/2023/03/0008", Some(example!("azureinterior.first.txt"))),
    invoice!("coolblue1", "993548900", Some(example!("coolblue1.first.txt"))),
    invoice!("flipkart", "BLR_WFLD20151000982590", None),
    invoice!("free_fiber", "562044387", None),
    invoice!("orlen", "1234K20/1234/12", None),
    invoice!("qualityhosting", "30064443", None),
    invoice!("saeco", "VF1005193039", Some(example!("saeco.first.txt"))),
    invoice!("sammymaystone", "invoice_number_1", None),
];

/// The simulated model: a canned answer for each document, at the pace of a real one.
pub(super) fn scenario() -> Scenario {
    let rules = INVOICES.iter().flat_map(|invoice| {
        let first = invoice.first.map(|text| rule(invoice, "first answer", text, Some(1)));
        first.into_iter().chain([rule(invoice, "answer", invoice.answer, None)])
    });
    let defaults = Defaults {
        first_token_ms: Span::Uniform { min: 150.0, max: 500.0 },
        per_token_ms: Span::Fixed(1.0),
        ..Defaults::default()
    };
    Scenario { defaults, rules: rules.collect(), ..Scenario::default() }
}

fn rule(invoice: &Invoice, what: &str, reply: &str, times: Option<u64>) -> Rule {
    Rule {
        name: Some(format!("{}: {what}", invoice.name)),
        r#match: Match { contains: Some(invoice.mark.to_owned()), ..Match::default() },
        times,
        reply: Some(reply.to_owned()),
        ..Rule::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_stands_in_its_own_invoice_only() {
        for invoice in INVOICES {
            let holders: Vec<_> = INVOICES
                .iter()
                .filter(|other| other.text.contains(invoice.mark))
                .map(|other| other.name)
                .collect();
            assert_eq!(holders, [invoice.name]);
        }
    }
}
