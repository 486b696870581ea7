//! Settings of a running server: changed without ending a connection, and the operators' address that gives way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::net::SocketAddr;

use common::{Server, config, read_reply};
use graphlume_http::{HttpConfig, HttpError, listen};
use tokio::io::AsyncWriteExt;

const ASK: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_connection_is_answered_by_the_new_settings() {
    let server = Server::start().await;
    let mut socket = server.connect().await;
    let mut foreign = async |host: &str| {
        let ask = ASK.replace("127.0.0.1", host);
        socket.write_all(ask.as_bytes()).await.unwrap();
        read_reply(&mut socket, false).await.expect("the connection is open").status
    };
    assert_eq!(foreign("viz.example").await, 403);
    let public_url = Some("https://viz.example".parse().unwrap());
    server.running.reload(HttpConfig { public_url, ..config() }).unwrap();
    assert_eq!(foreign("viz.example").await, 200);
    server.running.reload(config()).unwrap();
    assert_eq!(foreign("viz.example").await, 403);
    // What is refused changes nothing.
    let wrong = HttpConfig { link_token_name: "a b".to_owned(), ..config() };
    let error = server.running.reload(wrong).unwrap_err().to_string();
    assert!(error.contains("SESAME_TOKEN_NAME"), "{error}");
    assert_eq!(foreign("127.0.0.1").await, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_counted_goes_on_counting() {
    let server = Server::start().await;
    let before = server.get("/healthz", &[]).await.status;
    server.running.reload(config()).unwrap();
    let internal = server.running.internal_addr.unwrap();
    let mut socket = tokio::net::TcpStream::connect(internal).await.unwrap();
    let ask = ASK.replace("GET / ", "GET /metrics ");
    socket.write_all(ask.as_bytes()).await.unwrap();
    let metrics = read_reply(&mut socket, false).await.unwrap().text();
    let health =
        metrics.lines().find(|l| l.contains("route=\"/healthz\"") && l.contains("requests_total"));
    assert!(before == 200 && health.is_some_and(|l| l.ends_with(" 1")), "{health:?}");
    server.stop().await;
}

#[test]
fn the_operators_address_gives_way_where_nobody_named_it() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let holder = std::net::TcpListener::bind(any).unwrap();
    let busy = holder.local_addr().unwrap();
    let asked = |internal_may_move| HttpConfig {
        listen: any,
        internal_listen: Some(busy),
        internal_may_move,
        ..HttpConfig::default()
    };
    let moved = listen(&asked(true)).unwrap().internal.unwrap().local_addr().unwrap();
    assert!(moved.ip() == busy.ip() && moved.port() != busy.port(), "{moved}");
    let refused = listen(&asked(false)).unwrap_err();
    assert!(matches!(refused, HttpError::Bind { addr, .. } if addr == busy), "{refused}");
    // The users' own address may be the usual one of the operators.
    drop(holder);
    let same = listen(&HttpConfig { listen: busy, ..asked(true) }).unwrap();
    assert_eq!(same.public.local_addr().unwrap(), busy);
    assert_ne!(same.internal.unwrap().local_addr().unwrap(), busy);
}
