//! The accept loop: how many connections, for how long, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use graphlume_service::Service;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::RwLock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Listener;
use crate::config::HttpConfig;
use crate::conn::{Conn, TimedIo};
use crate::error::HttpError;
use crate::peers::Peers;
use crate::proxy::is_trusted;
use crate::state::Shell;
use crate::table;

/// Milliseconds that what was sent may stay without acknowledgement.
const UNACKED_MS_MAX: u32 = 30_000;
/// Silence after which a peer is asked whether it is there, how often, and how many times.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
/// Connections that the kernel holds for us before we accept them.
const BACKLOG: i32 = 1_024;
/// Bytes of a request's head that hyper takes before it answers 431 without asking us. Our own limits
/// are lower and answer in JSON; this one only has to be finite.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The largest piece of a body that is read at once.
const READ_BYTES_MAX: usize = 256 << 10;
/// Sent when every connection is taken; the request was not looked at.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
Content-Type: application/json; charset=utf-8\r\nContent-Length: 109\r\n\r\n\
{\"success\":false,\"status\":\"ERR\",\"message\":\"too many connections; try again shortly\",\
\"code\":\"overloaded\"     }";

/// Who answers: each request is answered by the settings that stand when it comes.
struct Answering {
    now: RwLock<Arc<Shell>>,
    peers: Arc<Peers>,
}

impl Answering {
    fn now(&self) -> Arc<Shell> {
        Arc::clone(&self.now.read())
    }
}

/// A running server.
pub struct Running {
    /// Address of the public listener.
    pub addr: SocketAddr,
    /// Address of the internal listener.
    pub internal_addr: Option<SocketAddr>,
    /// Tells the listeners alone to close.
    unlisten: CancellationToken,
    listeners: TaskTracker,
    stop: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
    drain: Duration,
    answering: Arc<Answering>,
}

impl Running {
    /// Answers by other settings from now on; no connection ends. What a running server cannot change stays as it was:
    /// its addresses, how many connections and requests there may be in all, what it shows on its start page, and
    /// [`HttpConfig::picture_hosts`], by which datasets are checked as well.
    ///
    /// # Errors
    /// [`HttpError`] when a setting is out of range; the old ones stay.
    pub fn reload(&self, config: HttpConfig) -> Result<(), HttpError> {
        table::validate(&config)?;
        let mut now = self.answering.now.write();
        self.answering.peers.set_limit(config.connections_per_peer_max);
        *now = now.with_settings(HttpConfig {
            listen: now.config.listen,
            internal_listen: now.config.internal_listen,
            picture_hosts: now.config.picture_hosts.clone(),
            demo_datasets: now.config.demo_datasets.clone(),
            ..config
        });
        Ok(())
    }

    /// Stops: no new connections, requests in progress finish, websockets are closed with 1012; what
    /// is left after the drain time is cut off.
    pub async fn stop(&self) {
        // The listeners close before `stop` closes idle connections. A client whose idle connection ends connects
        // again at once; while a listener was open the kernel would accept that connection into its backlog, and reset
        // it when the listener closes. Now it is refused, and the client knows that the server is gone.
        self.unlisten.cancel();
        self.listeners.close();
        self.listeners.wait().await;
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.drain, self.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.tasks.len(), "connections did not finish in time");
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }

    /// A token that [`Self::stop`] cancels once both listeners are closed, and that a drop cancels at once.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.unlisten.cancel();
        self.stop.cancel();
        self.abort.cancel();
    }
}

/// Starts both listeners on the present tokio runtime.
///
/// # Errors
/// [`HttpError`] when a setting is out of range or an address cannot be listened on.
pub async fn serve(config: HttpConfig, service: Arc<Service>) -> Result<Running, HttpError> {
    let listeners = listen(&config)?;
    serve_on(config, service, listeners).await
}

