//! Viz sessions: who opened which, on which dataset, and who may join.

mod about;
mod address;
mod address_collections;
mod arranging;
pub(crate) mod changing;
pub(crate) mod checkpoints;
pub(crate) mod collections;
mod control;
mod entries;
mod filtering;
mod list;
mod orders;
mod payers;
mod picture;
mod placing;
mod presence;
mod registry;
mod stored;
mod views;

use std::sync::Arc;

use graphlume_engine::{EngineError, LayoutSettings, Target};
use graphlume_identity::Principal;
use graphlume_identity::authz::{Action, Resource, reads_without_address};
use graphlume_storage::SessionRec;
use graphlume_types::{Caller, Code, Coded, DatasetId, Notice, SessionId, UserId, note};

use crate::context::Context;
use crate::data::DataStore;
use crate::datasets::builtin::{self, DEMO};
use crate::datasets::known_for;
use crate::error::ServiceError;
use collections::{Background, Collections};
use control::ControlKeys;
use payers::Payers;
use presence::Presence;
use registry::{SessionRegistry, memory_of};
use stored::{from_record, keep, record, seen};

pub use about::AboutReply;
pub use changing::{StepRequest, Stepped};
pub use control::{Arrival, PageControl};
pub use filtering::Found;
#[cfg(test)]
pub(crate) use filtering::samples;
pub use picture::{LookAsked, PictureAsked};
pub use placing::NamedLayout;
pub use presence::OpenPage;
pub(crate) use registry::SessionMeta;
pub(crate) use stored::forget_old;

/// The visualizations that are open, and those that were.
pub struct Sessions {
    ctx: Arc<Context>,
    registry: SessionRegistry,
    presence: Arc<Presence>,
    keys: ControlKeys,
    drawing: Arc<picture::Drawing>,
    payers: Payers,
}

/// A session that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The session.
    pub session_id: SessionId,
    /// What it shows.
    pub dataset_id: DatasetId,
}

/// Proof that a viewer may watch a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewerGrant {
    /// The session.
    pub session: SessionId,
    /// What it shows.
    pub dataset: DatasetId,
    /// Whether the caller opened it.
    pub owner: bool,
    /// Who asks: callers take turns.
    pub caller: Caller,
}

impl ViewerGrant {
    /// What to ask the engine for: the session, as long as it shows what the caller may see.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::from((self.session.clone(), self.dataset)).of(self.caller)
    }
}

/// What the address of a page brings along for a session that is new.
#[derive(Default)]
struct Fresh {
    settings: LayoutSettings,
    collections: Collections,
    notices: Vec<Notice>,
}

/// A session that is open for longer than this is written down as seen again.
const SEEN_MICROS: i64 = 24 * 3600 * 1_000_000;
pub(crate) const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;

impl Sessions {
    pub(crate) fn new(ctx: Arc<Context>) -> Self {
        let presence = Presence::new(Arc::clone(&ctx.data.clock));
        let keys = ControlKeys::new(&ctx.identity);
        let payers = Payers::new(ctx.engine.memory_budget());
        let (registry, drawing) = (SessionRegistry::new(), Arc::default());
        Self { ctx, registry, presence, keys, drawing, payers }
    }

    /// Opens a session on a dataset for the page. `dataset` is an id or a built-in name, `session` the
    /// name that the caller chose, if any, `query` every parameter of the page's address: the layout's
    /// settings are among them, and what makes no sense there is passed over.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for a dataset that the caller may not see; a session name that is
    /// impossible, or taken by another account for another dataset.
    pub async fn open(
        &self,
        who: &Principal,
        dataset: &str,
        session: Option<&str>,
        query: &[(String, String)],
    ) -> Result<Opened, ServiceError> {
        let dataset = known_for(&self.ctx.data, who, Action::Read, dataset)?.id();
        let session = match session.filter(|s| !s.is_empty()) {
            None => SessionId::random(),
            Some(text) => parse_session(text)?,
        };
        let pairs = query.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let (settings, mut notices) = LayoutSettings::from_query(pairs);
        for notice in address::notices(query) {
            note(&mut notices, notice);
        }
        let now = self.ctx.data.clock.unix_micros();
        let (records, background, warnings) = address_collections::from_query(query, now);
        for text in warnings {
            note(&mut notices, Notice::new("collection-ignored", text));
        }
        let collections = if records.is_empty() && background == Background::default() {
            Collections::default()
        } else {
            Collections::new(records, background, &Collections::default(), None)
        };
        let opened = self
            .enter(who, session, dataset, Some(Fresh { settings, collections, notices }))
            .await?;
        if let Some(user) = who.session_owner() {
            self.presence.expect(opened.session_id.clone(), user);
        }
        Ok(opened)
    }

