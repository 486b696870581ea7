//! Connections of agents. An id says which connection a message belongs to, and nothing about who sends
//! it: every call shows its credential. Connections are cheap, bounded, and forgotten when idle.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_types::address::household;
use graphlume_types::{UserId, id, limits};
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Why a call is not begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The connection is not known, or not any more.
    UnknownSession,
    /// A call with this id, cut to some characters, is in progress.
    IdInUse(String),
    /// As many calls as may be are in progress.
    Busy,
}

/// Whom a connection counts against: its address, of IPv6 its /64, until a call on it shows a credential, then the account.
/// So a flood of strangers pushes out strangers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Peer(IpAddr),
    User(UserId),
}

struct Agent {
    holder: Holder,
    /// When a message came.
    used: Instant,
    /// Calls in progress, by the text of their id.
    calls: Vec<(String, CancellationToken)>,
    /// Ends the event stream.
    stream: CancellationToken,
    /// When the event stream last gave a sign of life.
    streamed: Option<Instant>,
}

/// The connections, and the calls that belong to none.
#[derive(Clone, Default)]
pub(crate) struct Agents(Arc<Mutex<HashMap<String, Agent>>>, Arc<Mutex<HashMap<UserId, usize>>>);

/// A call in progress.
pub(crate) struct Begun {
    agents: Agents,
    of: Of,
    token: CancellationToken,
}

/// What a call counts against.
enum Of {
    /// A connection, and the request's id on it.
    Connection(String, String),
    Account(UserId),
}

impl Begun {
    /// Cancelled when the client withdraws the call.
    pub(crate) fn stopped(&self) -> CancellationToken {
        self.token.clone()
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        match &self.of {
            Of::Connection(session, request) => {
                let mut map = self.agents.0.lock();
                if let Some(agent) = map.get_mut(session) {
                    agent.calls.retain(|(own, _)| own != request);
                }
            }
            Of::Account(user) => {
                let mut counts = self.agents.1.lock();
                if let Some(count) = counts.get_mut(user) {
                    *count = count.saturating_sub(1);
                }
                counts.retain(|_, count| *count > 0);
            }
        }
    }
}

impl Agents {
    /// A new connection; 256 random bits in visible characters.
    pub(crate) fn open(&self, peer: IpAddr) -> String {
        let session = id::hex(&id::random_bytes::<32>());
        let now = Instant::now();
        let holder = Holder::Peer(household(peer));
        let mut map = self.0.lock();
        make_room(&mut map, holder, now);
        let stream = CancellationToken::new();
        let agent = Agent { holder, used: now, calls: Vec::new(), stream, streamed: None };
        map.insert(session.clone(), agent);
        session
    }

    /// Whether the connection is known; it counts as used now.
    pub(crate) fn touch(&self, session: &str) -> bool {
        self.touch_at(session, Instant::now())
    }

    /// Whether an event stream may stay. It keeps a connection that is silent for longer than one
    /// without, and not for ever; and it does not count as a use.
    pub(crate) fn may_stream(&self, session: &str) -> bool {
        self.may_stream_at(session, Instant::now())
    }

    fn may_stream_at(&self, session: &str, now: Instant) -> bool {
        let mut map = self.0.lock();
        let Some(agent) = map.get_mut(session) else { return false };
        if is_idle(agent, now) {
            remove(&mut map, session);
            return false;
        }
        agent.streamed = Some(now);
        true
    }

    fn touch_at(&self, session: &str, now: Instant) -> bool {
        let mut map = self.0.lock();
        let Some(agent) = map.get_mut(session) else { return false };
        if is_idle(agent, now) {
            remove(&mut map, session);
            return false;
        }
        agent.used = now;
        true
    }

    /// A call of this account came over the connection.
    pub(crate) fn prove(&self, session: &str, user: UserId) {
        let holder = Holder::User(user);
        let mut map = self.0.lock();
        if map.get(session).is_none_or(|a| a.holder == holder) {
            return;
        }
        limit_holder(&mut map, holder);
        if let Some(agent) = map.get_mut(session) {
            agent.holder = holder;
        }
    }

    /// Ends a connection, its event stream and its calls.
    pub(crate) fn close(&self, session: &str) {
        remove(&mut self.0.lock(), session);
    }

    /// The end of the connection's event stream; an earlier stream ends now.
    pub(crate) fn stream(&self, session: &str) -> Option<CancellationToken> {
        let mut map = self.0.lock();
        let agent = map.get_mut(session)?;
        std::mem::take(&mut agent.stream).cancel();
        Some(agent.stream.clone())
    }

