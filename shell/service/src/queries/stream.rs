//! Large answers, rendered while they are sent.
//!
//! A few blocks of rows are rendered ahead of the reader, by all threads; nothing is rendered, and no thread waits, while
//! the reader takes nothing. So an answer of any size needs the memory of some blocks beside its tables, and its first
//! bytes leave at once.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use futures_channel::oneshot;
use graphlume_engine::{EngineError, GraphsInUse, give_back_freed};
use graphlume_ingest::{ExportError, ExportFormat, TextBlocks, export};
use graphlume_table::Table;
use graphlume_types::{Counted, MemoryConsumer, Reservation, ResourcesExhausted};

use crate::answer_budget::AnswerReservation;
use crate::error::ServiceError;

/// Bytes by which a block that is rendered counts its memory, at least.
const COUNTED_BYTES: usize = 64 << 10;

/// A piece of an answer.
pub(super) enum AnswerPart {
    Text(Bytes),
    Rows(TextBlocks),
    /// A table in a format that is written as a whole.
    Table(Table, ExportFormat),
}

impl AnswerPart {
    /// A table in its format; no table is an empty list or an empty file.
    pub(super) fn of(table: Option<Table>, format: ExportFormat) -> Self {
        match table.filter(|table| table.num_cols() > 0) {
            Some(table) => match TextBlocks::new(&table, format) {
                Some(rows) => Self::Rows(rows),
                None => Self::Table(table, format),
            },
            None if format == ExportFormat::Json => Self::Text(Bytes::from_static(b"[]")),
            None => Self::Text(Bytes::new()),
        }
    }

    pub(super) fn write(&self, out: &mut Counted) -> Result<(), ExportError> {
        match self {
            Self::Text(text) => Ok(out.write_all(text)?),
            Self::Rows(rows) => Ok(rows.write(out)?),
            Self::Table(table, format) => export(table, *format, out),
        }
    }
}

/// What is rendered ahead.
enum Ahead {
    Text(Bytes),
    Block(oneshot::Receiver<Result<Bytes, ResourcesExhausted>>),
}

/// Pieces of an answer that are still to be rendered, with the memory that their tables hold.
struct Rest {
    parts: VecDeque<AnswerPart>,
    /// The table whose blocks are being rendered, and the next one of these.
    rows: Option<(Arc<TextBlocks>, usize)>,
    memory: MemoryConsumer,
    /// What keeps the tables that it shares with others in memory, and counted.
    _graphs: GraphsInUse,
}

impl Rest {
    /// Begins the next piece.
    fn begin(&mut self) -> Option<Ahead> {
        loop {
            if let Some((rows, next)) = &mut self.rows {
                if *next < rows.count() {
                    let ahead = begun(Arc::clone(rows), *next, self.memory.clone());
                    *next += 1;
                    return Some(ahead);
                }
                let foot = rows.foot();
                self.rows = None;
                return Some(Ahead::Text(Bytes::from_static(foot)));
            }
            match self.parts.pop_front()? {
                AnswerPart::Text(text) => return Some(Ahead::Text(text)),
                AnswerPart::Table(..) => {}
                AnswerPart::Rows(rows) => {
                    let head = rows.head();
                    self.rows = Some((Arc::new(rows), 0));
                    return Some(Ahead::Text(head.into()));
                }
            }
        }
    }
}

/// Hands a block to the pool of all threads.
fn begun(rows: Arc<TextBlocks>, block: usize, memory: MemoryConsumer) -> Ahead {
    let (done, rendered) = oneshot::channel();
    rayon::spawn(move || {
        // The reader may be gone. A panic, which was reported, would end the process here; so it ends the answer.
        let block = || counted(&rows, block, &memory);
        if !done.is_canceled()
            && let Ok(found) = catch_unwind(AssertUnwindSafe(block))
        {
            drop(done.send(found));
        }
    });
    Ahead::Block(rendered)
}

/// A block with the memory that it takes.
struct Block {
    bytes: Vec<u8>,
    _held: Vec<Reservation>,
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn counted(
    rows: &TextBlocks,
    block: usize,
    memory: &MemoryConsumer,
) -> Result<Bytes, ResourcesExhausted> {
    let (mut held, mut room) = (Vec::new(), 0);
    let bytes = rows.render(block, |more| {
        if more > room {
            let taken = (more - room).max(COUNTED_BYTES);
            held.push(memory.reserve(taken as u64)?);
            room += taken;
        }
        room -= more;
        Ok(())
    })?;
    Ok(Bytes::from_owner(Block { bytes, _held: held }))
}

/// An answer that is rendered while it is read.
pub struct AnswerStream {
    /// Begun pieces, in their order.
    ahead: VecDeque<Ahead>,
    /// How many blocks are rendered ahead.
    depth: usize,
    /// Taken out when the stream is dropped.
    rest: Option<Rest>,
    /// The largest block that was rendered before the first was read.
    first: usize,
    /// The place among the unread answers of the account.
    place: Option<AnswerReservation>,
}

impl std::fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerStream").field("ahead", &self.ahead.len()).finish_non_exhaustive()
    }
}

impl AnswerStream {
    /// The first piece is rendered before this returns, so that an answer for which there is no memory at all is refused
    /// with a status.
    ///
    /// # Errors
    /// [`ServiceError`] when there is no memory for it.
    pub(super) async fn begin(
        parts: Vec<AnswerPart>,
        memory: MemoryConsumer,
        graphs: GraphsInUse,
    ) -> Result<Self, ServiceError> {
        let rest = Rest { parts: parts.into(), rows: None, memory, _graphs: graphs };
        let depth = 2 * rayon::current_num_threads();
        let ahead = VecDeque::new();
        let mut stream = Self { ahead, depth, rest: Some(rest), first: 0, place: None };
        let mut known = Vec::new();
        // Up to the first rows.
        while let Some(next) = stream.take() {
            let is_text = matches!(next, Ahead::Text(_));
            let piece = finished(next).await?;
            stream.first = stream.first.max(piece.len());
            known.push(Ahead::Text(piece));
            if !is_text {
                break;
            }
        }
        known.into_iter().rev().for_each(|piece| stream.ahead.push_front(piece));
        Ok(stream)
    }

