//! Positions of the nodes before each of the last layouts, so that a layout is a step that can be taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphlume_engine::Placement;
use graphlume_types::limits::ARRANGEMENTS_KEPT_MAX;
use serde_json::json;

use super::{Change, Document, Held, Paid, Payer};
use crate::error::ServiceError;

/// The entry that names the arrangement that is shown. It follows layouts, lives as long as the server, and is not written
/// down: its arrangements are not either.
pub(crate) const ARRANGEMENT: &str = "arrangement";

/// The number of the arrangement that a document shows; 0 before the first layout.
pub(crate) fn number_in(document: &Document) -> u64 {
    document.get(ARRANGEMENT).map_or(0, number_of)
}

/// The number that an entry names.
pub(crate) fn number_of(entry: &Held) -> u64 {
    entry.value()["number"].as_u64().unwrap_or(0)
}

/// The change to an arrangement that a layout of this name makes.
///
/// # Errors
/// The payer has too little.
pub(crate) fn change_to(number: u64, by: &str, payer: &Payer) -> Result<Change, ServiceError> {
    let text = graphlume_storage::JsonText::of(&json!({"number": number, "by": by}));
    let text = text.map_err(|e| ServiceError::Internal(format!("{ARRANGEMENT}: {e}")))?;
    Ok(Change::new(ARRANGEMENT, Some(Held::new(text, None, 0, payer)?)))
}

/// The arrangements of a session by their numbers, each paid for.
#[derive(Debug, Default)]
pub(crate) struct Arrangements(BTreeMap<u64, (Arc<Placement>, Paid)>);

impl Arrangements {
    pub(crate) fn get(&self, number: u64) -> Option<Arc<Placement>> {
        self.0.get(&number).map(|(placement, _)| Arc::clone(placement))
    }

    /// Keeps an arrangement. What does not stay beside it is the oldest.
    pub(crate) fn keep(&mut self, number: u64, placement: Placement, paid: Paid) {
        self.0.insert(number, (Arc::new(placement), paid));
        while self.0.len() > ARRANGEMENTS_KEPT_MAX {
            self.0.pop_first();
        }
    }

    /// Drops the oldest; false when there is none.
    pub(crate) fn drop_oldest(&mut self) -> bool {
        self.0.pop_first().is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_arrangements_stay() {
        let mut kept = Arrangements::default();
        let placement =
            || Placement { epoch: 1, positions: vec![], depths: None, by: String::new() };
        let payer = Payer::default();
        for number in 0..=ARRANGEMENTS_KEPT_MAX as u64 {
            kept.keep(number, placement(), payer.pay(8).expect("nobody pays"));
        }
        assert!(kept.get(0).is_none() && kept.get(1).is_some());
        assert!(kept.drop_oldest() && kept.get(1).is_none() && kept.get(2).is_some());
        let change = change_to(7, "circle", &payer).expect("nobody pays");
        assert_eq!(change.value.as_ref().map(number_of), Some(7));
    }
}
