//! `graphlume serve --supervise`: a parent that holds the listening sockets and restarts the server.
//!
//! The parent opens the sockets and starts this same program again with the sockets inherited; their
//! numbers stand in one environment variable. Clients that connect while there is no server wait in
//! the kernel's queue, so none is refused; when the outage lasts, the parent answers 503 itself. The
//! parent touches neither the data folder nor a GPU: whatever ends the server leaves it unharmed.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use graphlume_http::{HttpConfig, Listeners, Outage, StandIn, stand_in};
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::failure::{Failure, failure};

/// Tells the server what it inherits: `PARENT,PUBLIC,INTERNAL,READY,STARTS` (INTERNAL may be empty).
const VARIABLE: &str = "GRAPHLUME_SUPERVISED";
/// The exit status that asks for a new server at once (EX_TEMPFAIL of sysexits): the GPU was lost.
pub const EXIT_RESTART: u8 = 75;
/// The shortest and the longest pause before the next start.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// After a failure, a server that has served for so long is healthy again.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);
/// A server that asks to be restarted sooner than this after it was ready has to wait like others.
const AT_ONCE_AFTER: Duration = Duration::from_secs(1);
/// An outage of this length is answered by the parent; until then clients wait for the next server.
const STAND_IN_AFTER: Duration = Duration::from_secs(3);
/// What a server may take over its end, beyond the drain time, before it is killed.
const END_GRACE: Duration = Duration::from_secs(20);
/// The parent looks at its child at least this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What a supervised server gets from its parent.
pub struct Inherited {
    /// The open sockets.
    pub listeners: Listeners,
    /// Whether the parent starts its first server.
    pub is_first: bool,
    /// To tell the parent that the server serves.
    pub ready: Ready,
}

/// The server's end of a pipe to its parent.
pub struct Ready(std::fs::File);

impl Ready {
    /// Says that the server serves.
    pub fn tell(mut self) {
        use std::io::Write;
        // A parent that has gone is noticed by the signal that its end sends.
        let _ = self.0.write_all(b"1");
    }
}

/// What the parent left for this process, if a parent supervises it. To be called once, at start.
///
/// # Errors
/// The parent has gone, or the variable was set by another program.
pub fn inherited() -> Result<Option<Inherited>, Failure> {
    let Ok(text) = std::env::var(VARIABLE) else { return Ok(None) };
    let wrong = || failure(format!("{VARIABLE}={text:?} is for internal use; unset it"));
    let fields: Vec<&str> = text.split(',').collect();
    let [parent, public, internal, ready, starts] = fields[..] else { return Err(wrong()) };
    let parent: i32 = parent.parse().map_err(|_| wrong())?;
    name_process();
    // A server without its parent would hold the data folder against the next one.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if rustix::process::getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(parent) {
        return Err(failure("the supervising process has gone; start the server again"));
    }
    let adopt = |number: &str| -> Result<OwnedFd, Failure> {
        let number: RawFd = number.parse().ok().filter(|n| *n > 2).ok_or_else(wrong)?;
        // SAFETY: the parent left this descriptor open for us, it has no other owner in this
        // process, and each number is adopted once.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC).map_err(|_| wrong())?;
        Ok(fd)
    };
    let internal = if internal.is_empty() { None } else { Some(adopt(internal)?.into()) };
    let listeners = Listeners { public: adopt(public)?.into(), internal };
    let ready = Ready(adopt(ready)?.into());
    Ok(Some(Inherited { listeners, is_first: starts == "1", ready }))
}

/// Gives this process its program's name in lists of processes: started through `/proc/self/exe`, it would be called `exe`.
fn name_process() {
    // The name of the first thread is that of the process. Without it nothing is lost.
    let _ = std::fs::write("/proc/self/comm", "graphlume");
}

