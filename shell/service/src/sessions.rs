//! Viz sessions: who opened which, on which dataset, and who may join.

use std::collections::HashMap;

use graphlume_engine::{LayoutSettings, Target};
use graphlume_storage::{Batch, DatasetRec, Scope, SessionRec};
use graphlume_types::limits::{PAGE_ROWS_MAX, SESSIONS_MAX, SESSIONS_PER_USER_MAX};
use graphlume_types::{Code, Coded, DatasetId, SessionId, UserId};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::authz::{Action, Decision, decides};
use crate::builtin::{self, DEMO};
use crate::datasets::{self, find_for};
use crate::principal::Principal;
use crate::reply::{RevisionDataset, RevisionReply, SessionReply, SessionsReply};
use crate::service::Core;
use crate::{Service, ServiceError};

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
struct Visit {
    session: SessionId,
    dataset: DatasetId,
    owner: Option<UserId>,
    created_at: i64,
    settings: LayoutSettings,
    /// Whether the engine was told of it in this run.
    live: bool,
}

/// Sessions of this run. Those of accounts are in the store, too; an anonymous visit leaves nothing on
/// the disk, and its page opens it again after a restart.
pub(crate) struct Visits(Mutex<HashMap<SessionId, Visit>>);

impl Visits {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn get(&self, id: &SessionId) -> Option<Visit> {
        self.0.lock().get(id).cloned()
    }

    /// Remembers a visit; past the limit the oldest is forgotten.
    fn put(&self, visit: Visit) {
        let mut map = self.0.lock();
        if map.len() >= SESSIONS_MAX && !map.contains_key(&visit.session) {
            let oldest = map.values().min_by_key(|v| v.created_at).map(|v| v.session.clone());
            oldest.and_then(|id| map.remove(&id));
        }
        map.insert(visit.session.clone(), visit);
    }

    pub(crate) fn forget_dataset(&self, dataset: DatasetId) {
        self.0.lock().retain(|_, v| v.dataset != dataset);
    }

    fn all(&self) -> Vec<Visit> {
        self.0.lock().values().cloned().collect()
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
        let dataset = find_for(&self.core, who, Action::Read, dataset)?.id();
        let session = match session.filter(|s| !s.is_empty()) {
            None => SessionId::random(),
            Some(text) => parse_session(text)?,
        };
        let pairs = query.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let (settings, warnings) = LayoutSettings::from_query(pairs);
        if !warnings.is_empty() {
            tracing::debug!(%session, ?warnings, "parameters of a page were passed over");
        }
        self.enter(who, session, dataset, Some(settings)).await
    }

    /// Whether the caller may watch a session, for everything that hangs on the session's id. With
    /// `dataset`, a session that is not known is opened on it.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown session or a dataset that the caller may not see.
    pub async fn authorize_viewer(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
    ) -> Result<Ticket, ServiceError> {
        let id = parse_session(session).map_err(|_| no_session(session))?;
        let known = self.visit(&id)?;
        let dataset = dataset.filter(|d| !d.is_empty());
        let named = dataset.is_some();
        let dataset = match (dataset, &known) {
            (Some(asked), _) => find_for(&self.core, who, Action::Read, asked)?.id(),
            (None, Some(v)) => {
                let asked = v.dataset.to_string();
                let found = find_for(&self.core, who, Action::Read, &asked);
                found.map_err(|_| no_session(session))?;
                v.dataset
            }
            (None, None) => return Err(no_session(session)),
        };
        let opened = match known {
            // What hangs on a live session need not pass through the engine first.
            Some(v) if v.live && !named && v.dataset == dataset => {
                Opened { session_id: id, dataset_id: dataset }
            }
            _ => self.enter(who, id, dataset, None).await?,
        };
        let owner = self.visit(&opened.session_id)?.and_then(|v| v.owner);
        let owner = owner.is_some() && owner == who.user();
        Ok(Ticket { session: opened.session_id, dataset, owner })
    }

