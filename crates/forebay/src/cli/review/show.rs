//! A review as lines: why it is in doubt, its values with the places they were taken from, and the text with these
//! places marked.

use std::ops::Range;

use serde_json::Value;

use crate::cli::output::{Ink, Inked};
use crate::cli::table::{Show, cell};

/// Lines of text that are shown around a marked one, where not all are.
const AROUND: usize = 1;
/// Characters of a line and its fields that stand beside each other.
const WIDE: usize = 100;
/// A text of so many lines is shown whole.
const WHOLE: usize = 60;

/// The whole review. `full` shows all of a long text, too.
pub(super) fn lines(review: &Value, full: bool) -> Vec<Inked> {
    let mut lines = head(review);
    lines.extend(findings(review));
    lines.extend(values(review));
    lines.extend(text(review, full));
    lines.extend(history(review));
    lines
}

fn text_of(value: &Value, pointer: &str) -> String {
    cell(value.pointer(pointer), Show::Plain)
}

fn plain(text: impl Into<String>) -> Inked {
    vec![(Ink::Plain, text.into())]
}

fn title(text: &str) -> [Inked; 2] {
    [Vec::new(), vec![(Ink::Strong, text.to_owned())]]
}

fn head(review: &Value) -> Vec<Inked> {
    let get = |pointer: &str| text_of(review, pointer);
    let due = if review["overdue"] == true { " (overdue)" } else { "" };
    let by_default = match get("/due_default") {
        default if default.is_empty() || default == "none" => String::new(),
        default => format!(", then `{default}` by itself"),
    };
    let holder = match get("/claim/claimed_by_name") {
        name if name.is_empty() => name,
        name => format!("{name}, until {}", get("/claim/claimed_until")),
    };
    let generation = match get("/generation") {
        first if first == "1" => String::new(),
        later => format!(", generation {later}"),
    };
    let rows = [
        ("job", format!("{}, version {}{generation}", get("/job_id"), get("/state_version"))),
        ("task", format!("{}@{}", get("/task"), get("/revision"))),
        ("why", why(review)),
        ("opened", get("/opened_at")),
        ("due", format!("{}{due}{by_default}", get("/due_at"))),
        ("held by", holder),
        ("document", get("/document_id")),
        ("decided", decided(review)),
    ];
    let given = rows.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| plain(format!("{name:<10} {value}"))).collect()
}

/// Why it is in doubt, where the findings do not say it.
fn why(review: &Value) -> String {
    let (class, message) = (text_of(review, "/failure/class"), text_of(review, "/failure/message"));
    if message.is_empty() || !list(review, "findings").is_empty() {
        class
    } else {
        format!("{class}: {message}")
    }
}

