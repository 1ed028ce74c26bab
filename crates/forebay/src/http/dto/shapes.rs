//! Schemas of members whose bounds are those of their parser.

use forebay_store::record::{BudgetPeriod, Scope};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};

/// At least one visible character, and no control characters but line breaks and tabs: what
/// `http::fields::short_text` reads.
const VISIBLE_TEXT: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";

/// A text for people of up to so many characters.
pub(super) fn text<const MOST: usize>() -> Schema {
    string().max_length(Some(MOST)).pattern(Some(VISIBLE_TEXT)).into()
}

/// What a key may do.
pub(super) fn scopes() -> Schema {
    let scope = string().enum_values(Some(Scope::ALL.map(Scope::name)));
    ArrayBuilder::new().items(scope).min_items(Some(1)).description(Some("What it may do.")).into()
}

/// The span that a budget is for.
pub(super) fn period() -> Schema {
    string()
        .enum_values(Some(BudgetPeriod::ALL.map(BudgetPeriod::name)))
        .description(Some("In UTC; `total` where absent."))
        .into()
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
