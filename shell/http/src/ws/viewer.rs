//! One viewer: the messages to it, those from it, and the end of its stream.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphlume_engine::{Control, EngineError, ToPage, ToServer, Viewer, ViewerEvent, WantedEntry};
use graphlume_service::{
    Arrival, ChangeRequest, NamedLayout, PageControl, Principal, Seat, ServiceError, StepRequest,
    Told, ViewerGrant,
};
use graphlume_types::{Coded, limits};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::time::{Instant, MissedTickBehavior};

use super::admission::{Admitted, Asked, admit};
use super::codec::{Message, ReadError, Reader, Writer, close};
use super::credit::Credit;
use super::document::{At, look_at};
use super::first_picture::FirstPicture;
use super::goodbye::{Goodbye, close_code, expired, goodbye_for};
use super::handshake;
use super::laying::Laying;
use super::rate::Rate;
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::state::Shell;
use crate::status::{ApiError, Problem};

/// How long the other end has to answer our goodbye.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// Events that a viewer is still told when the server stops.
const LAST_WORDS_MAX: usize = 8;
/// What a viewer is told who steers a picture that another one steers.
const WATCHING: &str = "whoever opened this visualization runs its layout and moves its nodes; open the \
     graph's own address, without session=, to have one of your own";
type Socket = TokioIo<Upgraded>;

/// Answers a handshake; the stream runs on after the answer.
pub(crate) async fn open(
    shell: Arc<Shell>,
    mut req: Req,
    who: Result<Principal, ApiError>,
) -> Result<Reply, ApiError> {
    let reply = handshake::accept(&req.headers)?;
    handshake::check_origin(&req.headers, &shell.config.allowed_origins)?;
    let upgrade = req.upgrade.take().ok_or_else(|| {
        ApiError::new(Problem::UpgradeRequired, "websocket-only", "HTTP/1.1 is needed here")
    })?;
    let pairs = req.pairs();
    let asked = Asked {
        session: req.param("session_id").to_owned(),
        dataset: query::last(&pairs, "dataset").map(str::to_owned),
        arrival: Arrival {
            key: query::last(&pairs, "steer").map(str::to_owned),
            joins: query::last(&pairs, "joins").is_some(),
        },
        stripes: query::last(&pairs, "stripes").is_some(),
        only_watches: who.as_ref().is_ok_and(|who| req.only_watches(&shell, who)),
        who,
        request_id: Arc::clone(&req.hit.id),
        client: req.client(&shell),
    };
    let conn = Arc::clone(&req.hit.conn);
    conn.upgraded();
    let tasks = shell.tasks.clone();
    tasks.spawn(async move {
        // The connection counts as open for as long as it has a viewer.
        let _conn = conn;
        let abort = shell.abort.clone();
        let watch = async {
            match upgrade.await {
                Ok(socket) => run(&shell, asked, TokioIo::new(socket)).await,
                Err(error) => tracing::debug!(%error, "the websocket was not opened"),
            }
        };
        tokio::select! {
            () = abort.cancelled() => {}
            () = Box::pin(watch) => {}
        }
    });
    Ok(reply)
}

/// How a stream ends.
#[derive(Debug)]
pub(super) enum End {
    /// The other end is gone; nothing can be said.
    Gone,
    Close(Goodbye),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The whole life of the stream.
async fn run(shell: &Shell, asked: Asked, socket: Socket) {
    let _alive = shell.metrics.viewer();
    let (read, write) = tokio::io::split(socket);
    let mut link = Link {
        shell,
        reader: Reader::new(read, limits::VIEWER_MESSAGE_BYTES_MAX),
        writer: Writer::new(write),
        credit: Credit::default(),
        heard: Instant::now(),
        laying: Laying::default(),
        first: FirstPicture::of(asked.stripes),
        only_watches: asked.only_watches,
    };
    let request_id = Arc::clone(&asked.request_id);
    let end = match admit(shell, asked).await {
        Ok(admitted) => link.watch(admitted).await,
        Err(error) => link.refuse(&error).await,
    };
    tracing::debug!(request_id = &*request_id, ?end, "viewer left");
    if let End::Close(goodbye) = end {
        let _ = tokio::time::timeout(CLOSE_PATIENCE, link.say_goodbye(&goodbye)).await;
    }
}

/// A stream.
pub(super) struct Link<'a> {
    pub(super) shell: &'a Shell,
    reader: Reader<ReadHalf<Socket>>,
    pub(super) writer: Writer<WriteHalf<Socket>>,
    credit: Credit,
    heard: Instant,
    laying: Laying<'a>,
    first: FirstPicture,
    /// See [`Req::only_watches`](crate::request::Req::only_watches).
    pub(super) only_watches: bool,
}

