//! What a model may get wrong, done to each right answer in every place where it can be done.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::known::{Known, answer};

/// An answer that was altered, and how.
pub struct Altered {
    pub how: String,
    pub output: Value,
    pub quotes: Vec<(String, String)>,
}

impl Altered {
    pub fn answer(&self) -> Value {
        answer(&self.output, &self.quotes)
    }
}

/// Collects alterations of one right answer.
struct Alter<'k> {
    known: &'k Known,
    all: Vec<Altered>,
}

/// Every alteration that makes a difference.
pub fn alterations(known: &Known) -> Vec<Altered> {
    let mut alter = Alter { known, all: Vec::new() };
    alter.exchanged();
    alter.numbers();
    alter.scales();
    alter.currencies();
    alter.accounts();
    alter.dates();
    alter.lines();
    alter.taxes();
    alter.texts();
    alter.quotes();
    alter.types();
    alter.decoys();
    let right = &known.output;
    alter.all.retain(|altered| altered.output != *right || altered.quotes != known.quotes);
    alter.all
}

impl Alter<'_> {
    fn add(&mut self, how: impl Into<String>, change: impl FnOnce(&mut Value, &mut Vec<(String, String)>)) {
        let (mut output, mut quotes) = (self.known.output.clone(), self.known.quotes.clone());
        change(&mut output, &mut quotes);
        self.all.push(Altered { how: how.into(), output, quotes });
    }

    fn set(&mut self, how: &str, field: &str, value: Value) {
        self.add(format!("{how} {field}"), |output, _| put(output, field, value));
    }

    /// Another value, with the quotes that the field of its own has.
    fn taken_from(&mut self, field: &str, other: &str) {
        let (Some(value), Some(_)) = (self.value(other), self.value(field)) else { return };
        self.add(format!("{field} from {other}"), |output, quotes| {
            put(output, field, value);
            move_quotes(quotes, other, field);
        });
    }

    fn value(&self, field: &str) -> Option<Value> {
        self.known.output.pointer(field).filter(|value| !value.is_null()).cloned()
    }

    fn number(&self, field: &str) -> Option<Decimal> {
        self.value(field)?.as_str()?.parse().ok()
    }

    fn count(&self, list: &str) -> usize {
        self.known.output.pointer(list).and_then(Value::as_array).map_or(0, Vec::len)
    }

    fn numbers_of(&self) -> Vec<String> {
        let is_number = |field: &String| self.number(field).is_some();
        let names = ["net", "tax", "total", "charges", "discount", "adjustment"];
        let mut fields: Vec<_> = names.map(|name| format!("/{name}")).to_vec();
        for (list, members) in
            [("lines", ["quantity", "unit_price", "amount"]), ("taxes", ["base", "rate", "tax"])]
        {
            for index in 0..self.count(&format!("/{list}")) {
                fields.extend(members.map(|member| format!("/{list}/{index}/{member}")));
            }
        }
        fields.into_iter().filter(is_number).collect()
    }

    fn exchanged(&mut self) {
        let last = self.count("/lines").saturating_sub(1);
        let mut pairs = vec![
            ("/net".to_owned(), "/total".to_owned()),
            ("/tax".to_owned(), "/total".to_owned()),
            ("/net".to_owned(), "/tax".to_owned()),
            ("/invoice_date".to_owned(), "/due_date".to_owned()),
            ("/lines/0/amount".to_owned(), format!("/lines/{last}/amount")),
            ("/lines/0/quantity".to_owned(), format!("/lines/{last}/quantity")),
            ("/lines/0/description".to_owned(), format!("/lines/{last}/description")),
        ];
        pairs.extend(
            (0..=last).map(|at| (format!("/lines/{at}/quantity"), format!("/lines/{at}/unit_price"))),
        );
        pairs.extend((0..=last).map(|at| (format!("/lines/{at}/amount"), format!("/lines/{at}/unit_price"))));
        for (a, b) in pairs {
            let (Some(of_a), Some(of_b)) = (self.value(&a), self.value(&b)) else { continue };
            if of_a == of_b || a == b {
                continue;
            }
            let exchange = |output: &mut Value| {
                put(output, &a, of_b.clone());
                put(output, &b, of_a.clone());
            };
            self.add(format!("exchange {a} and {b}"), |output, _| exchange(output));
            self.add(format!("exchange {a} and {b} with quotes"), |output, quotes| {
                exchange(output);
                for (field, _) in quotes {
                    *field = if *field == a {
                        b.clone()
                    } else if *field == b {
                        a.clone()
                    } else {
                        continue;
                    };
                }
            });
            self.taken_from(&a, &b);
            self.taken_from(&b, &a);
        }
    }

    fn numbers(&mut self) {
        for field in self.numbers_of() {
            let (text, number) = (self.value(&field).unwrap(), self.number(&field).unwrap());
            let text = text.as_str().unwrap();
            self.set("last digit of", &field, json!(other_digit(text)));
            if let Some(twisted) = twisted(text) {
                self.set("digits exchanged in", &field, json!(twisted));
            }
            if !number.is_zero() {
                self.set("sign of", &field, json!((-number).to_string()));
                self.set("nothing for", &field, json!("0.00"));
            }
            for factor in ["10", "100", "1000", "0.1", "0.01"] {
                let scaled = number * factor.parse::<Decimal>().unwrap();
                self.set(&format!("x{factor}"), &field, json!(short(scaled)));
            }
            self.set("null for", &field, Value::Null);
        }
    }

    /// All amounts at once, so that every sum still holds.
    fn scales(&mut self) {
        let all = self.numbers_of();
        let amounts: Vec<_> = all
            .into_iter()
            .filter(|field| !field.ends_with("quantity") && !field.ends_with("rate"))
            .collect();
        for factor in ["10", "100", "1000", "0.1", "0.01", "0.001", "-1"] {
            let scaled =
                |field: &String| short(self.number(field).unwrap() * factor.parse::<Decimal>().unwrap());
            let values: Vec<_> = amounts.iter().map(scaled).collect();
            self.add(format!("all amounts x{factor}"), |output, _| {
                amounts.iter().zip(values).for_each(|(field, value)| put(output, field, json!(value)));
            });
        }
        let more = |field: &str| self.number(field).map(|number| json!((number + Decimal::ONE).to_string()));
        let (net, tax, total) = (more("/net").unwrap(), more("/tax").unwrap(), more("/total").unwrap());
        self.add("tax and total one more", |output, _| {
            put(output, "/tax", tax);
            put(output, "/total", total.clone());
        });
        self.add("net and total one more", |output, _| {
            put(output, "/net", net);
            put(output, "/total", total);
        });
        if self.number("/tax").is_some_and(|tax| !tax.is_zero()) {
            for (field, other) in [("/net", "/total"), ("/total", "/net")] {
                let value = self.value(other).unwrap();
                self.add(format!("no tax, {field} from {other}"), |output, quotes| {
                    put(output, field, value);
                    put(output, "/tax", json!("0.00"));
                    put(output, "/taxes", Value::Null);
                    quotes.retain(|(field, _)| field != "/tax" && !field.starts_with("/taxes/"));
                    move_quotes(quotes, other, field);
                });
            }
        }
    }

    fn currencies(&mut self) {
        for code in [
            "EUR", "USD", "GBP", "CHF", "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "JPY", "CNY", "ZZZ", "eur",
            "€",
        ] {
            self.set(&format!("{code} for"), "/currency", json!(code));
        }
        self.set("null for", "/currency", Value::Null);
    }

    fn accounts(&mut self) {
        let other = "DE75512108001245126199";
        self.set("another account for", "/iban", json!(other));
        self.add("another account with a quote of its own", |output, quotes| {
            put(output, "/iban", json!(other));
            quotes.retain(|(field, _)| field != "/iban");
            quotes.push(("/iban".to_owned(), format!("IBAN {other}")));
        });
        let Some(iban) = self.value("/iban") else { return };
        let iban = iban.as_str().unwrap().to_owned();
        self.set("last digit of", "/iban", json!(other_digit(&iban)));
        self.set("a character less of", "/iban", json!(&iban[..iban.len() - 1]));
        if let Some(twisted) = twisted(&iban) {
            self.set("digits exchanged in", "/iban", json!(twisted));
        }
    }

    fn dates(&mut self) {
        for field in ["/invoice_date", "/due_date"] {
            let Some(date) =
                self.value(field).and_then(|date| date.as_str()?.parse::<jiff::civil::Date>().ok())
            else {
                continue;
            };
            if let Ok(swapped) = jiff::civil::Date::new(date.year(), date.day(), date.month()) {
                self.set("day and month exchanged in", field, json!(swapped.to_string()));
            }
            for days in [-1, 1, 31, -365, 366] {
                let other = date.saturating_add(jiff::Span::new().days(days));
                self.set(&format!("{days} days on"), field, json!(other.to_string()));
            }
            self.set("impossible", field, json!(format!("{}-02-30", date.year())));
            self.set("another form of", field, json!(date.strftime("%d.%m.%Y").to_string()));
            self.set("a time in", field, json!(format!("{date}T00:00:00")));
        }
        self.set("null for", "/invoice_date", Value::Null);
        if self.value("/due_date").is_some() {
            self.add("no /due_date", |output, quotes| {
                put(output, "/due_date", Value::Null);
                quotes.retain(|(field, _)| field != "/due_date");
            });
        }
    }

    fn lines(&mut self) {
        for at in 0..self.count("/lines") {
            self.add(format!("without line {at}"), |output, quotes| {
                output["lines"].as_array_mut().unwrap().remove(at);
                quotes.retain(|(field, _)| !field.starts_with(&format!("/lines/{at}/")));
                quotes.iter_mut().for_each(|(field, _)| *field = line_before(field, at));
            });
            self.add(format!("line {at} twice"), |output, quotes| {
                let lines = output["lines"].as_array_mut().unwrap();
                lines.push(lines[at].clone());
                let last = lines.len() - 1;
                let from = format!("/lines/{at}/");
                let copies: Vec<_> = quotes
                    .iter()
                    .filter_map(|(field, quote)| {
                        Some((format!("/lines/{last}/{}", field.strip_prefix(&from)?), quote.clone()))
                    })
                    .collect();
                quotes.extend(copies);
            });
        }
        self.set("no", "/lines", json!([]));
        self.set("null for", "/lines", Value::Null);
    }

    fn taxes(&mut self) {
        for at in 0..self.count("/taxes") {
            self.add(format!("without tax {at}"), |output, quotes| {
                output["taxes"].as_array_mut().unwrap().remove(at);
                quotes.retain(|(field, _)| !field.starts_with("/taxes/"));
            });
            self.set("another rate for", &format!("/taxes/{at}/rate"), json!("13"));
        }
    }

    fn texts(&mut self) {
        for field in ["/supplier", "/invoice_number", "/lines/0/description"] {
            let Some(value) = self.value(field) else { continue };
            let text = value.as_str().unwrap();
            let chars: Vec<char> = text.chars().collect();
            for at in [0, chars.len() / 2, chars.len() - 1] {
                let less: String = chars
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| *index != at)
                    .map(|(_, char)| char)
                    .collect();
                if !chars[at].is_whitespace() {
                    self.set(&format!("character {at} lost of"), field, json!(less));
                }
            }
            self.set("last letter of", field, json!(other_digit(text)));
            self.set("blank", field, json!(" "));
            self.set("null for", field, Value::Null);
            let invented = "Invented & Sons 77";
            self.set("invented", field, json!(invented));
            self.add(format!("invented {field} with a quote"), |output, quotes| {
                put(output, field, json!(invented));
                quotes.retain(|(quoted, _)| quoted != field);
                quotes.push((field.to_owned(), invented.to_owned()));
            });
        }
        for field in ["/supplier", "/invoice_number"] {
            self.taken_from(field, if field == "/supplier" { "/invoice_number" } else { "/supplier" });
            self.taken_from(field, "/lines/0/description");
        }
        let kind = if self.value("/document_type") == Some(json!("credit_note")) {
            "invoice"
        } else {
            "credit_note"
        };
        self.set(&format!("{kind} as"), "/document_type", json!(kind));
    }

    fn quotes(&mut self) {
        let fields: Vec<_> =
            ["/supplier", "/invoice_number", "/invoice_date", "/currency", "/total", "/lines/0/amount"]
                .into_iter()
                .filter(|field| self.known.quotes.iter().any(|(quoted, _)| quoted == field))
                .collect();
        for (at, field) in fields.iter().enumerate() {
            let other = fields[(at + 1) % fields.len()];
            self.add(format!("quote of {other} for {field}"), |_, quotes| move_quotes(quotes, other, field));
            self.add(format!("no quote for {field}"), |_, quotes| {
                quotes.retain(|(quoted, _)| quoted != field)
            });
            self.add(format!("a quote that is nowhere for {field}"), |_, quotes| {
                quotes
                    .iter_mut()
                    .filter(|(quoted, _)| quoted == field)
                    .for_each(|(_, quote)| *quote += " 9713");
            });
        }
        self.add("no quotes", |_, quotes| quotes.clear());
        self.add("a quote for what is not there", |_, quotes| {
            let (_, quote) = quotes[0].clone();
            quotes.push(("/lines/99/amount".to_owned(), quote));
        });
    }

    fn types(&mut self) {
        for field in ["/net", "/total", "/lines/0/amount", "/lines/0/quantity"] {
            let Some(number) = self.number(field) else { continue };
            let text = number.to_string();
            self.set("a JSON number for", field, serde_json::from_str(&text).unwrap());
            self.set("words in", field, json!(format!("{text} pcs")));
            self.set("a sign in", field, json!(format!("€{text}")));
            self.set("a list for", field, json!([text]));
            if text.contains('.') {
                self.set("a decimal comma in", field, json!(text.replace('.', ",")));
            }
        }
        self.set("a list for", "/supplier", json!(["x"]));
        self.set("a member that nobody knows:", "/remark", json!("x"));
    }

    fn decoys(&mut self) {
        let known = self.known;
        for decoy in &known.decoys {
            let shown = &decoy.value;
            self.add(format!("{shown} as {}", decoy.field), |output, quotes| {
                put(output, &decoy.field, decoy.value.clone());
                if let Some(quote) = &decoy.quote {
                    quotes.retain(|(field, _)| *field != decoy.field);
                    quotes.push((decoy.field.clone(), quote.clone()));
                }
            });
        }
    }
}

