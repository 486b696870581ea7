//! Viz sessions: who opened which, on which dataset, and who may join.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use graphlume_engine::{LayoutSettings, Target};
use graphlume_storage::{DatasetRec, Role, Scope, SessionRec};
use graphlume_types::limits::{
    PAGE_ROWS_MAX, SESSIONS_MAX, SESSIONS_OF_NOBODY_BYTES_MAX, SESSIONS_OF_NOBODY_MAX,
};
use graphlume_types::{Code, Coded, DatasetId, Notice, SessionId, UserId, note};
use parking_lot::Mutex;

use crate::address;
use crate::authz::{Action, Resource, reads_without_address};
use crate::body::json_bytes;
use crate::builtin::{self, DEMO};
use crate::collections::{self, Background, Worn};
use crate::datasets::known_for;
use crate::pages::OpenPage;
use crate::principal::Principal;
use crate::reply::{RevisionDataset, RevisionReply, SessionReply, SessionsReply};
use crate::service::Core;
use crate::{Service, ServiceError};

mod stored;

pub(crate) use stored::{forget_old, keep_collections};
use stored::{from_record, keep, record, seen};

/// A session that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The session.
    pub session_id: SessionId,
    /// What it shows.
    pub dataset_id: DatasetId,
}

/// Proof that somebody may watch a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The session.
    pub session: SessionId,
    /// What it shows.
    pub dataset: DatasetId,
    /// Whether the caller opened it.
    pub owner: bool,
}

impl Ticket {
    /// What to ask the engine for: the session, as long as it shows what the caller may see.
    #[must_use]
    pub fn target(&self) -> Target {
        (self.session.clone(), self.dataset).into()
    }
}

/// What is known of a session.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub session: SessionId,
    pub dataset: DatasetId,
    pub owner: Option<UserId>,
    /// Organization of the owner when the session was made.
    org: Option<String>,
    created_at: i64,
    /// When its being open was last written down.
    seen_at: i64,
    settings: LayoutSettings,
    /// What of the page's address is not obeyed.
    notices: Arc<[Notice]>,
    pub worn: Arc<Worn>,
    /// Whether the engine was told of it in this run.
    live: bool,
    /// Whether somebody steers it: its owner, or the page that came first.
    claimed: bool,
    /// About how much memory it takes.
    pub(crate) bytes: usize,
}

/// About how much memory what a page's address brought along takes: parsed, expressions take many times their text.
fn memory_of(worn: &Worn, notices: &[Notice]) -> usize {
    const OF_TEXT: usize = 16;
    let texts = json_bytes(&worn.records).saturating_add(json_bytes(&notices));
    size_of::<Visit>().saturating_add(texts.saturating_mul(OF_TEXT))
}

/// What the address of a page brings along for a session that is new.
#[derive(Default)]
struct Fresh {
    settings: LayoutSettings,
    worn: Worn,
    notices: Vec<Notice>,
}

/// A session that is open for longer than this is written down as seen again.
const SEEN_MICROS: i64 = 24 * 3600 * 1_000_000;
pub(crate) const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;
/// Locks that changes of collections take turns on; two sessions rarely share one.
const TURNS: usize = 64;
/// Sessions that ended with their dataset and whose owners are told so.
const CLOSED_MAX: usize = 1_024;

/// Sessions of this run. Those of accounts are in the store, too; an anonymous visit leaves nothing on
/// the disk, and its page opens it again after a restart.
pub(crate) struct Visits {
    map: Mutex<HashMap<SessionId, Visit>>,
    turns: Vec<Arc<tokio::sync::Mutex<()>>>,
    closed: Mutex<VecDeque<(SessionId, UserId)>>,
}

impl Visits {
    pub(crate) fn new() -> Self {
        let turns = (0..TURNS).map(|_| Arc::default()).collect();
        Self { map: Mutex::default(), turns, closed: Mutex::default() }
    }

    fn get(&self, id: &SessionId) -> Option<Visit> {
        self.map.lock().get(id).cloned()
    }

    /// The lock under which a session's collections change.
    pub(crate) fn turn(&self, id: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        #[allow(clippy::cast_possible_truncation, reason = "any bits will do")]
        let at = hasher.finish() as usize % self.turns.len();
        Arc::clone(&self.turns[at])
    }