/// What happened next.
enum Turn {
    Stop,
    Silent,
    Ping,
    Recheck,
    /// The credential has ended.
    Expired,
    Read(Result<Message, ReadError>),
    Tell(ViewerEvent),
    /// What is new in the document.
    Document(Vec<Told>),
    /// The layout that the page had named is shown, or was refused.
    Laid(Result<(), ServiceError>),
}

impl Link<'_> {
    /// Tells why there is nothing to watch.
    async fn refuse(&mut self, error: &ApiError) -> End {
        let message = ToPage::error(error.slug.as_ref(), error.message.as_str());
        if self.say(&message).await.is_err() {
            return End::Gone;
        }
        End::Close(Goodbye::new(close_code(error.problem), error.message.clone()))
    }

    /// Runs until one end has had enough.
    async fn watch(&mut self, admitted: Admitted) -> End {
        match self.exchange(admitted).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn exchange(&mut self, admitted: Admitted) -> Result<std::convert::Infallible, End> {
        let Admitted {
            who,
            grant,
            mut page_control,
            mut viewer,
            mut seat,
            page: _page,
            mut access,
        } = admitted;
        let (who, viewer) = (&who, &mut viewer);
        self.hello(viewer, who, &page_control, &seat).await?;
        let config = &self.shell.config;
        let mut ping =
            tokio::time::interval_at(Instant::now() + config.ping_every, config.ping_every);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut rate = Rate::new(Instant::now());
        // A clock that was set meanwhile is noticed with the next ping.
        let ends = self.shell.service.identity.time_left(who).map(|left| Instant::now() + left);
        loop {
            let silent_at = self.heard + config.pong_timeout;
            let ends_at = ends.unwrap_or(silent_at + config.pong_timeout);
            let turn = tokio::select! {
                biased;
                () = self.shell.stop.cancelled() => Turn::Stop,
                read = self.reader.next() => Turn::Read(read),
                () = tokio::time::sleep_until(ends_at) => Turn::Expired,
                () = tokio::time::sleep_until(silent_at) => Turn::Silent,
                _ = ping.tick() => Turn::Ping,
                Ok(()) = access.changed() => Turn::Recheck,
                placed = self.laying.done() => Turn::Laid(placed.map(drop)),
                told = seat.next() => Turn::Document(told),
                event = viewer.next(self.credit.allows_frame()) => Turn::Tell(event),
            };
            match turn {
                Turn::Stop => return Err(self.leave(viewer).await),
                // No client is left to be told.
                Turn::Silent => return Err(End::Gone),
                Turn::Ping => {
                    self.writer.ping().await?;
                    still_allowed(self.shell, who, &grant)?;
                }
                Turn::Expired => return Err(End::Close(expired())),
                Turn::Recheck => {
                    still_allowed(self.shell, who, &grant)?;
                    self.recheck(who, &grant, &mut page_control, &seat);
                }
                Turn::Read(Err(ReadError::Gone)) => return Err(End::Gone),
                Turn::Read(Err(ReadError::Violation(code, why))) => {
                    return Err(End::Close(Goodbye::new(code, why)));
                }
                Turn::Read(Ok(message)) => {
                    self.heard = Instant::now();
                    rate.check(self.heard)?;
                    let at = At { who, grant: &grant, controls: page_control.controls };
                    self.hear(message, viewer, &mut seat, at).await?;
                }
                Turn::Tell(event) => {
                    look_at(self.shell, &grant, &event).await;
                    self.tell_and_hide(event, &mut seat).await?;
                }
                Turn::Document(told) => self.tell_document(told).await?,
                Turn::Laid(Ok(())) => {}
                Turn::Laid(Err(error)) => {
                    let error = ApiError::from(error);
                    self.complain(&error.slug, &error.message).await?;
                }
            }
        }
    }

    /// Finds out anew whether the page controls the session.
    fn recheck(&self, who: &Principal, grant: &ViewerGrant, page: &mut PageControl, seat: &Seat) {
        let controls = self.shell.service.sessions.may_control(who, grant, page.key.is_some());
        page.controls = !self.only_watches && controls.unwrap_or(false);
        seat.set_controls(page.controls);
    }

    /// What is shown at the end: the positions with which the next process goes on are among it.
    async fn last_words(&mut self, viewer: &mut Viewer) -> Result<(), End> {
        for _ in 0..LAST_WORDS_MAX {
            let Some(event) = viewer.try_next(true) else { break };
            self.tell(event).await?;
        }
        Ok(())
    }

    /// The end of a stream whose server stops.
    async fn leave(&mut self, viewer: &mut Viewer) -> End {
        // A client that does not take them does not hold up the end.
        match tokio::time::timeout(CLOSE_PATIENCE, self.last_words(viewer)).await {
            Ok(Ok(())) => End::Close(Goodbye::new(close::RESTART, "the server restarts")),
            Ok(Err(end)) => end,
            Err(_) => End::Gone,
        }
    }

    /// Sends an event.
    pub(super) async fn tell(&mut self, event: ViewerEvent) -> Result<(), End> {
        match &event {
            ViewerEvent::Frame(frame) => {
                self.rest_of_first_picture().await?;
                let first = self.first.begin(frame).await;
                self.binary(first.as_ref().unwrap_or(&frame.bytes)).await?;
                self.shell.metrics.frames_sent.inc();
                self.credit.sent(frame.seq);
                return Ok(());
            }
            ViewerEvent::Scene(scene) => {
                // The first legend came with the graph.
                if scene.version > 1 {
                    self.message(&event).await?;
                }
                for frame in scene.frames() {
                    self.binary(frame).await?;
                }
                self.rest_of_first_picture().await?;
                return Ok(());
            }
            // Frames of the graph before are not acknowledged any more.
            ViewerEvent::Graph(..) => {
                self.credit.forgive();
                self.first.begin_anew();
            }
            ViewerEvent::State(_)
            | ViewerEvent::Columns(_)
            | ViewerEvent::Collections(_)
            | ViewerEvent::Closed(_) => {}
        }
        self.message(&event).await?;
        match event {
            ViewerEvent::Closed(reason) => Err(End::Close(goodbye_for(reason))),
            _ => Ok(()),
        }
    }

    /// The stripes that wait until what is drawn of the first has its colours.
    async fn rest_of_first_picture(&mut self) -> io::Result<()> {
        for stripe in self.first.rest() {
            self.binary(&stripe).await?;
        }
        Ok(())
    }

    async fn message(&mut self, event: &ViewerEvent) -> io::Result<()> {
        match event.message() {
            Some(message) => self.say(&message).await,
            None => Ok(()),
        }
    }

    /// Sends a message.
    pub(super) async fn say(&mut self, message: &ToPage<'_>) -> io::Result<()> {
        self.writer.text(serde_json::to_string(message)?).await
    }

    /// Sends bytes that all viewers share.
    pub(super) async fn binary(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.shell.metrics.viewer_bytes.inc_by(bytes.len() as u64);
        self.writer.binary(bytes.clone()).await
    }

    /// Acts on what the page said.
    async fn hear(
        &mut self,
        message: Message,
        viewer: &mut Viewer,
        seat: &mut Seat,
        at: At<'_>,
    ) -> Result<(), End> {
        let At { who, grant, controls, .. } = at;
        let text = match message {
            Message::Text(text) => text,
            Message::Ping(payload) => return Ok(self.writer.pong(payload).await?),
            Message::Pong => return Ok(()),
            Message::Close => return Err(End::Close(Goodbye::new(close::NORMAL, ""))),
        };
        let said = match serde_json::from_str::<ToServer>(&text) {
            Ok(said) => said,
            Err(error) => {
                return self
                    .complain("bad-message", &format!("the message is not valid: {error}"))
                    .await;
            }
        };
        let control = match said {
            ToServer::Ack { seq } => {
                self.credit.acknowledged(seq);
                return Ok(());
            }
            said @ (ToServer::Hidden | ToServer::Visible) => {
                self.credit.hidden = matches!(said, ToServer::Hidden);
                viewer.set_visible(!self.credit.hidden);
                return Ok(());
            }
            ToServer::Resume { epoch, seq } => {
                self.credit.forgive();
                viewer.resume(epoch, seq);
                return Ok(());
            }
            ToServer::Other => return Ok(()),
            ToServer::Do { id, label, join, changes } => {
                let changes = changes.into_iter().map(change).collect();
                return self.step(seat, grant, &id, StepRequest::Do { label, join, changes }).await;
            }
            ToServer::Undo { id } => return self.step(seat, grant, &id, StepRequest::Undo).await,
            ToServer::Redo { id } => return self.step(seat, grant, &id, StepRequest::Redo).await,
            ToServer::Play { on: true, ms } if controls => {
                self.laying.run_forces(self.shell, who, grant, ms);
                return Ok(());
            }
            ToServer::Play { on, ms } => {
                if controls {
                    self.laying.end();
                }
                Control::Play { on, for_millis: ms }
            }
            ToServer::Settings(knobs) => Control::Settings(knobs),
            ToServer::Pin { index, x, y } => Control::Pin { node: index, at: [x, y] },
            ToServer::Unpin { index } => Control::Unpin { node: index },
            ToServer::Layout { name, params } if controls => {
                self.laying.begin(self.shell, who, grant, NamedLayout { name, params });
                return Ok(());
            }
            ToServer::Layout { .. } => return self.complain("not-yours", WATCHING).await,
        };
        if !controls {
            return self.complain("not-yours", WATCHING).await;
        }
        self.control(grant, control, viewer).await
    }

    /// Passes a command to the engine. Its new state arrives as an event, for all viewers; only a
    /// refusal is for this page alone.
    async fn control(
        &mut self,
        grant: &ViewerGrant,
        control: Control,
        viewer: &mut Viewer,
    ) -> Result<(), End> {
        match self.shell.service.sessions.control(grant, control).await {
            Ok(_) => Ok(()),
            Err(EngineError::Stopped) if self.shell.stop.is_cancelled() => {
                Err(self.leave(viewer).await)
            }
            // Also when layouts have been stopped and the last frame is on its way: the stream ends with
            // the server.
            Err(error) => self.complain(error.slug(), &error.to_string()).await,
        }
    }

    async fn complain(&mut self, slug: &str, message: &str) -> Result<(), End> {
        Ok(self.say(&ToPage::error(slug, message)).await?)
    }

    /// Closes in order: our goodbye, theirs, the socket.
    async fn say_goodbye(&mut self, goodbye: &Goodbye) {
        if self.writer.close(goodbye.code, &goodbye.reason).await.is_err() {
            return;
        }
        if goodbye.code != close::NORMAL {
            while let Ok(message) = self.reader.next().await {
                if message == Message::Close {
                    break;
                }
            }
        }
        let _ = self.writer.shutdown().await;
        self.reader.drain().await;
    }
}

/// A change of a step.
fn change(WantedEntry { path, value }: WantedEntry) -> ChangeRequest {
    ChangeRequest::new(path, value.as_ref())
}

/// A dataset may have become private since.
fn still_allowed(shell: &Shell, who: &Principal, grant: &ViewerGrant) -> Result<(), End> {
    if !shell.service.identity.is_current(who) {
        return Err(End::Close(expired()));
    }
    match shell.service.sessions.recheck_viewer(who, grant) {
        Ok(()) => Ok(()),
        Err(error) if error.code().is_transient() => Ok(()),
        Err(error) => {
            let error = ApiError::from(error);
            Err(End::Close(Goodbye::new(close_code(error.problem), error.message)))
        }
    }
}
