//! The values of a document: JSON text that the document, its past and what is told of it share, read once, and paid for as
//! long as it is held.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::{FilterKind, Rule};
use graphlume_storage::JsonText;
use graphlume_types::{Budget, Reservation};
use serde_json::Value;

use crate::error::ServiceError;

/// Bytes that a value takes besides its text: its counters, its places in the document and the past, its reservations.
const VALUE_BYTES: u64 = 256;
/// Bytes of memory for each byte of the text of a value that others keep parsed.
pub(crate) const PARSED_BYTES: u64 = 32;

/// Who pays for values: the memory of the server, and their owners.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payer(Vec<Budget>);

impl Payer {
    /// All of these pay in full; the first is the memory of the server.
    pub(crate) const fn new(budgets: Vec<Budget>) -> Self {
        Self(budgets)
    }

    /// These and one more.
    pub(crate) fn and(&self, budget: Budget) -> Self {
        Self(self.0.iter().cloned().chain([budget]).collect())
    }

    /// Takes `bytes` of the memory alone, for what is gone in a moment.
    ///
    /// # Errors
    /// Less is free.
    pub(crate) fn pay_for_now(&self, bytes: u64) -> Result<Paid, ServiceError> {
        Self(self.0.first().cloned().into_iter().collect()).pay(bytes)
    }

    /// Takes `bytes` of each.
    ///
    /// # Errors
    /// The first that has too few.
    pub(crate) fn pay(&self, bytes: u64) -> Result<Paid, ServiceError> {
        let paid: Result<Vec<_>, _> = self.0.iter().map(|b| b.try_reserve(bytes)).collect();
        Ok(Paid(paid.map_err(ServiceError::Unpaid)?))
    }

    /// The same bytes, paid for as long as they are held.
    ///
    /// # Errors
    /// As [`Self::pay`].
    pub(crate) fn hold(&self, bytes: Bytes) -> Result<Bytes, ServiceError> {
        let paid = self.pay(bytes.len() as u64)?;
        Ok(Bytes::from_owner(PaidBytes { bytes, _paid: paid }))
    }
}

/// Bytes that are paid for until they are dropped.
struct PaidBytes {
    bytes: Bytes,
    _paid: Paid,
}

impl AsRef<[u8]> for PaidBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What was paid; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Paid(
    #[expect(dead_code, reason = "what counts is that it is held")] Vec<Reservation>,
);

/// What the document knows of an entry that has a rule.
#[derive(Debug)]
pub(crate) struct Ruled {
    pub(crate) kind: FilterKind,
    pub(crate) on: bool,
    pub(crate) order: f64,
    pub(crate) name: Box<str>,
    pub(crate) rule: Arc<Rule>,
}

#[derive(Debug)]
struct Inner {
    text: JsonText,
    ruled: Option<Ruled>,
    _paid: Paid,
}

/// A value. Cloning shares it.
#[derive(Debug, Clone)]
pub(crate) struct Held(Arc<Inner>);

impl Held {
    /// A value as its path takes it; `parsed_bytes` are those of what others keep of it.
    ///
    /// # Errors
    /// The payer has too little.
    pub(crate) fn new(
        text: JsonText,
        ruled: Option<Ruled>,
        parsed_bytes: u64,
        payer: &Payer,
    ) -> Result<Self, ServiceError> {
        let rule = ruled.as_ref().map_or(0, |r| r.rule.bytes());
        let bytes = VALUE_BYTES + text.as_str().len() as u64 + rule + parsed_bytes;
        let paid = payer.pay(bytes)?;
        Ok(Self(Arc::new(Inner { text, ruled, _paid: paid })))
    }

    /// Its JSON.
    pub(crate) fn text(&self) -> &JsonText {
        &self.0.text
    }

    /// Its JSON, parsed anew at every call.
    pub(crate) fn value(&self) -> Value {
        self.0.text.value()
    }

    /// What was read of it, for an entry that has a rule.
    pub(crate) fn ruled(&self) -> Option<&Ruled> {
        self.0.ruled.as_ref()
    }

    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.0.text.as_str().len()
    }

    /// Bytes of what its rule unpacks to.
    pub(crate) fn unpacked(&self) -> u64 {
        self.0.ruled.as_ref().map_or(0, |r| r.rule.bytes())
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}
