//! The four deadlines of a call. The times are real and short, because they are what is tested.

use std::time::Duration;

use forebay_core::attempt::Outcome;
use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_core::time::Millis;
use forebay_gateway::{Gateway, Report};

use crate::provider::{Provider, STREAM_HEAD, Step, chunk};
use crate::{assert_failed, attempt, call_within, chat, deadlines, target};

const TOKEN: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n\n";

/// A call at a provider that takes these steps, with a check that it ends at `expected` milliseconds.
async fn ends_at(expected: i64, steps: Vec<Step>, deadlines: Deadlines) -> Report {
    let provider = Provider::start(move |_| steps.clone()).await;
    let report = call_within(&provider, &chat(), deadlines).await;
    let total = report.total.get();
    assert!((expected..expected + 1_000).contains(&total), "ended at {total} ms instead of {expected}");
    report
}

#[tokio::test]
async fn no_connection_in_time() {
    // TLS is part of the connection, and this server never says a word of it.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    for deadlines in [deadlines(100, 9_000, 9_000, 9_000), deadlines(9_000, 9_000, 9_000, 100)] {
        let gateway = Gateway::new().unwrap();
        let report = gateway.call(&target(&base_url), chat(), deadlines, attempt(1), crate::NOW).await;
        assert_failed(&report, Outcome::FailedBeforeSend, FailureClass::TimeoutConnect);
        assert!((100..1_100).contains(&report.total.get()));
    }
}

#[tokio::test]
async fn not_even_a_head_in_time() {
    let report = ends_at(150, vec![Step::Hang], deadlines(9_000, 150, 9_000, 9_000)).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::TimeoutFirstByte);
    assert_eq!(report.first_byte, None);
}

#[tokio::test]
async fn a_head_is_not_yet_an_answer() {
    let steps = vec![Step::Write(STREAM_HEAD.into()), Step::Hang];
    let report = ends_at(150, steps, deadlines(9_000, 150, 10, 9_000)).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::TimeoutFirstByte);
}

#[tokio::test]
async fn silence_after_the_first_token() {
    let steps = vec![Step::Write(STREAM_HEAD.into()), Step::Write(chunk(TOKEN)), Step::Hang];
    let report = ends_at(150, steps, deadlines(9_000, 9_000, 150, 9_000)).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::TimeoutIdle);
    assert_eq!(report.partial.as_deref(), Some("a"));
    assert!(report.first_byte.is_some());
}

#[tokio::test]
async fn a_drip_is_ended_by_the_total_alone() {
    let comments = ": \n".repeat(1_000).into_bytes();
    let drip: Vec<u8> = comments.chunks(1).flat_map(chunk).collect();
    let steps = vec![Step::Write(STREAM_HEAD.into()), Step::Drip(drip, Duration::from_millis(2))];
    let report = ends_at(300, steps, deadlines(9_000, 9_000, 200, 300)).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::TimeoutTotal);
}

#[tokio::test]
async fn an_error_whose_body_never_comes_is_still_an_error() {
    let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 50\r\n\r\n";
    let steps = vec![Step::Write(head.into()), Step::Hang];
    let report = ends_at(150, steps, deadlines(9_000, 150, 9_000, 9_000)).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::RateLimited);
    let hint = report.result.unwrap_err().hint.unwrap();
    assert_eq!(hint.wait, Millis::from_secs(7));
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_socket() {
    let token = [STREAM_HEAD.as_bytes(), &chunk(TOKEN)].concat();
    for steps in [vec![Step::Hang], vec![Step::Write(token), Step::Hang]] {
        let provider = Provider::start(move |_| steps.clone()).await;
        let chat = chat();
        let calling = Box::pin(call_within(&provider, &chat, Deadlines::default()));
        tokio::select! {
            report = calling => panic!("the provider does not answer: {report:?}"),
            () = provider.arrived() => {}
        }
        let closed = tokio::time::timeout(Duration::from_secs(1), provider.closed()).await;
        assert!(closed.is_ok(), "the socket was not closed");
    }
}

#[tokio::test]
async fn a_deadline_closes_the_socket() {
    let provider = Provider::start(|_| vec![Step::Hang]).await;
    call_within(&provider, &chat(), deadlines(9_000, 100, 9_000, 9_000)).await;
    let closed = tokio::time::timeout(Duration::from_secs(1), provider.closed()).await;
    assert!(closed.is_ok(), "the socket was not closed");
}

#[tokio::test]
async fn two_hundred_stalled_streams_end_each_at_its_own_limit() {
    let steps = vec![Step::Write(STREAM_HEAD.into()), Step::Write(chunk(TOKEN)), Step::Hang];
    let provider = Provider::start(move |_| steps.clone()).await;
    let gateway = Gateway::new().unwrap();
    let (target, chat) = (target(&provider.base_url), chat());
    let deadlines = deadlines(9_000, 9_000, 500, 9_000);
    let mut calls = tokio::task::JoinSet::new();
    for nth in 0..200 {
        let (gateway, target, chat) = (gateway.clone(), target.clone(), chat.clone());
        calls.spawn(async move { gateway.call(&target, chat, deadlines, attempt(nth), crate::NOW).await });
    }
    for report in calls.join_all().await {
        assert_failed(&report, Outcome::Unknown, FailureClass::TimeoutIdle);
        let silent = report.total.get() - report.first_byte.unwrap().get();
        assert!((500..1_500).contains(&silent), "ended after {silent} ms of silence");
    }
    assert_eq!(provider.requests().len(), 200);
}
