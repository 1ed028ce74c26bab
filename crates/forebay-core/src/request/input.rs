//! What a job works on.

use serde_json::{Map, Value, json};

use crate::digest::DocumentId;
use crate::limits::EMBED_TEXTS;
use crate::request::canonical;
use crate::request::fault::{Faults, MemberFault, child};
use crate::request::members::{Members, kind, quoted};

/// What a job works on, in the one form that all ways to write it become.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The messages of a chat; `prompt` becomes one message of the user.
    Messages(Vec<Value>),
    /// Texts to embed; a single text becomes a list of one.
    Embed(Vec<String>),
    /// A document that the tenant has uploaded, by its content.
    Document(DocumentId),
    /// The text of a document.
    Text(String),
}

/// Who speaks in a message.
pub const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
const NAMES: [&str; 5] = ["messages", "prompt", "embed", "document", "text"];

impl Input {
    /// Reads the value of an `input` member.
    ///
    /// # Errors
    ///
    /// Every fault, with pointers that start with `pointer`.
    pub fn parse(value: Value, pointer: &str) -> Result<Self, Vec<MemberFault>> {
        let mut faults = Faults::default();
        match Self::read(value, pointer, &mut faults) {
            Some(input) => Ok(input),
            None => Err(faults.into_vec()),
        }
    }

    /// Reads the value of an `input` member; `None` means that there are faults.
    pub(super) fn read(value: Value, pointer: &str, faults: &mut Faults) -> Option<Self> {
        let mut members = Members::of(value, pointer, faults)?;
        let mut given = NAMES.into_iter().filter_map(|name| Some((name, members.take(name)?)));
        let first = given.next();
        let others: Vec<&str> = given.map(|(name, _)| name).collect();
        let unknown = members.is_left_over();
        for other in &others {
            let message = format!("give one of {}, not several", NAMES.join(", "));
            members.faults.invalid(members.at(other), message);
        }
        let whole = others.is_empty() && !unknown;
        if first.is_none() && !unknown {
            members.faults.missing(pointer, format!("give one of {}", NAMES.join(", ")));
        }
        let input = first.and_then(|(name, value)| {
            let pointer = members.at(name);
            read_one(name, value, &pointer, members.faults)
        });
        members.refuse_rest(&NAMES);
        input.filter(|_| whole)
    }

    /// Whether a task of that kind (`llm` or `extract`) can work on it.
    pub fn kind_fits(&self, kind: &str) -> bool {
        match self {
            Input::Messages(_) | Input::Embed(_) => kind == "llm",
            Input::Document(_) | Input::Text(_) => kind == "extract",
        }
    }

    /// The member under which the normal form has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Input::Messages(_) => "messages",
            Input::Embed(_) => "embed",
            Input::Document(_) => "document",
            Input::Text(_) => "text",
        }
    }

    /// Appends the normal form, an object with one member.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        canonical::write_string(out, self.name());
        out.push(b':');
        match self {
            Input::Messages(messages) => canonical::write_array(out, messages),
            Input::Embed(texts) => write_texts(out, texts),
            Input::Document(id) => canonical::write_string(out, &id.to_string()),
            Input::Text(text) => canonical::write_string(out, text),
        }
        out.push(b'}');
    }
}

fn write_texts(out: &mut Vec<u8>, texts: &[String]) {
    out.push(b'[');
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        canonical::write_string(out, text);
    }
    out.push(b']');
}

fn read_one(name: &str, value: Value, pointer: &str, faults: &mut Faults) -> Option<Input> {
    match name {
        "messages" => read_messages(value, pointer, faults),
        "prompt" => text(value, name, pointer, faults)
            .map(|prompt| Input::Messages(vec![json!({"role": "user", "content": prompt})])),
        "embed" => read_embed(value, pointer, faults),
        "document" => read_document(value, pointer, faults),
        _ => text(value, name, pointer, faults).map(Input::Text),
    }
}

/// A string with at least one character.
fn text(value: Value, name: &str, pointer: &str, faults: &mut Faults) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::String(_) => {
            faults.invalid(pointer, format!("`{name}` must not be empty"));
            None
        }
        other => {
            faults.invalid(pointer, format!("`{name}` has to be a string, not {}", kind(&other)));
            None
        }
    }
}

fn read_document(value: Value, pointer: &str, faults: &mut Faults) -> Option<Input> {
    let id = text(value, "document", pointer, faults)?;
    let document = id.parse().ok().map(Input::Document);
    if document.is_none() {
        let form = "a document is named by its id, `doc_` and 64 lower-case hex digits, not";
        faults.invalid(pointer, format!("{form} {}", quoted(&id)));
    }
    document
}

fn read_embed(value: Value, pointer: &str, faults: &mut Faults) -> Option<Input> {
    let Value::Array(elements) = value else {
        return text(value, "embed", pointer, faults).map(|text| Input::Embed(vec![text]));
    };
    let count = elements.len();
    if count == 0 || count > EMBED_TEXTS {
        faults.invalid(pointer, format!("`embed` has to have 1 to {EMBED_TEXTS} texts, not {count}"));
        return None;
    }
    let texts: Vec<String> = elements
        .into_iter()
        .enumerate()
        .filter_map(|(index, element)| text(element, "embed", &child(pointer, &index.to_string()), faults))
        .collect();
    (texts.len() == count).then_some(Input::Embed(texts))
}

fn read_messages(value: Value, pointer: &str, faults: &mut Faults) -> Option<Input> {
    let Value::Array(messages) = value else {
        faults.invalid(pointer, format!("`messages` has to be an array, not {}", kind(&value)));
        return None;
    };
    if messages.is_empty() {
        faults.invalid(pointer, "`messages` has to have at least one message");
        return None;
    }
    let sound = messages
        .iter()
        .enumerate()
        .filter(|(index, message)| is_message(message, &child(pointer, &index.to_string()), faults))
        .count();
    (sound == messages.len()).then_some(Input::Messages(messages))
}

