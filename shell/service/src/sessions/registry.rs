//! The sessions that are known to this run.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use graphlume_engine::LayoutSettings;
use graphlume_types::limits::{SESSIONS_MAX, SESSIONS_OF_NOBODY_BYTES_MAX, SESSIONS_OF_NOBODY_MAX};
use graphlume_types::{DatasetId, Notice, SessionId, UserId};
use parking_lot::Mutex;

use super::collections::Collections;
use crate::document::Room;
use crate::free_fields::json_bytes;

/// What is known of a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionMeta {
    pub(crate) session: SessionId,
    pub(crate) dataset: DatasetId,
    pub(crate) owner: Option<UserId>,
    /// Organization of the owner when the session was made.
    pub(super) org: Option<String>,
    pub(super) created_at: i64,
    /// When its being open was last written down.
    pub(super) seen_at: i64,
    pub(super) settings: LayoutSettings,
    /// What of the page's address is not obeyed.
    pub(super) notices: Arc<[Notice]>,
    pub(crate) collections: Arc<Collections>,
    /// The document, and who looks at it.
    pub(crate) room: Arc<Room>,
    /// Whether the engine was told of it in this run.
    pub(super) live: bool,
    /// Whether it is controlled: its owner, or the page that came first.
    pub(super) claimed: bool,
    /// About how much memory it takes.
    pub(crate) bytes: usize,
}

/// About how much memory what a page's address brought along takes, and what its room holds: parsed, expressions take many
/// times their text.
pub(super) fn memory_of(collections: &Collections, notices: &[Notice], room: &Room) -> usize {
    const OF_TEXT: usize = 16;
    let texts = json_bytes(&collections.records).saturating_add(json_bytes(&notices));
    // Entries of the room are texts.
    size_of::<SessionMeta>().saturating_add(texts.saturating_mul(OF_TEXT)) + room.bytes()
}

/// Sessions that ended with their dataset and whose owners are told so.
const CLOSED_MAX: usize = 1_024;

/// Sessions of this run. Those of accounts are in the store, too; an anonymous visit leaves nothing on
/// the disk, and its page opens it again after a restart.
pub(crate) struct SessionRegistry {
    map: Mutex<HashMap<SessionId, SessionMeta>>,
    closed: Mutex<VecDeque<(SessionId, UserId)>>,
    /// Sessions that were forgotten and that the engine still holds.
    leaving: Mutex<VecDeque<SessionId>>,
}

impl SessionRegistry {
    pub(crate) fn new() -> Self {
        Self { map: Mutex::default(), closed: Mutex::default(), leaving: Mutex::default() }
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<SessionMeta> {
        self.map.lock().get(id).cloned()
    }

    /// Claims a session that is not controlled. Of many who try at once one succeeds.
    pub(crate) fn claim(&self, id: &SessionId, dataset: DatasetId) -> bool {
        let mut map = self.map.lock();
        let meta = map.get_mut(id).filter(|v| v.dataset == dataset && v.owner.is_none());
        meta.is_some_and(|v| !std::mem::replace(&mut v.claimed, true))
    }

    /// Remembers what is written down by now.
    pub(crate) fn show(&self, id: &SessionId, collections: &Arc<Collections>) {
        if let Some(meta) = self.map.lock().get_mut(id) {
            meta.collections = Arc::clone(collections);
        }
    }

    /// The sessions of an account, newest first.
    pub(crate) fn of(&self, user: UserId) -> Vec<SessionMeta> {
        let mut own: Vec<SessionMeta> =
            self.map.lock().values().filter(|v| v.owner == Some(user)).cloned().collect();
        own.sort_by(|a, b| (b.created_at, &b.session).cmp(&(a.created_at, &a.session)));
        own
    }

    /// Whether a session of this account ended with its dataset.
    pub(crate) fn was_closed_on(&self, id: &SessionId, user: UserId) -> bool {
        self.closed.lock().iter().any(|(closed, owner)| closed == id && *owner == user)
    }

    /// Remembers a session. Those of accounts and those without an owner have limits of their own, so that a client that has not
    /// signed in pushes out none of an account; past a limit the oldest is forgotten, one that is open last.
    pub(super) fn put(
        &self,
        meta: SessionMeta,
        is_open: impl Fn(&SessionId) -> bool,
    ) -> Vec<SessionId> {
        let mut map = self.map.lock();
        let (is_owned, id) = (meta.owner.is_some(), meta.session.clone());
        // Of two who read the same record at once, both are to sit in one room.
        let known = map.get(&id).filter(|v| v.dataset == meta.dataset);
        let room = known.map_or_else(|| Arc::clone(&meta.room), |v| Arc::clone(&v.room));
        map.insert(id.clone(), SessionMeta { room, ..meta });
        cut(&mut map, is_owned, &id, is_open)
    }

    /// Notes how much memory a session takes by now, and forgets others as [`Self::put`] does.
    pub(super) fn weigh(
        &self,
        id: &SessionId,
        bytes: usize,
        is_open: impl Fn(&SessionId) -> bool,
    ) -> Vec<SessionId> {
        let mut map = self.map.lock();
        let Some(meta) = map.get_mut(id) else { return Vec::new() };
        meta.bytes = bytes;
        let is_owned = meta.owner.is_some();
        cut(&mut map, is_owned, id, is_open)
    }

    /// Forgets sessions of `owner` that no page has open and no request works with, the oldest first, until `fits`. Those of
    /// accounts are read again from their records.
    pub(super) fn put_out(
        &self,
        owner: Option<UserId>,
        is_open: impl Fn(&SessionId) -> bool,
        fits: impl Fn() -> bool,
    ) -> Vec<SessionId> {
        let mut map = self.map.lock();
        let idle = |v: &&SessionMeta| {
            // A request that works with a room has it from here.
            v.owner == owner && Arc::strong_count(&v.room) == 1 && !is_open(&v.session)
        };
        let mut old: Vec<_> =
            map.values().filter(idle).map(|v| (v.created_at, v.session.clone())).collect();
        old.sort_unstable();
        let mut gone = Vec::new();
        for (_, session) in old {
            if fits() {
                break;
            }
            map.remove(&session);
            gone.push(session);
        }
        gone
    }

    /// The owners of sessions in memory.
    pub(super) fn owners(&self) -> BTreeSet<Option<UserId>> {
        self.map.lock().values().map(|v| v.owner).collect()
    }

    /// Notes sessions that the engine is to close.
    pub(super) fn leave(&self, sessions: Vec<SessionId>) {
        self.leaving.lock().extend(sessions);
    }

    /// Takes the next of them.
    pub(super) fn next_leaving(&self) -> Option<SessionId> {
        self.leaving.lock().pop_front()
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

    pub(crate) fn all(&self) -> Vec<SessionMeta> {
        self.map.lock().values().cloned().collect()
    }
}

/// Forgets the oldest sessions of one kind past its limits; those that are open last, and `id` never.
fn cut(
    map: &mut HashMap<SessionId, SessionMeta>,
    is_owned: bool,
    id: &SessionId,
    is_open: impl Fn(&SessionId) -> bool,
) -> Vec<SessionId> {
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
    let others = same().filter(|v| v.session != *id);
    let mut old: Vec<_> =
        others.map(|v| (is_open(&v.session), v.created_at, v.session.clone(), v.bytes)).collect();
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
