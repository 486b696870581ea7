//! The steps of a document that can be taken back. An actor takes back only steps of its own, the newest first; a step is
//! dropped as soon as another actor changes an entry that it had changed, for taking it back would undo the other's work.

use std::collections::{HashSet, VecDeque};

use graphlume_types::UserId;

use super::Change;

/// Who makes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Actor {
    /// An account, at whichever page.
    User(UserId),
    /// Whoever holds the key of a session that no account owns.
    KeyHolder,
    /// An agent of an account.
    Agent(UserId),
    /// A page that changes only what it sees itself.
    Viewer,
}

impl Actor {
    /// The account, where there is one.
    pub(crate) const fn account(self) -> Option<UserId> {
        match self {
            Self::User(user) | Self::Agent(user) => Some(user),
            Self::KeyHolder | Self::Viewer => None,
        }
    }
}

/// What was done, and how to take it back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UndoStep {
    pub(crate) actor: Actor,
    /// A few words, such as `Filter degree > 3`.
    pub(crate) label: String,
    /// Steps of one actor in a row with the same word are one: a drag, a brush.
    pub(crate) join: Option<String>,
    pub(crate) changes: Vec<Change>,
    /// In the order in which they are to be made.
    pub(crate) back: Vec<Change>,
    bytes: usize,
}

impl UndoStep {
    pub(crate) fn new(
        actor: Actor,
        label: String,
        join: Option<String>,
        changes: Vec<Change>,
        back: Vec<Change>,
    ) -> Self {
        let mut step = Self { actor, label, join, changes, back, bytes: 0 };
        step.weigh();
        step
    }

    /// Finds anew how many bytes it takes.
    fn weigh(&mut self) {
        let changes = self.changes.iter().chain(&self.back);
        self.bytes = changes.map(Change::bytes).sum::<usize>() + self.label.len();
    }

    fn touches(&self, paths: &HashSet<&str>) -> bool {
        self.back.iter().any(|c| paths.contains(c.path.as_str()))
    }

    /// Takes the next part of a drag in.
    fn extend(&mut self, next: Self) {
        for change in next.changes {
            match self.changes.iter_mut().find(|c| c.path == change.path) {
                Some(own) => own.value = change.value,
                None => self.changes.push(change),
            }
        }
        for change in next.back {
            // What was there before the first part is what comes back.
            if self.back.iter().all(|c| c.path != change.path) {
                self.back.push(change);
            }
        }
        self.label = next.label;
        self.weigh();
    }
}

/// Steps that can be taken back, and those that were.
#[derive(Debug)]
pub(crate) struct History {
    done: VecDeque<UndoStep>,
    undone: VecDeque<UndoStep>,
    bytes: usize,
    bytes_max: usize,
    steps_max: usize,
}

impl History {
    /// A past of so many bytes and steps at most.
    pub(crate) const fn new(bytes_max: usize, steps_max: usize) -> Self {
        Self { done: VecDeque::new(), undone: VecDeque::new(), bytes: 0, bytes_max, steps_max }
    }

    /// Notes a step that was made.
    pub(crate) fn did(&mut self, step: UndoStep) {
        let paths: HashSet<&str> = step.back.iter().map(|c| c.path.as_str()).collect();
        let actor = step.actor;
        // What others did to the same entries is theirs to take back no more, and what the actor has taken back his to
        // make again.
        self.done.retain(|s| s.actor == actor || !s.touches(&paths));
        self.undone.retain(|s| s.actor != actor && !s.touches(&paths));
        self.bytes = self.done.iter().chain(&self.undone).map(|s| s.bytes).sum();
        let last = self.done.iter_mut().rev().find(|s| s.actor == actor);
        match last.filter(|s| s.join.is_some() && s.join == step.join) {
            Some(last) => {
                let before = last.bytes;
                last.extend(step);
                self.bytes = (self.bytes + last.bytes).saturating_sub(before);
            }
            None => {
                self.bytes += step.bytes;
                self.done.push_back(step);
            }
        }
        self.cut();
    }

    /// The step that `actor` would take back next.
    pub(crate) fn undoable(&self, actor: Actor) -> Option<&UndoStep> {
        self.done.iter().rev().find(|s| s.actor == actor)
    }

    /// The step that `actor` would make again next.
    pub(crate) fn redoable(&self, actor: Actor) -> Option<&UndoStep> {
        self.undone.iter().rev().find(|s| s.actor == actor)
    }

    /// Notes that the step of [`Self::undoable`] was taken back.
    pub(crate) fn undid(&mut self, actor: Actor) {
        move_last(&mut self.done, &mut self.undone, actor);
    }

    /// Notes that the step of [`Self::redoable`] was made again; `back` takes it back.
    pub(crate) fn redid(&mut self, actor: Actor, back: Vec<Change>) {
        move_last(&mut self.undone, &mut self.done, actor);
        if let Some(step) = self.done.back_mut() {
            let before = step.bytes;
            // What comes next is a step of its own.
            (step.back, step.join) = (back, None);
            step.weigh();
            self.bytes = (self.bytes + step.bytes).saturating_sub(before);
        }
    }

    /// Forgets the steps that lead nowhere any more: `leads` says whether what a change leads to is still there.
    pub(crate) fn forget(&mut self, leads: impl Fn(&Change) -> bool) {
        self.done.retain(|s| s.back.iter().all(&leads));
        self.undone.retain(|s| s.changes.iter().all(&leads));
        self.bytes = self.done.iter().chain(&self.undone).map(|s| s.bytes).sum();
    }

    /// It may take so many bytes from now on.
    pub(crate) const fn grow(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// About how many bytes it takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets the oldest past the limits.
    fn cut(&mut self) {
        while self.done.len() + self.undone.len() > self.steps_max || self.bytes > self.bytes_max {
            let oldest = self.done.pop_front().or_else(|| self.undone.pop_front());
            let Some(oldest) = oldest else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
    }
}

/// Moves the last step of an actor from one list to the end of another.
fn move_last(from: &mut VecDeque<UndoStep>, to: &mut VecDeque<UndoStep>, actor: Actor) {
    let at = from.iter().rposition(|s| s.actor == actor);
    if let Some(step) = at.and_then(|at| from.remove(at)) {
        to.push_back(step);
    }
}
