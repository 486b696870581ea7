//! Commands on a data folder that a server may hold. A running server takes them over a socket in its data folder that
//! only its own user can open: one JSON line there, one JSON line back.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use graphlume_service::admin::Admin;
use graphlume_service::command::{Command, Done};
use graphlume_service::{IdentityError, Service};
use graphlume_storage::StoreError;
use graphlume_types::{SystemClock, limits};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use crate::failure::{Failure, failure};

/// The socket's name in the data folder.
const SOCKET: &str = "control.sock";
/// How often a folder that is held without a server to ask is tried again, and the time between two attempts: servers
/// hold the folder a moment before they listen, and commands hold it for a moment.
const ATTEMPTS: u32 = 20;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// What a server answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// The command was carried out.
    Done(Done),
    /// It was not, and why.
    Error(String),
}

/// The socket's path through an open descriptor of the folder: the addresses of sockets end at 107 bytes, and paths of
/// folders do not.
struct SocketFolder {
    folder: OwnedFd,
}

impl SocketFolder {
    fn of(data: &Path) -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: rustix::fs::open(data, flags, Mode::empty())? })
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", self.folder.as_raw_fd()))
    }
}

/// The socket of a running server; removed when dropped.
pub struct Control {
    place: SocketFolder,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(self.place.path());
    }
}

/// Listens for commands. The caller holds the folder, so that a socket there is one of a server that is gone.
///
/// # Errors
/// A file system that takes no sockets.
pub fn listen(data: &Path, service: Arc<Service>) -> std::io::Result<Control> {
    let place = SocketFolder::of(data)?;
    let path = place.path();
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(&path)?)?;
    // No client can connect before `listen`.
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    rustix::net::listen(&socket, BACKLOG)?;
    let listener = UnixListener::from_std(socket.into())?;
    Ok(Control { place, task: tokio::spawn(accept(listener, service)) })
}

async fn accept(listener: UnixListener, service: Arc<Service>) {
    let places = Arc::new(Semaphore::new(limits::CONTROL_COMMANDS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let service = Arc::clone(&service);
                tokio::spawn(async move {
                    if let Err(e) = answer(stream, &service).await {
                        tracing::warn!(error = %e, "a command of the command line was not answered");
                    }
                    drop(permit);
                });
            }
            Err(e) => {
                tracing::warn!(error = %e, "no connection of the command line could be accepted");
                tokio::time::sleep(BETWEEN_ATTEMPTS).await;
            }
        }
    }
}

/// Reads one command, carries it out and says what came of it. The command goes on to its end when the other side
/// goes away.
async fn answer(mut stream: UnixStream, service: &Service) -> std::io::Result<()> {
    let (mut from, mut to) = stream.split();
    let answer = match read_command(&mut from).await {
        Err(why) => Answer::Error(why),
        Ok(command) => match service.carry_out(command).await {
            Ok(done) => Answer::Done(done),
            Err(e) => Answer::Error(Failure::from(e).message),
        },
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    let patience = Duration::from_secs(limits::CONTROL_COMMAND_SECS_MAX);
    send(&mut to, &line, patience).await?;
    // A socket that is closed with bytes unread takes the answer along.
    let mut rest = from.take(limits::CONTROL_COMMAND_BYTES_MAX as u64);
    let mut nowhere = tokio::io::sink();
    match tokio::time::timeout(patience, tokio::io::copy(&mut rest, &mut nowhere)).await {
        Ok(Err(e)) => Err(e),
        _ => Ok(()),
    }
}

/// Writes the answer. A client that asks and does not read would keep one of the few places otherwise.
async fn send(
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    line: &[u8],
    patience: Duration,
) -> std::io::Result<()> {
    let written = tokio::time::timeout(patience, async {
        to.write_all(line).await?;
        to.shutdown().await
    });
    written.await.unwrap_or_else(|_| {
        Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "nobody read the answer"))
    })
}

