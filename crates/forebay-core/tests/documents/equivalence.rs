//! When two outputs say the same, and when the policy can't tell them apart.

use forebay_core::extract::fold;
use rust_decimal::Decimal;
use serde_json::{Map, Value};

use crate::known::Known;

/// Whether two outputs say the same. Nothing else does: an altered answer that is not equivalent must not succeed.
///
/// * Null, absent and an empty list are the same, and so are no `document_type` and `invoice`.
/// * Numbers are the same when they are equal, however many decimals they have. A discount of the whole document has no
///   sign, and on a credit note quantities and unit prices have none.
/// * Accounts are the same when their letters and digits are.
/// * Names, descriptions and numbers of documents are the same when they are so without regard to white space, invisible
///   characters, the form of quotation marks and dashes, and punctuation at their ends; names and descriptions
///   also without regard to case.
pub fn equivalent(a: &Value, b: &Value) -> bool {
    Comparison { is_credit: a["document_type"] == "credit_note", known: None }.same("", a, b)
}

/// Whether an output that stands in its quotes and satisfies the policy is one that the policy can't tell from the right
/// one. Beside what is equivalent:
///
/// * A description may be any words of its quotes, and the supplier any words of the quote of its name.
/// * The number of a document may have words without digits around it that its quote has there, such as `n.`.
/// * Quantity and unit price may be any numbers of their quotes that lead to the line's amount.
/// * The only line of a document may have its amount without tax or with it.
pub fn indistinguishable(known: &Known, output: &Value) -> bool {
    let is_credit = known.output["document_type"] == "credit_note";
    Comparison { is_credit, known: Some(known) }.same("", output, &known.output)
}

struct Comparison<'k> {
    is_credit: bool,
    known: Option<&'k Known>,
}

impl Comparison<'_> {
    fn same(&self, at: &str, a: &Value, b: &Value) -> bool {
        if is_nothing(at, a) || is_nothing(at, b) {
            return is_nothing(at, a) && is_nothing(at, b);
        }
        match (a, b) {
            (Value::Object(left), Value::Object(right)) => {
                let names = left.keys().chain(right.keys());
                names.into_iter().all(|name| self.same(name, member(left, name), member(right, name)))
            }
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.same(at, left, right))
            }
            (Value::String(left), Value::String(right)) => {
                self.plain(at, left) == self.plain(at, right) || self.can_not_tell(at, left)
            }
            _ => a == b,
        }
    }

    fn plain(&self, at: &str, text: &str) -> String {
        let unsigned = at == "discount" || self.is_credit && matches!(at, "quantity" | "unit_price");
        match at {
            "iban" => text.chars().filter(|char| char.is_alphanumeric()).collect(),
            "invoice_number" => trimmed(&fold(text)),
            "supplier" | "description" => trimmed(&fold(text).to_lowercase()),
            _ => text.parse::<Decimal>().map_or_else(
                |_| text.to_owned(),
                |number| if unsigned { number.abs() } else { number }.normalize().to_string(),
            ),
        }
    }

    fn can_not_tell(&self, at: &str, text: &str) -> bool {
        let Some(known) = self.known else { return false };
        let lower = |text: &str| fold(text).to_lowercase();
        let of_name =
            |(field, quote): &(String, String)| field == "/supplier" && lower(quote).contains(&lower(text));
        match at {
            "description" | "quantity" | "unit_price" => true,
            "supplier" => known.quotes.iter().any(of_name),
            "invoice_number" => {
                let number = fold(known.output["invoice_number"].as_str().unwrap());
                fold(text).split_once(&number).is_some_and(|(before, after)| {
                    let apart = before.is_empty() || before.ends_with(' ');
                    let apart = apart && (after.is_empty() || after.starts_with(' '));
                    apart && ![before, after].concat().contains(char::is_numeric)
                })
            }
            "amount" => {
                let whole =
                    ["net", "total"].map(|name| self.plain(name, known.output[name].as_str().unwrap()));
                known.output["lines"].as_array().unwrap().len() == 1 && whole.contains(&self.plain(at, text))
            }
            _ => false,
        }
    }
}

fn member<'v>(object: &'v Map<String, Value>, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}

fn is_nothing(at: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::String(text) => at == "document_type" && text == "invoice",
        _ => false,
    }
}

fn trimmed(text: &str) -> String {
    text.trim_matches(|char: char| !char.is_alphanumeric()).to_owned()
}