    /// Claims a session that nobody steers. Of many who try at once one succeeds.
    pub(crate) fn claim(&self, id: &SessionId, dataset: DatasetId) -> bool {
        let mut map = self.map.lock();
        let visit = map.get_mut(id).filter(|v| v.dataset == dataset && v.owner.is_none());
        visit.is_some_and(|v| !std::mem::replace(&mut v.claimed, true))
    }

    /// A visit with other collections.
    pub(crate) fn rewear(&self, visit: Visit, worn: Arc<Worn>) -> Visit {
        Visit { worn, ..visit }
    }

    /// Remembers what is written down by now.
    pub(crate) fn show(&self, id: &SessionId, worn: &Arc<Worn>) {
        if let Some(visit) = self.map.lock().get_mut(id) {
            visit.worn = Arc::clone(worn);
        }
    }

    /// The sessions of an account, newest first.
    pub(crate) fn of(&self, user: UserId) -> Vec<Visit> {
        let mut own: Vec<Visit> =
            self.map.lock().values().filter(|v| v.owner == Some(user)).cloned().collect();
        own.sort_by(|a, b| (b.created_at, &b.session).cmp(&(a.created_at, &a.session)));
        own
    }

    /// Whether a session of this account ended with its dataset.
    pub(crate) fn was_closed_on(&self, id: &SessionId, user: UserId) -> bool {
        self.closed.lock().iter().any(|(closed, owner)| closed == id && *owner == user)
    }

    /// Remembers a visit. Those of accounts and those of nobody have limits of their own, so that whoever has not
    /// signed in pushes out none of an account; past a limit the oldest is forgotten, one that is open last.
    fn put(&self, visit: Visit, is_open: impl Fn(&SessionId) -> bool) -> Vec<SessionId> {
        let mut map = self.map.lock();
        let (is_owned, id) = (visit.owner.is_some(), visit.session.clone());
        map.insert(id.clone(), visit);
        let (max, bytes_max) = if is_owned {
            (SESSIONS_MAX - SESSIONS_OF_NOBODY_MAX, usize::MAX)
        } else {
            (SESSIONS_OF_NOBODY_MAX, SESSIONS_OF_NOBODY_BYTES_MAX)
        };
        let same = || map.values().filter(|v| v.owner.is_some() == is_owned);
        let (mut count, mut bytes) =
            same().fold((0, 0_usize), |(n, sum), v| (n + 1, sum.saturating_add(v.bytes)));
        if count <= max && bytes <= bytes_max {
            return Vec::new();
        }
        let others = same().filter(|v| v.session != id);
        let mut old: Vec<_> = others
            .map(|v| (is_open(&v.session), v.created_at, v.session.clone(), v.bytes))
            .collect();
        old.sort_unstable();
        let mut gone = Vec::new();
        for (_, _, session, size) in old {
            if count <= max && bytes <= bytes_max {
                break;
            }
            map.remove(&session);
            (count, bytes) = (count - 1, bytes.saturating_sub(size));
            gone.push(session);
        }
        gone
    }

    pub(crate) fn forget_dataset(&self, dataset: DatasetId) {
        let mut closed = self.closed.lock();
        self.map.lock().retain(|_, v| {
            if let Some(owner) = v.owner.filter(|_| v.dataset == dataset) {
                closed.push_back((v.session.clone(), owner));
            }
            v.dataset != dataset
        });
        let surplus = closed.len().saturating_sub(CLOSED_MAX);
        closed.drain(..surplus);
    }

    /// Forgets the sessions of an account that is gone.
    pub(crate) fn forget_owner(&self, user: UserId) {
        self.map.lock().retain(|_, v| v.owner != Some(user));
        self.closed.lock().retain(|(_, owner)| *owner != user);
    }

    pub(crate) fn all(&self) -> Vec<Visit> {
        self.map.lock().values().cloned().collect()
    }
}

