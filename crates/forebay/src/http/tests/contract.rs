use super::*;
use crate::http::{openapi, routes};

/// The path with something in place of its variables.
fn filled(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/")
}

fn documented() -> Vec<(String, String, Option<String>)> {
    let document = openapi::document(&routes());
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| {
            let scope = operation["x-scope"].as_str().map(str::to_owned);
            (method.to_uppercase(), path.clone(), scope)
        })
    });
    operations.collect()
}

#[test]
fn the_routes_and_their_scopes_are_those_of_the_contract() {
    let mut table: Vec<_> = documented()
        .into_iter()
        .map(|(method, path, scope)| format!("{method} {path} {}", scope.as_deref().unwrap_or("-")))
        .collect();
    table.sort();
    insta::assert_snapshot!(table.join("\n"), @r"
    DELETE /v1/keys/{key_id} admin
    DELETE /v1/reviews/{job_id}/claim review
    GET /docs -
    GET /livez -
    GET /metrics -
    GET /openapi.json -
    GET /problems -
    GET /problems/{code} -
    GET /readyz -
    GET /v1/audit admin
    GET /v1/audit/export admin
    GET /v1/autoscaling/workers operate
    GET /v1/datasets read
    GET /v1/datasets/{name} read
    GET /v1/datasets/{name}/content inspect
    GET /v1/dead-letters read
    GET /v1/dead-letters/groups read
    GET /v1/dead-letters/{job_id} read
    GET /v1/documents/{document_id} read
    GET /v1/documents/{document_id}/content read
    GET /v1/events read
    GET /v1/job-batches read
    GET /v1/job-batches/{batch_id} read
    GET /v1/jobs read
    GET /v1/jobs/{job_id} read
    GET /v1/jobs/{job_id}/attempts inspect
    GET /v1/jobs/{job_id}/events read
    GET /v1/jobs/{job_id}/explain read
    GET /v1/jobs/{job_id}/result read
    GET /v1/jobs/{job_id}/steps inspect
    GET /v1/keys admin
    GET /v1/pools operate
    GET /v1/retention operate
    GET /v1/reviews review
    GET /v1/reviews/corrections review
    GET /v1/reviews/{job_id} review
    GET /v1/revisions admin
    GET /v1/revisions/active admin
    GET /v1/revisions/diff admin
    GET /v1/revisions/{number} admin
    GET /v1/revisions/{number}/source admin
    GET /v1/tasks read
    GET /v1/tasks/{task} read
    GET /v1/tenants admin
    GET /v1/tenants/{tenant} admin
    GET /v1/usage read
    GET /v1/workers operate
    POST /v1/dead-letters/change operate
    POST /v1/dead-letters/replay operate
    POST /v1/dead-letters/{job_id} operate
    POST /v1/documents submit
    POST /v1/job-batches submit
    POST /v1/job-batches/{batch_id}/cancel operate
    POST /v1/jobs submit
    POST /v1/jobs/{job_id}/cancel operate
    POST /v1/jobs/{job_id}/replay operate
    POST /v1/keys admin
    POST /v1/reviews/{job_id} review
    POST /v1/reviews/{job_id}/claim review
    POST /v1/revisions admin
    POST /v1/revisions/{number}/rollback admin
    PUT /v1/datasets/{name} operate
    PUT /v1/keys/{key_id} admin
    PUT /v1/tenants/{tenant} admin
    ");
}

#[test]
fn every_route_is_documented_and_nothing_else() {
    let mut routed: Vec<_> =
        routes().iter().map(|route| (route.method.to_string(), route.path.to_owned())).collect();
    let mut written: Vec<_> = documented().into_iter().map(|(method, path, _)| (method, path)).collect();
    routed.sort();
    written.sort();
    assert_eq!(routed, written);
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document = openapi::document(&routes());
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(reference) = value["$ref"].as_str() {
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
        }
        open.extend(value.as_object().into_iter().flat_map(|object| object.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
}

#[test]
fn every_variable_of_a_path_is_a_parameter_and_every_answer_is_described() {
    for route in routes() {
        let variables = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let variables: Vec<_> = variables.collect();
        let described: Vec<_> =
            route.doc.params.iter().filter(|param| param.place == "path").map(|param| param.name).collect();
        assert_eq!(variables, described, "{}", route.path);
        assert!(!route.doc.answers.is_empty(), "{}", route.path);
        let schemas = route.doc.params.iter().map(|param| serde_json::from_str::<Value>(param.schema));
        assert!(schemas.into_iter().all(|schema| schema.is_ok()), "{}", route.path);
        assert!(openapi::has_tag(route.doc.tag), "{}", route.doc.tag);
    }
}

#[tokio::test]
async fn every_documented_route_has_a_handler_and_asks_for_its_scope() {
    let bench = Bench::new().await;
    for (method, path, scope) in documented() {
        let request = |key: &str| asked(key, &method, &filled(&path)).body(Body::empty()).unwrap();
        let answer = bench.send(request("")).await;
        let Some(scope) = scope else {
            assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_ne!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
            continue;
        };
        assert_eq!(answer.code(), "unauthorized", "{method} {path}");
        let others: Vec<_> =
            Scope::ALL.into_iter().filter(|other| other.name() != scope && *other != Scope::Admin).collect();
        let answer = bench.send(request(&bench.key("default", &others).await)).await;
        assert_eq!(answer.code(), "forbidden", "{method} {path}");
        assert!(answer.body["detail"].as_str().unwrap().contains(&format!("`{scope}`")), "{method} {path}");
        let only = Scope::from_name(&scope).unwrap();
        let request = request(&bench.key("default", &[only]).await);
        let response = bench.router.clone().oneshot(request).await.unwrap();
        if response.status() == StatusCode::OK {
            // A stream would never be read to its end.
            continue;
        }
        let answer = Answer::read(response).await;
        let refused = ["unauthorized", "forbidden", "method_not_allowed", "internal"];
        assert!(!refused.contains(&answer.code()), "{method} {path}: {}", answer.body);
    }
}

#[tokio::test]
async fn the_document_and_its_page_are_served() {
    let bench = Bench::new().await;
    let document = bench.get("", "/openapi.json").await;
    assert_eq!(document.body["openapi"], "3.1.0");
    let page = bench.get("", "/docs").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    let problem = bench.get("", "/problems/not_finished").await;
    assert_eq!(problem.status, StatusCode::OK);
    assert_eq!(bench.get("", "/problems/none").await.code(), "not_found");
}

#[tokio::test]
async fn without_the_role_api_there_is_health_and_nothing_else() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Admin]).await;
    let router = crate::http::health_router(bench.app.clone(), Arc::new(Door::new(bench.app.clone())));
    for (path, status) in [
        ("/livez", StatusCode::OK),
        ("/readyz", StatusCode::OK),
        ("/metrics", StatusCode::OK),
        ("/v1/jobs", StatusCode::NOT_FOUND),
        ("/openapi.json", StatusCode::NOT_FOUND),
    ] {
        let request = asked(&key, "GET", path).body(Body::empty()).unwrap();
        assert_eq!(router.clone().oneshot(request).await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn health_and_metrics_need_no_key() {
    let bench = Bench::new().await;
    assert_eq!(bench.get("", "/livez").await.body, json!({"status": "ok"}));
    assert_eq!(bench.get("", "/readyz").await.status, StatusCode::OK);
    let metrics = bench.get("", "/metrics").await;
    assert!(String::from_utf8(metrics.bytes).unwrap().contains("forebay_jobs{state=\"READY\"} 0"));
    bench.app.tasks.stopping().cancel();
    let stopping = bench.get("", "/readyz").await;
    assert_eq!((stopping.status, stopping.code()), (StatusCode::SERVICE_UNAVAILABLE, "overloaded"));
    assert_eq!(stopping.header("retry-after"), Some("2"));
}

#[test]
fn what_requests_may_say_is_closed_and_has_the_words_of_the_code() {
    let document = openapi::document(&routes());
    let schemas = &document["components"]["schemas"];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let Some(reference) =
                operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str()
            else {
                continue;
            };
            let schema = document.pointer(&reference[1..]).unwrap();
            let alternatives = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
            for alternative in alternatives {
                assert_eq!(alternative["additionalProperties"], false, "{path}: {reference}");
            }
        }
    }
    let parameter = |path: &str, name: &str| {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
        parameters.iter().find(|parameter| parameter["name"] == name).unwrap()["schema"].clone()
    };
    let states = forebay_core::job::State::ALL.map(forebay_core::job::State::name);
    assert_eq!(parameter("/v1/jobs", "state")["enum"], json!(states));
    assert_eq!(parameter("/v1/jobs", "limit")["maximum"], json!(forebay_core::limits::LIST_PAGE));
    assert_eq!(
        schemas["KeyRequest"]["properties"]["scopes"]["items"]["enum"],
        json!(Scope::ALL.map(Scope::name))
    );
    let metadata = &schemas["Submit"]["properties"]["metadata"];
    assert_eq!(metadata["additionalProperties"]["maxLength"], forebay_core::limits::METADATA_VALUE_CHARS);
}

#[test]
fn what_makes_a_job_links_to_what_reads_it() {
    let document = openapi::document(&routes());
    let links = &document["paths"]["/v1/jobs"]["post"]["responses"]["202"]["links"];
    let link = &links["get_v1_jobs_job_id_result"];
    assert_eq!(
        *link,
        json!({"operationId": "get_v1_jobs_job_id_result", "parameters": {"job_id": "$response.body#/job_id"}})
    );
    assert_eq!(
        document["paths"]["/v1/jobs"]["get"]["responses"]["200"].get("links"),
        None,
        "a list may be empty"
    );
}
