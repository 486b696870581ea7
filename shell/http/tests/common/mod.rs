//! A server on free ports over a fresh data folder, and a client that sends exactly what it is told.

#![allow(dead_code, reason = "each test file uses its part")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use graphlume_http::{HttpConfig, Running, serve};
use graphlume_service::{Service, ServiceConfig, Started};
use graphlume_types::SystemClock;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The first user of every test server.
pub const USER: &str = "admin";
/// And the password.
pub const PASSWORD: &str = "correct horse battery";

/// A running server with everything under it.
pub struct Server {
    pub running: Running,
    pub addr: SocketAddr,
    pub service: Arc<Service>,
    started: Option<Started>,
    _folder: tempfile::TempDir,
}

/// A configuration on free ports.
pub fn config() -> HttpConfig {
    HttpConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        internal_listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        ..HttpConfig::default()
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::with(config()).await
    }

    pub async fn with(config: HttpConfig) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut settings = ServiceConfig::new(folder.path().to_path_buf());
        settings.admin_password = Some(PASSWORD.to_owned());
        settings.engine.threads = 1;
        let started = Service::start(settings, Arc::new(SystemClock)).expect("the service starts");
        let service = Arc::clone(&started.service);
        let running = serve(config, Arc::clone(&service)).await.expect("the listener starts");
        let addr = running.addr;
        Self { running, addr, service, started: Some(started), _folder: folder }
    }

    /// Signs in.
    pub async fn token(&self) -> String {
        let body = format!("{{\"username\":\"{USER}\",\"password\":\"{PASSWORD}\"}}");
        let reply = self.post("/api-token-auth/", &[], &body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["token"].as_str().expect("a token").to_owned()
    }

    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.request("GET", path, headers, b"").await
    }

    pub async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.request("POST", path, headers, body.as_bytes()).await
    }

    /// One request on a connection of its own.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.addr));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || matches!(method, "POST" | "PATCH" | "PUT") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("Connection: close\r\n\r\n");
        let mut raw = head.into_bytes();
        raw.extend_from_slice(body);
        let mut socket = TcpStream::connect(self.addr).await.expect("a connection");
        // A server that refuses may stop reading; what it said is what counts.
        let _ = socket.write_all(&raw).await;
        read_reply(&mut socket, method == "HEAD").await.expect("a reply")
    }

    /// A connection to write to by hand.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.expect("a connection")
    }

    /// Stops everything in order.
    pub async fn stop(mut self) {
        self.running.stop().await;
        let started = self.started.take();
        tokio::task::spawn_blocking(move || {
            if let Some(started) = started {
                started.engine_thread.stop();
            }
        })
        .await
        .expect("the engine stops");
    }
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Asserts the status alone, for answers without a body.
    pub fn status_is(&self, status: u16, about: &str) {
        assert_eq!(self.status, status, "{about}");
    }

    /// Asserts the shape that every refusal has.
    pub fn assert_refused(&self, status: u16, about: &str) {
        assert_eq!(self.status, status, "{about}: {}", self.text());
        let body = self.json();
        for key in ["message", "error", "detail", "code", "slug", "request_id"] {
            assert!(body[key].is_string(), "{about}: {key} in {body}");
        }
        assert_eq!(body["success"], false, "{about}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{about}");
        assert_eq!(self.header("x-request-id"), body["request_id"].as_str(), "{about}");
    }
}

/// Reads one reply; None when the connection ends before there is one.
pub async fn read_reply(socket: &mut TcpStream, no_body: bool) -> Option<Reply> {
    let mut raw = Vec::new();
    let end = loop {
        if let Some(at) = raw.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        match within(socket.read_buf(&mut raw)).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    };
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut body = raw.split_off(end + 4);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut reply = Reply { status, headers, body: Vec::new() };
    if no_body || matches!(status, 101 | 204 | 304) {
        return Some(reply);
    }
    let chunked = reply.header("transfer-encoding").is_some();
    let length = reply.header("content-length").and_then(|v| v.parse::<usize>().ok());
    loop {
        let complete = match length {
            Some(length) => body.len() >= length,
            None if chunked => body.ends_with(b"0\r\n\r\n"),
            None => false,
        };
        if complete {
            break;
        }
        match within(socket.read_buf(&mut body)).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    reply.body = if chunked { unchunk(&body) } else { body };
    Some(reply)
}

/// The contents of a chunked body.
fn unchunk(mut raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = raw.windows(2).position(|w| w == b"\r\n") {
        let size = std::str::from_utf8(&raw[..at]).expect("a chunk size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        if size == 0 {
            break;
        }
        out.extend_from_slice(&raw[at + 2..at + 2 + size]);
        raw = &raw[at + 4 + size..];
    }
    out
}

/// `future`, which must not take for ever.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("within 30 seconds")
}