impl Service {
    /// Opens a session on a dataset for the page. `dataset` is an id or a built-in name, `session` the
    /// name that the caller chose, if any, `query` every parameter of the page's address: the layout's
    /// settings are among them, and what makes no sense there is passed over.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for a dataset that the caller may not see; a session name that is
    /// impossible, or taken by somebody else for another dataset.
    pub async fn open_session(
        &self,
        who: &Principal,
        dataset: &str,
        session: Option<&str>,
        query: &[(String, String)],
    ) -> Result<Opened, ServiceError> {
        let dataset = known_for(&self.core, who, Action::Read, dataset)?.id();
        let session = match session.filter(|s| !s.is_empty()) {
            None => SessionId::random(),
            Some(text) => parse_session(text)?,
        };
        let pairs = query.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let (settings, mut notices) = LayoutSettings::from_query(pairs);
        for notice in address::notices(query) {
            note(&mut notices, notice);
        }
        let now = self.core.clock.unix_micros();
        let (records, background, warnings) = collections::from_query(query, now);
        for text in warnings {
            note(&mut notices, Notice::new("collection-ignored", text));
        }
        let worn = if records.is_empty() && background == Background::default() {
            Worn::default()
        } else {
            Worn::new(records, background, &Worn::default(), None)
        };
        let opened =
            self.enter(who, session, dataset, Some(Fresh { settings, worn, notices })).await?;
        if let Some(user) = who.session_owner() {
            self.pages.expect(opened.session_id.clone(), user);
        }
        Ok(opened)
    }

    /// [`Service::authorize_viewer`] for the page: a session that is new, or showed another dataset before,
    /// takes the settings and collections of the page's address.
    ///
    /// # Errors
    /// As [`Service::authorize_viewer`] and [`Service::open_session`].
    pub async fn visit_session(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
        query: &[(String, String)],
    ) -> Result<(), ServiceError> {
        let asked = dataset.filter(|d| !d.is_empty() && !query.is_empty());
        let id = parse_session(session).map_err(|_| no_session(session))?;
        if let Some(asked) = asked {
            self.require_in_force(who)?;
            let dataset = known_for(&self.core, who, Action::Read, asked)?.id();
            if self.visit(&id)?.is_none_or(|v| v.dataset != dataset) {
                self.open_session(who, asked, Some(session), query).await?;
                return Ok(());
            }
        }
        self.authorize_viewer(who, session, dataset).await.map(|_| ())
    }

    /// Somebody has a session open until what this gives is dropped.
    #[must_use]
    pub fn page_opened(&self, who: &Principal, session: &SessionId) -> OpenPage {
        self.pages.open(session.clone(), who.session_owner())
    }

