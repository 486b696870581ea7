//! Limits of the listener: large heads, slow and silent clients, too many of them, and the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{Server, config, read_reply, within};
use graphlume_http::HttpConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_head_is_refused_with_the_status_that_says_which_part() {
    let server = Server::start().await;
    let fits = format!("/healthz?{}", "x".repeat(8_192 - 9));
    assert_eq!(server.get(&fits, &[]).await.status, 200, "the limit is allowed");
    let long = format!("/healthz?{}", "x".repeat(8_193 - 9));
    server.get(&long, &[]).await.assert_refused(414, "8 KiB and a byte");
    let page =
        |bytes: usize| format!("/graph/graph.html?dataset=none&collections={}", "x".repeat(bytes));
    let shown = server.get(&page(63 << 10), &[]).await.status;
    assert!(shown < 405, "the page takes collections of 63 KiB: {shown}");
    assert!(server.get(&page(64 << 10), &[]).await.status > 413, "and no address of more than 64");
    let value = "x".repeat(12 << 10);
    assert_eq!(server.get("/healthz", &[("X-A", &value)]).await.status, 200);
    let value = "x".repeat(17 << 10);
    server.get("/healthz", &[("X-A", &value)]).await.assert_refused(431, "17 KiB of headers");
    // Beyond what we look at ourselves the answer is the same.
    let value = "x".repeat(200 << 10);
    server.get("/healthz", &[("X-A", &value)]).await.assert_refused(431, "200 KiB of headers");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_http_is_refused_with_a_body_like_any_other() {
    let server = Server::start().await;
    for garbage in ["GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\nno colon here\r\n\r\n", "\0\u{1}\r\n\r\n"]
    {
        let mut socket = server.connect().await;
        socket.write_all(garbage.as_bytes()).await.unwrap();
        let reply = within(read_reply(&mut socket, false)).await.unwrap();
        reply.assert_refused(400, garbage);
        assert_eq!(reply.json()["slug"], "not-http");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_dribbles_in_is_cut_off_and_an_idle_connection_is_kept() {
    let server = Server::with(HttpConfig {
        header_timeout: Duration::from_millis(400),
        keep_alive: Duration::from_secs(30),
        ..config()
    })
    .await;
    for fresh in [true, false] {
        let mut socket = server.connect().await;
        if !fresh {
            socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            assert_eq!(read_reply(&mut socket, false).await.unwrap().status, 200);
            // Idle for longer than a head may take: still there.
            tokio::time::sleep(Duration::from_millis(800)).await;
        }
        let began = Instant::now();
        let (mut read, mut write) = socket.into_split();
        let dribble = tokio::spawn(async move {
            for byte in b"GET /healthz HTTP/1.1\r\nX-Slow: yes, very".iter().cycle() {
                if write.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let mut rest = Vec::new();
        let _ = within(read.read_to_end(&mut rest)).await;
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(350), "fresh {fresh}: {took:?}");
        dribble.abort();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_ends_after_its_time() {
    let server =
        Server::with(HttpConfig { keep_alive: Duration::from_millis(300), ..config() }).await;
    let mut socket = server.connect().await;
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert_eq!(read_reply(&mut socket, false).await.unwrap().status, 200);
    let mut rest = Vec::new();
    assert_eq!(within(socket.read_to_end(&mut rest)).await.unwrap(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_stops_coming_is_408() {
    let server =
        Server::with(HttpConfig { body_window: Duration::from_millis(300), ..config() }).await;
    let mut socket = server.connect().await;
    let head =
        "POST /api-token-auth/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"user";
    socket.write_all(head.as_bytes()).await.unwrap();
    let reply = read_reply(&mut socket, false).await.unwrap();
    reply.assert_refused(408, "slow body");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_json_body_is_413_and_a_deep_one_400() {
    let server = Server::start().await;
    let big = |bytes: usize| format!("{{\"username\":\"{}\"}}", "x".repeat(bytes));
    for path in ["/api-token-auth/", "/api-token-verify/", "/api-token-refresh/"] {
        // Many of these wait for a hash at once, and anybody may send them.
        let reply = server.post(path, &[], &big(16 << 10)).await;
        reply.assert_refused(413, "16 KiB and a bit");
        assert!(reply.json()["message"].as_str().unwrap().contains("16384"), "{path}");
        server.post(path, &[], &big(8 << 10)).await.assert_refused(400, "8 KiB");
    }
    let deep = "[".repeat(10_000);
    server.post("/api-token-auth/", &[], &deep).await.assert_refused(400, "deep");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_upload_is_read_so_that_the_client_sees_why() {
    let server = Server::start().await;
    let body = vec![b'x'; 24 << 20];
    let reply = server.request("POST", "/api/v2/upload/files/abc", &[], &body).await;
    reply.assert_refused(401, "24 MiB without a token");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_turns_away_quickly_and_its_health_still_answers() {
    let server = Server::with(HttpConfig { requests_in_flight_max: 1, ..config() }).await;
    let head = "POST /api-token-auth/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n";
    // The place is taken once another request is turned away. Should one of those be in the place
    // when the holder's head arrives, then the holder is the one turned away, and tries again.
    let (mut holder, refused) = within(async {
        'holder: loop {
            let mut holder = server.connect().await;
            holder.write_all(head.as_bytes()).await.unwrap();
            loop {
                let reply = server.get("/openapi.json", &[]).await;
                if reply.status != 200 {
                    break 'holder (holder, reply);
                }
                let turned_away =
                    tokio::time::timeout(Duration::from_millis(20), holder.readable()).await;
                if turned_away.is_ok() {
                    break;
                }
            }
        }
    })
    .await;
    refused.assert_refused(503, "full");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get("/healthz", &[]).await.status, 200);
    holder.write_all(b"not json!").await.unwrap();
    read_reply(&mut holder, false).await.unwrap().assert_refused(400, "the held one is served");
    assert_eq!(server.get("/openapi.json", &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_too_many_is_told_to_come_back() {
    let server = Server::with(HttpConfig { connections_max: 2, ..config() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut socket = server.connect().await;
        socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert_eq!(read_reply(&mut socket, false).await.unwrap().status, 200);
        held.push(socket);
    }
    let mut third = server.connect().await;
    let reply = read_reply(&mut third, false).await.unwrap();
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!(reply.json()["success"], false);
    drop(held);
    loop {
        let mut socket = server.connect().await;
        let _ = socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
        match read_reply(&mut socket, false).await {
            Some(reply) if reply.status == 200 => break,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_finishes_what_it_began_and_drops_what_is_idle() {
    let server = Server::with(HttpConfig { drain: Duration::from_secs(3600), ..config() }).await;
    let mut idle = server.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert_eq!(read_reply(&mut idle, false).await.unwrap().status, 200);
    let mut busy = server.connect().await;
    let head = "POST /api-token-auth/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nnot ";
    busy.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let addr = server.addr;
    let stopped = tokio::spawn(server.stop());
    let mut rest = Vec::new();
    assert_eq!(within(idle.read_to_end(&mut rest)).await.unwrap(), 0, "idle ones are closed");
    assert!(tokio::net::TcpStream::connect(addr).await.is_err(), "nobody listens any more");
    busy.write_all(b"json!").await.unwrap();
    let reply = read_reply(&mut busy, false).await.unwrap();
    reply.assert_refused(400, "the request in progress is answered");
    within(stopped).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_never_ends_is_cut_off_after_the_drain() {
    let server = Server::with(HttpConfig { drain: Duration::from_millis(300), ..config() }).await;
    let mut busy = server.connect().await;
    let head = "POST /api-token-auth/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nnot ";
    busy.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    within(server.stop()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_never_reach_a_handler() {
    let server = Server::start().await;
    for raw in [
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\n\r\n",
        "G\0T /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nBad Header: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "POST /api-token-auth/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /api-token-auth/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let mut socket = server.connect().await;
        socket.write_all(raw.as_bytes()).await.unwrap();
        let reply = read_reply(&mut socket, false).await;
        assert!(reply.as_ref().is_none_or(|r| r.status == 400), "{raw:?}: {reply:?}");
    }
    // Both framings at once: whatever is answered, nothing of the body is taken for a request.
    let mut socket = server.connect().await;
    let smuggle = "POST /api-token-auth/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\
                   Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n";
    socket.write_all(smuggle.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(2), socket.read_to_end(&mut all)).await;
    let text = String::from_utf8_lossy(&all);
    assert!(!text.contains("200 OK"), "{text}");
    server.stop().await;
}
