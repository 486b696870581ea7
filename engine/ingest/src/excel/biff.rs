//! The container of an xls workbook: a small file system, in which one stream holds records.
//!
//! `calamine` makes every sheet as large as its outermost cells span, and reserves what a sheet claims
//! to hold; so spans and claims are added up here first. It also follows the container's chains as they
//! come. It is therefore given a fresh container, with the checked stream as its only content.

use graphlume_types::limits::{WORKBOOK_SHEETS_MAX, XLS_BYTES_MAX, XLS_CELLS_MAX};

use crate::{Format, IngestError};

const MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const END_OF_CHAIN: u32 = 0xffff_fffe;
const FREE: u32 = 0xffff_ffff;
const FAT_SECTOR: u32 = 0xffff_fffd;
/// Streams shorter than this lie in the container's small sectors.
const SMALL_STREAM_BYTES: usize = 4_096;
const SMALL_SECTOR: usize = 64;
/// A full sheet of the format.
const SHEET_CELLS_MAX: u64 = 65_536 * 256;

fn bad(message: &str) -> IngestError {
    IngestError::malformed(Format::Xls, format!("the workbook {message}"))
}

fn cut_off() -> IngestError {
    bad("is damaged or cut off; save it again")
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// A container with the workbook's records, which are checked.
pub fn checked_container(bytes: &[u8]) -> Result<Vec<u8>, IngestError> {
    if bytes.len() as u64 > XLS_BYTES_MAX {
        let message = format!(
            "the xls workbook has {} bytes; the limit is {XLS_BYTES_MAX}; save it as xlsx or csv",
            bytes.len()
        );
        return Err(IngestError::too_large(message));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(bad(match bytes {
            [b'P', b'K', ..] => {
                "is an archive and no Excel 97 file; declare the file type xlsx if it is a newer \
                 workbook, or file_compression \"zip\" if the workbook is in it"
            }
            _ => "is no Excel 97 file; send one that Excel saved as xls",
        }));
    }
    let stream = Container::open(bytes)?.workbook()?;
    check(&stream)?;
    Ok(wrap(&stream))
}

struct Container<'a> {
    bytes: &'a [u8],
    sector: usize,
    fat: Vec<u32>,
    directory: Vec<u8>,
}

impl<'a> Container<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, IngestError> {
        let sector = match u16_at(bytes, 30) {
            Some(9) => 512,
            Some(12) => 4_096,
            _ => return Err(cut_off()),
        };
        let field = |at| u32_at(bytes, at).ok_or_else(cut_off);
        let mut out = Self { bytes, sector, fat: Vec::new(), directory: Vec::new() };
        let mut difat: Vec<u32> = (0..109).map(|i| field(76 + 4 * i)).collect::<Result<_, _>>()?;
        let mut next = field(68)?;
        let sectors = bytes.len() / sector;
        let mut steps = 0;
        while next < FAT_SECTOR - 1 {
            steps += 1;
            if steps > sectors {
                return Err(cut_off());
            }
            let list = out.sector(next)?;
            difat.extend((0..sector / 4 - 1).filter_map(|i| u32_at(list, 4 * i)));
            next = u32_at(list, sector - 4).unwrap_or(END_OF_CHAIN);
        }
        difat.retain(|id| *id < FAT_SECTOR - 1);
        if difat.len() > sectors {
            return Err(cut_off());
        }
        for id in difat {
            let part = out.sector(id)?;
            let part: Vec<u32> = (0..sector / 4).filter_map(|i| u32_at(part, 4 * i)).collect();
            out.fat.extend(part);
        }
        out.directory = out.chain(field(48)?, usize::MAX)?;
        Ok(out)
    }

    /// A sector; the last one may be short.
    fn sector(&self, id: u32) -> Result<&'a [u8], IngestError> {
        let start = (id as usize + 1).checked_mul(self.sector).ok_or_else(cut_off)?;
        let end = start.saturating_add(self.sector).min(self.bytes.len());
        self.bytes.get(start..end).filter(|s| !s.is_empty()).ok_or_else(cut_off)
    }

    /// The first `len` bytes of the chain that starts at `id`.
    fn chain(&self, id: u32, len: usize) -> Result<Vec<u8>, IngestError> {
        let (mut out, mut next) = (Vec::new(), id);
        while next != END_OF_CHAIN && out.len() < len {
            out.extend_from_slice(self.sector(next)?);
            // A chain longer than the file runs in a circle.
            if out.len() > self.bytes.len() {
                return Err(cut_off());
            }
            next = *self.fat.get(next as usize).ok_or_else(cut_off)?;
        }
        out.truncate(len);
        Ok(out)
    }

    /// Start and length of the directory entry called `name`.
    fn entry(&self, name: &str) -> Option<(u32, usize)> {
        let found = self.directory.chunks_exact(128).find(|entry| {
            let units = entry[..64].chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]]));
            let text = char::decode_utf16(units.take_while(|u| *u != 0));
            let text: String = text.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            text.eq_ignore_ascii_case(name)
        })?;
        Some((u32_at(found, 116)?, u32_at(found, 120)? as usize))
    }

    fn workbook(&self) -> Result<Vec<u8>, IngestError> {
        if self.entry("EncryptedPackage").is_some() {
            return Err(bad("is protected by a password; save it without one"));
        }
        let entry = self.entry("Workbook").or_else(|| self.entry("Book"));
        let (start, len) = entry.ok_or_else(|| bad("has no sheets; is it another Office file?"))?;
        let stream = if len < SMALL_STREAM_BYTES {
            self.small_chain(start, len)?
        } else {
            self.chain(start, len)?
        };
        if stream.len() < len { Err(cut_off()) } else { Ok(stream) }
    }

    fn small_chain(&self, start: u32, len: usize) -> Result<Vec<u8>, IngestError> {
        let root = self.directory.get(..128).ok_or_else(cut_off)?;
        let root = u32_at(root, 116).ok_or_else(cut_off)?;
        let small = self.chain(root, usize::MAX)?;
        let fat = self.chain(u32_at(self.bytes, 60).ok_or_else(cut_off)?, usize::MAX)?;
        let (mut out, mut next) = (Vec::new(), start);
        while next != END_OF_CHAIN && out.len() < len {
            let at = (next as usize).checked_mul(SMALL_SECTOR).ok_or_else(cut_off)?;
            let part = small.get(at..).filter(|s| !s.is_empty()).ok_or_else(cut_off)?;
            out.extend_from_slice(&part[..part.len().min(SMALL_SECTOR)]);
            next = u32_at(&fat, 4 * next as usize).ok_or_else(cut_off)?;
        }
        out.truncate(len);
        Ok(out)
    }
}

