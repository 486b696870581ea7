//! Notices: requests that were not carried out as asked, for the person who asked.
//!
//! A dataset, a binding, an encoding, a setting or a query may name something that cannot be carried out. Where that
//! is no reason to refuse it, the answer carries a [`Notice`]: in the reply of the upload, in the dataset's record, in
//! the page, in the description that agents read, and on the command line's standard error.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::limits::NOTICES_MAX;

/// One thing that was not done as asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The machine name of its kind, such as `edges-without-an-end`.
    pub slug: Cow<'static, str>,
    /// The sentence for the user: what was asked for, what was done in its place, and the remedy.
    pub text: String,
    /// How many rows, nodes or values it is about; 1 for a binding or a setting.
    pub count: u64,
}

impl Notice {
    /// A notice about one thing.
    pub fn new(slug: &'static str, text: impl Into<String>) -> Self {
        Self { slug: Cow::Borrowed(slug), text: text.into(), count: 1 }
    }

    /// The same about `count` rows, nodes or values.
    #[must_use]
    pub fn about(self, count: u64) -> Self {
        Self { count, ..self }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Adds `notice` unless its text is there already, or [`NOTICES_MAX`] are.
pub fn note(notices: &mut Vec<Notice>, notice: Notice) {
    if notices.len() < NOTICES_MAX && notices.iter().all(|n| n.text != notice.text) {
        notices.push(notice);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_told_once_and_there_is_a_limit() {
        let mut all = Vec::new();
        note(&mut all, Notice::new("setting-ignored", "plai is no setting"));
        note(&mut all, Notice::new("setting-ignored", "plai is no setting").about(7));
        assert_eq!(all, [Notice::new("setting-ignored", "plai is no setting")]);
        for i in 0..2 * NOTICES_MAX {
            note(&mut all, Notice::new("setting-ignored", i.to_string()));
        }
        assert_eq!(all.len(), NOTICES_MAX);
    }
}