    /// Bytes that it holds while nothing is read: its tables, and blocks about as long as the first.
    pub(super) fn held_bytes(&self) -> u64 {
        let tables = self.rest.as_ref().map_or(0, |rest| rest.memory.kept());
        tables + (self.first * (self.depth + 2)) as u64
    }

    /// Keeps a place among the unread answers to its end.
    pub(super) fn keep(&mut self, place: AnswerReservation) {
        self.place = Some(place);
    }

    /// The next begun piece; more are begun in its place.
    fn take(&mut self) -> Option<Ahead> {
        while self.ahead.len() <= self.depth {
            match self.rest.as_mut().and_then(Rest::begin) {
                Some(piece) => self.ahead.push_back(piece),
                None => break,
            }
        }
        self.ahead.pop_front()
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`io::Error`] when memory ran out while the answer was sent: the reader gets an answer without an end.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let piece = finished(self.take()?).await;
        Some(piece.map_err(|error| {
            tracing::warn!(%error, "an answer was cut off while it was sent");
            io::Error::other(error.to_string())
        }))
    }
}

/// A piece when it is rendered.
async fn finished(piece: Ahead) -> Result<Bytes, ServiceError> {
    match piece {
        Ahead::Text(text) => Ok(text),
        Ahead::Block(rendered) => match rendered.await {
            Ok(found) => Ok(found.map_err(EngineError::from)?),
            Err(oneshot::Canceled) => Err(ServiceError::Internal("rows were not rendered".into())),
        },
    }
}

impl Drop for AnswerStream {
    /// Tables of gigabytes take their time to be freed, which a connection's thread has not.
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            let ahead = std::mem::take(&mut self.ahead);
            rayon::spawn(move || {
                drop(ahead);
                let had = rest.memory.kept();
                drop(rest);
                give_back_freed(had);
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use graphlume_types::Budget;

    use super::*;

    const ROWS: i64 = 200_000;

    fn table() -> Table {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let texts = (0..ROWS).map(|i| format!("a text of some length that ends in {i}"));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        Table::try_new(RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()).unwrap()
    }

    /// What is sent of two tables with texts around them, and the budget that it is taken from.
    fn parts(format: ExportFormat) -> Vec<AnswerPart> {
        let text = |text: &'static str| AnswerPart::Text(Bytes::from_static(text.as_bytes()));
        vec![
            text("<"),
            AnswerPart::of(Some(table()), format),
            text("|"),
            AnswerPart::of(None, format),
            text(">"),
        ]
    }

    fn share(bytes: u64) -> (Budget, MemoryConsumer) {
        let budget = Budget::new("host", bytes);
        (budget.clone(), MemoryConsumer::new(budget, 1 << 20, None))
    }

    async fn nothing_is_held(budget: &Budget) {
        for _ in 0..1_000 {
            if budget.used() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn its_pieces_are_the_bytes_that_are_written_at_once() {
        for format in [ExportFormat::Json, ExportFormat::Csv] {
            let (budget, memory) = share(1 << 30);
            let mut whole = Counted::new(memory.clone());
            parts(format).iter().for_each(|part| part.write(&mut whole).unwrap());
            let mut stream =
                AnswerStream::begin(parts(format), memory, GraphsInUse::default()).await.unwrap();
            let mut read = Vec::new();
            while let Some(piece) = stream.next().await {
                read.extend_from_slice(&piece.unwrap());
            }
            assert!(read == whole.as_ref(), "{format:?}");
            drop((whole, stream));
            nothing_is_held(&budget).await;
        }
    }

    #[tokio::test]
    async fn nothing_more_is_rendered_while_the_reader_takes_nothing() {
        let (budget, memory) = share(1 << 30);
        let stream = AnswerStream::begin(parts(ExportFormat::Json), memory, GraphsInUse::default())
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        // Blocks with the room that they grew into.
        assert!(budget.used() <= 2 * stream.held_bytes(), "{} bytes", budget.used());
        let rest = stream.rest.as_ref().unwrap().rows.as_ref().unwrap();
        assert!(rest.1 <= stream.depth + 2, "{} blocks of {}", rest.1, rest.0.count());
        drop(stream);
        nothing_is_held(&budget).await;
    }

    #[tokio::test]
    async fn without_memory_it_is_refused_or_ends_with_an_error() {
        let (budget, memory) = share(10_000);
        assert!(
            AnswerStream::begin(parts(ExportFormat::Json), memory, GraphsInUse::default())
                .await
                .is_err()
        );
        nothing_is_held(&budget).await;
        let (budget, memory) = share(100 << 20);
        let mut stream =
            AnswerStream::begin(parts(ExportFormat::Json), memory, GraphsInUse::default())
                .await
                .unwrap();
        let others = loop {
            // Blocks that are being rendered take memory meanwhile.
            if let Ok(others) = budget.try_reserve(budget.limit() - budget.used()) {
                break others;
            }
        };
        // What was read and freed would make room for what follows.
        let mut read = Vec::new();
        let error = loop {
            match stream.next().await.expect("an error before the end") {
                Ok(piece) => read.push(piece),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("memory"), "{error}");
        drop((others, stream, read));
        nothing_is_held(&budget).await;
    }
}
