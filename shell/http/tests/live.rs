//! The live stream and the routes beside it, as the page uses them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{Server, config, within};
use futures_util::{SinkExt, StreamExt};
use graphlume_http::HttpConfig;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A dataset of `rows` edges between `nodes` nodes, shuffled by a fixed rule.
async fn graph(server: &Server, nodes: u64, rows: u64) -> (String, String) {
    let token = server.token().await;
    let bearer = format!("Bearer {token}");
    let auth = [("Authorization", bearer.as_str())];
    let create = json!({
        "name": "live", "metadata": {}, "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
    });
    let made = server.post("/api/v2/upload/datasets/", &auth, &create.to_string()).await;
    let id = made.json()["data"]["dataset_id"].as_str().expect("an id").to_owned();
    let mut csv = String::from("s,d\n");
    for i in 0..rows {
        csv.push_str(&format!("n{},n{}\n", i % nodes, (i * 7_919 + 13) % nodes));
    }
    let path = format!("/api/v2/upload/datasets/{id}/edges/csv");
    let edges = server.post(&path, &auth, &csv).await;
    assert_eq!(edges.status, 200, "{}", edges.text());
    (id, token)
}

async fn dial(
    server: &Server,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, Error> {
    let mut request = format!("ws://{}{path}", server.addr).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    within(tokio_tungstenite::connect_async(request)).await.map(|(socket, _)| socket)
}

async fn watch(server: &Server, session: &str, dataset: &str) -> Socket {
    let path = format!("/viz/{session}/ws?dataset={dataset}");
    dial(server, &path, &[("Sec-WebSocket-Protocol", "graph-viz.v1")]).await.unwrap()
}

/// What the page receives.
#[derive(Debug)]
enum Got {
    Text(Value),
    Frame { kind: u8, epoch: u32, seq: u32, bytes: usize },
    Closed(u16),
}

async fn next(socket: &mut Socket) -> Got {
    // Pings do not count as something heard.
    within(next_message(socket)).await
}

async fn next_message(socket: &mut Socket) -> Got {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                return Got::Text(serde_json::from_str(&text).unwrap());
            }
            Some(Ok(Message::Binary(b))) => {
                assert_eq!(&b[..4], b"GVZ1");
                let word = |at: usize| u32::from_le_bytes(b[at..at + 4].try_into().unwrap());
                return Got::Frame { kind: b[5], epoch: word(8), seq: word(12), bytes: b.len() };
            }
            Some(Ok(Message::Close(frame))) => {
                return Got::Closed(frame.map_or(1005, |f| u16::from(f.code)));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Got::Closed(1006),
        }
    }
}

async fn say(socket: &mut Socket, message: Value) {
    within(socket.send(Message::text(message.to_string()))).await.unwrap();
}

/// Reads until a text message of type `t`.
async fn until(socket: &mut Socket, t: &str) -> Value {
    loop {
        match next(socket).await {
            Got::Text(message) if message["t"] == t => return message,
            Got::Closed(code) => panic!("closed with {code} while waiting for {t}"),
            _ => {}
        }
    }
}