    /// Whether the caller may watch a session. With `dataset`, a session that is not known is opened on it.
    /// Without, the session's name must be the server's own, or the caller somebody who may look at the
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
    ) -> Result<Ticket, ServiceError> {
        let named = dataset.is_some_and(|d| !d.is_empty());
        self.admit(who, session, dataset, named).await
    }

    /// [`Service::authorize_viewer`] for what a page asks for beside its stream: it does not open a live
    /// session again, which would cost such a request a second turn of the engine.
    ///
    /// # Errors
    /// As [`Service::authorize_viewer`].
    pub async fn authorize_look(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
    ) -> Result<Ticket, ServiceError> {
        self.admit(who, session, dataset, false).await
    }

    /// Whether somebody whom [`Service::authorize_viewer`] let through may still look at what the ticket
    /// is for. A session that shows another dataset by now is the engine's to close.
    ///
    /// # Errors
    /// As [`Service::authorize_viewer`].
    pub fn recheck_viewer(&self, who: &Principal, ticket: &Ticket) -> Result<(), ServiceError> {
        self.require_in_force(who)?;
        known_for(&self.core, who, Action::Read, &ticket.dataset.to_string()).map(|_| ())
    }

    async fn admit(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
        reopens: bool,
    ) -> Result<Ticket, ServiceError> {
        self.require_in_force(who)?;
        let id = parse_session(session).map_err(|_| no_session(session))?;
        let known = self.visit(&id)?;
        let dataset = match (dataset.filter(|d| !d.is_empty()), &known) {
            (Some(asked), _) => known_for(&self.core, who, Action::Read, asked)?.id(),
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
        let owner = self.visit(&opened.session_id)?.and_then(|v| v.owner);
        let owner = owner.is_some() && owner == who.session_owner();
        Ok(Ticket { session: opened.session_id, dataset, owner })
    }

    /// The dataset of a session, for a caller who named the session alone.
    fn find_by_session(&self, who: &Principal, visit: &Visit) -> Result<(), ServiceError> {
        let hidden = || no_session(visit.session.as_str());
        let asked = visit.dataset.to_string();
        let found = known_for(&self.core, who, Action::Read, &asked).map_err(|_| hidden())?;
        if leads_to(who, visit, found.resource()) { Ok(()) } else { Err(hidden()) }
    }

    /// What of the address with which the session began is not obeyed, for its page and for agents.
    #[must_use]
    pub fn address_notices(&self, session: &SessionId) -> Arc<[Notice]> {
        self.visit(session).ok().flatten().map_or_else(Arc::default, |v| v.notices)
    }

    /// Makes sure that the session is live in the engine, and writes down a new one.
    async fn enter(
        &self,
        who: &Principal,
        session: SessionId,
        dataset: DatasetId,
        fresh: Option<Fresh>,
    ) -> Result<Opened, ServiceError> {
        let known = self.visit(&session)?;
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
        let now = self.core.clock.unix_micros();
        let org = || who.active_org().map(str::to_owned);
        let Fresh { settings, worn, notices } = fresh.unwrap_or_default();
        let visit = match known.clone() {
            // Whoever has it open first is its owner; who comes later watches.
            Some(v) if v.owner.is_none() && !v.claimed => {
                let owner = who.session_owner();
                Visit { owner, org: org(), live: true, claimed: owner.is_some(), ..v }
            }
            Some(v) => Visit { live: true, ..v },
            None => Visit {
                session: session.clone(),
                dataset,
                owner: who.session_owner(),
                org: org(),
                created_at: now,
                seen_at: now,
                settings,
                bytes: memory_of(&worn, &notices),
                notices: notices.into(),
                worn: Arc::new(worn),
                live: true,
                claimed: who.session_owner().is_some(),
            },
        };
        self.engine.open(session.clone(), dataset, visit.settings).await?;
        if visit.worn.layers.revision > 0 {
            // The picture need not wait for its collections.
            let (engine, layers) = (self.engine.clone(), Arc::clone(&visit.worn.layers));
            let target = (session.clone(), dataset);
            tokio::spawn(async move {
                engine.set_collections(target, layers, vec![]).await.map(|_| ())
            });
        }
        let is_new = known.as_ref().is_none_or(|v| v.owner != visit.owner);
        let is_seen =
            visit.owner == who.session_owner() && now.saturating_sub(visit.seen_at) > SEEN_MICROS;
        let visit = if is_seen { Visit { seen_at: now, ..visit } } else { visit };
        self.remember(visit.clone());
        if let Some(owner) = visit.owner
            && (is_new || is_seen)
        {
            let write = move |core: &Core| {
                if is_new { keep(core, &record(&visit), owner) } else { seen(core, &visit) }
            };
            match self.blocking(write).await {
                // Looking needs no disk: such a session merely does not outlive the process.
                Err(e) if matches!(e.code(), Code::StorageFull | Code::Unavailable) => {
                    tracing::warn!(error = %e, "a session was not written down");
                }
                done => done?,
            }
        }
        Ok(Opened { session_id: session, dataset_id: dataset })
    }

    /// Remembers a visit. The engine gives up sessions of nobody that were forgotten for it and that no page has open.
    fn remember(&self, visit: Visit) {
        let is_of_nobody = visit.owner.is_none();
        for session in self.visits.put(visit, |id| self.pages.is_open(id)) {
            if is_of_nobody && !self.pages.is_open(&session) {
                let engine = self.engine.clone();
                tokio::spawn(async move { engine.close(session).await });
            }
        }
    }

    /// What is known of a session, from this run or an earlier one.
    pub(crate) fn visit(&self, id: &SessionId) -> Result<Option<Visit>, ServiceError> {
        if let Some(visit) = self.visits.get(id) {
            return Ok(Some(visit));
        }
        let rec = self.core.store.get::<SessionRec>(id)?;
        let visit = rec.filter(|r| r.closed_at.is_none()).map(from_record);
        if let Some(v) = &visit {
            self.remember(v.clone());
        }
        Ok(visit)
    }

    /// The caller's sessions, newest first; a superuser's list has everybody's.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] when others ask for `all`.
    pub async fn list_sessions(
        &self,
        who: &Principal,
        all: bool,
    ) -> Result<SessionsReply, ServiceError> {
        let user = who.user().ok_or(ServiceError::Unauthenticated)?;
        let is_superuser = who.role() == Some(Role::Superuser);
        if all && !is_superuser {
            return Err(ServiceError::Forbidden(
                "only superusers may list everybody's sessions; list your own".to_owned(),
            ));
        }
        if who.session_owner().is_none() {
            return Ok(SessionsReply { results: Vec::new() });
        }
        let all = is_superuser;
        let (scope, only) = (if all { Scope::All } else { Scope::Owner(user) }, who.scope());
        let mut live = if all { self.visits.all() } else { Vec::new() };
        self.blocking(move |core| {
            let stored = core.store.list::<SessionRec>(&[scope], 0, PAGE_ROWS_MAX)?;
            let stored = stored.items.into_iter().filter(|r| r.closed_at.is_none());
            let mut visits: HashMap<SessionId, Visit> =
                stored.map(|r| (r.session_id.clone(), from_record(r))).collect();
            visits.extend(live.drain(..).map(|v| (v.session.clone(), v)));
            let mut visits: Vec<Visit> = visits.into_values().collect();
            // A guest may have been let in for another dataset earlier.
            visits.retain(|v| only.is_none_or(|only| v.dataset == only));
            visits.sort_by(|a, b| (b.created_at, &b.session).cmp(&(a.created_at, &a.session)));
            let mut results = Vec::new();
            for v in visits {
                if results.len() as u64 >= PAGE_ROWS_MAX {
                    break;
                }
                let there = builtin::by_id(v.dataset).is_some()
                    || core.store.exists::<DatasetRec>(&v.dataset)?;
                if there {
                    results.push(reply(&v));
                }
            }
            Ok(SessionsReply { results })
        })
        .await
    }

    /// One session, for whoever may look at what it shows and did not merely guess its name.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    pub async fn get_session(
        &self,
        who: &Principal,
        session: &str,
    ) -> Result<SessionReply, ServiceError> {
        let id = parse_session(session).map_err(|_| no_session(session))?;
        let visit = self.visit(&id)?.ok_or_else(|| no_session(session))?;
        self.find_by_session(who, &visit)?;
        Ok(reply(&visit))
    }

    /// Starts loading the large demo dataset and gives its name for the page's address.
    ///
    /// # Errors
    /// An engine that takes no work.
    pub async fn load_demo(&self) -> Result<String, ServiceError> {
        if let Some(demo) = builtin::by_name(DEMO) {
            self.engine.preload(demo.id()).await?;
        }
        Ok(DEMO.to_owned())
    }
}

/// Whether a session's name is enough for the caller, who may look at `resource`, to learn what it shows.
pub(crate) fn leads_to(who: &Principal, visit: &Visit, resource: Resource<'_>) -> bool {
    visit.session.has_random_form()
        || visit.owner.is_some() && visit.owner == who.session_owner()
        || reads_without_address(who, resource)
}

fn no_session(id: &str) -> ServiceError {
    ServiceError::not_found("session", id)
}

fn parse_session(text: &str) -> Result<SessionId, ServiceError> {
    text.parse()
        .map_err(|e: graphlume_types::IdError| ServiceError::invalid("session", e.to_string()))
}

/// The first revision of a session: the dataset as it is.
fn revision(visit: &Visit) -> String {
    let name = format!("{}/{}", visit.session, visit.dataset);
    blake3::hash(name.as_bytes()).to_hex().chars().take(32).collect()
}

fn reply(visit: &Visit) -> SessionReply {
    SessionReply {
        session_id: visit.session.to_string(),
        revision: RevisionReply {
            revision_id: revision(visit),
            dataset: RevisionDataset { dataset_id: visit.dataset.to_string() },
        },
    }
}