/// Holds the sockets and keeps a server running until a signal ends it.
///
/// # Errors
/// The sockets cannot be opened; the server refuses its configuration.
pub fn run(http: &HttpConfig) -> Result<(), Failure> {
    let listeners = graphlume_http::listen(http)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(supervise(&listeners, http.drain + END_GRACE))
}

/// A server that was started.
struct Server {
    child: Child,
    started: Instant,
    ready_at: Option<Instant>,
    ready: tokio::net::unix::pipe::Receiver,
}

/// How the next server comes.
#[derive(Debug, PartialEq)]
enum Next {
    /// After this pause.
    Start(Duration),
    /// Not at all; the parent ends the same way.
    End,
}

/// What is remembered over the servers.
#[derive(Debug, Default)]
struct History {
    starts: u64,
    failures: u32,
    last_words: String,
}

async fn supervise(listeners: &Listeners, patience: Duration) -> Result<(), Failure> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // The server reads its settings again; the end of a terminal session ends neither.
    let mut hup = signal(SignalKind::hangup())?;
    let mut child_ended = signal(SignalKind::child())?;
    let mut parent = Parent::new(listeners, patience);
    loop {
        let now = Instant::now();
        parent.start_if_due(now);
        if let Some(end) = parent.reap(now)? {
            return end;
        }
        parent.stand_in_if_long(now)?;
        parent.pass_reload_on();
        let sleep = parent.sleep(now);
        let asked = tokio::select! {
            _ = term.recv() => Some(Signal::TERM),
            _ = int.recv() => Some(Signal::INT),
            _ = hup.recv() => {
                parent.owes_reload = true;
                None
            }
            _ = child_ended.recv() => None,
            () = became_ready(&mut parent.server) => None,
            () = tokio::time::sleep(sleep) => None,
        };
        if let Some(asked) = asked
            && !parent.forward(asked)
        {
            return Ok(());
        }
    }
}

/// The parent's state.
struct Parent<'a> {
    listeners: &'a Listeners,
    patience: Duration,
    history: History,
    server: Option<Server>,
    start_at: Instant,
    down_since: Instant,
    /// SIGHUP came and no server was told: one that starts may have read its settings already.
    owes_reload: bool,
    /// The supervisor was told to end; a server that takes longer is killed.
    kill_at: Option<Instant>,
    standing: Option<StandIn>,
    outage: (watch::Sender<Outage>, watch::Receiver<Outage>),
}

impl<'a> Parent<'a> {
    fn new(listeners: &'a Listeners, patience: Duration) -> Self {
        let (now, history) = (Instant::now(), History::default());
        Self {
            listeners,
            patience,
            outage: watch::channel(history.outage(Duration::ZERO)),
            history,
            server: None,
            start_at: now,
            down_since: now,
            owes_reload: false,
            kill_at: None,
            standing: None,
        }
    }

    fn start_if_due(&mut self, now: Instant) {
        if self.server.is_some() || now < self.start_at {
            return;
        }
        self.history.starts += 1;
        match start(self.listeners, self.history.starts) {
            Ok(server) => self.server = Some(server),
            // Out of processes or of memory; that may pass.
            Err(e) => {
                let words = format!("no process can be started: {e}");
                tracing::error!("{words}");
                self.start_at = now + self.history.failed(words);
            }
        }
    }

    /// Looks whether the server has ended; the result, when the parent ends with it.
    fn reap(&mut self, now: Instant) -> std::io::Result<Option<Result<(), Failure>>> {
        let Some(server) = &mut self.server else { return Ok(None) };
        let Some(status) = server.child.try_wait()? else {
            if self.kill_at.is_some_and(|at| now >= at) {
                tracing::error!("the server did not end in time and is killed");
                server.child.kill()?;
            }
            return Ok(None);
        };
        let served = server.ready_at.map(|at| now.saturating_duration_since(at));
        if served.is_some() {
            self.down_since = now;
        }
        self.server = None;
        if self.kill_at.is_some() {
            return Ok(Some(ended(status)));
        }
        match self.history.after(status, served) {
            Next::End => Ok(Some(ended(status))),
            Next::Start(pause) => {
                let reason = self.history.last_words.as_str();
                tracing::error!(reason, pause_ms = pause.as_millis(), "starting a new server");
                self.start_at = now + pause;
                Ok(None)
            }
        }
    }