    /// Notes a call, unless too many are in progress or one of this id is.
    pub(crate) fn begin(&self, session: &str, request: &Value) -> Result<Begun, NotBegun> {
        let (request, token) = (request.to_string(), CancellationToken::new());
        let mut map = self.0.lock();
        let agent = map.get_mut(session).ok_or(NotBegun::UnknownSession)?;
        if agent.calls.iter().any(|(own, _)| *own == request) {
            return Err(NotBegun::IdInUse(request.chars().take(40).collect()));
        }
        if agent.calls.len() >= limits::TOOL_CALLS_PER_AGENT_MAX {
            return Err(NotBegun::Busy);
        }
        agent.calls.push((request.clone(), token.clone()));
        let of = Of::Connection(session.to_owned(), request);
        Ok(Begun { agents: self.clone(), of, token })
    }

    /// Notes a call that belongs to no connection, unless its account has too many in progress.
    pub(crate) fn begin_alone(&self, user: UserId) -> Result<Begun, NotBegun> {
        let mut counts = self.1.lock();
        let count = counts.entry(user).or_default();
        if *count >= limits::TOOL_CALLS_PER_AGENT_MAX {
            return Err(NotBegun::Busy);
        }
        *count += 1;
        let of = Of::Account(user);
        Ok(Begun { agents: self.clone(), of, token: CancellationToken::new() })
    }

    /// Withdraws a call.
    pub(crate) fn cancel(&self, session: &str, request: &Value) {
        let request = request.to_string();
        if let Some(agent) = self.0.lock().get(session) {
            let calls = agent.calls.iter().filter(|(own, _)| *own == request);
            calls.for_each(|(_, token)| token.cancel());
        }
    }
}

fn is_idle(agent: &Agent, now: Instant) -> bool {
    let since = |at: Instant| now.saturating_duration_since(at);
    let beat = Duration::from_secs(2 * limits::EVENT_STREAM_BEAT_SECS);
    let most = if agent.streamed.is_some_and(|at| since(at) <= beat) {
        Duration::from_secs(limits::AGENT_STREAM_SECS_MAX)
    } else {
        Duration::from_secs(limits::AGENT_IDLE_SECS_MAX)
    };
    agent.calls.is_empty() && since(agent.used) >= most
}

fn remove(map: &mut HashMap<String, Agent>, session: &str) {
    if let Some(agent) = map.remove(session) {
        agent.stream.cancel();
        agent.calls.iter().for_each(|(_, token)| token.cancel());
    }
}

/// The least recently used connection of those that `of` takes.
fn oldest(map: &HashMap<String, Agent>, of: impl Fn(&Agent) -> bool) -> Option<String> {
    map.iter().filter(|(_, a)| of(a)).min_by_key(|(_, a)| a.used).map(|(id, _)| id.clone())
}

fn limit_holder(map: &mut HashMap<String, Agent>, holder: Holder) {
    let own = |a: &Agent| a.holder == holder;
    if map.values().filter(|a| own(a)).count() >= limits::AGENTS_PER_HOLDER_MAX
        && let Some(session) = oldest(map, own)
    {
        remove(map, &session);
    }
}