    /// [`Sessions::authorize_viewer`] for the page: a session that is new, or showed another dataset before,
    /// takes the settings and collections of the page's address.
    ///
    /// # Errors
    /// As [`Sessions::authorize_viewer`] and [`Sessions::open`].
    pub async fn visit(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
        query: &[(String, String)],
    ) -> Result<(), ServiceError> {
        let asked = dataset.filter(|d| !d.is_empty() && !query.is_empty());
        let id = parse_session(session).map_err(|_| no_session(session))?;
        if let Some(asked) = asked {
            self.ctx.identity.require_in_force(who)?;
            let dataset = known_for(&self.ctx.data, who, Action::Read, asked)?.id();
            if self.meta(&id)?.is_none_or(|v| v.dataset != dataset) {
                self.open(who, asked, Some(session), query).await?;
                return Ok(());
            }
        }
        self.authorize_viewer(who, session, dataset).await.map(|_| ())
    }

    /// A session counts as open until what this gives is dropped.
    #[must_use]
    pub fn page_opened(&self, who: &Principal, session: &SessionId) -> OpenPage {
        self.presence.open(session.clone(), who.session_owner())
    }

    /// Whether the caller may watch a session. With `dataset`, a session that is not known is opened on it.
    /// Without, the session's name must be the server's own, or the caller one who may look at the
    /// dataset without knowing its address: to all others the session is not there.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown session or a dataset that the caller may not see;
    /// [`ServiceError::TokenInvalid`] when the caller was logged out meanwhile.
    pub async fn authorize_viewer(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
    ) -> Result<ViewerGrant, ServiceError> {
        let named = dataset.is_some_and(|d| !d.is_empty());
        self.admit(who, session, dataset, named).await
    }

    /// [`Sessions::authorize_viewer`] for what a page asks for beside its stream: it does not open a live
    /// session again, which would cost such a request a second turn of the engine.
    ///
    /// # Errors
    /// As [`Sessions::authorize_viewer`].
    pub async fn authorize_look(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
    ) -> Result<ViewerGrant, ServiceError> {
        let grant = self.admit(who, session, dataset, false).await?;
        self.note_request();
        Ok(grant)
    }

    /// Whether a viewer whom [`Sessions::authorize_viewer`] let through may still look at what the grant
    /// is for. A session that shows another dataset by now is the engine's to close.
    ///
    /// # Errors
    /// As [`Sessions::authorize_viewer`].
    pub fn recheck_viewer(&self, who: &Principal, grant: &ViewerGrant) -> Result<(), ServiceError> {
        self.ctx.identity.require_in_force(who)?;
        known_for(&self.ctx.data, who, Action::Read, &grant.dataset.to_string()).map(|_| ())
    }

    async fn admit(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
        reopens: bool,
    ) -> Result<ViewerGrant, ServiceError> {
        self.ctx.identity.require_in_force(who)?;
        let id = parse_session(session).map_err(|_| no_session(session))?;
        let known = self.meta(&id)?;
        let dataset = match (dataset.filter(|d| !d.is_empty()), &known) {
            (Some(asked), _) => known_for(&self.ctx.data, who, Action::Read, asked)?.id(),
            (None, Some(v)) => {
                self.find_by_session(who, v)?;
                v.dataset
            }
            (None, None) => return Err(no_session(session)),
        };
        let opened = match known {
            Some(v) if v.live && !reopens && v.dataset == dataset => {
                Opened { session_id: id, dataset_id: dataset }
            }
            _ => self.enter(who, id, dataset, None).await?,
        };
        let owner = self.meta(&opened.session_id)?.and_then(|v| v.owner);
        let owner = owner.is_some() && owner == who.session_owner();
        let caller = who.user().into();
        Ok(ViewerGrant { session: opened.session_id, dataset, owner, caller })
    }

