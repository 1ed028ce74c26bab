//! The document as one page to read: no script, nothing from elsewhere.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::http::page::{document, escape};

/// The page of a document.
pub(in crate::http) fn render(openapi: &Value) -> String {
    let title = text(&openapi["info"]["title"]);
    let mut body = format!(
        "<h1>{} <span class=\"soft\">{}</span></h1><p>{}</p><p class=\"soft\">Also as \
         <a href=\"/openapi.json\">openapi.json</a>. What can go wrong is listed under \
         <a href=\"/problems\">problem codes</a>.</p>",
        escape(title),
        escape(text(&openapi["info"]["version"])),
        prose(text(&openapi["info"]["description"])),
    );
    let operations = operations(openapi);
    body.push_str(&contents(openapi, &operations));
    for tag in array(&openapi["tags"]) {
        body.push_str(&section(tag, &operations));
    }
    body.push_str(&schemas(&openapi["components"]["schemas"]));
    document(title, &body)
}

struct Operation<'d> {
    method: &'d str,
    path: &'d str,
    content: &'d Value,
}

fn operations(openapi: &Value) -> Vec<Operation<'_>> {
    let paths = object(&openapi["paths"]);
    paths
        .iter()
        .flat_map(|(path, methods)| {
            object(methods).iter().map(move |(method, content)| Operation { method, path, content })
        })
        .collect()
}

impl Operation<'_> {
    fn has_tag(&self, tag: &str) -> bool {
        array(&self.content["tags"]).iter().any(|has| has == tag)
    }

    fn id(&self) -> &str {
        text(&self.content["operationId"])
    }

    fn verb(&self) -> String {
        format!("<span class=\"verb\">{}</span>", escape(&self.method.to_ascii_uppercase()))
    }
}

fn contents(openapi: &Value, operations: &[Operation<'_>]) -> String {
    let items: String = array(&openapi["tags"])
        .iter()
        .flat_map(|tag| operations.iter().filter(|operation| operation.has_tag(text(&tag["name"]))))
        .map(|operation| {
            format!("<li><a href=\"#{}\"><code>{}</code></a></li>", operation.id(), operation.headline())
        })
        .collect();
    format!("<nav><ul>{items}</ul></nav>")
}

impl Operation<'_> {
    fn headline(&self) -> String {
        format!("{} {}", escape(&self.method.to_ascii_uppercase()), escape(self.path))
    }
}

