use super::*;
use crate::accept::Refused;
use forebay_core::request::fault::{MemberCode, MemberFault};
use forebay_store::StoreError;
use serde_json::json;

fn fault(code: MemberCode, pointer: &str) -> MemberFault {
    MemberFault { code, pointer: pointer.to_owned(), message: "not so".to_owned() }
}

#[test]
fn a_problem_has_the_members_of_both_worlds() {
    let problem = Problem::from(vec![
        fault(MemberCode::UnknownMember, "/deadine"),
        fault(MemberCode::MissingMember, "/task"),
    ]);
    assert_eq!(
        serde_json::to_value(problem.body("req_1")).unwrap(),
        json!({
            "type": "/problems/unknown_member", "title": "A member is not known", "status": 400,
            "detail": "/deadine: not so (and 1 more)", "code": "unknown_member", "request_id": "req_1",
            "errors": [
                {"pointer": "/deadine", "code": "unknown_member", "message": "not so"},
                {"pointer": "/task", "code": "missing_member", "message": "not so"},
            ],
            "error": {"message": "/deadine: not so (and 1 more)", "type": "invalid_request_error",
                      "param": "/deadine", "code": "unknown_member"},
        })
    );
}

#[test]
fn a_plain_problem_keeps_all_members_of_error_and_no_empty_list() {
    let body = serde_json::to_value(Problem::not_found().body("req_1")).unwrap();
    assert_eq!(body["error"]["param"], serde_json::Value::Null);
    assert_eq!(body.get("errors"), None);
}

#[test]
fn conflicts_are_not_repeated_by_clients() {
    let response = Problem::new(Code::NotFinished, "not yet").into_response();
    assert_eq!(response.status(), StatusCode::CONFLICT);
    assert_eq!(response.headers()["x-should-retry"], "false");
    assert_eq!(response.headers()["content-type"], MEDIA_TYPE);
}

#[test]
fn a_full_tenant_is_told_when_to_come_back() {
    let response = Problem::from(Refused::TenantFull { limit: 3 }).into_response();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "5");
    assert_eq!(response.headers()["retry-after-ms"], "5000");
    assert!(response.headers().get("x-should-retry").is_none());
}

#[test]
fn seconds_are_rounded_up_and_never_zero() {
    let table = [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)];
    for (millis, seconds) in table {
        assert_eq!(whole_seconds(Millis::new(millis)), seconds, "{millis}");
    }
}

#[test]
fn a_failed_store_is_not_the_callers_business() {
    let unavailable = Problem::from(StoreError::Unavailable("disk full at /secret".to_owned()));
    assert_eq!(unavailable.status(), StatusCode::SERVICE_UNAVAILABLE);
    let corrupt = Problem::from(StoreError::Corrupt("secret".to_owned()));
    assert_eq!(corrupt.status(), StatusCode::INTERNAL_SERVER_ERROR);
    for problem in [unavailable, corrupt] {
        assert!(!serde_json::to_string(&problem.body("r")).unwrap().contains("secret"));
    }
}

#[test]
fn a_missing_key_says_how_to_send_one() {
    let response = Problem::new(Code::Unauthorized, "no key").into_response();
    assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"forebay\"");
}