    /// Makes sure that the session is live in the engine, and writes down a new one.
    async fn enter(
        &self,
        who: &Principal,
        session: SessionId,
        dataset: DatasetId,
        settings: Option<LayoutSettings>,
    ) -> Result<Opened, ServiceError> {
        let known = self.visit(&session)?;
        if let Some(v) = &known
            && v.dataset != dataset
            && v.owner.is_some()
            && v.owner != who.user()
        {
            return Err(ServiceError::Conflict(format!(
                "session {session} belongs to somebody else and shows another dataset; choose another name"
            )));
        }
        let known = known.filter(|v| v.dataset == dataset);
        let settings = known.as_ref().map(|v| v.settings).or(settings).unwrap_or_default();
        self.engine.open(session.clone(), dataset, settings).await?;
        if let Some(visit) = known {
            self.visits.put(Visit { live: true, ..visit });
            return Ok(Opened { session_id: session, dataset_id: dataset });
        }
        let visit = Visit {
            session: session.clone(),
            dataset,
            owner: who.user(),
            created_at: self.core.clock.unix_micros(),
            settings,
            live: true,
        };
        self.visits.put(visit.clone());
        if let Some(owner) = visit.owner {
            let rec = record(&visit, who.active_org().map(str::to_owned));
            match self.blocking(move |core| keep(core, &rec, owner)).await {
                // Looking needs no disk: such a session merely does not outlive the process.
                Err(e) if matches!(e.code(), Code::StorageFull | Code::Unavailable) => {
                    tracing::warn!(error = %e, "a session was not written down");
                }
                done => done?,
            }
        }
        Ok(Opened { session_id: session, dataset_id: dataset })
    }

    /// What is known of a session, from this run or an earlier one.
    fn visit(&self, id: &SessionId) -> Result<Option<Visit>, ServiceError> {
        if let Some(visit) = self.visits.get(id) {
            return Ok(Some(visit));
        }
        let rec = self.core.store.get::<SessionRec>(id)?;
        let visit = rec.filter(|r| r.closed_at.is_none()).map(from_record);
        if let Some(v) = &visit {
            self.visits.put(v.clone());
        }
        Ok(visit)
    }

    /// The caller's sessions, newest first; `all` shows everybody's to administrators.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] when `all` is asked for by others.
    pub async fn list_sessions(
        &self,
        who: &Principal,
        all: bool,
    ) -> Result<SessionsReply, ServiceError> {
        let user = who.user().ok_or(ServiceError::Unauthenticated)?;
        if all && !who.is_admin() {
            return Err(ServiceError::Forbidden(
                "only staff and superusers may list everybody's sessions; list your own".to_owned(),
            ));
        }
        let scope = if all { Scope::All } else { Scope::Owner(user) };
        let mut live = if all { self.visits.all() } else { Vec::new() };
        self.blocking(move |core| {
            let stored = core.store.list::<SessionRec>(&[scope], 0, PAGE_ROWS_MAX)?;
            let stored = stored.items.into_iter().filter(|r| r.closed_at.is_none());
            let mut visits: HashMap<SessionId, Visit> =
                stored.map(|r| (r.session_id.clone(), from_record(r))).collect();
            visits.extend(live.drain(..).map(|v| (v.session.clone(), v)));
            let mut visits: Vec<Visit> = visits.into_values().collect();
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

    /// One session, for whoever may look at what it shows.
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
        let found = datasets::find(&self.core, &visit.dataset.to_string());
        let resource = found.map_err(|_| no_session(session))?;
        match decides(who, Action::Read, resource.resource()) {
            Decision::Allow => Ok(reply(&visit)),
            _ => Err(no_session(session)),
        }
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

fn no_session(id: &str) -> ServiceError {
    ServiceError::not_found("session", id)
}

fn parse_session(text: &str) -> Result<SessionId, ServiceError> {
    text.parse()
        .map_err(|e: graphlume_types::IdError| ServiceError::invalid("session", e.to_string()))
}

/// Writes a session down; the oldest of the account's make room past the limit.
fn keep(core: &Core, rec: &SessionRec, owner: UserId) -> Result<(), ServiceError> {
    let scope = [Scope::Owner(owner)];
    let kept = SESSIONS_PER_USER_MAX.saturating_sub(1);
    let surplus = core.store.list::<SessionRec>(&scope, kept, PAGE_ROWS_MAX)?;
    let mut batch = Batch::new();
    for old in surplus.items.iter().filter(|s| s.session_id != rec.session_id) {
        batch = batch.delete::<SessionRec>(&old.session_id);
    }
    Ok(core.store.commit(batch.put(rec))?)
}

fn record(visit: &Visit, org_name: Option<String>) -> SessionRec {
    let layout = match serde_json::to_value(visit.settings) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    SessionRec {
        session_id: visit.session.clone(),
        revision_id: revision(visit),
        dataset_id: visit.dataset,
        owner: visit.owner,
        org_name,
        created_at: visit.created_at,
        updated_at: visit.created_at,
        closed_at: None,
        layout,
        url_params: Vec::new(),
        collections: Vec::new(),
    }
}

fn from_record(rec: SessionRec) -> Visit {
    Visit {
        settings: serde_json::from_value(Value::Object(rec.layout)).unwrap_or_default(),
        session: rec.session_id,
        dataset: rec.dataset_id,
        owner: rec.owner,
        created_at: rec.created_at,
        live: false,
    }
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
