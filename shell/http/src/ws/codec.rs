//! Frames of the websocket protocol (RFC 6455), the server's side of it.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What a frame carries.
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// Close codes that the protocol itself defines.
pub(crate) mod close {
    /// Finished.
    pub(crate) const NORMAL: u16 = 1000;
    /// The other end broke the protocol.
    pub(crate) const PROTOCOL: u16 = 1002;
    /// A kind of message that is not understood.
    pub(crate) const UNSUPPORTED: u16 = 1003;
    /// Text that is not UTF-8.
    pub(crate) const NOT_UTF8: u16 = 1007;
    /// A rule of this server is broken: too many messages.
    pub(crate) const POLICY: u16 = 1008;
    /// A message over the limit.
    pub(crate) const TOO_BIG: u16 = 1009;
    /// A defect of the server.
    pub(crate) const INTERNAL: u16 = 1011;
    /// The server restarts; come back.
    pub(crate) const RESTART: u16 = 1012;
    /// Too much to do; come back later.
    pub(crate) const TRY_LATER: u16 = 1013;
}

/// What the other end said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Text(String),
    Ping(Bytes),
    Pong,
    Close,
}

/// Why nothing more can be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The connection is gone.
    Gone,
    /// To be closed with this code and reason.
    Violation(u16, &'static str),
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The reading half.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    io: R,
    buf: BytesMut,
    fragments: Option<BytesMut>,
    message_bytes_max: usize,
}

/// The head of a frame.
struct Head {
    fin: bool,
    opcode: u8,
    mask: [u8; 4],
    len: usize,
    head_len: usize,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(io: R, message_bytes_max: usize) -> Self {
        Self { io, buf: BytesMut::new(), fragments: None, message_bytes_max }
    }

