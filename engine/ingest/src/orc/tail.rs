//! The end of an ORC file: what it holds, and where.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use graphlume_table::TableError;
use graphlume_types::limits::{COLUMNS_MAX, JSON_DEPTH_MAX, ROWS_MAX};
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{Footer, PostScript, Type};
use prost::Message;

use super::bad;
use super::codec::Codec;
use crate::IngestError;

const MAGIC: &[u8] = b"ORC";

/// A checked tail.
#[derive(Debug, Clone)]
pub struct Tail {
    pub codec: Codec,
    footer: Footer,
    /// Where stripes begin, by the position of their own footers.
    pub stripes: HashMap<u64, u64>,
}

impl Tail {
    /// Reads and checks the tail.
    pub fn read(bytes: &Bytes) -> Result<Self, IngestError> {
        let cut = || bad("it is cut off, or no ORC file");
        if !bytes.starts_with(MAGIC) {
            return Err(cut());
        }
        let (len, rest) = bytes.split_last().ok_or_else(cut)?;
        let at = rest.len().checked_sub(usize::from(*len)).ok_or_else(cut)?;
        let post = PostScript::decode(&rest[at..]).map_err(|_| cut())?;
        if post.magic.as_deref().is_some_and(|m| m.as_bytes() != MAGIC) {
            return Err(cut());
        }
        let codec = Codec::new(post.compression(), post.compression_block_size)?;
        let footer_len = usize::try_from(post.footer_length()).map_err(|_| cut())?;
        let start = at.checked_sub(footer_len).ok_or_else(cut)?;
        let footer = codec.unpack(&bytes.slice(start..at))?;
        let mut footer = Footer::decode(footer).map_err(|_| bad("its footer is damaged"))?;
        check_types(&footer.types)?;
        footer.types.iter_mut().for_each(give_digits);
        let mut out = Self { codec, footer, stripes: HashMap::new() };
        out.check_stripes(start as u64)?;
        // What is not needed for reading is not worth trusting.
        out.footer.statistics.clear();
        out.footer.metadata.clear();
        out.footer.encryption = None;
        Ok(out)
    }

    fn check_stripes(&mut self, end: u64) -> Result<(), IngestError> {
        let mut rows = 0u64;
        for stripe in &self.footer.stripes {
            let lengths = [stripe.index_length(), stripe.data_length()];
            let footer = lengths.into_iter().try_fold(stripe.offset(), u64::checked_add);
            let after = footer.and_then(|at| at.checked_add(stripe.footer_length()));
            let (Some(footer), Some(after)) = (footer, after) else {
                return Err(bad("a stripe lies outside the file"));
            };
            if after > end {
                return Err(bad("a stripe lies outside the file; it may be cut off"));
            }
            rows = rows.saturating_add(stripe.number_of_rows());
            self.stripes.insert(footer, stripe.offset());
        }
        if rows > ROWS_MAX {
            let message = format!("the ORC data has {rows} rows; the limit is {ROWS_MAX}");
            return Err(IngestError::too_large(message));
        }
        if self.stripes.len() < self.footer.stripes.len() {
            return Err(bad("stripes overlap"));
        }
        Ok(())
    }

    /// Drops the stripes that hold none of `count` rows after the first `skip`. Also returns which rows
    /// of the stripes that are left are meant.
    pub fn cut(mut self, skip: u64, count: u64) -> (Self, Range<u64>) {
        let wanted = skip..skip.saturating_add(count);
        let (mut at, mut dropped) = (0u64, 0u64);
        self.footer.stripes.retain(|stripe| {
            let range = at..at + stripe.number_of_rows();
            at = range.end;
            if range.end <= wanted.start {
                dropped = range.end;
            }
            range.end > wanted.start && range.start < wanted.end
        });
        let rest = wanted.start.saturating_sub(dropped)..wanted.end.saturating_sub(dropped);
        (self, rest)
    }

    /// The rows of all stripes.
    pub fn rows(&self) -> u64 {
        self.footer.stripes.iter().map(|stripe| stripe.number_of_rows()).sum()
    }

    /// The type of a column.
    pub fn kind(&self, column: u32) -> Option<Kind> {
        self.footer.types.get(column as usize).map(Type::kind)
    }

    /// Whether some column holds points in time.
    pub fn has_timestamps(&self) -> bool {
        let mut kinds = self.footer.types.iter().map(Type::kind);
        kinds.any(|kind| matches!(kind, Kind::Timestamp | Kind::TimestampInstant))
    }

    /// A tail that says the same of plain sections, with `space` bytes in front.
    pub fn plain(&self, space: usize) -> Bytes {
        let footer = self.footer.encode_to_vec();
        let post = PostScript {
            footer_length: Some(footer.len() as u64),
            metadata_length: Some(0),
            magic: Some("ORC".to_owned()),
            ..PostScript::default()
        };
        let post = post.encode_to_vec();
        let mut out = vec![0; space];
        out.extend_from_slice(&footer);
        out.extend_from_slice(&post);
        out.push(post.len() as u8);
        out.into()
    }
}

/// Hive 0.11 knew decimals without a number of digits, and wrote the scale with each value. They get as many digits as there
/// are, and the fraction that Hive gives them since.
pub(super) fn give_digits(t: &mut Type) {
    if t.kind() == Kind::Decimal && t.precision() == 0 {
        (t.precision, t.scale) = (Some(38), Some(18));
    }
}

/// The types must form a tree, in the order of a walk: a circle would never end.
fn check_types(types: &[Type]) -> Result<(), IngestError> {
    let root = types.first().filter(|t| t.kind() == Kind::Struct);
    let root = root.ok_or_else(|| bad("its rows have no named columns"))?;
    if root.subtypes.len() > COLUMNS_MAX {
        return Err(TableError::TooManyColumns { columns: root.subtypes.len() }.into());
    }
    let mut depths = vec![0usize; types.len()];
    depths[0] = 1;
    for (index, t) in types.iter().enumerate() {
        for child in &t.subtypes {
            let child = *child as usize;
            let new = depths.get(child).is_some_and(|depth| *depth == 0) && child > index;
            if !new || depths[index] == 0 {
                return Err(bad("its types are damaged"));
            }
            depths[child] = depths[index] + 1;
            if depths[child] > JSON_DEPTH_MAX {
                let message =
                    format!("columns may be nested {JSON_DEPTH_MAX} levels deep, not more");
                return Err(IngestError::too_large(message));
            }
        }
        if t.kind() == Kind::Decimal && (t.precision() > 38 || t.scale() > t.precision()) {
            return Err(bad("a decimal column has more than 38 digits"));
        }
    }
    Ok(())
}
