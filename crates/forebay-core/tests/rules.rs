//! Each rule of a validation policy, over small outputs and documents of its own.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use forebay_core::extract::{Evaluation, Policy, References, Schema, evaluate};
use forebay_core::time::Timestamp;
use serde_json::{Value, json};

/// The codes and pointers of what a policy finds in an output about a document, with quotes for fields.
fn found_with(
    policy: Value,
    output: Value,
    document: &str,
    quotes: &[(&str, &str)],
) -> Vec<(&'static str, String)> {
    let policy: Policy = serde_json::from_value(policy).unwrap();
    assert_eq!(policy.validate(), Ok(()));
    let quotes: Vec<_> =
        quotes.iter().map(|(field, quote)| json!({"field": field, "quote": quote})).collect();
    let answer = json!({"output": output, "evidence": quotes}).to_string();
    let references = References::on(Timestamp::from_millis(1_767_225_600_000).date());
    let schema = Schema::compile(&json!({"type": "object"})).unwrap();
    let Evaluation { findings, .. } = evaluate(&answer, false, document, &schema, &policy, &references);
    findings.into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
}

fn one(code: &'static str, pointer: &str) -> Vec<(&'static str, String)> {
    vec![(code, pointer.to_owned())]
}

/// What the amounts of an output come to.
fn amounts(rule: Value, output: Value) -> Vec<(&'static str, String)> {
    found_with(json!({"version": 1, "amounts": rule}), output, "", &[])
}

fn lines(extra: Value) -> Value {
    let mut rule =
        json!({"net": "/net", "tax": "/tax", "total": "/total", "lines": "/lines", "line_amount": "/amount"});
    rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    rule
}

fn with_lines(net: &str, total: &str, lines: Value) -> Value {
    let cents = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
    let tax = cents(total) - cents(net);
    json!({"net": net, "tax": format!("{}.{:02}", tax / 100, tax.abs() % 100), "total": total, "lines": lines})
}

#[test]
fn quantity_price_and_discounts_lead_to_a_lines_amount() {
    let rule = || {
        lines(json!({"line": {
            "quantity": "/q", "unit_price": "/p", "discount": "/off", "discount_percent": "/percent", "tax_rate": "/rate",
        }}))
    };
    for line in [
        json!({"q": "3", "p": "10.00", "amount": "30.00"}),
        json!({"q": "3", "p": "10.00", "off": "-5.00", "amount": "25.00"}),
        json!({"q": "3", "p": "10.00", "percent": "10", "amount": "27.00"}),
        json!({"q": "54.910", "p": "5.77", "amount": "316.83"}),
        json!({"q": "1", "p": "278.61", "rate": "14.50", "amount": "319.00"}),
        json!({"q": "-2", "p": "10.00", "off": "1.00", "amount": "-19.00"}),
        json!({"q": null, "p": "10.00", "amount": "77.00"}),
        json!({"amount": "5.00"}),
    ] {
        let total = line["amount"].as_str().unwrap().to_owned();
        assert_eq!(amounts(rule(), with_lines(&total, &total, json!([line]))), [], "{line}");
    }
    let wrong = json!([{"q": "3", "p": "10.00", "amount": "40.00"}]);
    assert_eq!(amounts(rule(), with_lines("40.00", "40.00", wrong)), one("line_total", "/lines/0/amount"));
    let no_number = json!([{"q": "3 pcs", "p": "10.00", "amount": "40.00"}]);
    assert_eq!(amounts(rule(), with_lines("40.00", "40.00", no_number)), one("amount_format", "/lines/0/q"));
}

