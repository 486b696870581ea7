//! The tool endpoint when a tool crashes or takes its time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::pin::Pin;
use std::time::{Duration, Instant};

use common::{Server, config};
use graphlume_http::{BeforeTool, HttpConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A server whose tools begin with `before`, and what it takes to call them.
struct Endpoint {
    server: Server,
    session: String,
    token: String,
}

impl Endpoint {
    async fn start(before: BeforeTool) -> Self {
        Self::with(config(), before).await
    }

    async fn with(config: HttpConfig, before: BeforeTool) -> Self {
        let config = HttpConfig { before_tool: Some(before), ..config };
        let server = Server::with(config).await;
        let token = server.token().await;
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}}});
        let reply = server.post("/mcp", &[], &hello.to_string()).await;
        let session = reply.header("mcp-session-id").expect("a connection").to_owned();
        Self { server, session, token }
    }

    /// Calls a tool, however long it takes; status and message.
    async fn call(&self, tool: &str) -> (u16, Value) {
        let body = json!({"jsonrpc": "2.0", "id": tool, "method": "tools/call",
            "params": {"name": tool, "arguments": {}}})
        .to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nmcp-session-id: {}\r\n\
             authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            self.session,
            self.token,
            body.len()
        );
        let mut socket = self.server.connect().await;
        socket.write_all((head + &body).as_bytes()).await.expect("sent");
        let mut raw = String::new();
        let read = tokio::time::timeout(PATIENCE, socket.read_to_string(&mut raw));
        read.await.expect("an answer in time").expect("text");
        let (head, body) = raw.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).expect("a message"))
    }
}

/// Longer than any tool may take.
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_crashes_says_so_and_the_next_call_is_answered() {
    fn crash_when_asked(tool: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            assert!(tool != "get_session_info", "this tool crashes");
        })
    }
    let e = Endpoint::start(crash_when_asked).await;
    let (status, body) = e.call("get_session_info").await;
    assert_eq!(
        (status, &body["id"], &body["result"]["isError"]),
        (200, &json!("get_session_info"), &json!(true)),
        "{body}"
    );
    let text = body["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("crashed") && !text.contains("this tool crashes"), "{text}");
    let (_, body) = e.call("list_sessions").await;
    assert!(body["result"].get("isError").is_none(), "{body}");
    let text = body["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("\"sessions\":[]"), "{text}");
    e.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_may_take_its_time_and_is_ended_after_it() {
    fn take_time(tool: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if tool == "list_sessions" {
            Box::pin(tokio::time::sleep(Duration::from_millis(500)))
        } else {
            Box::pin(std::future::pending())
        }
    }
    assert_eq!(config().tool_time, Duration::from_secs(60), "a minute unless told otherwise");
    let patient = Endpoint::start(take_time).await;
    let (done, result) = patient.call("list_sessions").await;
    assert!(done == 200 && result["result"].is_object(), "{done} {result}");
    patient.server.stop().await;
    let limit = Duration::from_secs(2);
    let short = Endpoint::with(HttpConfig { tool_time: limit, ..config() }, take_time).await;
    let began = Instant::now();
    let (ended, refused) = short.call("get_session_info").await;
    assert!(began.elapsed() >= limit, "not before its time is over");
    let error = &refused["error"];
    assert_eq!((ended, &error["code"]), (504, &json!(-32005)), "{refused}");
    assert!(error["message"].as_str().expect("a text").contains("2 seconds"), "{error}");
    short.server.stop().await;
}
