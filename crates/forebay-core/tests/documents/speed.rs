//! How long judging takes. `cargo test --release -p forebay-core --test documents -- --ignored --nocapture` measures.

use std::fmt::Write as _;
use std::time::Instant;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::known::Known;

const LINES: usize = 100;
const PAGES: usize = 20;

/// An invoice of twenty pages with a hundred lines, five a page with a paragraph below each, and its right answer.
fn long() -> Known {
    let (mut document, mut lines, mut quotes) = (String::new(), Vec::new(), Vec::new());
    document += "Langenfeld Werkzeuge GmbH      Rechnungsnr. LW-2025-0815     Rechnungsdatum 12.05.2025\n\n";
    let mut net = Decimal::ZERO;
    for index in 0..LINES {
        let price = Decimal::new(1_250 + 37 * i64::try_from(index).unwrap(), 2);
        let quantity = Decimal::from(index % 9 + 2);
        let amount = price * quantity;
        net += amount;
        let printed = |number: Decimal| number.to_string().replace('.', ",");
        let row = format!(
            "{:>3}   Artikel {index:03} Fräser HSS mit Schaft {:>6} {:>12} {:>14}",
            index + 1,
            quantity,
            printed(price),
            printed(amount)
        );
        writeln!(document, "{row}").unwrap();
        for word in 0..8 {
            let text = "Lieferung frei Haus, verpackt in wiederverwendbaren Kisten, geprüft nach Norm";
            writeln!(document, "      {text} {index}.{word}, Charge {:05}-{word}", 7_919 * (index + 1))
                .unwrap();
        }
        if (index + 1) % (LINES / PAGES) == 0 {
            document += "                                             Seite\n\u{c}";
        }
        let values = json!({"description": format!("Artikel {index:03} Fräser HSS mit Schaft"), "quantity": quantity.to_string(),
            "unit_price": price.to_string(), "amount": amount.to_string()});
        quotes.extend(
            ["description", "quantity", "unit_price", "amount"]
                .map(|name| (format!("/lines/{index}/{name}"), row.clone())),
        );
        lines.push(values);
    }
    let tax = (net * Decimal::new(19, 2))
        .round_dp_with_strategy(2, rust_decimal::RoundingStrategy::MidpointAwayFromZero);
    for (field, label, amount) in
        [("/net", "Netto", net), ("/tax", "MwSt 19 %", tax), ("/total", "Gesamt EUR", net + tax)]
    {
        let row = format!("{label:<60}{}", amount.to_string().replace('.', ","));
        writeln!(document, "{row}").unwrap();
        quotes.push((field.to_owned(), row));
    }
    for (field, quote) in [
        ("/supplier", "Langenfeld Werkzeuge GmbH"),
        ("/invoice_number", "Rechnungsnr. LW-2025-0815"),
        ("/invoice_date", "Rechnungsdatum 12.05.2025"),
        ("/currency", "Gesamt EUR"),
    ] {
        quotes.push((field.to_owned(), quote.to_owned()));
    }
    let output: Value = json!({"supplier": "Langenfeld Werkzeuge GmbH", "invoice_number": "LW-2025-0815", "invoice_date": "2025-05-12",
        "due_date": null, "currency": "EUR", "net": net.to_string(), "tax": tax.to_string(), "total": (net + tax).to_string(), "lines": lines});
    Known {
        name: "long".to_owned(),
        is_example: false,
        document,
        output,
        quotes,
        decoys: Vec::new(),
        findings: Vec::new(),
    }
}

#[test]
fn a_long_answer_is_judged_like_any_other() {
    let known = long();
    let evaluation = known.evaluate(&known.answer().to_string());
    assert!(evaluation.passed(), "{:?}", evaluation.findings);
    assert_eq!(evaluation.evidence.last().unwrap().span.unwrap().page, Some(PAGES + 1));
}

#[test]
#[ignore = "a measurement, for a build with optimisation"]
#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and says what it measured"
)]
fn judging_takes_milliseconds() {
    let known = long();
    let answer = known.answer().to_string();
    let mut times: Vec<_> = (0..50)
        .map(|_| {
            let start = Instant::now();
            assert!(known.evaluate(&answer).passed());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "{} lines, {} bytes of document: median {:?}, most {:?}",
        LINES,
        known.document.len(),
        times[25],
        times[49]
    );
}