async fn read_command(from: impl tokio::io::AsyncRead + Unpin) -> Result<Command, String> {
    let max = limits::CONTROL_COMMAND_BYTES_MAX;
    let mut line = Vec::new();
    let mut limited = tokio::io::BufReader::new(from.take(max as u64 + 1));
    let patience = Duration::from_secs(limits::CONTROL_COMMAND_SECS_MAX);
    match tokio::time::timeout(patience, limited.read_until(b'\n', &mut line)).await {
        Err(_) => {
            let secs = limits::CONTROL_COMMAND_SECS_MAX;
            return Err(format!("no command arrived within {secs} seconds; send one JSON line"));
        }
        Ok(Err(e)) => return Err(format!("the command could not be read: {e}")),
        Ok(Ok(_)) if line.len() > max => {
            return Err(format!("the command has more than {max} bytes; send a shorter one"));
        }
        Ok(Ok(_)) => {}
    }
    serde_json::from_slice(&line).map_err(|e| {
        format!("the command is none that this server knows ({e}); use the graphlume of the server's version")
    })
}

/// What a command does about a folder that is absent or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// Refuse it.
    Existing,
    /// Make it, and say so.
    MayBeMade,
}

/// Carries out a command on a data folder: here when no process holds the folder, else in the server that does.
///
/// # Errors
/// Why it was not carried out.
pub fn carry_out(data: &Path, folder: Folder, command: Command) -> Result<Done, Failure> {
    let mut attempt = 1;
    loop {
        let in_use = match open(data, folder, &command) {
            Ok(admin) => return Ok(command.carry_out(&admin)?),
            Err(e @ IdentityError::Store(StoreError::InUse { .. })) => e,
            Err(e) => return Err(e.into()),
        };
        match ask(data, &command) {
            Some(answer) => return answer,
            None if attempt < ATTEMPTS => std::thread::sleep(BETWEEN_ATTEMPTS),
            None => {
                let message = Failure::from(in_use).message;
                return Err(failure(format!(
                    "{message} (it takes no commands at {}/{SOCKET})",
                    data.display()
                )));
            }
        }
        attempt += 1;
    }
}

fn open(data: &Path, folder: Folder, command: &Command) -> Result<Admin, IdentityError> {
    if command.only_reads() {
        return Admin::open_to_read(data, Arc::new(SystemClock));
    }
    if folder == Folder::Existing {
        return Admin::open(data, Arc::new(SystemClock));
    }
    let (admin, is_new) = Admin::open_or_make(data, Arc::new(SystemClock))?;
    if is_new {
        say!("made the data folder {}", data.display());
    }
    Ok(admin)
}

/// Asks the server that holds the folder; nothing when there is none to ask.
fn ask(data: &Path, command: &Command) -> Option<Result<Done, Failure>> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    let connected = SocketFolder::of(data).and_then(|place| BlockingStream::connect(place.path()));
    match connected {
        Ok(stream) => Some(exchange(stream, command)),
        Err(e) if matches!(e.kind(), ConnectionRefused | NotFound) => None,
        Err(e) => Some(Err(failure(format!(
            "the server that holds {} cannot be asked at {SOCKET} in it: {e}; run the command as the server's user",
            data.display()
        )))),
    }
}

fn exchange(mut stream: BlockingStream, command: &Command) -> Result<Done, Failure> {
    let mut line = serde_json::to_vec(command)?;
    line.push(b'\n');
    let (bytes, max) = (line.len(), limits::CONTROL_COMMAND_BYTES_MAX);
    if bytes > max {
        return Err(failure(format!(
            "the arguments make a command of {bytes} bytes, a running server takes {max}; shorten them"
        )));
    }
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        return Err(failure(
            "the server ended before it answered; the command may have been carried out all the same: look with a \
             listing command",
        ));
    }
    match serde_json::from_str(&answer)? {
        Answer::Done(done) => Ok(done),
        Answer::Error(message) => Err(failure(message)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_answer_that_nobody_reads_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            // A pipe of one byte whose other end stays open and unread.
            let (mut to, _from) = tokio::io::duplex(1);
            let e = send(&mut to, b"an answer\n", Duration::from_millis(1)).await.unwrap_err();
            assert_eq!(e.kind(), std::io::ErrorKind::TimedOut);
            let (mut to, mut from) = tokio::io::duplex(64);
            let patience = Duration::from_secs(limits::CONTROL_COMMAND_SECS_MAX);
            send(&mut to, b"an answer\n", patience).await.unwrap();
            let mut read = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut from, &mut read).await.unwrap();
            assert_eq!(read, "an answer\n");
        });
    }
}
