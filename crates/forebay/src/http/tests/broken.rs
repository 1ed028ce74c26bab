//! Requests that are broken in HTTP itself or in JSON, over real connections: each ends in a problem that names what is
//! wrong, or in a closed connection, and stores nothing.

use super::server::{connected, everything};
use super::*;

use tokio::io::AsyncWriteExt as _;

/// What a request ends in.
enum End {
    /// A problem with this status and code, and these words in it.
    Problem(u16, &'static str, &'static str),
    /// A closed connection, without a word.
    Closed,
}

use End::{Closed, Problem};

/// Sends bytes and reads until the connection ends. Of half a request, says that nothing more comes.
async fn end_of(bench: &Bench, bytes: &[u8], half: bool) -> String {
    let mut stream = connected(bench).await;
    // The server may have refused it, and closed, before the last byte was sent.
    stream.write_all(bytes).await.ok();
    if half {
        stream.shutdown().await.ok();
    }
    everything(&mut stream).await
}

async fn check(bench: &Bench, cases: &[(&str, Vec<u8>, End)]) {
    let before = bench.rows().await;
    for (name, bytes, end) in cases {
        let answer = end_of(bench, bytes, name.starts_with("half")).await;
        match end {
            Closed => assert_eq!(answer, "", "{name}"),
            Problem(status, code, words) => {
                let (head, body) =
                    answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{name}: {answer:?}"));
                assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
                assert!(head.contains("content-type: application/problem+json"), "{name}: {answer}");
                assert!(head.contains("x-request-id: "), "{name}: {answer}");
                let problem: Value =
                    serde_json::from_str(body).unwrap_or_else(|_| panic!("{name}: {answer}"));
                assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)), "{name}");
                assert!(problem["detail"].as_str().unwrap().contains(words), "{name}: {problem}");
            }
        }
    }
    assert_eq!(bench.rows().await, before, "something was stored");
}