/// Place for one more of this holder.
fn make_room(map: &mut HashMap<String, Agent>, holder: Holder, now: Instant) {
    limit_holder(map, holder);
    if map.len() < limits::AGENTS_MAX {
        return;
    }
    let idle: Vec<String> =
        map.iter().filter(|(_, a)| is_idle(a, now)).map(|(id, _)| id.clone()).collect();
    idle.iter().for_each(|session| remove(map, session));
    if map.len() >= limits::AGENTS_MAX {
        let stranger = oldest(map, |a| matches!(a.holder, Holder::Peer(_)));
        if let Some(session) = stranger.or_else(|| oldest(map, |_| true)) {
            remove(map, &session);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn peer(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    #[test]
    fn a_network_of_ipv6_has_the_connections_of_one_address() {
        let agents = Agents::default();
        let of = |n: u32| format!("2001:db8:1:2::{n:x}").parse::<IpAddr>().unwrap();
        let first = agents.open(of(1));
        let elsewhere = agents.open("2001:db8:1:3::1".parse().unwrap());
        let most = u32::try_from(limits::AGENTS_PER_HOLDER_MAX).unwrap();
        for n in 2..=most {
            agents.open(of(n));
        }
        assert!(agents.touch(&first));
        let second = agents.open(of(most + 1));
        assert!(agents.touch(&second) && agents.touch(&elsewhere));
        assert_eq!(agents.0.lock().len(), limits::AGENTS_PER_HOLDER_MAX + 1, "one made room");
    }

    #[test]
    fn ids_are_long_visible_and_never_repeat() {
        let agents = Agents::default();
        let ids: std::collections::HashSet<String> =
            (0..500).map(|n| agents.open(peer(n))).collect();
        assert_eq!(ids.len(), 500);
        assert!(ids.iter().all(|id| id.len() == 64 && id.bytes().all(|b| b.is_ascii_graphic())));
        for guess in ["", "0", &"0".repeat(64)] {
            assert!(!agents.touch(guess));
        }
    }

    #[test]
    fn a_stranger_keeps_thirty_two_and_pushes_out_only_its_own() {
        let agents = Agents::default();
        let proven = agents.open(peer(1));
        agents.prove(&proven, UserId(7));
        let other = agents.open(peer(2));
        let first = agents.open(peer(1));
        for n in 2..=32 {
            agents.open(peer(1));
            assert!(agents.touch(&first), "{n} are allowed");
        }
        // Used just now, so the second one is the oldest.
        agents.open(peer(1));
        assert!(agents.touch(&first), "the least recently used went");
        assert_eq!(agents.0.lock().len(), 34);
        for _ in 0..40 {
            agents.open(peer(1));
        }
        assert!(!agents.touch(&first));
        assert!(agents.touch(&proven) && agents.touch(&other));
        assert_eq!(agents.0.lock().len(), 34);
    }

    #[test]
    fn the_whole_is_bounded_and_strangers_go_first() {
        let agents = Agents::default();
        let proven = agents.open(peer(1_000_000));
        agents.prove(&proven, UserId(7));
        for n in 0..5_000 {
            agents.open(peer(n));
            assert!(agents.0.lock().len() <= limits::AGENTS_MAX);
        }
        assert_eq!(agents.0.lock().len(), limits::AGENTS_MAX);
        assert!(agents.touch(&proven));
    }

    #[test]
    fn an_idle_connection_is_forgotten_after_half_an_hour() {
        let agents = Agents::default();
        let session = agents.open(peer(1));
        let (now, most) = (Instant::now(), Duration::from_secs(limits::AGENT_IDLE_SECS_MAX));
        assert!(agents.touch_at(&session, now));
        assert!(agents.touch_at(&session, now + most - Duration::from_millis(1)));
        let begun = agents.begin(&session, &json!(1)).unwrap();
        assert!(agents.touch_at(&session, now + most * 3), "a call is in progress");
        drop(begun);
        assert!(!agents.touch_at(&session, now + most * 4));
        assert!(!agents.touch(&session), "and stays forgotten");
    }

    #[test]
    fn calls_are_bounded_and_can_be_withdrawn_alone() {
        let agents = Agents::default();
        let session = agents.open(peer(1));
        let mut calls: Vec<Begun> = (0..limits::TOOL_CALLS_PER_AGENT_MAX)
            .map(|n| agents.begin(&session, &json!(n)).unwrap())
            .collect();
        let refused = agents.begin(&session, &json!("one more")).err().unwrap();
        assert_eq!(refused, NotBegun::Busy);
        let refused = agents.begin(&session, &json!(3)).err().unwrap();
        assert_eq!(refused, NotBegun::IdInUse("3".to_owned()));
        agents.cancel(&session, &json!(3));
        agents.cancel(&session, &json!("3"));
        let stopped: Vec<bool> = calls.iter().map(|c| c.stopped().is_cancelled()).collect();
        assert_eq!(stopped.iter().filter(|s| **s).count(), 1);
        assert!(stopped[3]);
        calls.pop();
        assert!(agents.begin(&session, &json!("one more")).is_ok());
        let stream = agents.stream(&session).unwrap();
        let second = agents.stream(&session).unwrap();
        assert!(stream.is_cancelled() && !second.is_cancelled());
        agents.close(&session);
        assert!(second.is_cancelled() && calls.iter().all(|c| c.stopped().is_cancelled()));
        assert!(agents.begin(&session, &json!(1)).is_err() && !agents.touch(&session));
    }

    #[test]
    fn an_event_stream_keeps_a_silent_connection_for_hours_and_not_for_ever() {
        let agents = Agents::default();
        let session = agents.open(peer(1));
        let now = Instant::now();
        let beat = Duration::from_secs(limits::EVENT_STREAM_BEAT_SECS);
        let most = Duration::from_secs(limits::AGENT_STREAM_SECS_MAX);
        let mut at = now;
        while at + beat < now + most {
            assert!(agents.may_stream_at(&session, at), "{:?}", at - now);
            at += beat;
        }
        assert!(!agents.may_stream_at(&session, now + most));
        assert!(!agents.touch(&session));
        let other = agents.open(peer(1));
        let now = Instant::now();
        assert!(agents.may_stream_at(&other, now));
        let idle = Duration::from_secs(limits::AGENT_IDLE_SECS_MAX);
        assert!(!agents.touch_at(&other, now + idle + beat * 3), "its stream ended");
    }

    #[test]
    fn calls_without_a_connection_are_bounded_by_account() {
        let agents = Agents::default();
        let mut calls: Vec<Begun> = (0..limits::TOOL_CALLS_PER_AGENT_MAX)
            .map(|_| agents.begin_alone(UserId(1)).unwrap())
            .collect();
        assert_eq!(agents.begin_alone(UserId(1)).err().unwrap(), NotBegun::Busy);
        assert!(agents.begin_alone(UserId(2)).is_ok());
        calls.pop();
        assert!(agents.begin_alone(UserId(1)).is_ok());
        drop(calls);
        assert!(agents.1.lock().is_empty());
    }
}