    /// Answers clients while there has been no server for long.
    fn stand_in_if_long(&mut self, now: Instant) -> Result<(), Failure> {
        let is_ready = self.server.as_ref().is_some_and(|s| s.ready_at.is_some());
        let is_long = now.saturating_duration_since(self.down_since) >= STAND_IN_AFTER;
        if is_ready || !is_long {
            self.standing = None;
            return Ok(());
        }
        let pause = self.start_at.saturating_duration_since(now);
        self.outage.0.send_replace(self.history.outage(pause));
        if self.standing.is_none() {
            self.standing = Some(stand_in(self.listeners, &self.outage.1)?);
        }
        Ok(())
    }

    fn sleep(&self, now: Instant) -> Duration {
        match &self.server {
            None => self.start_at.saturating_duration_since(now).min(LOOK_EVERY),
            Some(_) => LOOK_EVERY,
        }
    }

    /// Has a server that serves read its settings again.
    fn pass_reload_on(&mut self) {
        if self.owes_reload && self.server.as_ref().is_some_and(|s| s.ready_at.is_some()) {
            self.owes_reload = false;
            self.send(Signal::HUP);
        }
    }

    /// Sends the server a signal; whether there was one to take it.
    fn send(&self, signal: Signal) -> bool {
        let Some(server) = &self.server else { return false };
        if let Some(pid) = i32::try_from(server.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended this moment.
            let _ = rustix::process::kill_process(pid, signal);
        }
        true
    }

    /// Passes the wish to end on; whether there was a server to take it.
    fn forward(&mut self, asked: Signal) -> bool {
        if !self.send(asked) {
            return false;
        }
        self.kill_at.get_or_insert(Instant::now() + self.patience);
        true
    }
}

/// Waits until the server says that it serves; for ever once it has said so or cannot.
async fn became_ready(server: &mut Option<Server>) {
    if let Some(s) = server.as_mut().filter(|s| s.ready_at.is_none()) {
        let mut byte = [0u8; 1];
        loop {
            if s.ready.readable().await.is_err() {
                break;
            }
            match s.ready.try_read(&mut byte) {
                Ok(1) => {
                    s.ready_at = Some(Instant::now());
                    let took = s.started.elapsed();
                    tracing::debug!(millis = took.as_millis(), pid = s.child.id(), "server ready");
                    return;
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                // It ended; its exit status says why.
                _ => break,
            }
        }
    }
    std::future::pending().await
}

/// Starts this program again with the sockets.
fn start(listeners: &Listeners, starts: u64) -> std::io::Result<Server> {
    let (ready, ready_end) = std::io::pipe()?;
    let internal = listeners.internal.as_ref().map(|l| l.as_fd());
    let handed = [Some(listeners.public.as_fd()), internal, Some(ready_end.as_fd())];
    for fd in handed.into_iter().flatten() {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
    }
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| "graphlume".into());
    let number = internal.map_or_else(String::new, |fd| fd.as_raw_fd().to_string());
    let (public, end) = (listeners.public.as_raw_fd(), ready_end.as_raw_fd());
    let told = format!("{},{public},{number},{end},{starts}", std::process::id());
    let started = Instant::now();
    // The same file even when another version has been installed over it.
    let child = Command::new("/proc/self/exe").arg0(name).args(args).env(VARIABLE, told).spawn()?;
    drop(ready_end);
    let ready = OwnedFd::from(ready);
    rustix::io::ioctl_fionbio(&ready, true)?;
    let ready = tokio::net::unix::pipe::Receiver::from_owned_fd(ready)?;
    Ok(Server { child, started, ready_at: None, ready })
}