const POSITIONS: std::ops::RangeInclusive<u8> = 1..=3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_told_everything_in_the_order_that_it_draws() {
    let server = Server::start().await;
    let (dataset, _) = graph(&server, 50, 200).await;
    let mut socket = watch(&server, "s1", &dataset).await;
    let Got::Text(hello) = next(&mut socket).await else { panic!("hello comes first") };
    assert_eq!(hello["t"], "hello");
    assert_eq!((&hello["protocol_min"], &hello["protocol_max"]), (&json!(1), &json!(1)));
    assert_eq!((&hello["session"], &hello["dataset"]), (&json!("s1"), &json!(dataset)));
    assert!(hello["build"].is_string() && hello["state"].is_string(), "{hello}");
    let facts = until(&mut socket, "graph").await;
    assert_eq!((&facts["node_count"], &facts["edge_count"]), (&json!(50), &json!(200)));
    let epoch = facts["epoch"].as_u64().unwrap();
    let mut kinds = Vec::new();
    let (mut last, mut frames, mut at_rest) = (0, 0, false);
    // The layout runs on as long as frames are acknowledged; a small one soon comes to rest.
    while !(kinds.contains(&17) && kinds.contains(&18)) || (frames < 4 && !at_rest) {
        match next(&mut socket).await {
            Got::Frame { kind, epoch: of, seq, bytes } => {
                assert_eq!(u64::from(of), epoch);
                assert!(bytes >= 48);
                if POSITIONS.contains(&kind) {
                    assert!(seq > last || frames == 0, "{seq} after {last}");
                    (last, frames) = (seq, frames + 1);
                    say(&mut socket, json!({"t": "ack", "seq": seq})).await;
                }
                kinds.push(kind);
            }
            Got::Text(m) if m["t"] == "state" => {
                at_rest = matches!(m["state"].as_str(), Some("settled" | "stopped" | "paused"));
            }
            Got::Text(_) => {}
            Got::Closed(code) => panic!("closed with {code}"),
        }
    }
    assert_eq!(kinds[0], 1, "a key frame is the first: {kinds:?}");
    within(socket.close(None)).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_owes_acknowledgements_gets_two_frames_and_no_more() {
    let server = Server::start().await;
    // Large enough to be in motion for longer than the test looks.
    let (dataset, _) = graph(&server, 20_000, 60_000).await;
    let mut socket = watch(&server, "slow", &dataset).await;
    until(&mut socket, "graph").await;
    let mut seqs = Vec::new();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(2_500) {
        let Ok(got) = tokio::time::timeout(Duration::from_millis(300), next(&mut socket)).await
        else {
            continue;
        };
        if let Got::Frame { kind, seq, .. } = got
            && POSITIONS.contains(&kind)
        {
            seqs.push(seq);
        }
    }
    assert_eq!(seqs.len(), 2, "{seqs:?}");
    // What was skipped is gone: after the acknowledgement comes the newest.
    say(&mut socket, json!({"t": "ack", "seq": seqs[1]})).await;
    let third = loop {
        if let Got::Frame { kind, seq, .. } = next(&mut socket).await
            && POSITIONS.contains(&kind)
        {
            break seq;
        }
    };
    assert!(third > seqs[1] + 1, "{third} after {seqs:?}: frames in between were skipped");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn play_pause_and_bad_messages_are_answered_and_the_stream_goes_on() {
    let server = Server::start().await;
    let (dataset, _) = graph(&server, 2_000, 4_000).await;
    let mut socket = watch(&server, "ctl", &dataset).await;
    until(&mut socket, "graph").await;
    say(&mut socket, json!({"t": "play", "on": false})).await;
    loop {
        let state = until(&mut socket, "state").await;
        if state["playing"] == false {
            break;
        }
    }
    for (bad, slug) in [
        (json!({"t": "settings", "gravitas": 1}), "layout-setting"),
        (json!({"t": "pin", "index": 4_000_000_000u32, "x": 0, "y": 0}), "node-not-found"),
        (json!({"t": "ack", "seq": "seven"}), "bad-message"),
        (json!([1, 2]), "bad-message"),
    ] {
        say(&mut socket, bad.clone()).await;
        let error = until(&mut socket, "error").await;
        assert_eq!(error["slug"], slug, "{bad}");
        assert!(error["message"].as_str().unwrap().len() > 10);
    }
    say(&mut socket, json!({"t": "settings", "gravity": 2.5})).await;
    say(&mut socket, json!({"t": "play", "on": true})).await;
    loop {
        let state = until(&mut socket, "state").await;
        if state["playing"] == true {
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_watch_is_told_by_the_close_code() {
    let server = Server::start().await;
    let (dataset, token) = graph(&server, 5, 5).await;
    let mut missing = watch(&server, "none", "0123456789abcdef0123456789abcdef").await;
    let error = until(&mut missing, "error").await;
    assert!(error["message"].is_string());
    assert!(matches!(next(&mut missing).await, Got::Closed(4404)));
    let mut unnamed = dial(&server, "/viz/never-opened/ws", &[]).await.unwrap();
    until(&mut unnamed, "error").await;
    assert!(matches!(next(&mut unnamed).await, Got::Closed(4404)));
    let path = format!("/viz/s/ws?dataset={dataset}");
    let mut garbage = dial(&server, &path, &[("Authorization", "Bearer a.b.c")]).await.unwrap();
    until(&mut garbage, "error").await;
    assert!(matches!(next(&mut garbage).await, Got::Closed(4401)));
    // A page of a foreign origin does not even get a socket.
    let foreign = dial(&server, &path, &[("Origin", "https://evil.example")]).await;
    assert!(matches!(foreign, Err(Error::Http(reply)) if reply.status() == 403));
    let own = format!("http://{}", server.addr);
    let cookie = format!("graphlume_jwt={token}");
    let mut good = dial(&server, &path, &[("Origin", &own), ("Cookie", &cookie)]).await.unwrap();
    until(&mut good, "graph").await;
    // Without a handshake the address says what it is.
    let plain = server.get(&path, &[]).await;
    plain.assert_refused(426, "no handshake");
    assert_eq!(plain.header("upgrade"), Some("websocket"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_protocol_s_rules_are_kept_and_silence_ends_the_stream() {
    let server = Server::with(HttpConfig {
        ping_every: Duration::from_millis(100),
        pong_timeout: Duration::from_millis(700),
        ..config()
    })
    .await;
    let (dataset, _) = graph(&server, 5, 5).await;
    let mut big = watch(&server, "big", &dataset).await;
    let huge = format!("{{\"t\":\"view\",\"x\":\"{}\"}}", "x".repeat(64 << 10));
    big.send(Message::text(huge)).await.unwrap();
    loop {
        if let Got::Closed(code) = next(&mut big).await {
            assert_eq!(code, 1009);
            break;
        }
    }
    let mut binary = watch(&server, "bin", &dataset).await;
    binary.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    loop {
        if let Got::Closed(code) = next(&mut binary).await {
            assert_eq!(code, 1003);
            break;
        }
    }
    // A client that answers pings stays; tungstenite answers while it is read.
    let mut alive = watch(&server, "alive", &dataset).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1_500) {
        let got = tokio::time::timeout(Duration::from_millis(100), next(&mut alive)).await;
        assert!(!matches!(got, Ok(Got::Closed(_))), "{got:?}");
    }
    // One that is never read is silent: it is let go.
    let mut silent = watch(&server, "silent", &dataset).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    loop {
        if let Got::Closed(code) = next(&mut silent).await {
            assert_eq!(code, 1006, "nobody was there for a goodbye");
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_tells_its_viewers_to_come_back() {
    let server = Server::start().await;
    let (dataset, _) = graph(&server, 5, 5).await;
    let mut socket = watch(&server, "s", &dataset).await;
    until(&mut socket, "hello").await;
    let stopping = tokio::spawn(server.stop());
    loop {
        if let Got::Closed(code) = next(&mut socket).await {
            assert_eq!(code, 1012);
            break;
        }
    }
    drop(socket);
    within(stopping).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_dataset_ends_its_session() {
    let server = Server::start().await;
    let (dataset, token) = graph(&server, 5, 5).await;
    let mut socket = watch(&server, "s", &dataset).await;
    until(&mut socket, "graph").await;
    let bearer = format!("Bearer {token}");
    let path = format!("/api/v2/datasets/{dataset}");
    let gone = server.request("DELETE", &path, &[("Authorization", &bearer)], b"").await;
    assert_eq!(gone.status, 204, "{}", gone.text());
    loop {
        if let Got::Closed(code) = next(&mut socket).await {
            assert_eq!(code, 4410);
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_becomes_private_is_closed_to_strangers() {
    let server =
        Server::with(HttpConfig { ping_every: Duration::from_millis(100), ..config() }).await;
    let (dataset, token) = graph(&server, 5, 5).await;
    let mut socket = watch(&server, "s", &dataset).await;
    until(&mut socket, "graph").await;
    let bearer = format!("Bearer {token}");
    let share = json!({"obj_pk": dataset, "obj_type": "dataset", "mode": "private"}).to_string();
    let shared = server.post("/api/v2/share/link/", &[("Authorization", &bearer)], &share).await;
    assert_eq!(shared.status, 200, "{}", shared.text());
    loop {
        if let Got::Closed(code) = next(&mut socket).await {
            assert!(matches!(code, 4401 | 4404), "{code}");
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_routes_beside_the_stream_serve_the_same_graph() {
    let server = Server::start().await;
    let (dataset, _) = graph(&server, 40, 120).await;
    let mut socket = watch(&server, "s", &dataset).await;
    let epoch = until(&mut socket, "graph").await["epoch"].as_u64().unwrap();
    let edges = format!("/viz/s/{epoch}/edges.bin?dataset={dataset}");
    let all = server.get(&edges, &[]).await;
    assert_eq!((all.status, all.body.len()), (200, 120 * 8), "{}", all.text());
    assert_eq!(all.header("content-type"), Some("application/octet-stream"));
    assert_eq!(all.header("accept-ranges"), Some("bytes"));
    let part = server.get(&edges, &[("Range", "bytes=16-31")]).await;
    assert_eq!((part.status, &part.body[..]), (206, &all.body[16..32]));
    assert_eq!(part.header("content-range"), Some("bytes 16-31/960"));
    let beyond = server.get(&edges, &[("Range", "bytes=960-")]).await;
    beyond.assert_refused(416, "beyond");
    assert_eq!(beyond.header("content-range"), Some("bytes */960"));
    let etag = all.header("etag").unwrap();
    assert_eq!(server.get(&edges, &[("If-None-Match", etag)]).await.status, 304);
    let other = [("Range", "bytes=0-7"), ("If-Range", "\"other\"")];
    assert_eq!(server.get(&edges, &other).await.status, 200, "other bytes are sent whole");
    let packed = server.get(&edges, &[("Accept-Encoding", "gzip")]).await;
    assert_eq!(packed.header("content-encoding"), None);

    let positions =
        server.get(&format!("/viz/s/{epoch}/positions.bin?dataset={dataset}"), &[]).await;
    assert_eq!((positions.status, positions.body.len()), (200, 48 + 40 * 8));
    assert_eq!((&positions.body[..4], positions.body[5]), (&b"GVZ1"[..], 3));
    let at = |path: &str| {
        let mark = if path.contains('?') { '&' } else { '?' };
        format!("{path}{mark}dataset={dataset}")
    };
    server.get("/viz/s/node/0", &[]).await.assert_refused(404, "the name can be guessed");
    let card = server.get(&at("/viz/s/node/0"), &[]).await;
    assert_eq!(card.status, 200);
    assert!(card.json()["degree"].is_number(), "{}", card.text());
    assert_eq!(server.get(&at("/viz/s/edge/0"), &[]).await.status, 200);
    let found = server.get(&at("/viz/s/search?q=n3&limit=5"), &[]).await.json();
    let results = found["results"].as_array().unwrap();
    assert!(!results.is_empty() && results.len() <= 5, "{found}");
    assert!(results[0]["index"].is_number() && results[0]["label"].is_string());
    for (path, status) in [
        ("/viz/s/node/40", 404),
        ("/viz/s/node/x", 404),
        ("/viz/s/edge/120", 404),
        ("/viz/s/99/edges.bin", 410),
        ("/viz/s/search?q=n&limit=x", 400),
        ("/viz/unknown/node/99", 404),
    ] {
        server.get(&at(path), &[]).await.assert_refused(status, path);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_websockets_polls_for_frames() {
    let server =
        Server::with(HttpConfig { long_poll: Duration::from_millis(600), ..config() }).await;
    let (dataset, _) = graph(&server, 1_000, 3_000).await;
    let first = server.get(&format!("/viz/p/frame?after=0&dataset={dataset}"), &[]).await;
    let mut after = match first.status {
        // The layout had not begun yet.
        204 => 0,
        200 => u32::from_le_bytes(first.body[12..16].try_into().unwrap()),
        status => panic!("{status}: {}", first.text()),
    };
    for _ in 0..3 {
        let reply = server.get(&format!("/viz/p/frame?after={after}&dataset={dataset}"), &[]).await;
        if reply.status == 200 {
            let seq = u32::from_le_bytes(reply.body[12..16].try_into().unwrap());
            assert!(seq > after, "{seq} after {after}");
            after = seq;
        } else {
            assert_eq!(reply.status, 204);
        }
    }
    assert!(after > 0, "no frame in four polls");
    server
        .get(&format!("/viz/p/frame?after=x&dataset={dataset}"), &[])
        .await
        .assert_refused(400, "after");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_viewers_share_the_frames() {
    let server = Server::start().await;
    let (dataset, _) = graph(&server, 2_000, 6_000).await;
    let mut viewers = Vec::new();
    for _ in 0..50 {
        viewers.push(watch(&server, "many", &dataset).await);
    }
    let mut tasks = Vec::new();
    for mut socket in viewers {
        tasks.push(tokio::spawn(async move {
            let (mut frames, mut at_rest) = (0, false);
            // A graph of this size may come to rest within a few frames.
            while frames < 1 || (frames < 5 && !at_rest) {
                match next(&mut socket).await {
                    Got::Frame { kind, seq, .. } if POSITIONS.contains(&kind) => {
                        frames += 1;
                        say(&mut socket, json!({"t": "ack", "seq": seq})).await;
                    }
                    Got::Text(m) if m["t"] == "state" => {
                        at_rest =
                            matches!(m["state"].as_str(), Some("settled" | "stopped" | "paused"));
                    }
                    Got::Closed(code) => panic!("closed with {code} after {frames} frames"),
                    _ => {}
                }
            }
        }));
    }
    for task in tasks {
        within(task).await.unwrap();
    }
    server.stop().await;
}
