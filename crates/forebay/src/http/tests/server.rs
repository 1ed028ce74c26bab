use super::*;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

/// The API on a port of its own; gives a connection to it.
pub(super) async fn connected(bench: &Bench) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (router, tasks) = (bench.router.clone(), bench.app.tasks.clone());
    bench.app.tasks.spawn("http", async move {
        crate::http::serve(listener, router, tasks).await.unwrap();
    });
    TcpStream::connect(address).await.unwrap()
}

pub(super) async fn everything(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end like another.
    timeout(Duration::from_secs(20), stream.read_to_end(&mut text)).await.unwrap().ok();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_connection_serves_and_ends_with_the_server() {
    let bench = Bench::new().await;
    let mut stream = connected(&bench).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    timeout(Duration::from_secs(5), bench.app.tasks.stop()).await.unwrap();
    assert!(everything(&mut stream).await.contains("{\"status\":\"ok\"}"));
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    let bench = Bench::new().await;
    let mut stream = connected(&bench).await;
    let started = Instant::now();
    stream.write_all(b"GET /livez HTTP/1.1\r\nx: ").await.unwrap();
    everything(&mut stream).await;
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(4) && took < Duration::from_secs(8), "{took:?}");
}

#[tokio::test]
async fn a_head_without_bounds_is_refused() {
    let bench = Bench::new().await;
    let mut stream = connected(&bench).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nx: ").await.unwrap();
    stream.write_all(&[b'a'; 64 * 1024]).await.ok();
    assert!(everything(&mut stream).await.starts_with("HTTP/1.1 431 "));
}
