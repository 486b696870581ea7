//! Whose turn it is: accounts take turns, and each has one dataset at work at a time.

use std::collections::VecDeque;

use graphlume_types::{DatasetId, UserId};

/// Datasets that wait for a turn, by account; the account that had one longest ago comes first.
#[derive(Default)]
pub(super) struct AccountTurns {
    waiting: VecDeque<(Option<UserId>, VecDeque<DatasetId>)>,
    /// The accounts that have a turn now.
    running: Vec<Option<UserId>>,
}

impl AccountTurns {
    /// Puts a dataset behind the others of its account, unless it waits already.
    pub(super) fn add(&mut self, owner: Option<UserId>, dataset: DatasetId) {
        match self.waiting.iter_mut().find(|(whose, _)| *whose == owner) {
            Some((_, own)) if own.contains(&dataset) => {}
            Some((_, own)) => own.push_back(dataset),
            None => self.waiting.push_back((owner, VecDeque::from([dataset]))),
        }
    }

    /// A dataset that has had its turn goes on before the others of its account, which goes behind the other accounts.
    pub(super) fn add_again(&mut self, owner: Option<UserId>, dataset: DatasetId) {
        self.remove(dataset);
        let mut own = match self.waiting.iter().position(|(whose, _)| *whose == owner) {
            Some(at) => self.waiting.remove(at).map(|(_, own)| own).unwrap_or_default(),
            None => VecDeque::new(),
        };
        own.push_front(dataset);
        self.waiting.push_back((owner, own));
    }

    /// A dataset waits no longer.
    pub(super) fn remove(&mut self, dataset: DatasetId) {
        for (_, own) in &mut self.waiting {
            own.retain(|id| *id != dataset);
        }
        self.waiting.retain(|(_, own)| !own.is_empty());
    }

    /// The next turn, if there is one beside those that run, of which there are at most `at_once`.
    pub(super) fn next(&mut self, at_once: usize) -> Option<(Option<UserId>, DatasetId)> {
        if self.running.len() >= at_once {
            return None;
        }
        let free = |(whose, _): &(Option<UserId>, _)| !self.running.contains(whose);
        let at = self.waiting.iter().position(free)?;
        let (owner, mut own) = self.waiting.remove(at)?;
        let dataset = own.pop_front()?;
        if !own.is_empty() {
            self.waiting.push_back((owner, own));
        }
        self.running.push(owner);
        Some((owner, dataset))
    }

    /// The turn of an account has ended.
    pub(super) fn done(&mut self, owner: Option<UserId>) {
        if let Some(at) = self.running.iter().position(|whose| *whose == owner) {
            self.running.swap_remove(at);
        }
    }

    /// Datasets that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.iter().map(|(_, own)| own.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> DatasetId {
        DatasetId::from_bytes([n; 16])
    }

    #[test]
    fn accounts_take_turns_and_each_has_one_dataset_at_a_time() {
        let (one, two) = (Some(UserId(1)), Some(UserId(2)));
        let mut turns = AccountTurns::default();
        for n in 1..=3 {
            turns.add(one, id(n));
        }
        turns.add(two, id(4));
        turns.add(one, id(1));
        assert_eq!(turns.len(), 4, "the same twice is one");
        assert_eq!(turns.next(2), Some((one, id(1))));
        assert_eq!(turns.next(2), Some((two, id(4))), "not the second of the same account");
        assert_eq!(turns.next(2), None, "two run");
        turns.done(one);
        assert_eq!(turns.next(1), None, "one runs");
        turns.add_again(one, id(1));
        turns.add(None, id(9));
        assert_eq!(turns.next(2), Some((one, id(1))), "it goes on before its account's others");
        turns.done(one);
        turns.add_again(one, id(1));
        assert_eq!(turns.next(2), Some((None, id(9))), "those of nobody are an account, too");
        turns.done(None);
        turns.remove(id(1));
        assert_eq!(turns.next(2), Some((one, id(2))));
        turns.done(one);
        turns.done(two);
        assert_eq!(turns.next(2), Some((one, id(3))));
        assert_eq!((turns.next(2), turns.len()), (None, 0));
    }
}
