//! Footers of writers that had meanings of their own for numbers of fields which the format gave away later.
//!
//! Dremio wrote a list as field 15 of a column chunk's metadata, which is the length of a Bloom filter now, and the offset
//! 0 for "no dictionary". Readers that step over a field of another type than the format's read such files; the reader
//! here takes the number for the field. So fields that a column chunk does not need and that have another type than the
//! format's are left out before it sees them.

use super::footer::{Compact, LIST, STRUCT};

const INT32: u8 = super::footer::INT32;
const INT64: u8 = super::footer::INT64;

/// Optional fields of `ColumnMetaData` and their types in Thrift's compact protocol.
const OPTIONAL: [(i64, u8); 9] = [
    (8, LIST),
    (10, INT64),
    (11, INT64),
    (12, STRUCT),
    (13, LIST),
    (14, INT64),
    (15, INT32),
    (16, STRUCT),
    (17, STRUCT),
];
const DICTIONARY_PAGE_OFFSET: i64 = 11;
/// Where the metadata of a column chunk are: row groups, their columns, the metadata.
const PATH: [(i64, u8); 3] = [(4, LIST), (1, LIST), (3, STRUCT)];

/// A field of a struct: number, type, and the bytes of its value.
type Field<'a> = (i64, u8, &'a [u8]);

/// The footer without the fields that the reader would take for others; `None` where it has none, or is damaged.
pub(super) fn mended(footer: &[u8]) -> Option<Vec<u8>> {
    let mut is_odd = false;
    let rewritten = edited(footer, &mut |fields| {
        let before = fields.len();
        fields.retain(|(id, kind, value)| {
            let known = OPTIONAL.iter().find(|(known, _)| known == id);
            let nothing = *id == DICTIONARY_PAGE_OFFSET && *kind == INT64 && *value == [0];
            known.is_none_or(|(_, wanted)| wanted == kind) && !nothing
        });
        is_odd |= fields.len() < before;
    });
    rewritten.filter(|_| is_odd)
}

/// A copy of a footer with the fields of every column chunk's metadata as `edit` leaves them; `None` for a damaged one.
fn edited(footer: &[u8], edit: &mut dyn FnMut(&mut Vec<Field<'_>>)) -> Option<Vec<u8>> {
    let mut reader = Compact { bytes: footer };
    let mut out = Vec::with_capacity(footer.len());
    copy(&mut reader, &mut out, &PATH, edit)?;
    Some(out)
}

/// Copies one struct; `path` leads from it to the metadata of column chunks.
fn copy<'a>(
    reader: &mut Compact<'a>,
    out: &mut Vec<u8>,
    path: &[(i64, u8)],
    edit: &mut dyn FnMut(&mut Vec<Field<'a>>),
) -> Option<()> {
    let Some((next, rest)) = path.split_first() else {
        let mut fields = Vec::new();
        let mut last = 0;
        loop {
            match reader.field(&mut last)? {
                0 => break,
                kind => fields.push((last, kind, reader.raw(kind)?)),
            }
        }
        edit(&mut fields);
        let mut last = 0;
        for (id, kind, value) in fields {
            head(out, &mut last, id, kind);
            out.extend_from_slice(value);
        }
        out.push(0);
        return Some(());
    };
    let (mut last, mut written) = (0, 0);
    loop {
        let kind = reader.field(&mut last)?;
        if kind == 0 {
            out.push(0);
            return Some(());
        }
        head(out, &mut written, last, kind);
        if (last, kind) != *next {
            out.extend_from_slice(reader.raw(kind)?);
        } else if kind == STRUCT {
            copy(reader, out, rest, edit)?;
        } else {
            let before = reader.bytes;
            let (element, len) = reader.list()?;
            out.extend_from_slice(&before[..before.len() - reader.bytes.len()]);
            if element != STRUCT {
                return None;
            }
            (0..len).try_for_each(|_| copy(reader, out, rest, edit))?;
        }
    }
}

/// Writes the head of a field.
fn head(out: &mut Vec<u8>, last: &mut i64, id: i64, kind: u8) {
    match u8::try_from(id - *last) {
        Ok(step @ 1..=15) => out.push(step << 4 | kind),
        _ => {
            out.push(kind);
            let mut zigzag = (id << 1 ^ id >> 63) as u64;
            while zigzag > 127 {
                out.push(zigzag as u8 | 128);
                zigzag >>= 7;
            }
            out.push(zigzag as u8);
        }
    }
    *last = id;
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A file with the footer of Dremio's writer.
    pub(in super::super) fn as_dremio(file: &[u8]) -> Vec<u8> {
        let (rest, tail) = file.split_last_chunk::<8>().unwrap();
        let len = u32::from_le_bytes(*tail.first_chunk::<4>().unwrap()) as usize;
        let (pages, footer) = rest.split_at(rest.len() - len);
        // A list of two short integers.
        let list: &[u8] = &[0x24, 2, 4];
        let zero: &[u8] = &[0];
        let written = edited(footer, &mut |fields| {
            fields.retain(|(id, ..)| *id < 14 && *id != DICTIONARY_PAGE_OFFSET);
            fields.push((15, LIST, list));
            let at = fields.iter().position(|(id, ..)| *id > DICTIONARY_PAGE_OFFSET).unwrap();
            fields.insert(at, (DICTIONARY_PAGE_OFFSET, INT64, zero));
        });
        let written = written.unwrap();
        let len = (written.len() as u32).to_le_bytes();
        [pages, &written, &len, b"PAR1"].concat()
    }

    #[test]
    fn heads_of_fields_are_read_as_they_were_written() {
        let mut out = Vec::new();
        let mut last = 0;
        let ids = [1, 16, 15, 400, -3];
        ids.iter().for_each(|id| head(&mut out, &mut last, *id, super::super::footer::BINARY));
        let mut reader = Compact { bytes: &out };
        let mut last = 0;
        for id in ids {
            assert_eq!((reader.field(&mut last), last), (Some(super::super::footer::BINARY), id));
        }
    }
}