/// The records from `offset` on: type, content, and whether the stream ends properly is not asked.
fn records(stream: &[u8], offset: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = stream.get(offset..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (kind, len) = (u16_at(rest, 0)?, u16_at(rest, 2)? as usize);
        let content = rest.get(4..4 + len)?;
        rest = &rest[4 + len..];
        Some((kind, content))
    })
}

/// The cells that a sheet spans.
#[derive(Default)]
struct Span {
    cells: u64,
    rows: Option<(u16, u16)>,
    columns: Option<(u16, u16)>,
}

impl Span {
    fn add(&mut self, row: u16, first: u16, last: u16) {
        let widen = |span: Option<(u16, u16)>, low: u16, high: u16| {
            span.map_or(Some((low, high)), |(a, b)| Some((a.min(low), b.max(high))))
        };
        self.cells += 1 + u64::from(last.saturating_sub(first));
        self.rows = widen(self.rows, row, row);
        self.columns = widen(self.columns, first.min(last), last.max(first));
    }

    /// The cells between the outermost ones, each of which takes memory even if it is empty.
    fn area(&self) -> u64 {
        let len = |span: Option<(u16, u16)>| span.map_or(0, |(a, b)| u64::from(b - a) + 1);
        len(self.rows) * len(self.columns)
    }
}

fn check(stream: &[u8]) -> Result<(), IngestError> {
    const END: u16 = 0x000a;
    const SHEET: u16 = 0x0085;
    let globals = records(stream, 0).take_while(|(kind, _)| *kind != END);
    let sheets = globals.filter(|(kind, _)| *kind == SHEET);
    let sheets: Vec<u32> = sheets.filter_map(|(_, content)| u32_at(content, 0)).collect();
    if sheets.len() > WORKBOOK_SHEETS_MAX {
        let message =
            format!("the workbook has {} sheets; the limit is {WORKBOOK_SHEETS_MAX}", sheets.len());
        return Err(IngestError::too_large(message));
    }
    // The records may repeat a cell, so that they are counted too.
    let (mut cells, mut area) = (0u64, 0u64);
    for at in sheets {
        for span in sheet_spans(stream, at as usize)? {
            cells = cells.saturating_add(span.cells);
            area = area.saturating_add(span.area());
        }
        if cells.max(area) > XLS_CELLS_MAX {
            return Err(too_many_cells());
        }
    }
    Ok(())
}

fn too_many_cells() -> IngestError {
    let message = format!(
        "the cells of the workbook span more than {XLS_CELLS_MAX} cells, the limit; delete stray \
         cells, or send its sheets as csv"
    );
    IngestError::too_large(message)
}