#[test]
fn what_is_printed_on_the_row_may_explain_an_amount() {
    let policy = || {
        json!({"version": 1, "amounts": lines(json!({
            "line": {"quantity": "/q", "unit_price": "/p", "unexplained": "printed"},
        }))})
    };
    let found = |amount: &str, row: &str| {
        let output = with_lines(amount, amount, json!([{"q": "2", "p": "10.00", "amount": amount}]));
        found_with(policy(), output, row, &[("/lines/0/amount", amount)])
    };
    assert_eq!(found("18.00", "Oil  2  10.00  10.00 %  18.00"), []);
    assert_eq!(
        found("18.00", "Oil  2  10.00  10.00  18.00"),
        one("line_total", "/lines/0/amount"),
        "that is the price"
    );
    assert_eq!(found("18.00", "Oil  2  10.00  -2.00  18.00"), one("line_total", "/lines/0/amount"));
    assert_eq!(found("23.80", "Oil  2  10.00  19%  3.80  23.80"), []);
    assert_eq!(found("21.42", "Oil  2  10.00  10%  19%  21.42"), []);
    assert_eq!(found("22.00", "Oil  2  10.00  7%  22.00"), one("line_total", "/lines/0/amount"));
    assert_eq!(
        found("22.00", "Oil  2  10.00  22.00\n10%"),
        one("line_total", "/lines/0/amount"),
        "another row"
    );
}

#[test]
fn a_line_is_there_as_often_as_it_is_printed() {
    let policy = || json!({"version": 1, "amounts": lines(json!({"line": {"quantity": "/q", "unit_price": "/p", "as_printed": true}}))});
    let line = || json!({"q": "1", "p": "0.00", "amount": "0.00"});
    let output = |count: usize| with_lines("0.00", "0.00", json!(vec![line(); count]));
    let row = "Flyer   1   0.00   0.00\n";
    assert_eq!(found_with(policy(), output(2), row, &[]), one("line_repeated", "/lines/1"));
    assert_eq!(found_with(policy(), output(2), &row.repeat(2), &[]), []);
    assert_eq!(found_with(policy(), output(1), row, &[]), []);
    assert_eq!(
        found_with(policy(), output(2), "in columns that were torn apart", &[]),
        [],
        "nothing is known"
    );
}

