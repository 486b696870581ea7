//! Messages to pages about a document: written when they are sent, and paid for until they are.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use graphlume_engine::{AuthorKind, ChangedEntry, Entries, StepAuthor, ToPage};
use serde_json::value::RawValue;

use super::layer::Committed;
use super::value::Paid;
use super::{Actor, Author, Change, Document, Layer, Payer};
use crate::error::ServiceError;

/// What a page is told of the document.
#[derive(Debug, Clone)]
pub enum Told {
    /// A message of the page protocol.
    Message(ToPage<'static>),
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
    Whole { shared: Shared, own: Arc<Document>, payer: Payer, known: Known },
    /// A step.
    Step { step: Arc<Committed>, own: bool, me: Author, payer: Payer },
}

/// The shared entries and their revision.
type Shared = (u64, Arc<Document>);
/// The text of a revision, as long as a page has yet to be sent it.
type Known = Arc<parking_lot::Mutex<(u64, Option<Weak<Written>>)>>;

/// A text that was written, and is paid for.
#[derive(Debug)]
struct Written {
    text: Vec<u8>,
    _paid: Paid,
}

/// A text that several pages hold.
struct Common(Arc<Written>);

impl AsRef<[u8]> for Common {
    fn as_ref(&self) -> &[u8] {
        &self.0.text
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
        serde_json::from_slice::<Box<RawValue>>(&bytes).map_err(broken)
    }

    /// The JSON of the message.
    ///
    /// # Errors
    /// [`ServiceError::Unpaid`] when the memory for it is used up.
    pub fn bytes(&self) -> Result<Bytes, ServiceError> {
        let written = match &self.0 {
            Of::Step { step, own, me, payer } => {
                let paid = payer.pay(step.bytes() as u64)?;
                Arc::new(Written { text: changed(step, *own, me)?, _paid: paid })
            }
            Of::Whole { shared, own, payer, known } => whole(shared, own, payer, known)?,
        };
        Ok(Bytes::from_owner(Common(written)))
    }
}

fn whole(
    (revision, shared): &Shared,
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
    let message =
        ToPage::Document { revision: *revision, document: entries(shared), own: entries(own) };
    let text = text_of(&message, shared.bytes() + own.bytes())?;
    let written = Arc::new(Written { text, _paid: paid });
    if is_common {
        *known = (*revision, Some(Arc::downgrade(&written)));
    }
    Ok(written)
}

fn entries(document: &Document) -> Entries<'_> {
    document.below("").map(|(path, held)| (path, held.text().raw())).collect()
}

fn changed_entry(Change { path, value }: &Change) -> ChangedEntry<'_> {
    ChangedEntry { path, value: value.as_ref().map(|held| held.text().raw()) }
}

/// The message about one step.
fn changed(step: &Committed, own: bool, me: &Author) -> Result<Vec<u8>, ServiceError> {
    let author = &step.author;
    // By a link strangers watch, too.
    let name = if author.is_known_to(me) { author.name.as_str() } else { "" };
    let is_agent = matches!(author.actor, Actor::Agent(_));
    let kind = if is_agent { AuthorKind::Agent } else { AuthorKind::Person };
    let message = ToPage::Changed {
        revision: step.revision,
        own,
        label: &step.label,
        by: StepAuthor { name, kind, you: own || author.actor == me.actor },
        changes: step.changes.iter().map(changed_entry).collect(),
    };
    text_of(&message, step.bytes())
}

/// The text of a message whose values have so many bytes.
fn text_of(message: &ToPage<'_>, bytes: usize) -> Result<Vec<u8>, ServiceError> {
    let mut text = Vec::with_capacity(bytes + 256);
    serde_json::to_writer(&mut text, message).map_err(broken)?;
    Ok(text)
}

fn broken(error: serde_json::Error) -> ServiceError {
    ServiceError::Internal(format!("a message of a document: {error}"))
}