fn section(tag: &Value, operations: &[Operation<'_>]) -> String {
    let name = text(&tag["name"]);
    let operations: String =
        operations.iter().filter(|operation| operation.has_tag(name)).map(details).collect();
    let description = escape(text(&tag["description"]));
    format!("<section><h2>{}</h2><p class=\"soft\">{description}</p>{operations}</section>", escape(name))
}

fn details(operation: &Operation<'_>) -> String {
    let content = operation.content;
    let scope = content["x-scope"].as_str();
    let scope =
        scope.map(|scope| format!(" <span class=\"tag\">{}</span>", escape(scope))).unwrap_or_default();
    format!(
        "<details id=\"{}\"><summary>{}<code>{}</code><span>{}</span>{scope}</summary><div>{}{}{}{}</div></details>",
        operation.id(),
        operation.verb(),
        escape(operation.path),
        escape(text(&content["summary"])),
        paragraph(text(&content["description"])),
        parameters(array(&content["parameters"])),
        request(&content["requestBody"]),
        responses(object(&content["responses"])),
    )
}

fn paragraph(markdown: &str) -> String {
    if markdown.is_empty() { String::new() } else { format!("<p>{}</p>", prose(markdown)) }
}

fn parameters(parameters: &[Value]) -> String {
    let rows: String = parameters
        .iter()
        .map(|parameter| {
            format!(
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                escape(text(&parameter["name"])),
                escape(text(&parameter["in"])),
                prose(text(&parameter["description"])),
            )
        })
        .collect();
    table("Parameters", &["Name", "In", "Meaning"], &rows)
}

fn request(body: &Value) -> String {
    if body.is_null() {
        return String::new();
    }
    let content = object(&body["content"]);
    let kinds: String = content.iter().map(|(media_type, content)| kind(media_type, content)).collect();
    format!("<h3>Body</h3><p>{}</p>{kinds}", prose(text(&body["description"])))
}

fn responses(responses: &Map<String, Value>) -> String {
    let rows: String = responses
        .iter()
        .map(|(status, response)| {
            let kinds: String = object(&response["content"])
                .iter()
                .filter(|(media_type, _)| !media_type.contains("problem"))
                .map(|(media_type, content)| kind(media_type, content))
                .collect();
            format!(
                "<tr><td>{}</td><td>{}{kinds}</td></tr>",
                escape(status),
                prose(text(&response["description"]))
            )
        })
        .collect();
    table("Answers", &["Status", "Meaning"], &rows)
}

/// A media type with its schema and an example.
fn kind(media_type: &str, content: &Value) -> String {
    let schema = content["schema"]["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let schema =
        schema.map(|name| format!(" <a href=\"#schema-{0}\">{0}</a>", escape(name))).unwrap_or_default();
    let example = match &content["example"] {
        Value::Null => String::new(),
        example => format!("<pre>{}</pre>", escape(&format!("{example:#}"))),
    };
    format!("<div><code>{}</code>{schema}{example}</div>", escape(media_type))
}

fn schemas(schemas: &Value) -> String {
    let all: String = object(schemas).iter().map(|(name, schema)| schema_details(name, schema)).collect();
    format!("<section><h2>Shapes</h2>{all}</section>")
}

fn schema_details(name: &str, schema: &Value) -> String {
    let required = array(&schema["required"]);
    let rows: String = object(&schema["properties"])
        .iter()
        .map(|(member, schema)| {
            let always = if required.iter().any(|name| name == member) { "always" } else { "" };
            format!(
                "<tr><td><code>{}</code></td><td>{}</td><td>{always}</td><td>{}</td></tr>",
                escape(member),
                type_of(schema),
                prose(text(&schema["description"])),
            )
        })
        .collect();
    format!(
        "<details id=\"schema-{0}\"><summary><code>{0}</code><span class=\"soft\">{1}</span></summary><div>{2}</div></details>",
        escape(name),
        prose(text(&schema["description"])),
        table("", &["Member", "Type", "There", "Meaning"], &rows),
    )
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape(name));
    }
    match (text(&schema["type"]), text(&schema["format"])) {
        ("array", _) => format!("list of {}", type_of(&schema["items"])),
        ("", _) => "any".to_owned(),
        (kind, "") => escape(kind),
        (kind, format) => format!("{} <span class=\"soft\">{}</span>", escape(kind), escape(format)),
    }
}

fn table(title: &str, heads: &[&str], rows: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = heads.iter().map(|head| format!("<th>{}</th>", escape(head))).collect();
    let title = if title.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(title)) };
    format!("{title}<table><tr>{heads}</tr>{rows}</table>")
}

/// Text with `code` in it.
fn prose(markdown: &str) -> String {
    let pieces = markdown.split('`').enumerate();
    pieces
        .map(|(n, piece)| if n % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece) })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{openapi, routes};

    #[test]
    fn every_route_is_on_the_page_and_nothing_is_fetched_or_run() {
        let routes = routes();
        let page = render(&openapi::document(&routes));
        for route in &routes {
            assert!(page.contains(&escape(route.path)), "{}", route.path);
            assert!(page.contains(&escape(route.doc.summary)), "{}", route.doc.summary);
        }
        for forbidden in ["<script", "http://", "https://", " onclick", " src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn code_is_marked_and_text_escaped() {
        assert_eq!(prose("a `b<c` d"), "a <code>b&lt;c</code> d");
    }
}