/// What the values of a sheet span, and its formulas, which are kept apart.
fn sheet_spans(stream: &[u8], at: usize) -> Result<[Span; 2], IngestError> {
    const FORMULA: u16 = 0x0006;
    const MANY_RK: u16 = 0x00bd;
    /// Label, label of the shared texts, rich text, number, boolean or error, short number.
    const CELLS: [u16; 6] = [0x0204, 0x00fd, 0x00d6, 0x0203, 0x0205, 0x027e];
    const BEGIN: u16 = 0x0809;
    const END: u16 = 0x000a;
    const DIMENSIONS: u16 = 0x0200;
    let (mut values, mut formulas) = (Span::default(), Span::default());
    let mut depth = 0u32;
    for (kind, content) in records(stream, at) {
        let cell = || Some((u16_at(content, 0)?, u16_at(content, 2)?));
        match kind {
            BEGIN => depth += 1,
            END if depth <= 1 => break,
            END => depth -= 1,
            // Charts inside a sheet have cells of their own.
            _ if depth > 1 => {}
            DIMENSIONS => check_claim(content)?,
            MANY_RK => {
                let last = content.len().checked_sub(2).and_then(|at| u16_at(content, at));
                if let Some(((row, first), last)) = cell().zip(last) {
                    values.add(row, first, last);
                }
            }
            FORMULA => {
                if let Some((row, column)) = cell() {
                    formulas.add(row, column, column);
                    values.add(row, column, column);
                }
            }
            kind if CELLS.contains(&kind) => {
                if let Some((row, column)) = cell() {
                    values.add(row, column, column);
                }
            }
            _ => {}
        }
    }
    Ok([values, formulas])
}

/// What a sheet says about its size is reserved before a cell is read.
fn check_claim(content: &[u8]) -> Result<(), IngestError> {
    let wide = content.len() > 10;
    let row = |at: usize| {
        if wide { u32_at(content, 4 * at) } else { u16_at(content, 2 * at).map(u32::from) }
    };
    let columns = if wide { 8 } else { 4 };
    let span = |low: Option<u32>, high: Option<u32>| {
        let (low, high) = (low.unwrap_or(0), high.unwrap_or(0));
        u64::from(high.saturating_sub(low)) + 1
    };
    let last = u16_at(content, columns + 2).map(u32::from);
    // The first column is not counted on: a reader may take it for 0.
    if span(row(0), row(1)).saturating_mul(span(Some(0), last)) > 2 * SHEET_CELLS_MAX {
        return Err(too_many_cells());
    }
    Ok(())
}

/// A container of large sectors with `stream` as its only content.
pub(super) fn wrap(stream: &[u8]) -> Vec<u8> {
    const SECTOR: usize = 4_096;
    const IDS: usize = SECTOR / 4;
    // Short streams would have to lie in small sectors; what follows the last record is not read.
    let len = stream.len().max(SMALL_STREAM_BYTES);
    let data = len.div_ceil(SECTOR);
    // Sector 0 is the directory, then the chains, then the data.
    let fat = (1..=109).find(|n| n * IDS > data + n).unwrap_or(109);
    let mut out = vec![0; SECTOR * (2 + fat + data)];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, MAGIC);
    for (at, value) in [(24, 0x3e_u16), (26, 4), (28, 0xfffe), (30, 12), (32, 6)] {
        put(at, &value.to_le_bytes());
    }
    let header = [(40, 1), (44, fat as u32), (48, 0), (56, SMALL_STREAM_BYTES as u32)];
    for (at, value) in header.into_iter().chain([(60, END_OF_CHAIN), (68, END_OF_CHAIN)]) {
        put(at, &value.to_le_bytes());
    }
    for i in 0..109 {
        let id = if i < fat { i as u32 + 1 } else { FREE };
        put(76 + 4 * i, &id.to_le_bytes());
    }
    let first = 1 + fat;
    for id in 0..fat * IDS {
        let next = match id {
            0 => END_OF_CHAIN,
            id if id < first => FAT_SECTOR,
            id if id + 1 < first + data => id as u32 + 1,
            id if id + 1 == first + data => END_OF_CHAIN,
            _ => FREE,
        };
        put(2 * SECTOR + 4 * id, &next.to_le_bytes());
    }
    let entry = |name: &str, kind: u8, start: u32, len: usize| {
        let mut entry = [0u8; 128];
        for (i, unit) in name.encode_utf16().enumerate() {
            entry[2 * i..2 * i + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entry[64] = 2 * (name.len() as u8 + 1);
        entry[66] = kind;
        entry[68..80].fill(0xff);
        entry[116..120].copy_from_slice(&start.to_le_bytes());
        entry[120..128].copy_from_slice(&(len as u64).to_le_bytes());
        entry
    };
    // The root's start must look used; its stream of small sectors is never asked for.
    put(SECTOR, &entry("Root Entry", 5, 0, 0));
    put(SECTOR + 128, &entry("Workbook", 2, first as u32, len));
    put(SECTOR * (1 + first), stream);
    out
}
