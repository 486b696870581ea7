//! One connection's socket with the deadlines that hyper does not keep for us.
//!
//! hyper closes a connection that idles too long. Here are the others: a header block, once begun,
//! must be complete in time; a client must keep reading what it asked for. Bodies have their own
//! clock in [`crate::body`].

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use crate::peers::CountedConnection;
use crate::sent::Pace;
use crate::status::{ApiError, Problem};

/// Waiting for the first byte of a request.
const IDLE: u8 = 0;
/// A header block is arriving.
const HEAD: u8 = 1;
/// A request is being answered.
const BUSY: u8 = 2;
/// The connection has become a websocket.
const UPGRADED: u8 = 3;

/// What the socket and the requests on it share.
#[derive(Debug)]
pub(crate) struct Conn {
    /// The other end.
    pub(crate) peer: SocketAddr,
    phase: AtomicU8,
    // Held for the life of the connection, which a websocket outlives hyper's part of.
    _permit: OwnedSemaphorePermit,
    _place: Option<CountedConnection>,
}

impl Conn {
    pub(crate) fn new(
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        place: Option<CountedConnection>,
    ) -> Arc<Self> {
        Arc::new(Self { peer, phase: AtomicU8::new(HEAD), _permit: permit, _place: place })
    }

    /// A header block is complete.
    pub(crate) fn request_began(&self) {
        self.phase.store(BUSY, Ordering::SeqCst);
    }

    /// The answer has been handed over.
    pub(crate) fn request_ended(&self) {
        let _ = self.phase.compare_exchange(BUSY, IDLE, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// From here on the websocket keeps its own clock.
    pub(crate) fn upgraded(&self) {
        self.phase.store(UPGRADED, Ordering::SeqCst);
    }
}

/// A socket with deadlines.
#[derive(Debug)]
pub(crate) struct TimedIo {
    socket: TcpStream,
    conn: Arc<Conn>,
    header_timeout: Duration,
    write_stall: Duration,
    head: Option<Pin<Box<Sleep>>>,
    stalled: Option<Pin<Box<Sleep>>>,
    pace: Pace,
    judged: Option<Pin<Box<Sleep>>>,
    /// A refusal of hyper's in our words, and how much of it has been sent.
    refusal: Option<(Vec<u8>, usize)>,
}

impl TimedIo {
    pub(crate) fn new(
        socket: TcpStream,
        conn: Arc<Conn>,
        header_timeout: Duration,
        write_stall: Duration,
        answer_window: Duration,
    ) -> Self {
        Self {
            socket,
            conn,
            header_timeout,
            write_stall,
            head: None,
            stalled: None,
            pace: Pace::new(answer_window),
            judged: None,
            refusal: None,
        }
    }

    /// Fails once the header deadline has passed; otherwise arranges to be woken then.
    fn check_head(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.conn.phase.load(Ordering::SeqCst) != HEAD {
            self.head = None;
            return Ok(());
        }
        let after = self.header_timeout;
        let timer = self.head.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::Error::new(ErrorKind::TimedOut, "header deadline")),
            Poll::Pending => Ok(()),
        }
    }

    /// Turns a write into an error once it has been blocked for too long, or the reader is too slow.
    fn check_stall(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(taken) = &polled {
            (self.stalled, self.judged) = (None, None);
            let taken = *taken.as_ref().unwrap_or(&0);
            return if self.pace.took(taken, Instant::now()) && self.is_answering() {
                Poll::Ready(Err(too_slow()))
            } else {
                polled
            };
        }
        self.check_pace(cx)?;
        let after = self.write_stall;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the client does not read")))
    }

    /// Viewers of a stream skip what they are too slow for.
    fn is_answering(&self) -> bool {
        self.conn.phase.load(Ordering::SeqCst) != UPGRADED
    }

    /// Fails when a blocked reader has been too slow; otherwise arranges to be woken when it is judged.
    fn check_pace(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.is_answering() {
            self.judged = None;
            return Ok(());
        }
        loop {
            let at = self.pace.blocked(Instant::now());
            let timer = self.judged.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            if timer.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            self.judged = None;
            if self.pace.due(Instant::now()) {
                return Err(too_slow());
            }
        }
    }
}

fn too_slow() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the client reads too slowly")
}

impl TimedIo {
    /// Sends the refusal to its end.
    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((text, sent)) = &mut self.refusal {
            if *sent == text.len() {
                self.refusal = None;
                break;
            }
            let polled = Pin::new(&mut self.socket).poll_write(cx, &text[*sent..]);
            if let Poll::Ready(Ok(n)) = &polled {
                *sent += n;
            }
            ready!(self.check_stall(cx, polled))?;
        }
        Poll::Ready(Ok(()))
    }
}

/// hyper refuses what it cannot read without asking us, and with an empty body: our body for it. Our own
/// answers carry a request id.
fn refusal(head: &[u8]) -> Option<Vec<u8>> {
    const HYPER_BYTES_MAX: usize = 256;
    if head.len() > HYPER_BYTES_MAX || !head.starts_with(b"HTTP/1.1 4") {
        return None;
    }
    let text = std::str::from_utf8(head).ok()?;
    let is_hypers = text.contains("content-length: 0\r\n") && !text.contains("x-request-id");
    let (_, number) = text.lines().next().filter(|_| is_hypers)?.split_once(' ')?;
    let error = match number.get(..3)? {
        "414" => ApiError::new(Problem::UriTooLong, "uri-too-long", "the address is too long"),
        "431" => ApiError::new(
            Problem::HeadersTooLarge,
            "headers-too-large",
            "the request has too many headers, or too large ones",
        ),
        _ => ApiError::invalid("not-http", "this is not a request of HTTP/1.1"),
    };
    Some(error.raw())
}

impl AsyncRead for TimedIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.socket).poll_read(cx, buf) {
            Poll::Ready(Ok(())) if buf.filled().len() > before => {
                let phase = &this.conn.phase;
                if phase.compare_exchange(IDLE, HEAD, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    let deadline = Instant::now() + this.header_timeout;
                    match this.head.as_mut() {
                        Some(timer) => timer.as_mut().reset(deadline),
                        None => this.head = Some(Box::pin(tokio::time::sleep_until(deadline))),
                    }
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending => match this.check_head(cx) {
                Ok(()) => Poll::Pending,
                Err(e) => Poll::Ready(Err(e)),
            },
        }
    }
}

impl AsyncWrite for TimedIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.refusal.is_none() {
            this.refusal = refusal(buf).map(|text| (text, 0));
        }
        if this.refusal.is_some() {
            ready!(this.poll_refusal(cx))?;
            return Poll::Ready(Ok(buf.len()));
        }
        let polled = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.check_stall(cx, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bufs {
            return self.poll_write(cx, only);
        }
        let this = self.get_mut();
        let polled = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.check_stall(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        Pin::new(&mut this.socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