#[test]
fn parts_of_a_line_are_not_added_again() {
    let right = |parts: [Value; 3]| with_lines("403.24", "403.24", json!(parts));
    let whole = |extra: Value| {
        let mut line = json!({"text": "iPad", "amount": "399.00"});
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    let part = |extra: Value| {
        let mut line = json!({"text": "Incl. levy", "amount": "4.24"});
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    let other = || json!({"text": "Cable", "amount": "4.24", "level": 0});
    for (rule, line, sub) in [
        (json!({"included": "/included"}), whole(json!({})), part(json!({"included": true}))),
        (json!({"parent": "/parent"}), whole(json!({"parent": null})), part(json!({"parent": 0}))),
        (json!({"level": "/level"}), whole(json!({"level": 0})), part(json!({"level": 1}))),
        (json!({"marks": ["incl."], "description": "/text"}), whole(json!({})), part(json!({}))),
    ] {
        let rule = || lines(json!({"sub_lines": rule}));
        assert_eq!(
            amounts(rule(), right([line.clone(), sub.clone(), other()])),
            [],
            "{rule:?}",
            rule = rule()
        );
        let mut more = sub.clone();
        more["amount"] = json!("400.00");
        assert_eq!(amounts(rule(), right([line, more, other()])), one("sub_line", "/lines/0"));
    }
    let lost = json!([{"amount": "1.00", "parent": 5}]);
    let found = amounts(lines(json!({"sub_lines": {"parent": "/parent"}})), with_lines("1.00", "1.00", lost));
    assert_eq!(found, one("sub_line", "/lines/0"));
}

#[test]
fn adjustments_count_before_or_after_tax() {
    let rule = || {
        lines(json!({"adjustments": [
            {"field": "/shipping", "effect": "add"},
            {"field": "/discount", "effect": "subtract"},
            {"field": "/deposit", "effect": "add", "counts": "after_tax"},
        ]}))
    };
    let output = |net: &str, tax: &str, total: &str, discount: &str| {
        json!({"net": net, "tax": tax, "total": total, "shipping": "5.00", "discount": discount, "deposit": "0.25",
            "lines": [{"amount": "100.00"}]})
    };
    assert_eq!(amounts(rule(), output("95.00", "19.00", "114.25", "10.00")), []);
    assert_eq!(amounts(rule(), output("95.00", "19.00", "114.25", "-10.00")), [], "its sign does not matter");
    assert_eq!(amounts(rule(), output("105.00", "0.00", "105.25", "10.00")), one("line_sum", "/lines"));
    assert_eq!(amounts(rule(), output("95.00", "19.00", "114.00", "10.00")), one("net_tax_total", "/total"));
    let credit = json!({"net": "-95.00", "tax": "0.00", "total": "-95.00", "discount": "5.00", "lines": [{"amount": "-100.00"}]});
    assert_eq!(amounts(rule(), credit), [], "a discount makes what is given back smaller");
}

#[test]
fn several_rates_add_up_and_each_is_right() {
    let rule = |rounding: &str, left_out: bool| {
        json!({"net": "/net", "tax": "/tax", "total": "/total", "rounding": rounding, "taxes": {
            "list": "/taxes", "base": "/base", "rate": "/rate", "tax": "/tax", "untaxed_left_out": left_out,
        }})
    };
    let output = |taxes: Value| json!({"net": "150.00", "tax": "28.00", "total": "178.00", "taxes": taxes});
    let right = json!([{"base": "100.00", "rate": "21", "tax": "21.00"}, {"base": "50.00", "rate": "14.0", "tax": "7.00"}]);
    assert_eq!(amounts(rule("total", false), output(right)), []);
    assert_eq!(amounts(rule("total", false), output(Value::Null)), []);
    let rate = json!([{"base": "100.00", "rate": "19", "tax": "21.00"}, {"base": "50.00", "rate": "14", "tax": "7.00"}]);
    assert_eq!(amounts(rule("total", false), output(rate)), one("tax_rate", "/taxes/0/tax"));
    let short = json!([{"base": "133.33", "rate": "21", "tax": "28.00"}]);
    assert_eq!(amounts(rule("total", false), output(short.clone())), one("tax_sum", "/taxes"));
    assert_eq!(amounts(rule("total", true), output(short)), []);
}

#[test]
fn rounding_decides_what_may_differ_by_cents() {
    let rule = |rounding: &str| lines(json!({"rounding": rounding}));
    let output = || with_lines("10.01", "10.01", json!(vec![json!({"amount": "3.33"}); 3]));
    assert_eq!(amounts(rule("total"), output()), [], "two cents for three lines");
    assert_eq!(amounts(rule("line"), output()), one("line_sum", "/lines"));
    let more = with_lines("10.02", "10.02", json!(vec![json!({"amount": "3.33"}); 3]));
    assert_eq!(amounts(rule("total"), more), one("line_sum", "/lines"));
}

fn money(code: &str, total: &str) -> Value {
    json!({"currency": code, "total": total})
}

fn currencies(output: Value, document: &str, quote: &str) -> Vec<(&'static str, String)> {
    let policy = json!({
        "version": 1,
        "amounts": {"total": "/total"},
        "currency": {
            "field": "/currency", "allowed": ["EUR", "USD", "CAD", "JPY", "KWD", "SEK"], "decimals": true,
            "beside_total": true,
        },
    });
    found_with(policy, output, document, &[("/total", quote)])
}

#[test]
fn amounts_have_the_decimals_of_their_currency() {
    for (code, total, fine) in [
        ("EUR", "1.23", true),
        ("EUR", "1.230", false),
        ("EUR", "1", true),
        ("JPY", "1234", true),
        ("JPY", "1234.5", false),
        ("KWD", "1.234", true),
        ("KWD", "1.2345", false),
    ] {
        let expected = if fine { vec![] } else { one("amount_decimals", "/total") };
        assert_eq!(currencies(money(code, total), "", ""), expected, "{code} {total}");
    }
}

#[test]
fn the_currency_printed_next_to_the_total_counts() {
    for (code, document, fine) in [
        ("EUR", "Total   € 10.00", true),
        ("USD", "Total   € 10.00", false),
        ("EUR", "Total EUR     10.00    USD 12.00", true),
        ("USD", "Total EUR     10.00", false),
        ("EUR", "Total 10.00 €", true),
        ("SEK", "Summa 10.00 kr", true),
        ("EUR", "Summa 10.00 kr", false),
        ("CAD", "Total $10.00, all amounts in CAD", true),
        ("USD", "Total $10.00, all amounts in CAD", false),
        ("USD", "Total $10.00", true),
        ("USD", "Total 10.00", true),
    ] {
        let expected = if fine { vec![] } else { one("currency_contradicted", "/currency") };
        assert_eq!(currencies(money(code, "10.00"), document, "10.00"), expected, "{code}: {document}");
    }
}

#[test]
fn a_credit_note_says_so_and_has_its_signs() {
    let found = |convention: &str, kind: Value, total: &str, document: &str| {
        let policy = json!({
            "version": 1,
            "amounts": {"total": "/total"},
            "credit_notes": {"field": "/kind", "amounts": convention, "titles": ["Credit note", "Gutschrift"]},
            "evidence": {"exempt": ["/kind"]},
        });
        found_with(policy, json!({"kind": kind, "total": total}), document, &[("/total", "10.00")])
    };
    let (credit, printed) = (|| json!("credit_note"), "CREDIT NOTE No. 17      12 May\n\nTotal   10.00");
    assert_eq!(
        found("negative", credit(), "-10.00", printed),
        [],
        "printed without a sign, and meant with one"
    );
    assert_eq!(found("positive", credit(), "10.00", printed), []);
    assert_eq!(found("negative", credit(), "10.00", printed), one("credit_sign", "/total"));
    assert_eq!(found("positive", credit(), "-10.00", printed), one("credit_sign", "/total"));
    assert_eq!(found("negative", Value::Null, "10.00", printed), one("document_type", "/kind"));
    let prose = "Invoice 3\nReturns are settled by credit note within 14 days.\nCredit note policy applies.\nTotal 10.00";
    assert_eq!(found("negative", Value::Null, "10.00", prose), []);
    assert_eq!(found("negative", credit(), "-10.00", prose), one("document_type", "/kind"));
    let negative = found("negative", json!("invoice"), "-10.00", prose);
    assert_eq!(negative[0], ("credit_sign", "/total".to_owned()));
}

#[test]
fn numbers_of_documents_are_whole_and_exact() {
    let found = |number: &str| {
        let policy = json!({"version": 1, "evidence": {"exact": ["/number"]}});
        let document = "Invoice INV/2023/03/0008, # BLR_4, F 12/a";
        found_with(policy, json!({"number": number}), document, &[("/number", document)])
    };
    for whole in ["INV/2023/03/0008", "BLR_4", "# BLR_4", "F 12/a"] {
        assert_eq!(found(whole), [], "{whole}");
    }
    for part in ["INV/2023/03", "2023/03/0008", "inv/2023/03/0008", "BLR", "F 12", "INV/2023/03/0009"] {
        assert_eq!(found(part), one("evidence_value_mismatch", "/number"), "{part}");
    }
}

#[test]
fn an_account_is_compared_by_its_letters_and_digits() {
    let found = |iban: &str| {
        let policy = json!({"version": 1, "ibans": ["/iban"], "evidence": {}});
        found_with(
            policy,
            json!({"iban": iban}),
            "IBAN NL91 ABNA 0417 1643 00",
            &[("/iban", "NL91 ABNA 0417 1643 00")],
        )
    };
    assert_eq!(found("NL91ABNA0417164300"), []);
    assert_eq!(found("NL91ABNA0417164301").len(), 2, "neither an account nor in the document");
    assert_eq!(found("DE89370400440532013000"), one("evidence_value_mismatch", "/iban"));
}

/// What values come to that are all quoted by the whole document.
fn read(output: Value, document: &str, style: Value) -> Vec<(&'static str, String)> {
    let names: Vec<_> = output.as_object().unwrap().keys().map(|name| format!("/{name}")).collect();
    let quotes: Vec<_> = names.iter().map(|field| (field.as_str(), document)).collect();
    let policy = json!({
        "version": 1,
        "style": style,
        "amounts": {"net": "/net", "tax": "/tax", "total": "/total"},
        "dates": [{"field": "/date"}, {"field": "/due", "not_before_field": "/date"}],
        "evidence": {"zero_amounts_exempt": true, "numbers": ["/weight"]},
    });
    let mut whole = json!({"net": "0", "tax": "0", "total": "0"});
    whole.as_object_mut().unwrap().extend(output.as_object().unwrap().clone());
    found_with(policy, whole, document, &quotes)
}

#[test]
fn an_ambiguous_number_is_read_as_the_document_writes_or_is_in_doubt() {
    let weight = |value: &str, document: &str| read(json!({"weight": value}), document, json!({}));
    assert_eq!(weight("54.910", "weight 54,910 kg for 12,50"), []);
    assert_eq!(weight("54910", "weight 54,910 kg for 12,50"), one("evidence_value_mismatch", "/weight"));
    assert_eq!(weight("54910", "weight 54,910 kg for 12.50"), []);
    assert_eq!(weight("54.910", "weight 54,910 kg"), one("number_ambiguous", "/weight"));
    assert_eq!(weight("1234.56", "weight 1 234,56"), one("number_ambiguous", "/weight"));
    assert_eq!(weight("1234.56", "weight 1 234,56 of 2 000,00"), []);
    assert_eq!(weight("234.56", "weight 1 234,56 of 2 000,00"), one("evidence_value_mismatch", "/weight"));
    let declared = read(json!({"weight": "54910"}), "weight 54,910 kg", json!({"decimal": "point"}));
    assert_eq!(declared, []);
}

#[test]
fn a_sum_that_only_one_reading_fits_leaves_no_doubt() {
    let document = "net 1,000 tax 210 total 1,210";
    let output = |net: &str, tax: &str, total: &str| json!({"net": net, "tax": tax, "total": total});
    assert_eq!(read(output("1000", "210", "1210"), document, json!({})), []);
    let scaled = "net 1,000 tax 2,100 total 3,100";
    let both = read(output("1000", "2100", "3100"), scaled, json!({}));
    assert_eq!(both, [], "an amount in cents has no three decimals");
}

#[test]
fn an_ambiguous_date_is_read_as_the_document_orders_others_or_is_in_doubt() {
    let dates =
        |date: &str, due: &str, document: &str| read(json!({"date": date, "due": due}), document, json!({}));
    let american = "Date 03/04/2023 Due 03/20/2023";
    assert_eq!(dates("2023-03-04", "2023-03-20", american), []);
    assert_eq!(dates("2023-04-03", "2023-03-20", american)[0].0, "date_order");
    let open = "Date 03/04/2023 Due 05/04/2023";
    assert_eq!(dates("2023-04-03", "2023-04-05", open).len(), 2, "both are in doubt");
    let ordered = "Date 03/04/2023 Due 04/03/2023";
    assert_eq!(dates("2023-03-04", "2023-04-03", ordered), [], "the other way round it would be due before");
    assert_eq!(dates("2023-04-03", "2023-04-05", "Date 03.04.2023 Due 05.04.2023"), []);
}

#[test]
fn a_tax_of_zero_is_held_against_the_printed_one() {
    let found = |document: &str| {
        let policy = json!({
            "version": 1,
            "amounts": {"net": "/net", "tax": "/tax", "total": "/total"},
            "printed_tax": {"labels": ["BTW", "Tax", "MwSt."], "not_after": ["ohne", "excl."]},
        });
        found_with(policy, json!({"net": "717.97", "tax": "0.00", "total": "717.97"}), document, &[])
    };
    let overlooked = || one("tax_overlooked", "/tax");
    assert_eq!(found("Exclusief   € 593,36\nBTW 21%     € 124,61\nTotaal   € 717,97"), overlooked());
    assert_eq!(
        found("Item     Net       Tax       Total\nX        593.36    124.61    717.97"),
        overlooked()
    );
    assert_eq!(
        found("Net 593,36\nPreis    Betrag\nohne     ohne\nMwSt.    MwSt.\n124,61   717,97"),
        [],
        "without tax"
    );
    assert_eq!(found("Preis excl. BTW   124,61   593,36   717,97"), []);
    assert_eq!(found("Total 717.97\nTax (0%):  $0.00\nTax: 0.2%"), []);
    assert_eq!(found("Total 717.97\nTax office 12.50"), [], "nothing that it leads to");
}

#[test]
fn what_stands_beside_a_value_says_what_it_is() {
    let found = |date: Value, supplier: &str, document: &str| {
        let policy = json!({
            "version": 1,
            "dates": [{"field": "/date"}],
            "labels": [
                {"field": "/date", "own": ["Invoice date"], "other": ["Order date"], "not_overlooked": true},
                {"field": "/supplier", "other": ["Bill to"]},
            ],
        });
        found_with(policy, json!({"date": date, "supplier": supplier}), document, &[])
    };
    let document = "ACME Ltd                      Bill To:\nInvoice Date: 5 May 2023      Example Labs\n\
        Order date: 1 May 2023\n\nShipped   Paid\n1 May 2023   ACME Ltd\n";
    assert_eq!(found(json!("2023-05-05"), "Acme Ltd", document), []);
    assert_eq!(found(json!("2023-05-01"), "ACME Ltd", document), [], "it stands elsewhere, too");
    assert_eq!(found(json!("2023-05-05"), "Example Labs", document), one("label_mismatch", "/supplier"));
    let only = "Order date:   1 May 2023\nInvoice date   2 May 2023";
    assert_eq!(found(json!("2023-05-01"), "x", only), one("label_mismatch", "/date"));
    assert_eq!(found(Value::Null, "x", only), one("value_overlooked", "/date"));
    assert_eq!(found(Value::Null, "x", "Invoice date: see overleaf"), []);
    let table = "Order date     Invoice date\n01.05.2023     02.05.2023";
    assert_eq!(found(json!("2023-05-01"), "x", table), one("label_mismatch", "/date"));
    assert_eq!(found(json!("2023-05-02"), "x", table), []);
    assert_eq!(found(Value::Null, "x", table), one("value_overlooked", "/date"));
}

#[test]
fn a_rate_may_be_printed_with_its_sign() {
    let found = |rate: &str| {
        let policy = json!({
            "version": 1,
            "amounts": {"net": "/net", "tax": "/tax", "total": "/total", "taxes": {
                "list": "/taxes", "base": "/base", "rate": "/rate", "tax": "/tax",
            }},
            "evidence": {"exempt": ["/net", "/tax", "/total"]},
        });
        let document = "MwSt 19 % auf 3.009,00   571,71";
        let output = json!({"net": "3009.00", "tax": "571.71", "total": "3580.71",
            "taxes": [{"base": "3009.00", "rate": rate, "tax": "571.71"}]});
        let quotes = ["base", "rate", "tax"].map(|name| format!("/taxes/0/{name}"));
        let quotes: Vec<_> = quotes.iter().map(|field| (field.as_str(), document)).collect();
        found_with(policy, output, document, &quotes)
    };
    assert_eq!(found("19"), []);
    assert_eq!(found("19.0"), []);
    assert_eq!(
        found("7"),
        [("tax_rate", "/taxes/0/tax".to_owned()), ("evidence_value_mismatch", "/taxes/0/rate".to_owned())]
    );
}

#[test]
fn an_amount_that_follows_from_quoted_ones_needs_no_quote() {
    let found = |tax: &str, quoted: &[&str]| {
        let policy = json!({
            "version": 1,
            "amounts": {"net": "/net", "tax": "/tax", "total": "/total", "taxes": {
                "list": "/taxes", "base": "/base", "rate": "/rate", "tax": "/tax",
            }},
            "evidence": {"derived_amounts_exempt": true},
        });
        let document = "19 % auf 3.009,00 571,71\n7 % auf 399,00 27,93\nnetto 3.408,00 brutto 4.007,64";
        let output = json!({"net": "3408.00", "tax": tax, "total": "4007.64", "taxes": [
            {"base": "3009.00", "rate": "19", "tax": "571.71"}, {"base": "399.00", "rate": "7", "tax": "27.93"}]});
        let quotes: Vec<_> = quoted.iter().map(|field| (*field, document)).collect();
        found_with(policy, output, document, &quotes)
    };
    let all = [
        "/net",
        "/total",
        "/taxes/0/base",
        "/taxes/0/rate",
        "/taxes/0/tax",
        "/taxes/1/base",
        "/taxes/1/rate",
        "/taxes/1/tax",
    ];
    assert_eq!(found("599.64", &all), []);
    let missing = [("evidence_missing", "/tax".to_owned()), ("evidence_missing", "/taxes/1/tax".to_owned())];
    assert_eq!(found("599.64", &all[..7]), missing, "one of its terms has none");
    assert!(found("599.65", &all).contains(&("evidence_missing", "/tax".to_owned())), "not exactly");
}

#[test]
fn a_sign_that_several_currencies_share_needs_a_hint() {
    let found = |code: &str, document: &str, declared: Value| {
        let policy = json!({
            "version": 1,
            "amounts": {"total": "/total"},
            "currency": {"field": "/currency", "beside_total": true, "aliases": declared},
            "evidence": {},
        });
        found_with(policy, money(code, "10.00"), document, &[("/currency", document), ("/total", document)])
    };
    let dollars = "Total $10.00";
    assert_eq!(found("USD", dollars, json!({})), one("currency_ambiguous", "/currency"));
    assert_eq!(found("USD", dollars, json!({"USD": ["$"]})), []);
    assert_eq!(found("AUD", "Perth WA 6000 Total $10.00", json!({"USD": ["$"]})), []);
    let contradicted = vec![
        ("currency_contradicted", "/currency".to_owned()),
        ("evidence_value_mismatch", "/currency".to_owned()),
    ];
    assert_eq!(found("NZD", "Perth WA 6000 Total $10.00", json!({})), contradicted);
    assert_eq!(found("GBP", "Total £10.00", json!({})), [], "a usual sign needs none");
}

#[test]
fn a_tax_is_not_higher_than_it_may_be() {
    let rule = || json!({"net": "/net", "tax": "/tax", "total": "/total", "max_tax_percent": "40"});
    let output = |net: &str, tax: &str| json!({"net": net, "tax": tax, "total": "121.00"});
    assert_eq!(amounts(rule(), output("100.00", "21.00")), []);
    assert_eq!(amounts(rule(), output("21.00", "100.00")), one("tax_too_high", "/tax"));
    assert_eq!(amounts(rule(), output("0.00", "121.00")), one("tax_too_high", "/tax"));
}

#[test]
fn what_a_line_says_stands_in_its_own_row_and_columns() {
    let found = |lines: Value, quotes: &[(&str, &str)]| {
        let policy = json!({"version": 1, "amounts": lines_of_rows(), "evidence": {}});
        let document = "Item    Qty    Price    Amount\nBolt      4     7.50     30.00\nNut       2    10.00     20.00\n";
        let mut findings = found_with(policy, with_lines("50.00", "50.00", lines), document, quotes);
        findings.retain(|(code, _)| *code != "evidence_missing");
        findings
    };
    let (bolt, nut) = ("Bolt 4 7.50 30.00", "Nut 2 10.00 20.00");
    let quotes = [
        ("/lines/0/text", bolt),
        ("/lines/0/q", bolt),
        ("/lines/0/p", bolt),
        ("/lines/0/amount", bolt),
        ("/lines/1/text", nut),
        ("/lines/1/amount", nut),
    ];
    let lines = |text: &str, q: &str, p: &str| json!([{"text": text, "q": q, "p": p, "amount": "30.00"}, {"text": "Nut", "amount": "20.00"}]);
    assert_eq!(found(lines("Bolt", "4", "7.50"), &quotes), []);
    assert_eq!(found(lines("Bolt", "7.50", "4"), &quotes), one("label_mismatch", "/lines/0/q"));
    let mut mixed = quotes;
    mixed[0].1 = nut;
    assert_eq!(found(lines("Nut", "4", "7.50"), &mixed), one("line_mixed", "/lines/0/text"));
}

fn lines_of_rows() -> Value {
    lines(json!({"line": {
        "quantity": "/q", "unit_price": "/p", "own_row": true,
        "heads": {"quantity": ["Qty"], "unit_price": ["Price"]},
    }}))
}