pub fn put(output: &mut Value, field: &str, value: Value) {
    let (parent, member) = field.rsplit_once('/').unwrap();
    match output.pointer_mut(parent).unwrap() {
        Value::Array(elements) => elements[member.parse::<usize>().unwrap()] = value,
        object => object[member] = value,
    }
}

/// The quotes of one field for another.
fn move_quotes(quotes: &mut Vec<(String, String)>, from: &str, into: &str) {
    let moved: Vec<_> = quotes
        .iter()
        .filter(|(field, _)| field == from)
        .map(|(_, quote)| (into.to_owned(), quote.clone()))
        .collect();
    quotes.retain(|(field, _)| field != into);
    quotes.extend(moved);
}

/// The same field where a line before it is gone.
fn line_before(field: &str, gone: usize) -> String {
    let Some((index, rest)) = field.strip_prefix("/lines/").and_then(|rest| rest.split_once('/')) else {
        return field.to_owned();
    };
    let index: usize = index.parse().unwrap();
    format!("/lines/{}/{rest}", if index > gone { index - 1 } else { index })
}

/// Another last digit, or another last letter.
pub fn other_digit(text: &str) -> String {
    let last = text.chars().next_back().unwrap();
    let other = match last {
        '0'..='8' => char::from_u32(u32::from(last) + 1).unwrap(),
        '9' => '0',
        'z' => 'y',
        _ => 'z',
    };
    format!("{}{other}", &text[..text.len() - last.len_utf8()])
}

/// Two digits that stand beside each other and differ, exchanged.
pub fn twisted(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let is_pair = |pair: &[u8]| pair[0] != pair[1] && pair.iter().all(u8::is_ascii_digit);
    let at = bytes.windows(2).position(is_pair)?;
    bytes.swap(at, at + 1);
    String::from_utf8(bytes).ok()
}

/// A number with no more decimals than the schema allows.
fn short(number: Decimal) -> String {
    number.round_dp(4).normalize().to_string()
}
