//! The page's side of the stream: what it says, and how many frames it can take.

use std::collections::VecDeque;

use graphlume_service::ChangeRequest;
use graphlume_types::limits;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The page's messages.
#[derive(Debug, Deserialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(super) enum Said {
    Ack {
        seq: u32,
    },
    Play {
        on: bool,
        ms: Option<u64>,
    },
    Settings(Map<String, Value>),
    Pin {
        index: u32,
        x: f32,
        y: f32,
    },
    Unpin {
        index: u32,
    },
    Layout {
        name: String,
        #[serde(default)]
        params: Map<String, Value>,
    },
    /// A step of the document: its changes, all or none.
    Do {
        id: String,
        label: String,
        #[serde(default)]
        join: Option<String>,
        changes: Vec<Changed>,
    },
    Undo {
        id: String,
    },
    Redo {
        id: String,
    },
    Hidden,
    Visible,
    Resume {
        epoch: u32,
        seq: u32,
    },
    /// `view`, and what later pages may say.
    #[serde(other)]
    Other,
}

/// A change of a step.
#[derive(Debug, Deserialize)]
pub(super) struct Changed {
    path: String,
    value: Option<Value>,
}

impl From<Changed> for ChangeRequest {
    fn from(changed: Changed) -> Self {
        Self::new(changed.path, changed.value.as_ref())
    }
}

/// How many position frames may be on their way: the only brake there is, since a browser takes
/// whatever arrives.
#[derive(Debug, Default)]
pub(super) struct Credit {
    unacked: VecDeque<u32>,
    /// Whether the page is out of sight.
    pub(super) hidden: bool,
}

impl Credit {
    pub(super) fn allows_frame(&self) -> bool {
        !self.hidden && self.unacked.len() < limits::FRAMES_UNACKED_MAX
    }

    pub(super) fn sent(&mut self, seq: u32) {
        self.unacked.push_back(seq);
    }

    /// Frames arrive in order, so an acknowledgement covers the earlier ones too.
    pub(super) fn acknowledged(&mut self, seq: u32) {
        while self.unacked.front().is_some_and(|first| *first <= seq) {
            self.unacked.pop_front();
        }
    }

    pub(super) fn forgive(&mut self) {
        self.unacked.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_frames_may_be_on_their_way_and_a_hidden_page_gets_none() {
        let mut credit = Credit::default();
        credit.sent(4);
        assert!(credit.allows_frame());
        credit.sent(9);
        assert!(!credit.allows_frame());
        credit.acknowledged(3);
        assert!(!credit.allows_frame(), "an old acknowledgement frees nothing");
        credit.acknowledged(4);
        assert!(credit.allows_frame());
        credit.sent(12);
        credit.acknowledged(12);
        assert!(credit.unacked.is_empty(), "the last one covers the earlier ones");
        credit.hidden = true;
        assert!(!credit.allows_frame());
    }

    #[test]
    fn the_page_s_messages_are_understood_and_unknown_ones_are_passed_over() {
        let parse = |text: &str| serde_json::from_str::<Said>(text);
        assert!(matches!(parse(r#"{"t":"ack","seq":7}"#).unwrap(), Said::Ack { seq: 7 }));
        let play = parse(r#"{"t":"play","on":true,"ms":500}"#).unwrap();
        assert!(matches!(play, Said::Play { on: true, ms: Some(500) }));
        assert!(matches!(
            parse(r#"{"t":"play","on":false}"#).unwrap(),
            Said::Play { on: false, ms: None }
        ));
        let Said::Settings(knobs) = parse(r#"{"t":"settings","gravity":2,"linLog":true}"#).unwrap()
        else {
            unreachable!("settings")
        };
        assert_eq!(Value::Object(knobs), json!({"gravity": 2, "linLog": true}));
        assert!(matches!(parse(r#"{"t":"view","zoom":3}"#).unwrap(), Said::Other));
        assert!(matches!(parse(r#"{"t":"later","x":[1]}"#).unwrap(), Said::Other));
        assert!(matches!(parse(r#"{"t":"hidden"}"#).unwrap(), Said::Hidden));
        for bad in [r#"{"t":"ack"}"#, r#"{"t":"ack","seq":-1}"#, "[]", "7", "{}", "", "{\"t\":1}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_the_page_s_own_tests_say_is_understood() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/tests/fixtures/said.json");
        let text = std::fs::read_to_string(file).unwrap();
        let said: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(said.len() >= 4);
        for message in said {
            let read: Said = serde_json::from_value(message.clone()).unwrap();
            assert!(!matches!(read, Said::Other), "{message}");
            if let Said::Do { changes, join, .. } = read {
                assert_eq!(changes[0].path, "filters/f");
                assert_eq!(join.is_some(), changes[0].value.is_some(), "{message}");
            }
        }
    }
}