    /// The dataset of a session, for a caller who named the session alone.
    fn find_by_session(&self, who: &Principal, meta: &SessionMeta) -> Result<(), ServiceError> {
        let hidden = || no_session(meta.session.as_str());
        let asked = meta.dataset.to_string();
        let found = known_for(&self.ctx.data, who, Action::Read, &asked).map_err(|_| hidden())?;
        if leads_to(who, meta, found.resource()) { Ok(()) } else { Err(hidden()) }
    }

    /// What of the address with which the session began is not obeyed, for its page and for agents.
    #[must_use]
    pub fn address_notices(&self, session: &SessionId) -> Arc<[Notice]> {
        self.meta(session).ok().flatten().map_or_else(Arc::default, |v| v.notices)
    }

    /// Makes sure that the session is live in the engine, and writes down a new one.
    async fn enter(
        &self,
        who: &Principal,
        session: SessionId,
        dataset: DatasetId,
        fresh: Option<Fresh>,
    ) -> Result<Opened, ServiceError> {
        let known = self.meta(&session)?;
        if let Some(v) = &known
            && v.dataset != dataset
            && v.owner.is_some()
            && v.owner != who.session_owner()
        {
            return Err(ServiceError::Conflict(format!(
                "session {session} belongs to somebody else and shows another dataset; choose another name"
            )));
        }
        let known = known.filter(|v| v.dataset == dataset);
        let now = self.ctx.data.clock.unix_micros();
        let org = || who.active_org().map(str::to_owned);
        let meta = match known.clone() {
            // The account that has it open first is its owner; who comes later watches.
            Some(v) if v.owner.is_none() && !v.claimed => {
                let owner = who.session_owner();
                if owner.is_some() {
                    v.room.owned(self.payers.of(owner));
                }
                SessionMeta { owner, org: org(), live: true, claimed: owner.is_some(), ..v }
            }
            Some(v) => SessionMeta { live: true, ..v },
            None => {
                let fresh = fresh.unwrap_or_default();
                self.new_session(who, (session.clone(), dataset), fresh, now).await?
            }
        };
        let settings = entries::settings_of(&meta);
        self.ctx.engine.open(session.clone(), dataset, settings).await?;
        if meta.collections.layers.revision > 0 {
            // The picture need not wait for its collections. The command is sent here, not by the task: tasks that send
            // could gather and fill the queue at once.
            let layers = Arc::clone(&meta.collections.layers);
            let target = Target::from((session.clone(), dataset)).of(who.user().into());
            tokio::spawn(self.ctx.engine.set_collections(target, layers, vec![]));
        }
        let is_new = known.as_ref().is_none_or(|v| v.owner != meta.owner);
        let is_seen =
            meta.owner == who.session_owner() && now.saturating_sub(meta.seen_at) > SEEN_MICROS;
        let meta = if is_seen { SessionMeta { seen_at: now, ..meta } } else { meta };
        self.remember(meta.clone());
        self.close_forgotten().await;
        if let Some(owner) = meta.owner
            && (is_new || is_seen)
        {
            let write = move |data: &DataStore| {
                if is_new { keep(data, &record(&meta), owner) } else { seen(data, &meta) }
            };
            match self.ctx.blocking(write).await {
                // Looking needs no disk: such a session merely does not outlive the process.
                Err(e) if matches!(e.code(), Code::StorageFull | Code::Unavailable) => {
                    tracing::warn!(error = %e, "a session was not written down");
                }
                done => done?,
            }
        }
        Ok(Opened { session_id: session, dataset_id: dataset })
    }

    /// Remembers a session. The engine is to give up sessions without an owner that were forgotten for it and that no page
    /// has open: [`Self::close_forgotten`].
    fn remember(&self, meta: SessionMeta) {
        let is_of_nobody = meta.owner.is_none();
        let forgotten = self.registry.put(meta, |id| self.presence.is_open(id));
        if is_of_nobody {
            self.registry.leave(forgotten);
        }
    }