/// Checks the two members that every provider reads; the others go to the provider as they are.
fn is_message(message: &Value, pointer: &str, faults: &mut Faults) -> bool {
    let Value::Object(members) = message else {
        faults.invalid(pointer, format!("a message has to be an object, not {}", kind(message)));
        return false;
    };
    let role = has_role(members, pointer, faults);
    has_content(members, pointer, faults) && role
}

fn has_role(message: &Map<String, Value>, pointer: &str, faults: &mut Faults) -> bool {
    match message.get("role") {
        Some(Value::String(role)) if ROLES.contains(&role.as_str()) => return true,
        Some(_) => faults.invalid(child(pointer, "role"), format!("`role` is one of {}", ROLES.join(", "))),
        None => faults.missing(child(pointer, "role"), format!("a message has a role: {}", ROLES.join(", "))),
    }
    false
}

fn has_content(message: &Map<String, Value>, pointer: &str, faults: &mut Faults) -> bool {
    // An assistant's turn that only called tools has no content, and a later turn has to repeat it.
    let called_tools = message.get("tool_calls").is_some_and(Value::is_array);
    match message.get("content") {
        Some(Value::String(_) | Value::Array(_)) => return true,
        Some(Value::Null) | None if called_tools => return true,
        Some(_) => {
            faults.invalid(child(pointer, "content"), "`content` has to be a string or an array of parts")
        }
        None => faults
            .missing(child(pointer, "content"), "a message has a content: a string or an array of parts"),
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Input, Vec<(String, String)>> {
        Input::parse(value, "/input")
            .map_err(|faults| faults.into_iter().map(|fault| (fault.pointer, fault.message)).collect())
    }

    fn pointers(value: Value) -> Vec<String> {
        read(value).unwrap_err().into_iter().map(|(pointer, _)| pointer).collect()
    }

    #[test]
    fn every_way_to_write_an_input_has_one_form() {
        let user = vec![json!({"role": "user", "content": "hi"})];
        assert_eq!(read(json!({"prompt": "hi"})), Ok(Input::Messages(user.clone())));
        assert_eq!(read(json!({"messages": user})), Ok(Input::Messages(user)));
        assert_eq!(read(json!({"embed": "a"})), Ok(Input::Embed(vec!["a".to_owned()])));
        assert_eq!(read(json!({"embed": ["a"]})), Ok(Input::Embed(vec!["a".to_owned()])));
        assert_eq!(read(json!({"text": "t"})), Ok(Input::Text("t".to_owned())));
        let id = format!("doc_{}", "0".repeat(64));
        assert_eq!(read(json!({"document": id})), Ok(Input::Document(id.parse().unwrap())));
    }

    #[test]
    fn exactly_one_of_them() {
        assert_eq!(pointers(json!({})), ["/input"]);
        assert_eq!(
            pointers(json!({"prompt": "a", "text": "b", "embed": "c"})),
            ["/input/embed", "/input/text"]
        );
        assert_eq!(pointers(json!({"promt": "a"})), ["/input/promt"]);
        assert_eq!(pointers(json!({"prompt": "a", "n/x": 1})), ["/input/n~1x"]);
        assert_eq!(pointers(json!("hi")), ["/input"]);
        assert_eq!(pointers(json!({"prompt": null})), ["/input/prompt"]);
    }

    #[test]
    fn all_faults_of_messages_are_told_at_once() {
        let messages =
            json!([{"role": "robot", "content": 1}, 7, {}, {"role": "user", "content": [{"type": "text"}]}]);
        let expected = [
            "/input/messages/0/role",
            "/input/messages/0/content",
            "/input/messages/1",
            "/input/messages/2/role",
            "/input/messages/2/content",
        ];
        assert_eq!(pointers(json!({"messages": messages})), expected);
        assert_eq!(pointers(json!({"messages": []})), ["/input/messages"]);
    }

    #[test]
    fn a_turn_that_called_tools_needs_no_content() {
        let turn = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1"}]});
        let answer = json!({"role": "tool", "tool_call_id": "c1", "content": "42"});
        assert!(read(json!({"messages": [turn, answer]})).is_ok());
        assert_eq!(
            pointers(json!({"messages": [{"role": "user", "content": null}]})),
            ["/input/messages/0/content"]
        );
    }

    #[test]
    fn texts_to_embed_are_held_at_n_and_refused_at_n_and_one() {
        assert!(read(json!({"embed": vec!["a"; EMBED_TEXTS]})).is_ok());
        assert_eq!(pointers(json!({"embed": vec!["a"; EMBED_TEXTS + 1]})), ["/input/embed"]);
        assert_eq!(pointers(json!({"embed": []})), ["/input/embed"]);
        assert_eq!(pointers(json!({"embed": ["a", "", 1]})), ["/input/embed/1", "/input/embed/2"]);
    }

    #[test]
    fn a_document_is_named_by_its_content_only() {
        let faults = read(json!({"document": "https://example.test/a.pdf?sig=1"})).unwrap_err();
        assert!(faults[0].1.contains("not `https://example.test/a.pdf?sig=1`"), "{faults:?}");
    }

    #[test]
    fn each_input_fits_one_kind() {
        let messages = read(json!({"prompt": "a"})).unwrap();
        assert!(messages.kind_fits("llm") && !messages.kind_fits("extract"));
        let text = read(json!({"text": "a"})).unwrap();
        assert!(text.kind_fits("extract") && !text.kind_fits("llm"));
    }
}