/// As [`serve`], on sockets that are open already.
///
/// # Errors
/// [`HttpError`] when a setting is out of range or a socket cannot be used.
pub async fn serve_on(
    config: HttpConfig,
    service: Arc<Service>,
    listeners: Listeners,
) -> Result<Running, HttpError> {
    table::validate(&config)?;
    let (addr, public) = registered(listeners.public, config.listen)?;
    let internal = match listeners.internal {
        Some(socket) => Some(registered(socket, config.internal_listen.unwrap_or(addr))?),
        None => None,
    };
    let (internal_addr, internal) = internal.unzip();

    let stop = CancellationToken::new();
    let abort = CancellationToken::new();
    let tasks = TaskTracker::new();
    let unlisten = CancellationToken::new();
    let accepting = TaskTracker::new();
    let drain = config.drain;
    let connections = Arc::new(Semaphore::new(config.connections_max));
    let peers = Peers::new(config.connections_per_peer_max);
    let shell = Shell::new(config, service, stop.clone(), abort.clone(), tasks.clone());
    let answering = Arc::new(Answering { now: RwLock::new(shell), peers });
    let accept = |listener: TcpListener, kind: Listener| Acceptor {
        listener,
        kind,
        answering: Arc::clone(&answering),
        // Watching an overloaded server must not depend on its load.
        connections: match kind {
            Listener::Public => Arc::clone(&connections),
            Listener::Internal => Arc::new(Semaphore::new(64)),
        },
        unlisten: unlisten.clone(),
        stop: stop.clone(),
        abort: abort.clone(),
        tasks: tasks.clone(),
    };
    accepting.spawn(accept(public, Listener::Public).run());
    if let Some(listener) = internal {
        accepting.spawn(accept(listener, Listener::Internal).run());
    }
    let listeners = accepting;
    Ok(Running { addr, internal_addr, unlisten, listeners, stop, abort, tasks, drain, answering })
}

/// The sockets that a server listens on.
#[derive(Debug)]
pub struct Listeners {
    /// For users.
    pub public: std::net::TcpListener,
    /// For operators.
    pub internal: Option<std::net::TcpListener>,
}

/// Opens the sockets that the configuration names; clients that connect from now on wait.
///
/// # Errors
/// [`HttpError::Bind`].
pub fn listen(config: &HttpConfig) -> Result<Listeners, HttpError> {
    let public = bind(config.listen)?;
    let internal = config.internal_listen.map(|addr| bind_internal(addr, config.internal_may_move));
    Ok(Listeners { public, internal: internal.transpose()? })
}

/// Opens the socket of `internal_listen`, for /metrics and /check-workers. With `may_move`, a port that is taken, as by a
/// second server on the machine, is no error: the system gives a free one, and the log says which.
fn bind_internal(addr: SocketAddr, may_move: bool) -> Result<std::net::TcpListener, HttpError> {
    match bind(addr) {
        Err(HttpError::Bind { source, .. })
            if may_move && source.kind() == std::io::ErrorKind::AddrInUse =>
        {
            let socket = bind(SocketAddr::new(addr.ip(), 0))?;
            let taken = socket.local_addr().map_err(|source| HttpError::Bind { addr, source })?;
            tracing::warn!(
                busy = %addr,
                internal_listen = %taken,
                "the operators' address is a free port, because another program has the usual one; name one with \
                 --internal-listen to have the same at every start"
            );
            Ok(socket)
        }
        bound => bound,
    }
}

/// Opens a listening socket.
fn bind(addr: SocketAddr) -> Result<std::net::TcpListener, HttpError> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
    let open = || {
        let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        // A restarted server must not wait for the old one's sockets to time out.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &addr)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(std::net::TcpListener::from(socket))
    };
    open().map_err(|source| HttpError::Bind { addr, source })
}

/// The socket in the hands of tokio, and its address.
pub(crate) fn registered(
    socket: std::net::TcpListener,
    asked: SocketAddr,
) -> Result<(SocketAddr, TcpListener), HttpError> {
    let register = || {
        socket.set_nonblocking(true)?;
        Ok((socket.local_addr()?, TcpListener::from_std(socket)?))
    };
    register().map_err(|source| HttpError::Bind { addr: asked, source })
}

/// One listener's loop.
struct Acceptor {
    listener: TcpListener,
    kind: Listener,
    answering: Arc<Answering>,
    connections: Arc<Semaphore>,
    unlisten: CancellationToken,
    stop: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
}

