//! Messages with open files through a Unix socket: four bytes of length, then JSON.

use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of one message.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Open files of one message.
const FILES_MAX: usize = 4;

/// One end of a connection between a server and its worker.
pub(crate) struct Channel {
    socket: UnixStream,
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Channel {
    /// Over a connected socket.
    #[must_use]
    pub(crate) const fn new(socket: UnixStream) -> Self {
        Self { socket }
    }

    /// The same connection.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.socket.try_clone().map(Self::new)
    }

    /// How long a message that has begun may take to arrive, and one that is sent to be taken.
    ///
    /// # Errors
    /// The socket does not know of such a thing.
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(patience))?;
        self.socket.set_write_timeout(Some(patience))
    }

    /// Sends a message; the receiver gets `files` as descriptors of its own.
    ///
    /// # Errors
    /// The other end is gone or does not read; a message over the limit.
    pub(crate) fn send<T: Serialize>(
        &self,
        message: &T,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let json = serde_json::to_vec(message)?;
        if json.len() > MESSAGE_BYTES_MAX {
            return Err(io::Error::other("a message is too long"));
        }
        let mut frame = (json.len() as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(&json);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
        let mut sent = 0;
        while sent < frame.len() {
            let mut control = SendAncillaryBuffer::new(&mut space);
            // The files travel with the first byte.
            if sent == 0
                && !files.is_empty()
                && !control.push(SendAncillaryMessage::ScmRights(files))
            {
                return Err(io::Error::other("a message has too many files"));
            }
            let rest = [IoSlice::new(&frame[sent..])];
            sent += match sendmsg(&self.socket, &rest, &mut control, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::INTR) => 0,
                done => done?,
            };
        }
        Ok(())
    }

    /// The next message and its files; `None` when the other end is closed.
    ///
    /// # Errors
    /// The other end breaks off in a message, or sends what is no message.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut head = [0u8; 4];
        let mut files = Vec::new();
        let got = self.receive_head(&mut head, &mut files)?;
        if got == 0 {
            return Ok(None);
        }
        (&self.socket).read_exact(&mut head[got..])?;
        let len = u32::from_le_bytes(head) as usize;
        if len > MESSAGE_BYTES_MAX {
            return Err(io::Error::other("a message is too long"));
        }
        let mut json = vec![0; len];
        (&self.socket).read_exact(&mut json)?;
        Ok(Some((serde_json::from_slice(&json)?, files)))
    }

    fn receive_head(&self, head: &mut [u8; 4], files: &mut Vec<OwnedFd>) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
        loop {
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(head)];
            match recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
                Ok(got) => {
                    for message in control.drain() {
                        if let RecvAncillaryMessage::ScmRights(received) = message {
                            files.extend(received);
                        }
                    }
                    return Ok(got.bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::File;
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_message_arrives_with_its_files_and_the_end_is_told() {
        let (a, b) = UnixStream::pair().unwrap();
        let (a, b) = (Channel::new(a), Channel::new(b));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"held open").unwrap();
        let long = "x".repeat(1 << 20);
        let sender = std::thread::Builder::new().spawn({
            let long = long.clone();
            move || {
                a.send(&"first", &[file.as_fd(), file.as_fd()]).unwrap();
                a.send(&long, &[]).unwrap();
            }
        });
        let (text, files) = b.receive::<String>().unwrap().unwrap();
        assert_eq!((text.as_str(), files.len()), ("first", 2));
        let mut got = File::from(files.into_iter().next().unwrap());
        got.rewind().unwrap();
        assert_eq!(io::read_to_string(&got).unwrap(), "held open");
        assert_eq!(b.receive::<String>().unwrap().unwrap().0, long);
        sender.unwrap().join().unwrap();
        assert!(b.receive::<String>().unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\x05\0\0\0ab", b"\x02\0\0\0{]"] {
            let (mut a, b) = UnixStream::pair().unwrap();
            a.write_all(bytes).unwrap();
            drop(a);
            assert!(Channel::new(b).receive::<String>().is_err(), "{bytes:?}");
        }
    }
}
