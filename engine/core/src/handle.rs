//! The only thing that others hold of the engine.

mod facets;
mod jobs;
mod picture;

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_channel::oneshot;
use graphlume_expr::QueryError;
use graphlume_scene::SearchHit;
use graphlume_types::{Budget, CancelReason, CancelToken, DatasetId, MemoryConsumer, SessionId};
use serde_json::Value;

use crate::cmd;
use crate::cmd::info::SessionInfo;
use crate::cmd::query::{QueryRequest, QueryResult};
use crate::command::Apply;
use crate::command_queue::{CommandSender, QueuedCommand};
use crate::commands::Command;
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::health::EngineHealth;
use crate::layout_settings::LayoutSettings;
use crate::messages::SessionState;
use crate::reply::Reply;
use crate::residency::QueryMemory;
use crate::session::collection_set::{
    CollectionMembers, CollectionRule, CollectionSet, CollectionsView,
};
use crate::session::control::Control;
use crate::session::viewer::Viewer;
use crate::stats::EngineStats;
use crate::target::Target;

/// A cheap handle to the engine. Every call is a future that any runtime may drive; dropping it
/// cancels the call. A call is refused at once when too many wait already.
#[derive(Clone)]
pub struct EngineHandle {
    commands: CommandSender,
    ctx: Arc<EngineContext>,
    memory: QueryMemory,
}

impl std::fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

/// Cancels the call unless it has been answered.
struct CancelOnDrop(Option<CancelToken>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(token) = self.0.take() {
            token.cancel(CancelReason::ClientGone);
        }
    }
}

impl EngineHandle {
    pub(crate) const fn new(
        commands: CommandSender,
        ctx: Arc<EngineContext>,
        memory: QueryMemory,
    ) -> Self {
        Self { commands, ctx, memory }
    }

    /// Whether anything of the engine is still there: its last threads end in their own time.
    #[cfg(test)]
    pub(crate) fn remains(&self) -> std::sync::Weak<EngineContext> {
        Arc::downgrade(&self.ctx)
    }

    /// A command on its way, with its cancellation and the future of its answer.
    fn queued<C>(
        &self,
        payload: C,
    ) -> (QueuedCommand, CancelToken, oneshot::Receiver<Result<C::Answer, EngineError>>)
    where
        C: Apply,
        Command: From<(C, Reply<C::Answer>)>,
    {
        let (reply, answer) = Reply::channel();
        let cancel = CancelToken::with_deadline(self.ctx.now() + self.ctx.config.call_time);
        let command = Command::from((payload, reply));
        (QueuedCommand { command, cancel: cancel.clone() }, cancel, answer)
    }

    /// Sends a command at once and gives the future of its answer.
    pub(crate) fn call<C>(
        &self,
        payload: C,
    ) -> impl Future<Output = Result<C::Answer, EngineError>> + Send + 'static
    where
        C: Apply,
        Command: From<(C, Reply<C::Answer>)>,
    {
        let (queued, cancel, answer) = self.queued(payload);
        let sent = self.commands.send(C::PRIORITY, queued);
        async move {
            sent?;
            let mut guard = CancelOnDrop(Some(cancel));
            let answer = answer.await.unwrap_or(Err(EngineError::Stopped));
            guard.0 = None;
            answer
        }
    }

    /// The same with control priority, and blocks until there is room for the command.
    pub(crate) fn call_waiting<C>(
        &self,
        payload: C,
    ) -> impl Future<Output = Result<C::Answer, EngineError>> + Send + 'static
    where
        C: Apply,
        Command: From<(C, Reply<C::Answer>)>,
    {
        let (queued, _, answer) = self.queued(payload);
        let sent = self.commands.send_waiting(queued);
        async move {
            sent?;
            answer.await.unwrap_or(Err(EngineError::Stopped))
        }
    }

    /// Sends a command whose answer is not needed; a full queue drops it.
    fn tell<C>(&self, payload: C)
    where
        C: Apply,
        Command: From<(C, Reply<C::Answer>)>,
    {
        let command = Command::from((payload, Reply::nobody()));
        let _ =
            self.commands.send(C::PRIORITY, QueuedCommand { command, cancel: CancelToken::new() });
    }