fn decided(review: &Value) -> String {
    let get = |pointer: &str| text_of(review, pointer);
    match get("/decided/decision") {
        open if open.is_empty() => open,
        how => format!("{how} by {} at {}", get("/decided/decided_by_name"), get("/decided/decided_at")),
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn findings(review: &Value) -> Vec<Inked> {
    let findings = list(review, "findings");
    if findings.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::from(title("FINDINGS"));
    lines.extend(findings.iter().map(|finding| plain(format!("  {}", said(finding)))));
    lines
}

/// A finding in one line.
pub(super) fn said(finding: &Value) -> String {
    let get = |name: &str| cell(finding.get(name), Show::Plain);
    let pointer = match get("pointer") {
        whole if whole.is_empty() => whole,
        pointer => format!("{pointer}  "),
    };
    format!("{pointer}{}: {}", get("code"), get("message"))
}

fn values(review: &Value) -> Vec<Inked> {
    let fields = list(review, "fields");
    if fields.is_empty() {
        return Vec::new();
    }
    let width = |name: &str| {
        let widths = fields.iter().map(|field| cell(field.get(name), Show::Plain).chars().count());
        widths.max().unwrap_or_default().clamp("(null)".len(), 44)
    };
    let (pointer_width, value_width) = (width("pointer"), width("value"));
    let mut lines = Vec::from(title("VALUES"));
    lines.extend(fields.iter().map(|field| {
        let is_doubtful = !list(field, "findings").is_empty();
        let (mark, ink) = if is_doubtful { ("? ", Ink::Strong) } else { ("  ", Ink::Plain) };
        let value = match field.get("value") {
            Some(Value::Null) => "(null)".to_owned(),
            value => cell(value, Show::Plain),
        };
        let gap = " ".repeat(value_width.saturating_sub(value.chars().count()) + 2);
        let pointer = cell(field.get("pointer"), Show::Plain);
        vec![
            (Ink::Plain, format!("{mark}{pointer:<pointer_width$}  ")),
            (if value.is_empty() { Ink::Plain } else { ink }, value),
            (Ink::Plain, gap),
            (Ink::Faint, places(field)),
        ]
    }));
    lines
}

/// Where a value was taken from.
fn places(field: &Value) -> String {
    let mut places: Vec<String> = Vec::new();
    for quote in list(field, "evidence") {
        let place = match (quote.pointer("/span/page"), quote.pointer("/span/line")) {
            (Some(page), Some(line)) => format!("page {page}, line {line}"),
            (None, Some(line)) => format!("line {line}"),
            _ => format!("not in the text: \"{}\"", cell(quote.get("quote"), Show::Plain)),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.join("; ")
}

/// A marked place of the text.
struct Place {
    bytes: Range<usize>,
    line: usize,
    pointer: String,
    is_doubtful: bool,
}

fn marked_places(review: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for field in list(review, "fields") {
        let is_doubtful = !list(field, "findings").is_empty();
        for quote in list(field, "evidence") {
            let number = |name: &str| usize::try_from(quote["span"][name].as_u64()?).ok();
            if let (Some(start), Some(end), Some(line)) = (number("start"), number("end"), number("line")) {
                let pointer = cell(field.get("pointer"), Show::Plain);
                places.push(Place { bytes: start..end, line, pointer, is_doubtful });
            }
        }
    }
    places.sort_by_key(|place| place.bytes.start);
    places
}

/// The text with its places marked, and beside each line, or below a long one, the fields that begin there.
fn text(review: &Value, full: bool) -> Vec<Inked> {
    let Some(text) = review.get("document_text").and_then(Value::as_str) else { return Vec::new() };
    let places = marked_places(review);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let whole = full || all.len() <= WHOLE;
    let mut lines = Vec::from(title("TEXT"));
    let (mut start, mut is_gap, mut is_blank) = (0, false, false);
    for (nth, line) in all.iter().enumerate() {
        let near = |place: &Place| place.line.abs_diff(nth + 1) <= AROUND;
        if whole || places.iter().any(near) {
            // Of several blank lines one is enough.
            if !(line.trim().is_empty() && is_blank) {
                lines.extend(text_line(nth + 1, start, line, &places));
            }
            (is_gap, is_blank) = (false, line.trim().is_empty());
        } else if !std::mem::replace(&mut is_gap, true) {
            lines.push(vec![(Ink::Faint, "      ...".to_owned())]);
        }
        start += line.len();
    }
    if review["document_text_cut"] == true {
        lines.push(vec![(Ink::Faint, "      (the text goes on)".to_owned())]);
    }
    lines
}

fn text_line(number: usize, start: usize, line: &str, places: &[Place]) -> Vec<Inked> {
    let visible = line.trim_end_matches(['\n', '\r']);
    let mut pieces = vec![(Ink::Faint, format!("{number:>5} | "))];
    let mut at = 0;
    for place in places {
        // Of places that overlap the first is marked as far as it goes.
        let from = place.bytes.start.saturating_sub(start).max(at);
        let to = place.bytes.end.saturating_sub(start).min(visible.len());
        let (Some(before), Some(inside)) = (visible.get(at..from), visible.get(from..to)) else { continue };
        if inside.is_empty() {
            continue;
        }
        pieces.push((Ink::Plain, before.to_owned()));
        pieces.push((if place.is_doubtful { Ink::Doubt } else { Ink::Evidence }, inside.to_owned()));
        at = to;
    }
    pieces.push((Ink::Plain, visible.get(at..).unwrap_or_default().to_owned()));
    let mut beside: Vec<&str> = Vec::new();
    for place in places.iter().filter(|place| place.line == number) {
        if !beside.contains(&place.pointer.as_str()) {
            beside.push(&place.pointer);
        }
    }
    let beside = beside.join(", ");
    if beside.is_empty() {
        return vec![pieces];
    }
    if visible.chars().count() + beside.len() > WIDE {
        return vec![pieces, vec![(Ink::Faint, format!("      |     ^ {beside}"))]];
    }
    pieces.push((Ink::Faint, format!("   <- {beside}")));
    vec![pieces]
}

fn history(review: &Value) -> Vec<Inked> {
    // Who held it when is in the audit; here it would hide what was decided.
    let is_told = |step: &&Value| !matches!(step["action"].as_str(), Some("review.claim" | "review.release"));
    let steps: Vec<_> = list(review, "history").iter().filter(is_told).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::from(title("HISTORY"));
    for step in steps {
        let get = |pointer: &str| text_of(step, pointer);
        let comment = match get("/after/comment") {
            none if none.is_empty() => none,
            comment => format!(": {comment}"),
        };
        lines.push(plain(format!("  {}  {} by {}{comment}", get("/at"), get("/action"), get("/by_name"))));
        let changes = step.pointer("/after/changes").and_then(Value::as_array);
        lines.extend(changes.into_iter().flatten().map(|change| plain(format!("    {}", changed(change)))));
    }
    lines
}

/// A change in one line.
pub(super) fn changed(change: &Value) -> String {
    let side = |name: &str| match change.get(name) {
        None => "(absent)".to_owned(),
        Some(Value::Null) => "(null)".to_owned(),
        value => cell(value, Show::Plain),
    };
    let pointer = cell(change.get("pointer"), Show::Plain);
    format!(
        "{}  {} -> {}",
        if pointer.is_empty() { "the output" } else { &pointer },
        side("before"),
        side("after")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(review: &Value, full: bool) -> String {
        let mark = |(ink, text): &(Ink, String)| match ink {
            Ink::Plain | Ink::Strong | Ink::Faint => text.clone(),
            Ink::Evidence => format!("[{text}]"),
            Ink::Doubt => format!("[?{text}?]"),
        };
        let line = |pieces: &Inked| pieces.iter().map(mark).collect::<String>().trim_end().to_owned();
        lines(review, full).iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn review() -> Value {
        json!({
            "job_id": "job_1", "state_version": 3, "generation": 1, "task": "invoice", "revision": 2,
            "failure": { "class": "policy_failed", "message": "the quote is not there" },
            "opened_at": "2026-12-01T10:00:00.000Z", "due_at": "2026-12-04T10:00:00.000Z", "due_default": "none",
            "overdue": true, "claim": { "claimed_by_name": "anna", "claimed_until": "2026-12-01T10:15:00.000Z" },
            "findings": [{ "code": "evidence_not_found", "pointer": "/supplier", "message": "`Acme` is not there" }],
            "fields": [
                { "pointer": "/due", "value": null, "evidence": [], "findings": [] },
                { "pointer": "/supplier", "value": "Acme", "findings": [{}],
                  "evidence": [{ "quote": "Acme", "span": null }] },
                { "pointer": "/total", "value": "49.99", "findings": [],
                  "evidence": [{ "quote": "49,99", "span": { "start": 20, "end": 25, "line": 2 } }] },
            ],
            "document_text": "Faktüra\r\nTotal € 49,99 EUR\r\n", "document_text_cut": false,
            "history": [{ "at": "2026-12-01T09:00:00.000Z", "action": "review.correct", "by_name": "bert",
                          "after": { "comment": "why", "changes": [{ "pointer": "/a", "before": 1, "after": null }] } }],
        })
    }

    #[test]
    fn a_review_is_read_from_doubt_to_text() {
        insta::assert_snapshot!(rendered(&review(), false), @r#"
        job        job_1, version 3
        task       invoice@2
        why        policy_failed
        opened     2026-12-01T10:00:00.000Z
        due        2026-12-04T10:00:00.000Z (overdue)
        held by    anna, until 2026-12-01T10:15:00.000Z

        FINDINGS
          /supplier  evidence_not_found: `Acme` is not there

        VALUES
          /due       (null)
        ? /supplier  Acme    not in the text: "Acme"
          /total     49.99   line 2

        TEXT
            1 | Faktüra
            2 | Total € [49,99] EUR   <- /total

        HISTORY
          2026-12-01T09:00:00.000Z  review.correct by bert: why
            /a  1 -> (null)
        "#);
    }

    #[test]
    fn of_a_long_text_what_is_near_a_place_is_shown() {
        let mut long = review();
        long["document_text"] = json!(format!("{}\n", "x\n".repeat(99)));
        long["fields"][2]["evidence"][0]["span"] = json!({ "start": 80, "end": 81, "line": 41 });
        let shown = rendered(&long, false);
        assert!(shown.contains("   40 | x\n   41 | [x]   <- /total\n   42 | x\n      ..."), "{shown}");
        assert!(!shown.contains("   44 | "), "{shown}");
        assert!(rendered(&long, true).contains("   99 | x"));
    }

    #[test]
    fn long_lines_have_their_fields_below_and_blank_lines_are_one() {
        let mut wide = review();
        wide["document_text"] = json!(format!("a\n\n\n{}", "x".repeat(120)));
        wide["fields"][2]["evidence"][0]["span"] = json!({ "start": 4, "end": 5, "line": 4 });
        let shown = rendered(&wide, false);
        assert!(
            shown.contains("    1 | a\n    2 |\n    4 | [x]xx") && shown.contains("\n      |     ^ /total\n"),
            "{shown}"
        );
    }

    #[test]
    fn places_that_no_text_has_mark_nothing() {
        let mut odd = review();
        odd["fields"][2]["evidence"][0]["span"] = json!({ "start": 16, "end": 900, "line": 2 });
        rendered(&odd, true);
        odd["fields"][2]["evidence"][0]["span"] = json!({ "start": 5, "end": 4, "line": 0 });
        rendered(&odd, true);
    }
}