/// A POST of a job with more of a head, up to its end.
fn post(key: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nconnection: close\r\n{more}\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn a_head_that_is_no_http_is_refused() {
    let bench = Bench::new().await;
    let get = |rest: &str| format!("GET /livez HTTP/1.1\r\n{rest}\r\n").into_bytes();
    let broken = || Problem(400, "invalid_parameter", "no HTTP/1.1");
    let large = || Problem(431, "too_large", "16384");
    let flood: String = (0..150).map(|n| format!("x{n}: 1\r\n")).collect();
    check(
        &bench,
        &[
            ("a method that is none", b"G<T / HTTP/1.1\r\n\r\n".to_vec(), broken()),
            ("another version", b"GET / HTTP/9.9\r\n\r\n".to_vec(), broken()),
            ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\xfc".to_vec(), broken()),
            ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), Closed),
            ("a space in a name", get("x y: 1\r\n"), broken()),
            ("a NUL in a value", get("x: a\0b\r\n"), broken()),
            ("a folded line", get("x: a\r\n b\r\n"), broken()),
            ("a NUL in the path", b"GET /v1/\0 HTTP/1.1\r\n\r\n".to_vec(), broken()),
            ("a flood of headers", get(&flood), large()),
            ("a long header", get(&format!("x: {}\r\n", "a".repeat(20_000))), large()),
            (
                "a header without end",
                format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(300_000)).into_bytes(),
                large(),
            ),
            ("a long address", format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000)).into_bytes(), large()),
            ("half a head", b"GET /livez HTTP/1.1\r\nhost: a\r\n".to_vec(), Closed),
            ("half of nothing", Vec::new(), Closed),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_body_that_is_no_body_is_refused() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let post = |more: &str, body: &[u8]| post(&key, more, body);
    let head = || Problem(400, "invalid_parameter", "no HTTP/1.1");
    let ended = || Problem(400, "invalid_json", "ended early");
    const CHUNKED: &str = "transfer-encoding: chunked\r\n";
    check(
        &bench,
        &[
            ("two lengths", post("content-length: 2\r\ncontent-length: 3\r\n", b"{}"), head()),
            ("a negative length", post("content-length: -2\r\n", b"{}"), head()),
            ("a length in words", post("content-length: two\r\n", b"{}"), head()),
            ("an encoding that is not chunked", post("transfer-encoding: gzip\r\n", b"{}"), head()),
            ("half a body", post("content-length: 50\r\n", b"{\"task\""), ended()),
            ("a chunk of nonsense", post(CHUNKED, b"ZZ\r\n{}\r\n0\r\n\r\n"), ended()),
            ("a chunk beyond all bounds", post(CHUNKED, b"FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"), ended()),
            ("half a chunk", post(CHUNKED, b"5\r\n{}"), ended()),
            (
                "a chunk with a long extension",
                post(CHUNKED, format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(40_000)).as_bytes()),
                ended(),
            ),
            ("no body", post("", b""), Problem(400, "invalid_json", "not JSON")),
            (
                "a body that is promised too large",
                post("content-length: 52428800\r\n", &[b'x'; 5_000_000]),
                Problem(413, "too_large", "4194304"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn strange_addresses_lead_nowhere() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Admin]).await;
    let ask = |target: &str| {
        format!("{target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n")
            .into_bytes()
    };
    let absent = || Problem(404, "not_found", "");
    let parameter = |words| Problem(400, "invalid_parameter", words);
    let method = || Problem(405, "method_not_allowed", "does not take");
    check(
        &bench,
        &[
            ("a NUL", ask("GET /v1/jobs/%00"), absent()),
            ("no such escape", ask("GET /v1/tasks/%zz"), absent()),
            ("no UTF-8", ask("GET /v1/tasks/%ff"), absent()),
            ("an escaped slash", ask("GET /v1/tasks/chat%2f"), absent()),
            ("an escaped letter before it", ask("GET /%761/nothing"), absent()),
            ("the folder above", ask("GET /v1/../livez"), absent()),
            ("two slashes", ask("GET //livez"), absent()),
            ("a slash at the end", ask("GET /v1/jobs/"), absent()),
            ("another server", ask("GET http://elsewhere.example/v1/nothing"), absent()),
            ("a tunnel", ask("CONNECT elsewhere.example:443"), absent()),
            ("the server as a whole", ask("OPTIONS *"), absent()),
            ("a parameter twice", ask("GET /v1/jobs?limit=1&limit=2"), parameter("limit: it is given twice")),
            ("a parameter that is no UTF-8", ask("GET /v1/jobs?state=%ff"), parameter("state: ")),
            ("a parameter with a NUL", ask("GET /v1/jobs?cursor=%00"), parameter("cursor: it holds")),
            ("a filter with a NUL", ask("GET /v1/jobs?task=a%00b"), parameter("task: it holds")),
            ("a member with a NUL", ask("GET /v1/jobs?metadata.a%00=1"), parameter("it holds a NUL")),
            ("a parameter without a name", ask("GET /v1/jobs?=1"), parameter("is not a parameter")),
            ("an unknown parameter of a job", ask("GET /v1/jobs/job_1?x=1"), absent()),
            ("TRACE", ask("TRACE /v1/jobs"), method()),
            ("PATCH", ask("PATCH /v1/jobs"), method()),
            ("DELETE", ask("DELETE /v1/tasks"), method()),
            ("a method of somebody's own", ask("BREW /v1/jobs"), method()),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_follows_a_broken_request_is_not_read() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let before = bench.rows().await;
    let good = submission().to_string();
    let good = post(&key, &format!("content-length: {}\r\n", good.len()), good.as_bytes());
    let whole = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3);
    let answer = end_of(&bench, &[&whole[..], b"NONSENSE\r\n\r\n", &good[..]].concat(), false).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 400 ").count(), 1, "{answer}");
    assert_eq!(answer.matches("application/problem+json").count(), 1, "{answer}");
    assert_eq!(bench.rows().await, before);
    // A body whose end is disputed: length and chunks together.
    let both = post(&key, "content-length: 5\r\ntransfer-encoding: chunked\r\n", b"0\r\n\r\n");
    let answer = end_of(&bench, &[&both[..], &good[..]].concat(), false).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_whether_to_send() {
    let bench = Bench::new().await;
    let mut stream = connected(&bench).await;
    stream.write_all(&post("fbk_wrong", "expect: 100-continue\r\ncontent-length: 2\r\n", b"")).await.unwrap();
    let answer = everything(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "the body was not asked for: {answer}");
    let key = bench.key("default", &[Scope::Submit]).await;
    let mut stream = connected(&bench).await;
    stream.write_all(&post(&key, "expect: 100-continue\r\ncontent-length: 2\r\n", b"")).await.unwrap();
    let mut answer = [0; 25];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").await.unwrap();
    assert!(everything(&mut stream).await.starts_with("HTTP/1.1 400 "));
}

/// F10, F12: one reading or none, and quickly.
#[tokio::test]
#[allow(clippy::too_many_lines, reason = "a table")]
async fn a_body_with_two_readings_is_refused() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let before = bench.rows().await;
    let wide = format!("{{{}}}", (0..1_000_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(","));
    let job = |prompt: &str| format!(r#"{{"task":"chat","input":{{"prompt":{prompt}}}}}"#).into_bytes();
    let cases: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("empty", b"".to_vec(), "invalid_json", ""),
        ("cut", br#"{"task":"chat""#.to_vec(), "invalid_json", ""),
        ("a comma too many", br#"{"task":"chat",}"#.to_vec(), "invalid_json", ""),
        (
            "a member twice",
            br#"{"task":"chat","task":"chat","input":{"prompt":"a"}}"#.to_vec(),
            "invalid_json",
            "/task",
        ),
        (
            "twice by an escape",
            br#"{"task":"chat","input":{"prompt":"a","\u0070rompt":"b"}}"#.to_vec(),
            "invalid_json",
            "/input/prompt",
        ),
        ("a lone surrogate", job(r#""\ud800""#), "invalid_json", "/input/prompt"),
        ("a reversed pair", job(r#""\udc00\ud800""#), "invalid_json", "/input/prompt"),
        ("a raw NUL", job("\"\0\""), "invalid_json", ""),
        ("no UTF-8", [&br#"{"task":""#[..], b"\xff\"}"].concat(), "invalid_json", ""),
        ("an overlong NUL", [&br#"{"task":""#[..], b"\xc0\x80\"}"].concat(), "invalid_json", ""),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec(), "invalid_json", ""),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec(), "invalid_json", ""),
        ("100,000 levels", "[".repeat(100_000).into_bytes(), "invalid_json", "/0/0"),
        ("100,000 levels of objects", "{\"a\":".repeat(100_000).into_bytes(), "invalid_json", "/a/a"),
        ("a giant integer", job(&"9".repeat(1_000_000)), "invalid_json", "/input/prompt"),
        ("a giant exponent", job("1e999999999"), "invalid_json", "/input/prompt"),
        ("a million members", wide.as_bytes()[..4_000_000].to_vec(), "invalid_json", ""),
        ("no JSON number", job("NaN"), "invalid_json", ""),
        ("two values", b"{}{}".to_vec(), "invalid_json", ""),
        ("an array", b"[]".to_vec(), "invalid_member", ""),
        ("null", b"null".to_vec(), "invalid_member", ""),
        ("a text", b"\"a\"".to_vec(), "invalid_member", ""),
        (
            "null for a member",
            br#"{"task":"chat","input":{"prompt":"a"},"priority":null}"#.to_vec(),
            "invalid_member",
            "/priority",
        ),
        ("a number for a text", job("7"), "invalid_member", "/input/prompt"),
        (
            "an unknown member",
            br#"{"task":"chat","input":{"prompt":"a"},"notfy":[]}"#.to_vec(),
            "unknown_member",
            "/notfy",
        ),
        ("an unknown task", br#"{"task":"nobody","input":{"prompt":"a"}}"#.to_vec(), "unknown_task", "/task"),
        (
            "an unknown revision",
            br#"{"task":"chat@99","input":{"prompt":"a"}}"#.to_vec(),
            "unknown_task",
            "/task",
        ),
        (
            "a path for a task",
            br#"{"task":"../chat","input":{"prompt":"a"}}"#.to_vec(),
            "invalid_member",
            "/task",
        ),
    ];
    for (name, body, code, pointer) in cases {
        let sent = asked(&key, "POST", "/v1/jobs").header("content-type", "application/json");
        let began = tokio::time::Instant::now();
        let answer = bench.send(sent.body(Body::from(body)).unwrap()).await;
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{name} took {:?}", began.elapsed());
        assert_eq!(
            (answer.status, answer.code()),
            (StatusCode::BAD_REQUEST, code),
            "{name}: {}",
            answer.body
        );
        let found = answer.body["errors"][0]["pointer"].as_str().unwrap_or_default();
        assert!(found.starts_with(pointer), "{name}: {}", answer.body);
        assert!(answer.bytes.len() < 20_000, "{name}: {} bytes of answer", answer.bytes.len());
    }
    assert_eq!(bench.rows().await, before);
}

/// F11: what is compressed is bounded by what it becomes, not by what was sent.
#[tokio::test]
async fn compressed_bodies_are_bounded_by_what_they_become() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let before = bench.rows().await;
    let send = async |encoding: &str, body: Vec<u8>| {
        let request = asked(&key, "POST", "/v1/jobs").header("content-encoding", encoding);
        bench.send(request.body(Body::from(body)).unwrap()).await
    };
    for megabytes in [5, 500] {
        let bomb = send("gzip", zeros(megabytes)).await;
        assert_eq!((bomb.status, bomb.code()), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"), "{}", bomb.body);
        assert!(bomb.body["detail"].as_str().unwrap().contains("4194304"), "{}", bomb.body);
    }
    for encoding in ["br", "deflate", "zstd", "gzip, gzip", "nonsense"] {
        assert_eq!(send(encoding, b"{}".to_vec()).await.code(), "unsupported_media_type", "{encoding}");
    }
    assert_eq!(send("gzip", b"{}".to_vec()).await.code(), "invalid_json", "no gzip at all");
    assert_eq!(bench.rows().await, before);
}

/// So many megabytes of zeros, which gzip makes a thousandth of.
fn zeros(megabytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..megabytes {
        std::io::Write::write_all(&mut encoder, &[0; 1024 * 1024]).unwrap();
    }
    encoder.finish().unwrap()
}

/// F13: clients that never finish hold nothing that others need.
#[tokio::test]
async fn slow_clients_do_not_stand_in_the_way() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let before = bench.rows().await;
    let mut slow = Vec::new();
    for nth in 0..200 {
        let mut stream = connected(&bench).await;
        let begun = post(&key, "content-length: 500\r\n", b"{\"task\"");
        stream.write_all(&begun[..if nth % 2 == 0 { 20 } else { begun.len() }]).await.unwrap();
        slow.push(stream);
    }
    let good = submission().to_string();
    let good = post(&key, &format!("content-length: {}\r\n", good.len()), good.as_bytes());
    assert!(end_of(&bench, &good, false).await.starts_with("HTTP/1.1 202 "));
    let after = bench.rows().await;
    assert_ne!(after, before);
    drop(slow);
    bench.app.tasks.stop().await;
    assert_eq!(bench.rows().await, after, "what was not complete was not taken");
}
