//! Answers in place of a server that is down: 503 with the reason on every path, health routes
//! included. Used by the process that holds the sockets while it starts a new server.

use std::sync::Arc;
use std::time::Duration;

use graphlume_types::{Code, limits};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::error::HttpError;
use crate::serve::{Listeners, registered};
use crate::status::{ApiError, JSON};

/// Connections answered at once; the others wait in the kernel.
const CONNECTIONS_MAX: usize = 64;
/// What a client may take for its request and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// After a failed accept, most likely for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// A sentence for clients.
    pub reason: String,
    /// When asking again is worth it, in seconds.
    pub retry_after_secs: u32,
}

/// Answers for as long as it lives.
#[derive(Debug)]
pub struct StandIn {
    _tasks: Vec<AbortOnDropHandle<()>>,
}

/// Begins to answer on `listeners`, which stay open when the result is dropped. Runs on the present
/// tokio runtime.
///
/// # Errors
/// [`HttpError::Bind`] when a socket cannot be used.
pub fn stand_in(
    listeners: &Listeners,
    outage: &watch::Receiver<Outage>,
) -> Result<StandIn, HttpError> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut tasks = Vec::new();
    for socket in [Some(&listeners.public), listeners.internal.as_ref()].into_iter().flatten() {
        let asked = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
        let copy = socket.try_clone().map_err(|source| HttpError::Bind { addr: asked, source })?;
        let (_, listener) = registered(copy, asked)?;
        let run = accept(listener, Arc::clone(&places), outage.clone());
        tasks.push(AbortOnDropHandle::new(tokio::spawn(run)));
    }
    Ok(StandIn { _tasks: tasks })
}

async fn accept(listener: TcpListener, places: Arc<Semaphore>, outage: watch::Receiver<Outage>) {
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, _)) => {
                let outage = outage.borrow().clone();
                tokio::spawn(async move {
                    // A client that does not take its answer has itself to blame.
                    let _ = tokio::time::timeout(PATIENCE, answer(socket, &outage)).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn answer(mut socket: TcpStream, outage: &Outage) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|w| w == b"\r\n\r\n") && head.len() < limits::HEADER_BYTES_MAX {
        if socket.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = response(outage, head.starts_with(b"HEAD "));
    socket.write_all(text.as_bytes()).await?;
    socket.shutdown().await?;
    // A body on its way would reset the connection before the answer was read.
    let mut rest = [0u8; 4096];
    while socket.read(&mut rest).await? > 0 {}
    Ok(())
}

fn response(outage: &Outage, head_only: bool) -> String {
    let status = ApiError::new(Code::Unavailable, "server-restarting", "").status();
    let body = json!({
        "success": false, "status": "unavailable", "component": "server", "detail": outage.reason,
        "message": outage.reason, "error": format!("[server-restarting] {}", outage.reason),
        "code": "unavailable", "slug": "server-restarting",
    })
    .to_string();
    let (number, name) = (status.as_u16(), status.canonical_reason().unwrap_or_default());
    let media_type = JSON;
    let json = media_type.to_str().unwrap_or_default();
    let mut text = format!(
        "HTTP/1.1 {number} {name}\r\nContent-Type: {json}\r\nContent-Length: {}\r\n\
         Retry-After: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len(),
        outage.retry_after_secs
    );
    if !head_only {
        text.push_str(&body);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::HttpConfig;
    use crate::serve::listen;

    #[tokio::test]
    async fn every_path_is_answered_with_the_reason_until_the_stand_in_goes() {
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let config =
            HttpConfig { listen: any, internal_listen: Some(any), ..HttpConfig::default() };
        let listeners = listen(&config).unwrap();
        let outage = Outage { reason: "it \"fell\"".to_owned(), retry_after_secs: 7 };
        let (_tell, told) = watch::channel(outage);
        let standing = stand_in(&listeners, &told).unwrap();
        let ask = |addr| async move {
            let mut socket = TcpStream::connect(addr).await.unwrap();
            let asked = b"POST /healthz HTTP/1.1\r\nContent-Length: 9\r\n\r\nsome body";
            socket.write_all(asked).await.unwrap();
            socket.shutdown().await.unwrap();
            let mut got = String::new();
            socket.read_to_string(&mut got).await.unwrap();
            got
        };
        for socket in [&listeners.public, listeners.internal.as_ref().unwrap()] {
            let got = ask(socket.local_addr().unwrap()).await;
            assert!(got.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{got}");
            assert!(got.contains("\r\nRetry-After: 7\r\n"), "{got}");
            let (_, body) = got.split_once("\r\n\r\n").unwrap();
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["detail"], "it \"fell\"");
            assert!(got.contains(&format!("Content-Length: {}\r\n", body.to_string().len())));
        }
        drop(standing);
        // The socket is still open: a client waits, and is not refused.
        let waiting = ask(listeners.public.local_addr().unwrap());
        assert!(tokio::time::timeout(Duration::from_millis(200), waiting).await.is_err());
    }
}
