//! What pages are told of a document, written when it is sent, and paid for until it is.

use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::layer::Committed;
use super::value::Paid;
use super::{Actor, Author, Change, Document, Layer, Payer};
use crate::error::ServiceError;

/// What a page is told of the document.
#[derive(Debug, Clone)]
pub enum Told {
    /// A message of the page protocol.
    Message(Value),
    /// One that may be large.
    Text(Text),
    /// A binary frame of it.
    Frame(Bytes),
}

/// A message whose text is written when it is asked for.
#[derive(Debug, Clone)]
pub struct Text(Of);

#[derive(Debug, Clone)]
enum Of {
    /// All entries.
    Whole { shared: Entries, own: Arc<Document>, payer: Payer, known: Known },
    /// A step.
    Step { step: Arc<Committed>, own: bool, me: Author, payer: Payer },
}

/// The shared entries and their revision.
type Entries = (u64, Arc<Document>);
/// The text of a revision, as long as a page has yet to be sent it.
type Known = Arc<parking_lot::Mutex<(u64, Option<Weak<Written>>)>>;

/// A text that was written, and is paid for.
#[derive(Debug)]
struct Written {
    text: String,
    _paid: Paid,
}

/// A text that several pages hold.
struct Shared(Arc<Written>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.text.as_bytes()
    }
}

/// The message with everything, which pages that come together share as long as they have nothing of their own.
#[derive(Debug, Default)]
pub(super) struct Whole(Known);

impl Whole {
    pub(super) fn text(&self, shared: &Layer, own: &Layer, payer: &Payer) -> Text {
        Text(Of::Whole {
            shared: (shared.revision, Arc::clone(&shared.document)),
            own: Arc::clone(&own.document),
            payer: payer.clone(),
            known: Arc::clone(&self.0),
        })
    }
}

impl Text {
    /// The message about a step, for a page of `me`.
    pub(super) fn of_step(step: Arc<Committed>, own: bool, me: &Author, payer: &Payer) -> Self {
        Self(Of::Step { step, own, me: me.clone(), payer: payer.clone() })
    }

    /// The message beside others in one answer.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub fn json(&self) -> Result<Box<RawValue>, ServiceError> {
        let bytes = self.bytes()?;
        let raw = serde_json::from_slice::<Box<RawValue>>(&bytes);
        raw.map_err(|e| ServiceError::Internal(format!("a message of a document: {e}")))
    }

    /// The JSON of the message.
    ///
    /// # Errors
    /// [`ServiceError::Unpaid`] when the memory for it is used up.
    pub fn bytes(&self) -> Result<Bytes, ServiceError> {
        let written = match &self.0 {
            Of::Step { step, own, me, payer } => {
                let paid = payer.pay(step.bytes() as u64)?;
                Arc::new(Written { text: changed(step, *own, me), _paid: paid })
            }
            Of::Whole { shared, own, payer, known } => whole(shared, own, payer, known)?,
        };
        Ok(Bytes::from_owner(Shared(written)))
    }
}

fn whole(
    (revision, shared): &Entries,
    own: &Document,
    payer: &Payer,
    known: &Known,
) -> Result<Arc<Written>, ServiceError> {
    let is_common = own.is_empty();
    let mut known = known.lock();
    let there = known.1.as_ref().filter(|_| is_common && known.0 == *revision);
    if let Some(written) = there.and_then(Weak::upgrade) {
        return Ok(written);
    }
    let paid = payer.pay((shared.bytes() + own.bytes()) as u64)?;
    let mut text = String::with_capacity(shared.bytes() + own.bytes() + 256);
    let _ = write!(text, r#"{{"t":"document","revision":{revision},"document":"#);
    write_entries(&mut text, shared);
    text += r#","own":"#;
    write_entries(&mut text, own);
    text.push('}');
    let written = Arc::new(Written { text, _paid: paid });
    if is_common {
        *known = (*revision, Some(Arc::downgrade(&written)));
    }
    Ok(written)
}

/// Entries as a JSON object.
fn write_entries(text: &mut String, document: &Document) {
    text.push('{');
    for (at, (path, held)) in document.below("").enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{}:{}", json!(path), held.text().as_str());
    }
    text.push('}');
}

/// The message about one step.
fn changed(step: &Committed, own: bool, me: &Author) -> String {
    let author = &step.author;
    // By a link strangers watch, too.
    let name = if author.is_known_to(me) { author.name.as_str() } else { "" };
    let kind = if matches!(author.actor, Actor::Agent(_)) { "agent" } else { "person" };
    let by = json!({"name": name, "kind": kind, "you": own || author.actor == me.actor});
    let (revision, label) = (step.revision, json!(step.label));
    let mut text = String::with_capacity(step.bytes() + 256);
    let _ = write!(
        text,
        r#"{{"t":"changed","revision":{revision},"own":{own},"label":{label},"by":{by},"changes":["#
    );
    for (at, Change { path, value }) in step.changes.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let value = value.as_ref().map_or("null", |held| held.text().as_str());
        let _ = write!(text, r#"{comma}{{"path":{},"value":{value}}}"#, json!(path));
    }
    text += "]}";
    text
}
