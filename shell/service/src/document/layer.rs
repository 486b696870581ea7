//! A document with its past: what was done to it, what may be taken back, and what its filters leave visible.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::ToPage;
use graphlume_types::Caller;
use graphlume_types::limits::{
    DOCUMENT_BYTES_MAX, DOCUMENT_OF_NOBODY_BYTES_MAX, HISTORY_BYTES_MAX, HISTORY_STEPS_MAX,
    OWN_DOCUMENT_BYTES_MAX, OWN_STEPS_MAX, STEPS_TOLD_MAX,
};

use super::history::History;
use super::{ARRANGEMENT, Actor, Arrangements, Change, Document, UndoStep, number_of};
use crate::error::ServiceError;

/// Who changes something, as the others are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    pub(crate) actor: Actor,
    /// The account's name; empty for a page without one.
    pub(crate) name: String,
    /// The organizations of the account. Accounts that share none are not told its name.
    pub(crate) orgs: Arc<[String]>,
}

impl Author {
    /// Whether `other` may be told the name: the account itself, at a page or by an agent, and accounts that share an
    /// organization with it.
    pub(crate) fn is_known_to(&self, other: &Self) -> bool {
        let same = self.actor.account().is_some_and(|a| other.actor.account() == Some(a));
        same || self.orgs.iter().any(|org| other.orgs.contains(org))
    }
}

impl Author {
    /// Whose turn his work takes.
    pub(crate) fn caller(&self) -> Caller {
        match self.actor {
            Actor::User(user) | Actor::Agent(user) => Caller::User(user),
            Actor::KeyHolder | Actor::Viewer => Caller::Nobody,
        }
    }
}

/// How a step comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Do,
    Undo,
    Redo,
}

/// A change that was made.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) revision: u64,
    pub(crate) author: Author,
    pub(crate) label: String,
    pub(crate) changes: Vec<Change>,
}

/// What the filters leave visible.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The element set that the frames are about; none without frames.
    pub(crate) epoch: Option<u32>,
    /// The message with the numbers.
    pub(crate) counts: ToPage<'static>,
    /// Which nodes and edges are visible, as frames.
    pub(crate) frames: Vec<Bytes>,
}

/// A step that was found possible.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) way: Way,
    pub(crate) step: UndoStep,
    /// The document after it.
    pub(crate) document: Document,
}

/// A document with its past.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) document: Arc<Document>,
    /// Another one after every change.
    pub(crate) revision: u64,
    history: History,
    log: VecDeque<Arc<Committed>>,
    log_bytes: usize,
    bytes_max: usize,
    told_max: usize,
    pub(crate) shown: Option<Arc<Shown>>,
    /// Whether what is visible is being found, and whether it has to be found once more after that.
    finding: bool,
    stale: bool,
}

impl Layer {
    /// What all see of a session with or without an owner.
    pub(crate) fn shared(document: Document, is_owned: bool) -> Self {
        let (bytes_max, history_max) = match is_owned {
            true => (DOCUMENT_BYTES_MAX, HISTORY_BYTES_MAX),
            false => (DOCUMENT_OF_NOBODY_BYTES_MAX, DOCUMENT_OF_NOBODY_BYTES_MAX),
        };
        let history = History::new(history_max, HISTORY_STEPS_MAX);
        Self { document: Arc::new(document), ..Self::within(bytes_max, history, STEPS_TOLD_MAX) }
    }

    /// What one page changes for itself alone: there may be a thousand of them.
    pub(crate) fn own() -> Self {
        let history = History::new(OWN_DOCUMENT_BYTES_MAX, OWN_STEPS_MAX);
        Self::within(OWN_DOCUMENT_BYTES_MAX, history, OWN_STEPS_MAX)
    }

    fn within(bytes_max: usize, history: History, told_max: usize) -> Self {
        Self {
            document: Arc::default(),
            revision: 0,
            history,
            log: VecDeque::new(),
            log_bytes: 0,
            bytes_max,
            told_max,
            shown: None,
            finding: false,
            stale: false,
        }
    }

