//! Schemas of members whose bounds are those of their parser.

use forebay_core::failure::FailureClass;
use forebay_store::record::{BudgetPeriod, LetterState, Scope};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};

/// At least one visible character, and no control characters but line breaks and tabs: what
/// `http::fields::short_text` reads.
const VISIBLE_TEXT: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";

/// A text for people of up to so many characters.
pub(super) fn text<const MOST: usize>() -> Schema {
    string().max_length(Some(MOST)).pattern(Some(VISIBLE_TEXT)).into()
}

/// Who deals with a dead letter.
pub(super) fn owner() -> Schema {
    let description = "Who deals with it; an empty text is nobody.";
    string()
        .max_length(Some(64))
        .pattern(Some(r"^[^\x00-\x1f\x7f-\x9f]*$"))
        .description(Some(description))
        .into()
}

/// A failure class.
pub(super) fn class() -> Schema {
    let classes = FailureClass::ALL.map(FailureClass::name);
    string().enum_values(Some(classes)).description(Some("Only of this failure class.")).into()
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

/// Whether a dead letter is dealt with.
pub(super) fn letter_state() -> Schema {
    let states = ["open", "resolved", "dismissed"];
    string().enum_values(Some(states)).description(Some("`open` opens it again.")).into()
}

/// In which state dead letters are.
pub(super) fn any_letter_state() -> Schema {
    let states = LetterState::ALL.map(LetterState::name);
    string().enum_values(Some(states)).description(Some("In this state; `open` where absent.")).into()
}

/// A task, with or without a revision.
pub(super) fn task() -> Schema {
    string()
        .pattern(Some("^[a-z0-9][a-z0-9._-]{0,63}(@[1-9][0-9]{0,8})?$"))
        .description(Some(
            "A task's name, or `name@revision`; as the active definitions have it where absent.",
        ))
        .into()
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