    /// Bytes that one query may take of the memory.
    #[must_use]
    pub fn query_memory_max(&self) -> u64 {
        self.ctx.query_memory_max()
    }

    /// The memory of `--memory`, for what others hold in it.
    #[must_use]
    pub fn memory_budget(&self) -> Budget {
        self.ctx.budget.clone()
    }

    /// Memory for an answer that is not a query's: lists of files and datasets take it. It counts against the budget of
    /// `--memory`, and graphs that no session shows are evicted for it, so taking it may block.
    #[must_use]
    pub fn memory(&self) -> MemoryConsumer {
        self.memory.share()
    }

    /// How long an algorithm that a dataset names may take.
    #[must_use]
    pub fn job_time(&self) -> std::time::Duration {
        self.ctx.config.job_time
    }

    /// Makes sure that the session exists; a new one starts loading its dataset in the background and
    /// takes `settings`, an existing one keeps its own.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use graphlume_engine::{
    ///     Config, Encodings, LayoutSettings, LoadError, Loaded, Loader, ViewerEvent, block_on, start,
    /// };
    /// use graphlume_table::{ArrayRef, Int64Array, Table};
    /// use graphlume_types::{CancelToken, DatasetId, SessionId, SystemClock};
    ///
    /// /// Every dataset is a path of three nodes.
    /// struct Paths;
    ///
    /// impl Loader for Paths {
    ///     fn load(&self, _: DatasetId, _: &CancelToken) -> Result<Loaded, LoadError> {
    ///         let ids = |ids: [i64; 2]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    ///         let edges = Table::of_column("from", ids([1, 2]))
    ///             .and_then(|table| table.with_column("to", ids([2, 3])))
    ///             .map_err(|e| LoadError::from_coded(&e))?;
    ///         Ok(Loaded {
    ///             name: "a path".to_owned(),
    ///             description: String::new(),
    ///             edges,
    ///             source: "from".to_owned(),
    ///             destination: "to".to_owned(),
    ///             nodes: None,
    ///             node: None,
    ///             encodings: Encodings::default(),
    ///             compute: vec![],
    ///             owner: None,
    ///             version: 0,
    ///             notices: vec![],
    ///         })
    ///     }
    /// }
    ///
    /// let (engine, thread) = start(Config::default(), Arc::new(Paths), None, Arc::new(SystemClock))?;
    /// let session: SessionId = "a-session".parse()?;
    /// let dataset = DatasetId::from_bytes([1; 16]);
    /// block_on(engine.open(session.clone(), dataset, LayoutSettings::default()))?;
    /// let mut viewer = block_on(engine.attach(session))?;
    /// let graph = loop {
    ///     if let ViewerEvent::Graph(graph, ..) = block_on(viewer.next(true)) {
    ///         break graph;
    ///     }
    /// };
    /// assert_eq!((graph.node_count, graph.edge_count), (3, 2));
    /// thread.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EngineError::SessionTaken`] when the session shows another dataset to a viewer;
    /// [`EngineError::Busy`] when there are too many sessions.
    pub async fn open(
        &self,
        session: SessionId,
        dataset: DatasetId,
        settings: LayoutSettings,
    ) -> Result<(), EngineError> {
        self.call(cmd::open::Open { session, dataset, settings }).await
    }

