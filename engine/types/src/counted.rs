//! Bytes that are written piece by piece and counted from the first to the last reader.

use std::io::{self, Seek, SeekFrom, Write};

use crate::budget::{MemoryConsumer, Reservation, ResourcesExhausted};

/// The least by which the buffer grows.
const GROW_BYTES_MIN: usize = 64 << 10;

/// A buffer whose bytes are reserved before they are allocated, and given back when it is dropped. What is
/// sent shares it, so that an answer counts until its last byte has left.
#[derive(Debug)]
pub struct Counted {
    bytes: Vec<u8>,
    at: usize,
    held: Vec<Reservation>,
    share: MemoryConsumer,
    refused: Option<ResourcesExhausted>,
}

impl Counted {
    /// An empty buffer that takes from the budget behind `share`, apart from the share itself.
    #[must_use]
    pub const fn new(share: MemoryConsumer) -> Self {
        Self { bytes: Vec::new(), at: 0, held: Vec::new(), share, refused: None }
    }

    /// Why the last write failed, when it was for lack of memory.
    pub const fn refused(&mut self) -> Option<ResourcesExhausted> {
        self.refused.take()
    }

    /// Bytes that are reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.held.iter().map(Reservation::bytes).sum()
    }

    /// What was written, with nothing kept beyond it.
    #[must_use]
    pub fn done(self) -> Finished {
        let Self { mut bytes, mut held, .. } = self;
        bytes.shrink_to_fit();
        let mut surplus = held.iter().map(Reservation::bytes).sum::<u64>();
        surplus = surplus.saturating_sub(bytes.capacity() as u64);
        while let Some(last) = held.last_mut() {
            if last.bytes() > surplus {
                let left = last.bytes() - surplus;
                last.shrink_to(left);
                break;
            }
            surplus -= last.bytes();
            held.pop();
        }
        Finished { bytes, _held: held }
    }

    /// Makes room for `more` bytes behind those that there are.
    fn grow(&mut self, more: usize) -> Result<(), ResourcesExhausted> {
        let need = self.bytes.len().saturating_add(more);
        if need <= self.bytes.capacity() {
            return Ok(());
        }
        let capacity = self.bytes.capacity();
        let wanted = need.max(capacity + (capacity / 4).max(GROW_BYTES_MIN));
        self.held.push(self.share.reserve((wanted - capacity) as u64)?);
        self.bytes.reserve_exact(wanted - self.bytes.len());
        Ok(())
    }
}

impl Write for Counted {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let end = self.at.saturating_add(buf.len());
        if let Err(refused) = self.grow(end.saturating_sub(self.bytes.len())) {
            self.refused = Some(refused);
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, refused));
        }
        let over = buf.len().min(self.bytes.len().saturating_sub(self.at));
        self.bytes[self.at..self.at + over].copy_from_slice(&buf[..over]);
        self.bytes.extend_from_slice(&buf[over..]);
        self.at = end;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Counted {
    /// Only to where something was written already.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.bytes.len() as u64, by),
            SeekFrom::Current(by) => (self.at as u64, by),
        };
        let at = from.checked_add_signed(by).and_then(|at| usize::try_from(at).ok());
        match at.filter(|at| *at <= self.bytes.len()) {
            Some(at) => {
                self.at = at;
                Ok(at as u64)
            }
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "outside of what is written")),
        }
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that are no longer written to, counted until they are dropped.
#[derive(Debug)]
pub struct Finished {
    bytes: Vec<u8>,
    _held: Vec<Reservation>,
}

impl AsRef<[u8]> for Finished {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    #[test]
    fn bytes_are_counted_while_they_are_written_and_until_they_are_dropped() {
        let budget = Budget::new("host", 1 << 20);
        let share = MemoryConsumer::new(budget.clone(), 1 << 10, None);
        let mut out = Counted::new(share.clone());
        for _ in 0..300 {
            out.write_all(&[7; 1000]).expect("fits");
            assert!(budget.used() >= out.as_ref().len() as u64);
        }
        assert_eq!(out.reserved(), budget.used());
        let done = out.done();
        drop(share);
        assert_eq!((done.as_ref().len(), budget.used()), (300_000, 300_000), "to the byte");
        drop(done);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_full_budget_refuses_the_write_and_says_so() {
        let budget = Budget::new("host", 200_000);
        let mut out = Counted::new(MemoryConsumer::new(budget.clone(), 1 << 10, None));
        out.write_all(&[1; 100_000]).expect("fits");
        assert!(out.write_all(&[1; 150_000]).is_err());
        assert_eq!(out.refused().map(|r| (r.name, r.limit)), Some(("host", 200_000)));
        assert_eq!(out.as_ref().len(), 100_000);
        drop(out);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_was_written_can_be_written_over() {
        let budget = Budget::new("host", 1 << 20);
        let mut out = Counted::new(MemoryConsumer::new(budget, 1 << 10, None));
        out.write_all(b"abcdef").expect("fits");
        out.seek(SeekFrom::Start(4)).expect("inside");
        out.write_all(b"XYZ").expect("fits");
        assert_eq!(out.as_ref(), b"abcdXYZ");
        assert!(out.seek(SeekFrom::Start(8)).is_err());
        assert_eq!(out.seek(SeekFrom::End(-7)).expect("the start"), 0);
    }
}