    /// The next message. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Message, ReadError> {
        loop {
            while let Some(head) = self.head()? {
                if self.buf.len() < head.head_len + head.len {
                    break;
                }
                if let Some(message) = self.take(&head)? {
                    return Ok(message);
                }
            }
            self.buf.reserve(256);
            if self.io.read_buf(&mut self.buf).await? == 0 {
                return Err(ReadError::Gone);
            }
        }
    }

    /// Takes what still arrives and forgets it, until the other end closes: a socket that is dropped with
    /// unread bytes is reset, and a reset overtakes the goodbye that was written before it.
    pub(crate) async fn drain(&mut self) {
        loop {
            self.buf.clear();
            self.buf.reserve(4096);
            match self.io.read_buf(&mut self.buf).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// The head at the front of the buffer once it is complete. Everything that the protocol forbids
    /// is refused here, before a byte of the payload is waited for.
    fn head(&self) -> Result<Option<Head>, ReadError> {
        let violation = |why| Err(ReadError::Violation(close::PROTOCOL, why));
        let b = &self.buf[..];
        let [b0, b1, ..] = *b else { return Ok(None) };
        let (fin, opcode) = (b0 & 0x80 != 0, b0 & 0x0f);
        if b0 & 0x70 != 0 {
            return violation("reserved bits are set");
        }
        if b1 & 0x80 == 0 {
            return violation("a client's frame must be masked");
        }
        let (len, at) = match b1 & 0x7f {
            126 if b.len() < 4 => return Ok(None),
            126 => (u64::from(u16::from_be_bytes([b[2], b[3]])), 4),
            127 if b.len() < 10 => return Ok(None),
            127 => {
                let mut wide = [0; 8];
                wide.copy_from_slice(&b[2..10]);
                (u64::from_be_bytes(wide), 10)
            }
            short => (u64::from(short), 2),
        };
        match opcode {
            CLOSE | PING | PONG if !fin || len > 125 => return violation("bad control frame"),
            CLOSE | PING | PONG => {}
            TEXT if self.fragments.is_some() => return violation("a message within a message"),
            TEXT => {}
            BINARY => {
                return Err(ReadError::Violation(close::UNSUPPORTED, "text messages only"));
            }
            CONTINUATION if self.fragments.is_none() => return violation("nothing to continue"),
            CONTINUATION => {}
            _ => return violation("unknown opcode"),
        }
        let held = match opcode {
            CONTINUATION => self.fragments.as_ref().map_or(0, BytesMut::len),
            _ => 0,
        };
        let max = self.message_bytes_max as u64;
        if len > max || held as u64 + len > max {
            return Err(ReadError::Violation(close::TOO_BIG, "the message is too large"));
        }
        let Some(mask) = b.get(at..at + 4) else { return Ok(None) };
        let mask = [mask[0], mask[1], mask[2], mask[3]];
        // At most `message_bytes_max`, which is a usize.
        #[allow(clippy::cast_possible_truncation, reason = "checked against a usize above")]
        let len = len as usize;
        Ok(Some(Head { fin, opcode, mask, len, head_len: at + 4 }))
    }

    /// Takes a complete frame off the buffer; a message when it ends one.
    fn take(&mut self, head: &Head) -> Result<Option<Message>, ReadError> {
        self.buf.advance(head.head_len);
        let mut payload = self.buf.split_to(head.len);
        for (i, byte) in payload.iter_mut().enumerate() {
            *byte ^= head.mask[i & 3];
        }
        match head.opcode {
            PING => return Ok(Some(Message::Ping(payload.freeze()))),
            PONG => return Ok(Some(Message::Pong)),
            CLOSE => return Ok(Some(Message::Close)),
            _ => {}
        }
        let whole = match self.fragments.take() {
            None => payload,
            Some(mut parts) => {
                parts.extend_from_slice(&payload);
                parts
            }
        };
        if !head.fin {
            self.fragments = Some(whole);
            return Ok(None);
        }
        match std::str::from_utf8(&whole) {
            Ok(text) => Ok(Some(Message::Text(text.to_owned()))),
            Err(_) => Err(ReadError::Violation(close::NOT_UTF8, "the text is not UTF-8")),
        }
    }
}

/// The writing half.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    io: W,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(crate) const fn new(io: W) -> Self {
        Self { io }
    }

    pub(crate) async fn text(&mut self, text: String) -> io::Result<()> {
        self.frame(TEXT, text.into()).await
    }

    /// A text that is UTF-8.
    pub(crate) async fn text_bytes(&mut self, bytes: Bytes) -> io::Result<()> {
        self.frame(TEXT, bytes).await
    }

    pub(crate) async fn binary(&mut self, bytes: Bytes) -> io::Result<()> {
        self.frame(BINARY, bytes).await
    }

    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        self.frame(PING, Bytes::new()).await
    }

    pub(crate) async fn pong(&mut self, payload: Bytes) -> io::Result<()> {
        self.frame(PONG, payload).await
    }

    /// Says goodbye. A reason longer than a control frame holds is cut.
    pub(crate) async fn close(&mut self, code: u16, reason: &str) -> io::Result<()> {
        let mut end = reason.len().min(123);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut payload = BytesMut::from(&code.to_be_bytes()[..]);
        payload.extend_from_slice(&reason.as_bytes()[..end]);
        self.frame(CLOSE, payload.freeze()).await
    }

    pub(crate) async fn shutdown(&mut self) -> io::Result<()> {
        self.io.shutdown().await
    }

    /// One unfragmented frame: a small head, then the payload as it is, in one gathering write.
    async fn frame(&mut self, opcode: u8, payload: Bytes) -> io::Result<()> {
        let mut head = [0u8; 10];
        head[0] = 0x80 | opcode;
        let len = payload.len();
        let used = if len < 126 {
            head[1] = u8::try_from(len).unwrap_or_default();
            2
        } else if let Ok(short) = u16::try_from(len) {
            head[1] = 126;
            head[2..4].copy_from_slice(&short.to_be_bytes());
            4
        } else {
            head[1] = 127;
            head[2..10].copy_from_slice(&(len as u64).to_be_bytes());
            10
        };
        self.io.write_all_buf(&mut Buf::chain(&head[..used], payload)).await?;
        self.io.flush().await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;

    /// A client's frame.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut out = vec![first];
        match payload.len() {
            n if n < 126 => out.push(0x80 | u8::try_from(n).unwrap()),
            n => {
                out.push(0x80 | 126);
                out.extend(u16::try_from(n).unwrap().to_be_bytes());
            }
        }
        out.extend(mask);
        out.extend(payload.iter().enumerate().map(|(i, b)| b ^ mask[i & 3]));
        out
    }

    async fn read(bytes: &[u8], max: usize) -> Vec<Result<Message, u16>> {
        let mut reader = Reader::new(bytes, max);
        let mut out = Vec::new();
        loop {
            match reader.next().await {
                Ok(message) => out.push(Ok(message)),
                Err(ReadError::Violation(code, _)) => {
                    out.push(Err(code));
                    return out;
                }
                Err(ReadError::Gone) => return out,
            }
        }
    }

    fn text(s: &str) -> Result<Message, u16> {
        Ok(Message::Text(s.to_owned()))
    }

    #[tokio::test]
    async fn messages_arrive_whole_in_pieces_and_around_control_frames() {
        let long = "ä".repeat(300);
        let mut wire = frame(0x81, b"one");
        wire.extend(frame(0x81, long.as_bytes()));
        wire.extend(frame(0x01, &"ö".as_bytes()[..1]));
        wire.extend(frame(0x89, b"hi"));
        wire.extend(frame(0x80, &"ö".as_bytes()[1..]));
        wire.extend(frame(0x8a, b""));
        wire.extend(frame(0x88, &1000u16.to_be_bytes()));
        let expected = [
            text("one"),
            text(&long),
            Ok(Message::Ping(Bytes::from_static(b"hi"))),
            text("ö"),
            Ok(Message::Pong),
            Ok(Message::Close),
        ];
        assert_eq!(read(&wire, 1000).await, expected);
        // The same through a socket that delivers byte by byte.
        let (mut near, far) = tokio::io::duplex(1);
        let feed = tokio::spawn(async move { near.write_all(&wire).await });
        let mut reader = Reader::new(far, 1000);
        for message in expected {
            assert_eq!(reader.next().await.map_err(|_| 0), message);
        }
        assert!(feed.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn what_the_protocol_forbids_is_refused_with_its_code() {
        let unmasked = vec![0x81, 0x01, b'x'];
        let huge = [vec![0x81, 0xff], u64::MAX.to_be_bytes().to_vec()].concat();
        let grown = [frame(0x01, &[b'x'; 60]), frame(0x80, &[b'x'; 60])].concat();
        for (wire, code) in [
            (unmasked, close::PROTOCOL),
            (frame(0xc1, b"x"), close::PROTOCOL),
            (frame(0x83, b"x"), close::PROTOCOL),
            (frame(0x80, b"x"), close::PROTOCOL),
            (frame(0x09, b"x"), close::PROTOCOL),
            (frame(0x89, &[0; 126]), close::PROTOCOL),
            ([frame(0x01, b"a"), frame(0x81, b"b")].concat(), close::PROTOCOL),
            (frame(0x82, b"x"), close::UNSUPPORTED),
            (frame(0x81, &[0xff]), close::NOT_UTF8),
            (frame(0x81, &[b'x'; 101]), close::TOO_BIG),
            (grown, close::TOO_BIG),
            (huge, close::TOO_BIG),
        ] {
            assert_eq!(read(&wire, 100).await, [Err(code)], "{wire:x?}");
        }
        assert_eq!(read(&frame(0x81, &[b'x'; 100]), 100).await.len(), 1, "the limit is allowed");
    }

    #[tokio::test]
    async fn the_length_has_the_three_forms() {
        for (len, head) in [
            (125usize, vec![0x82, 125]),
            (126, vec![0x82, 126, 0, 126]),
            (65_536, {
                let mut h = vec![0x82, 127];
                h.extend(65_536u64.to_be_bytes());
                h
            }),
        ] {
            let mut out = Vec::new();
            Writer::new(&mut out).binary(Bytes::from(vec![7; len])).await.unwrap();
            assert_eq!(out[..head.len()], head);
            assert_eq!(out.len(), head.len() + len);
        }
    }

    #[tokio::test]
    async fn a_long_reason_is_cut_at_a_character() {
        let mut out = Vec::new();
        Writer::new(&mut out).close(4404, &"ü".repeat(100)).await.unwrap();
        assert_eq!(out[..4], [0x88, 2 + 122, 0x11, 0x34]);
        assert!(std::str::from_utf8(&out[4..]).is_ok());
    }

    /// Notes where the bytes that it is given lie.
    #[derive(Default)]
    struct Probe(Vec<(*const u8, usize)>);

    impl AsyncWrite for Probe {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.push((buf.as_ptr(), buf.len()));
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bufs: &[io::IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.0.extend(bufs.iter().map(|b| (b.as_ptr(), b.len())));
            Poll::Ready(Ok(bufs.iter().map(|b| b.len()).sum()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_frame_goes_to_every_viewer_without_a_copy() {
        let shared = Bytes::from(vec![7; 1 << 20]);
        for _ in 0..3 {
            let mut writer = Writer::new(Probe::default());
            writer.binary(shared.clone()).await.unwrap();
            assert_eq!(writer.io.0.len(), 2, "the head and the frame in one write");
            assert_eq!(writer.io.0[1], (shared.as_ptr(), shared.len()));
        }
    }
}