    /// What the document would be after these changes.
    ///
    /// # Errors
    /// When it would be too large.
    pub(crate) fn plan(
        &self,
        actor: Actor,
        label: String,
        join: Option<String>,
        changes: Vec<Change>,
    ) -> Result<Planned, ServiceError> {
        let mut document = self.document.as_ref().clone();
        let back = document.apply(&changes, self.bytes_max)?;
        Ok(Planned {
            way: Way::Do,
            step: UndoStep::new(actor, label, join, changes, back),
            document,
        })
    }

    /// The same for taking the last step of an actor back, or for making it again.
    ///
    /// # Errors
    /// When there is no such step.
    pub(crate) fn plan_way(&self, actor: Actor, way: Way) -> Result<Planned, ServiceError> {
        let (step, slug, what) = match way {
            Way::Undo => (self.history.undoable(actor), "nothing-to-undo", "take back"),
            _ => (self.history.redoable(actor), "nothing-to-redo", "make again"),
        };
        let step = step.ok_or_else(|| ServiceError::Refused {
            slug,
            message: format!(
                "you have no step here to {what}; steps that somebody else has changed since are his"
            ),
        })?;
        let changes = if way == Way::Undo { &step.back } else { &step.changes };
        let mut document = self.document.as_ref().clone();
        let back = document.apply(changes, self.bytes_max)?;
        let verb = if way == Way::Undo { "Undo" } else { "Redo" };
        let label = format!("{verb}: {}", step.label);
        Ok(Planned {
            way,
            step: UndoStep::new(actor, label, None, changes.clone(), back),
            document,
        })
    }

    /// Makes a step that was planned on this very document.
    pub(crate) fn commit(&mut self, planned: Planned, author: Author) -> u64 {
        let Planned { way, step, document } = planned;
        self.document = Arc::new(document);
        self.revision += 1;
        let committed = Committed {
            revision: self.revision,
            label: step.label.clone(),
            changes: step.changes.clone(),
            author,
        };
        self.log_bytes += committed.bytes();
        self.log.push_back(Arc::new(committed));
        while self.log.len() > self.told_max || self.log_bytes > self.bytes_max {
            let Some(oldest) = self.log.pop_front() else { break };
            self.log_bytes = self.log_bytes.saturating_sub(oldest.bytes());
        }
        match way {
            Way::Do => self.history.did(step),
            Way::Undo => self.history.undid(step.actor),
            Way::Redo => self.history.redid(step.actor, step.back),
        }
        self.revision
    }

    /// The changes after `revision`, or nothing when some of them are not kept any more.
    pub(crate) fn since(&self, revision: u64) -> Option<Vec<Arc<Committed>>> {
        let missed = self.revision.checked_sub(revision)?;
        let at = self.log.len().checked_sub(usize::try_from(missed).ok()?)?;
        Some(self.log.iter().skip(at).cloned().collect())
    }

    /// What an actor would take back and make again next.
    pub(crate) fn labels(&self, actor: Actor) -> (Option<&str>, Option<&str>) {
        let (back, again) = (self.history.undoable(actor), self.history.redoable(actor));
        (back.map(|s| s.label.as_str()), again.map(|s| s.label.as_str()))
    }

    /// Forgets the steps that lead to an arrangement of nodes that is not kept any more.
    pub(crate) fn forget_arrangements(&mut self, kept: &Arrangements) {
        self.history.forget(|change| {
            let number = change.value.as_ref().map_or(0, number_of);
            change.path != ARRANGEMENT || kept.get(number).is_some()
        });
    }

    /// An account owns the session by now.
    pub(crate) fn owned(&mut self) {
        self.bytes_max = DOCUMENT_BYTES_MAX;
        self.history.grow(HISTORY_BYTES_MAX);
    }

    /// What is visible has to be found; whether the caller is to do so.
    pub(crate) fn must_find(&mut self) -> bool {
        self.stale = true;
        !std::mem::replace(&mut self.finding, true)
    }

    /// Whoever finds what is visible takes the newest document, until there is none newer.
    pub(crate) fn next_to_find(&mut self) -> Option<(u64, Arc<Document>)> {
        self.finding = std::mem::take(&mut self.stale);
        self.finding.then(|| (self.revision, Arc::clone(&self.document)))
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.document.bytes() + self.history.bytes() + self.log_bytes
    }
}

impl Committed {
    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        self.changes.iter().map(Change::bytes).sum::<usize>() + self.label.len()
    }
}