    /// Has the engine close the sessions that were forgotten, one at a time. Whoever opens a session waits for those that
    /// it pushed out, so that closing cannot fill the queue; one that the engine is too busy to close waits for the next
    /// who opens one.
    async fn close_forgotten(&self) {
        while let Some(session) = self.registry.next_leaving() {
            if self.presence.is_open(&session) || self.registry.get(&session).is_some() {
                continue;
            }
            let (engine, id) = (self.ctx.engine.clone(), session.clone());
            // In a task of its own, because a client that hangs up drops this future, and the session that was taken off the
            // list would then stay open in the engine.
            let closed = tokio::spawn(async move { engine.close(id).await }).await;
            if let Ok(Err(EngineError::Busy { .. })) = closed {
                return self.registry.leave(vec![session]);
            }
        }
    }

    /// What is known of a session, from this run or an earlier one.
    pub(crate) fn meta(&self, id: &SessionId) -> Result<Option<SessionMeta>, ServiceError> {
        if let Some(meta) = self.registry.get(id) {
            return Ok(Some(meta));
        }
        let store = &self.ctx.data.store;
        let rec = store.get::<SessionRec>(id)?.filter(|r| r.closed_at.is_none());
        let Some(rec) = rec else { return Ok(None) };
        let steps = store.steps_of(id)?;
        let read = || from_record(rec.clone(), steps.clone(), self.payers.of(rec.owner));
        let meta = match read() {
            Err(ServiceError::Unpaid(refused)) => {
                if !self.make_room(rec.owner, refused.need) {
                    drop(self.ctx.engine.memory().reserve(refused.need));
                }
                read()?
            }
            read => read?,
        };
        self.remember(meta.clone());
        Ok(Some(self.registry.get(id).unwrap_or(meta)))
    }

    /// Whether a page has the session open, or had it open a moment ago.
    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.presence.is_open(session)
    }

    /// The same for one account.
    pub(crate) fn is_open_by(&self, session: &SessionId, user: UserId) -> bool {
        self.presence.is_open_by(session, user)
    }

    /// Whether a session of this account ended with its dataset.
    pub(crate) fn was_closed_on(&self, session: &SessionId, user: UserId) -> bool {
        self.registry.was_closed_on(session, user)
    }

    /// The sessions of an account, newest first.
    pub(crate) fn of(&self, user: UserId) -> Vec<SessionMeta> {
        self.registry.of(user)
    }

    /// Notes how much memory a session takes by now; those without an owner have a limit together.
    fn weigh(&self, meta: &SessionMeta) {
        let bytes = memory_of(&meta.collections, &meta.notices, &meta.room);
        let forgotten = self.registry.weigh(&meta.session, bytes, |id| self.presence.is_open(id));
        if meta.owner.is_none() {
            self.registry.leave(forgotten);
        }
    }

    /// Remembers the collections that are written down by now.
    pub(crate) fn show_collections(&self, session: &SessionId, collections: &Arc<Collections>) {
        self.registry.show(session, collections);
    }

    /// Every session of this run.
    #[cfg(test)]
    pub(crate) fn all(&self) -> Vec<SessionMeta> {
        self.registry.all()
    }

    /// Ends what is known of the sessions of a dataset that is gone.
    pub(crate) fn forget_dataset(&self, dataset: DatasetId) {
        self.registry.forget_dataset(dataset);
    }

    /// Forgets the sessions of an account that is gone.
    pub(crate) fn forget_owner(&self, user: UserId) {
        self.registry.forget_owner(user);
    }

    /// Starts loading the large demo dataset and gives its name for the page's address.
    ///
    /// # Errors
    /// An engine that takes no work.
    pub async fn load_demo(&self) -> Result<String, ServiceError> {
        if let Some(demo) = builtin::by_name(DEMO) {
            self.ctx.engine.preload(demo.id()).await?;
        }
        Ok(DEMO.to_owned())
    }
}

/// Whether a session's name is enough for the caller, who may look at `resource`, to learn what it shows.
pub(crate) fn leads_to(who: &Principal, meta: &SessionMeta, resource: Resource<'_>) -> bool {
    meta.session.has_random_form()
        || meta.owner.is_some() && meta.owner == who.session_owner()
        || reads_without_address(who, resource)
}

pub(crate) fn no_session(id: &str) -> ServiceError {
    ServiceError::not_found("session", id)
}

fn parse_session(text: &str) -> Result<SessionId, ServiceError> {
    text.parse()
        .map_err(|e: graphlume_types::IdError| ServiceError::invalid("session", e.to_string()))
}
