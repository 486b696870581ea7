//! Edge lists: two whole numbers a line, the ends of an edge.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use graphlume_table::Table;

use crate::format::FormatSpec;
use crate::options::Options;
use crate::{Format, IngestError, ParseCx, Parsed};

/// Edge lists in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "edgelist",
    malformed: "malformed-edgelist",
    options: &[],
    signatures: &[],
    resembles: |_| false,
    parse,
};

fn parse(bytes: &Bytes, _: Options<'_>, _: &ParseCx) -> Result<Parsed, IngestError> {
    let bad = |line: usize| {
        IngestError::malformed(Format::EdgeList, format!("line {line} is not two whole numbers"))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| bad(1))?;
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace().map(str::parse::<i64>);
        let (Some(Ok(a)), Some(Ok(b)), None) = (words.next(), words.next(), words.next()) else {
            return Err(bad(number + 1));
        };
        from.push(a);
        to.push(b);
    }
    let column = |ids| Arc::new(Int64Array::from(ids)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("source", column(from)), ("destination", column(to))]);
    let table = Table::try_new(batch.map_err(|e| IngestError::malformed(Format::EdgeList, e.to_string()))?)
        .map_err(|e| IngestError::malformed(Format::EdgeList, e.to_string()))?;
    Ok(Parsed::one(table, Vec::new()))
}
