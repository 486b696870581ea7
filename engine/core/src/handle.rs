//! The only thing that others hold of the engine.

mod facets;
mod jobs;
mod picture;

use std::future::Future;
use std::sync::Arc;

use graphlume_expr::QueryError;
use graphlume_types::{Budget, DatasetId, MemoryConsumer, SessionId};

use crate::caller::{Caller, SessionReads};
use crate::cmd;
use crate::cmd::info::SessionInfo;
use crate::cmd::query::{QueryRequest, QueryResult};
use crate::command_queue::CommandSender;
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::health::EngineHealth;
use crate::layout_settings::LayoutSettings;
use crate::messages::SessionState;
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
    pub(crate) caller: Caller,
    memory: QueryMemory,
}

impl std::fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

impl EngineHandle {
    pub(crate) const fn new(
        commands: CommandSender,
        ctx: Arc<EngineContext>,
        memory: QueryMemory,
    ) -> Self {
        Self { caller: Caller { commands, ctx }, memory }
    }

    /// Whether anything of the engine is still there: its last threads end in their own time.
    #[cfg(test)]
    pub(crate) fn remains(&self) -> std::sync::Weak<EngineContext> {
        Arc::downgrade(&self.caller.ctx)
    }

    /// Bytes that one query may take of the memory.
    #[must_use]
    pub fn query_memory_max(&self) -> u64 {
        self.caller.ctx.query_memory_max()
    }

    /// The memory of `--memory`, for what others hold in it.
    #[must_use]
    pub fn memory_budget(&self) -> Budget {
        self.caller.ctx.budget.clone()
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
        self.caller.ctx.config.job_time
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
        self.caller.call(cmd::open::Open { session, dataset, settings }).await
    }

    /// Ends the session; its viewers are told.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn close(&self, session: SessionId) -> Result<(), EngineError> {
        self.caller.call(cmd::close::Close { session }).await
    }

    /// Attaches a viewer. The first one starts the layout; the graph is loaded if it is not.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::Busy`] past the limit of viewers.
    pub async fn attach(&self, target: impl Into<Target>) -> Result<Viewer, EngineError> {
        let presence = self.caller.call(cmd::attach::Attach { target: target.into() }).await?;
        Ok(Viewer::new(presence, self.caller.ctx.clone()))
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
        self.caller.call(cmd::control::ControlSession { target: target.into(), control }).await
    }

    /// What may be read of a session and its graph.
    #[must_use]
    pub fn reads(&self, target: impl Into<Target>) -> SessionReads {
        SessionReads { caller: self.caller.clone(), target: target.into() }
    }

    /// What the session shows and does.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn info(&self, session: SessionId) -> Result<SessionInfo, EngineError> {
        self.caller.call(cmd::info::Info { session }).await
    }

    /// Waits until the graph of the session is there, its load has failed or the session has ended. It asks for nothing to
    /// be loaded, and does not count as a viewer.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub async fn load_ended(&self, session: SessionId) -> Result<(), EngineError> {
        let broadcast = self.caller.call(cmd::follow::Follow { session }).await?;
        loop {
            let changed = broadcast.listen();
            if broadcast.has_ended_loading() {
                return Ok(());
            }
            changed.await;
        }
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
        self.caller.call(cmd::query::QueryGraph { dataset, request }).await
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
        self.caller.call(cmd::collections::EvaluateCollection { target: target.into(), rule }).await
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
        self.caller.call(cmd::collections::SetCollections { target: target.into(), set, members })
    }

    /// What was subtracted from the coordinates of the data: a position and this is a place of the data.
    ///
    /// # Errors
    /// [`EngineError::NotLoaded`] before the first positions.
    pub async fn origin(&self, target: impl Into<Target>) -> Result<[f64; 2], EngineError> {
        self.caller.call(cmd::origin::Origin { target: target.into() }).await
    }

    /// Starts loading the dataset unless it is resident; tries again at once when it waited for data
    /// or had failed. Answers when the load has been started.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when too many datasets wait for a loader.
    pub async fn preload(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.caller.call(cmd::preload::Preload { dataset }).await
    }

    /// The dataset has other data now: sessions on it load again under a new epoch.
    ///
    /// # Errors
    /// As [`Self::preload`].
    pub async fn changed(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.caller.call(cmd::changed::Changed { dataset }).await
    }

    /// The dataset is gone: its sessions are closed and its memory is given back.
    ///
    /// # Errors
    /// [`EngineError::Busy`], [`EngineError::Stopped`].
    pub async fn forget(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.caller.call(cmd::forget::Forget { dataset }).await
    }

    /// A caller waits for an answer: long queries wait for a while.
    pub fn note_request(&self) {
        self.caller.ctx.foreground.sign();
    }

    /// Stops every layout where it is and answers when all positions have been written: the
    /// process is about to end.
    ///
    /// # Errors
    /// [`EngineError::Busy`], [`EngineError::Stopped`].
    pub async fn suspend(&self) -> Result<(), EngineError> {
        self.caller.call(cmd::suspend::Suspend).await
    }

    /// The engine's health as last seen; never waits. Asks for a fresh canary when the last one is
    /// older than a second.
    #[must_use]
    pub fn health(&self) -> EngineHealth {
        if self.caller.ctx.canary_is_stale() {
            self.caller.tell(cmd::canary::RunCanary);
        }
        self.caller.ctx.health()
    }

    /// The engine's health with a canary result of the last second.
    ///
    /// # Errors
    /// [`EngineError::Stopped`], or what the canary found.
    pub async fn probe(&self) -> Result<EngineHealth, EngineError> {
        if self.caller.ctx.canary_is_stale() {
            self.caller.call(cmd::canary::RunCanary).await?;
        }
        Ok(self.caller.ctx.health())
    }

    /// Why the process has to be replaced, once that is so: its GPU was lost or does not come back from
    /// its work. Everything durable is safe; the program ends the process with status 75.
    pub async fn restart_wanted(&self) -> String {
        self.caller.ctx.restart_wanted().await
    }

    /// Counters; never waits.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        self.caller.ctx.stats(self.caller.commands.depths())
    }
}