impl Acceptor {
    async fn run(self) {
        let mut pause = Duration::ZERO;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.unlisten.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    pause = Duration::ZERO;
                    self.admit(socket, peer);
                }
                Err(error) => {
                    // Out of file descriptors, most likely: the connection stays in the backlog, so
                    // trying again at once would spin.
                    if pause.is_zero() {
                        tracing::warn!(%error, "cannot accept a connection; backing off");
                    }
                    pause =
                        (pause * 2).clamp(Duration::from_millis(10), Duration::from_millis(500));
                    tokio::select! {
                        () = self.unlisten.cancelled() => return,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    /// Starts serving a connection, or turns it away.
    fn admit(&self, socket: TcpStream, peer: SocketAddr) {
        let shell = self.answering.now();
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
            shell.metrics.refused("connections");
            // The send buffer of a new socket is empty, so this does not block.
            let _ = socket.try_write(FULL);
            return;
        };
        // A proxy of the operator's speaks for many.
        let is_proxy = is_trusted(&shell.config.trusted_proxies, peer.ip());
        let place = if is_proxy { Ok(None) } else { self.answering.peers.enter(peer.ip()) };
        let Ok(place) = place else {
            shell.metrics.refused("connections-of-one-address");
            let _ = socket.try_write(FULL);
            return;
        };
        prepare(&socket);
        let conn = Conn::new(peer, permit, place);
        let config = &shell.config;
        let io = TimedIo::new(
            socket,
            Arc::clone(&conn),
            config.header_timeout,
            config.write_stall,
            config.answer_window,
        );
        let task = connection(
            io,
            conn,
            self.kind,
            Arc::clone(&self.answering),
            self.stop.clone(),
            self.abort.clone(),
        );
        self.tasks.spawn(task);
    }
}

/// Socket options; a kernel that refuses one still serves.
fn prepare(socket: &TcpStream) {
    use rustix::net::sockopt;
    let _ = socket.set_nodelay(true);
    // A peer that vanished is noticed although the connection was not closed: 30 seconds after something was sent that it
    // does not acknowledge, or 10 to 30 after it was asked whether it is there, which it is after a minute of silence.
    let _ = sockopt::set_tcp_user_timeout(socket, UNACKED_MS_MAX);
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, KEEPALIVE_AFTER);
    let _ = sockopt::set_tcp_keepintvl(socket, KEEPALIVE_EVERY);
    let _ = sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES);
}

/// Serves one connection until it closes, becomes a websocket, or the server stops.
async fn connection(
    io: TimedIo,
    conn: Arc<Conn>,
    kind: Listener,
    answering: Arc<Answering>,
    stop: CancellationToken,
    abort: CancellationToken,
) {
    let shell = answering.now();
    let _open = shell.metrics.connection();
    let keep_alive = shell.config.keep_alive;
    drop(shell);
    let service = service_fn(move |request| {
        let shell = answering.now();
        let conn = Arc::clone(&conn);
        async move {
            conn.request_began();
            let response = shell.answer(kind, request, &conn).await;
            Ok::<_, std::convert::Infallible>(response.map(|body| Watched { body, conn }))
        }
    });
    // HTTP/1.1 only: without TLS HTTP/2 cannot be negotiated, and guessing it from the
    // first bytes would wait for them without a deadline.
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(keep_alive)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(READ_BYTES_MAX)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                ended = served.as_mut() => ended,
                () = abort.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        // Clients that vanish are daily business.
        tracing::debug!(%error, "connection ended");
    }
}

/// A response body that tells when hyper is done with it.
struct Watched<B> {
    body: B,
    conn: Arc<Conn>,
}

impl<B> Drop for Watched<B> {
    fn drop(&mut self) {
        self.conn.request_ended();
    }
}

impl<B> http_body::Body for Watched<B>
where
    B: http_body::Body + Unpin,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_vanishes_is_noticed_within_two_minutes() {
        use rustix::net::sockopt;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        prepare(&socket);
        assert!(socket.nodelay().unwrap() && sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), UNACKED_MS_MAX);
        let silent = sockopt::tcp_keepidle(&socket).unwrap()
            + sockopt::tcp_keepintvl(&socket).unwrap() * sockopt::tcp_keepcnt(&socket).unwrap();
        assert!(silent <= Duration::from_secs(120), "{silent:?}");
    }

    #[test]
    fn the_canned_refusal_states_its_true_length() {
        let text = String::from_utf8_lossy(super::FULL);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}