    /// Ends the session; its viewers are told.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn close(&self, session: SessionId) -> Result<(), EngineError> {
        self.call(cmd::close::Close { session }).await
    }

    /// Attaches a viewer. The first one starts the layout; the graph is loaded if it is not.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::Busy`] past the limit of viewers.
    pub async fn attach(&self, target: impl Into<Target>) -> Result<Viewer, EngineError> {
        let presence = self.call(cmd::attach::Attach { target: target.into() }).await?;
        Ok(Viewer::new(presence, self.ctx.clone()))
    }

    /// Changes how the layout runs and answers the new state.
    ///
    /// # Errors
    /// [`EngineError::Setting`] for an impossible knob, [`EngineError::Index`] for a node that does not
    /// exist, [`EngineError::NotLoaded`] for a pin before the graph is there.
    pub async fn control(
        &self,
        target: impl Into<Target>,
        control: Control,
    ) -> Result<Arc<SessionState>, EngineError> {
        self.call(cmd::control::ControlSession { target: target.into(), control }).await
    }

    /// What the session shows and does.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn info(&self, session: SessionId) -> Result<SessionInfo, EngineError> {
        self.call(cmd::info::Info { session }).await
    }

    /// Waits until the graph of the session is there, its load has failed or the session has ended. It asks for nothing to
    /// be loaded, and does not count as a viewer.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn load_ended(&self, session: SessionId) -> Result<(), EngineError> {
        let broadcast = self.call(cmd::follow::Follow { session }).await?;
        loop {
            let changed = broadcast.listen();
            if broadcast.has_ended_loading() {
                return Ok(());
            }
            changed.await;
        }
    }

    /// The hover card of a node: `{title, id, degree, degree_in, degree_out, properties}`.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn node_card(
        &self,
        target: impl Into<Target>,
        index: u32,
    ) -> Result<Value, EngineError> {
        self.call(cmd::cards::NodeCard { target: target.into(), index }).await
    }

    /// What nodes, and edges by their drawn index, are called in the picture, in the order asked; empty for one that is
    /// not there.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn names(
        &self,
        target: impl Into<Target>,
        nodes: Vec<u32>,
        edges: Vec<u32>,
    ) -> Result<[Vec<String>; 2], EngineError> {
        self.call(cmd::cards::Names { target: target.into(), nodes, edges }).await
    }

    /// The hover card of an edge, by its drawn index.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn edge_card(
        &self,
        target: impl Into<Target>,
        drawn: u32,
    ) -> Result<Value, EngineError> {
        self.call(cmd::cards::EdgeCard { target: target.into(), drawn }).await
    }

    /// Nodes whose label or id contains `text`, the best matches first.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn search(
        &self,
        target: impl Into<Target>,
        text: String,
        limit: usize,
    ) -> Result<Vec<SearchHit>, EngineError> {
        self.call(cmd::search::Search { target: target.into(), text, limit }).await
    }

    /// Asks the graph of a dataset, which is loaded first if it is not resident. What is wrong with the
    /// query itself is the inner error.
    ///
    /// # Errors
    /// What loading the graph may answer; [`EngineError::Busy`] when too many queries wait.
    pub async fn query(
        &self,
        dataset: DatasetId,
        request: QueryRequest,
    ) -> Result<Result<QueryResult, QueryError>, EngineError> {
        self.call(cmd::query::QueryGraph { dataset, request }).await
    }

    /// Finds what a collection of a session would hold. What is wrong with the query itself is the inner
    /// error.
    ///
    /// # Errors
    /// As [`Self::query`]; [`EngineError::SessionNotFound`].
    pub async fn evaluate_collection(
        &self,
        target: impl Into<Target>,
        rule: Arc<CollectionRule>,
    ) -> Result<Result<CollectionMembers, QueryError>, EngineError> {
        self.call(cmd::collections::EvaluateCollection { target: target.into(), rule }).await
    }

    /// Gives a session its collections; `members` holds those that [`Self::evaluate_collection`] has just evaluated.
    /// Answers when the picture shows them, or at once while the graph is not there. The command is in
    /// the engine's queue when this returns, before the answer is awaited: a session that is being opened sends it and
    /// goes on, and its next command is then carried out after this one.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::Memory`] when there is none to paint with.
    pub fn set_collections(
        &self,
        target: impl Into<Target>,
        set: Arc<CollectionSet>,
        members: Vec<(String, CollectionMembers)>,
    ) -> impl Future<Output = Result<Arc<CollectionsView>, EngineError>> + Send + 'static {
        self.call(cmd::collections::SetCollections { target: target.into(), set, members })
    }

    /// The edges of `epoch` as pairs of little-endian `u32` source and destination indices in drawn
    /// order. The bytes are shared by all callers: take a range with [`Bytes::slice`].
    ///
    /// # Errors
    /// [`EngineError::Epoch`] when another element set is shown.
    pub async fn edges(&self, target: impl Into<Target>, epoch: u32) -> Result<Bytes, EngineError> {
        self.call(cmd::edges::Edges { target: target.into(), epoch }).await
    }

    /// The groups of the nodes of `epoch` for the view from afar, as one frame. The first call looks for communities,
    /// which may take a minute.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::Cancelled`] when none were found in time.
    pub async fn groups(
        &self,
        target: impl Into<Target>,
        epoch: u32,
    ) -> Result<Bytes, EngineError> {
        self.call(cmd::groups::Groups { target: target.into(), epoch }).await
    }

    /// The third coordinate of the nodes of `epoch` as one frame.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NoDepth`] where no node has one.
    pub async fn depth(&self, target: impl Into<Target>, epoch: u32) -> Result<Bytes, EngineError> {
        self.call(cmd::depth::Depth { target: target.into(), epoch }).await
    }

    /// The present positions as one exact frame of 32-bit floats.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NotLoaded`] before the first positions.
    pub async fn positions(
        &self,
        target: impl Into<Target>,
        epoch: u32,
    ) -> Result<Bytes, EngineError> {
        self.call(cmd::positions::Positions { target: target.into(), epoch }).await
    }

    /// What was subtracted from the coordinates of the data: a position and this is a place of the data.
    ///
    /// # Errors
    /// [`EngineError::NotLoaded`] before the first positions.
    pub async fn origin(&self, target: impl Into<Target>) -> Result<[f64; 2], EngineError> {
        self.call(cmd::origin::Origin { target: target.into() }).await
    }

    /// Starts loading the dataset unless it is resident; tries again at once when it waited for data
    /// or had failed. Answers when the load has been started.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when too many datasets wait for a loader.
    pub async fn preload(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.call(cmd::preload::Preload { dataset }).await
    }

    /// The dataset has other data now: sessions on it load again under a new epoch.
    ///
    /// # Errors
    /// As [`Self::preload`].
    pub async fn changed(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.call(cmd::changed::Changed { dataset }).await
    }

    /// The dataset is gone: its sessions are closed and its memory is given back.
    ///
    /// # Errors
    /// [`EngineError::Busy`], [`EngineError::Stopped`].
    pub async fn forget(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.call(cmd::forget::Forget { dataset }).await
    }

    /// A caller waits for an answer: long queries wait for a while.
    pub fn note_request(&self) {
        self.ctx.foreground.sign();
    }

    /// Stops every layout where it is and answers when all positions have been written: the
    /// process is about to end.
    ///
    /// # Errors
    /// [`EngineError::Busy`], [`EngineError::Stopped`].
    pub async fn suspend(&self) -> Result<(), EngineError> {
        self.call(cmd::suspend::Suspend).await
    }

    /// The engine's health as last seen; never waits. Asks for a fresh canary when the last one is
    /// older than a second.
    #[must_use]
    pub fn health(&self) -> EngineHealth {
        if self.ctx.canary_is_stale() {
            self.tell(cmd::canary::RunCanary);
        }
        self.ctx.health()
    }

    /// The engine's health with a canary result of the last second.
    ///
    /// # Errors
    /// [`EngineError::Stopped`], or what the canary found.
    pub async fn probe(&self) -> Result<EngineHealth, EngineError> {
        if self.ctx.canary_is_stale() {
            self.call(cmd::canary::RunCanary).await?;
        }
        Ok(self.ctx.health())
    }

    /// Why the process has to be replaced, once that is so: its GPU was lost or does not come back from
    /// its work. Everything durable is safe; the program ends the process with status 75.
    pub async fn restart_wanted(&self) -> String {
        self.ctx.restart_wanted().await
    }

    /// Counters; never waits.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        self.ctx.stats(self.commands.depths())
    }
}