/// How the parent ends after its server.
fn ended(status: ExitStatus) -> Result<(), Failure> {
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Failure { message: format!("the server {}", words(status)), exit: code }),
    }
}

/// The status as a shell shows it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(number)) => format!("was ended by signal {number}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Whether trying again cannot help: wrong usage, and the errors of `sysexits` that name the
/// configuration. Defects (70), the system (71) and the disk (74) may be better next time.
const fn is_final(code: u8) -> bool {
    matches!(code, 0 | 2 | 64..=69 | 72 | 73 | 76..=78)
}

impl History {
    /// What follows after a server has ended that had served for so long, if it ever did.
    fn after(&mut self, status: ExitStatus, served: Option<Duration>) -> Next {
        let code = exit_code(status);
        if is_final(code) {
            return Next::End;
        }
        if served.is_some_and(|s| s >= HEALTHY_AFTER) {
            self.failures = 0;
        }
        let pause = self.failed(format!("the server {}", words(status)));
        let at_once = code == EXIT_RESTART && served.is_some_and(|s| s >= AT_ONCE_AFTER);
        Next::Start(if at_once { Duration::ZERO } else { pause })
    }

    /// Counts a failure; the pause before the next start doubles with each in a row.
    fn failed(&mut self, words: String) -> Duration {
        self.last_words = words;
        self.failures = self.failures.saturating_add(1);
        let pause = (PAUSE.0 * 2u32.pow((self.failures - 1).min(10))).min(PAUSE.1);
        // Many servers that failed together must not come back together.
        let seed = u64::from(std::process::id());
        let share = graphlume_types::hash::unit_f64(seed, self.starts, u64::from(self.failures));
        pause.mul_f64(0.75 + 0.25 * share)
    }

    fn outage(&self, pause: Duration) -> Outage {
        let reason = match self.failures {
            0 => "the server is starting".to_owned(),
            1 => format!("{}; a new one is starting", self.last_words),
            n => format!(
                "{}, the {n}th failure in a row; its log says why. The next try follows within {} s",
                self.last_words,
                pause.as_secs() + 1
            ),
        };
        let secs = u32::try_from(pause.as_secs()).unwrap_or(u32::MAX);
        Outage { reason, retry_after_secs: secs.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn pauses_double_up_to_ten_seconds_and_a_healthy_minute_forgives() {
        let mut h = History::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let Next::Start(pause) = h.after(exited(1), None) else { panic!("gave up") };
            pauses.push(pause.as_secs_f64());
        }
        for (i, pause) in pauses.iter().enumerate() {
            let full = (0.1 * 2f64.powi(i32::try_from(i).unwrap())).min(10.0);
            assert!(*pause <= full && *pause >= full * 0.75, "{i}: {pauses:?}");
        }
        let Next::Start(pause) = h.after(exited(1), Some(HEALTHY_AFTER)) else { panic!() };
        assert!(pause <= PAUSE.0);
    }

    #[test]
    fn a_lost_gpu_restarts_at_once_unless_it_is_lost_again_and_again() {
        let mut h = History::default();
        assert_eq!(h.after(exited(75), Some(AT_ONCE_AFTER)), Next::Start(Duration::ZERO));
        assert!(matches!(h.after(exited(75), None), Next::Start(p) if p > Duration::ZERO));
        assert!(matches!(h.after(ExitStatus::from_raw(9), None), Next::Start(_)), "kill -9");
        assert!(h.outage(Duration::ZERO).reason.contains("signal 9"), "{h:?}");
    }

    #[test]
    fn a_refused_configuration_is_not_tried_again() {
        let mut h = History::default();
        for code in [0, 2, 64, 73, 78] {
            assert_eq!(h.after(exited(code), None), Next::End, "{code}");
        }
        for code in [1, 70, 71, 74, 75, 101] {
            assert!(matches!(h.after(exited(code), None), Next::Start(_)), "{code}");
        }
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }
}
