//! A look into the archive that an xlsx workbook is: `calamine` keeps every shared text in memory,
//! allocates what their count claims, and believes the archive.

use bytes::Bytes;
use graphlume_types::limits::{WORKBOOK_STYLE_TAGS_MAX, WORKBOOK_TEXTS_MAX};

use crate::decompress::Bound;
use crate::decompress::zipped::{Entry, Fault, entries};
use crate::{Format, IngestError, ParseCx};

/// Tags that a shared text has at most in the mean: `<si><t>..</t></si>`, and some for formats.
const TAGS_PER_TEXT: u64 = 4;
/// The part that every package has.
pub const CONTENTS: &str = "[Content_Types].xml";
/// The claim that a reader allocates for.
const CLAIM: &[u8] = b"uniqueCount";
/// Bytes that the claim's value may be behind its name.
const CLAIM_BYTES: usize = 64;

/// Refuses archives that expand too far, and too many shared texts.
pub fn check(bytes: &Bytes, cx: &ParseCx) -> Result<(), IngestError> {
    if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        let message = "the workbook is no xlsx: it is protected by a password (save it without one), \
                       or of the older kind (declare the file type xls)";
        return Err(IngestError::malformed(Format::Xlsx, message));
    }
    let fault = |fault| match fault {
        Fault::Bad(message) => {
            IngestError::malformed(Format::Xlsx, format!("the workbook {message}"))
        }
        Fault::Other(e) => e,
    };
    let mut bound = Bound::default();
    let mut used_before = 0;
    let entries = entries(bytes).map_err(fault)?;
    if !entries.iter().any(|e| e.name == CONTENTS) {
        let message = "the archive holds no workbook; if it is an archive with one in it, declare \
                       file_compression \"zip\"";
        return Err(IngestError::malformed(Format::Xlsx, message));
    }
    for entry in entries {
        let mut texts = is_part(&entry, "sharedStrings.xml").then(SharedTexts::default);
        let (styles, mut tags) = (is_part(&entry, "styles.xml"), 0);
        entry
            .unpack(|plain, used| {
                cx.cancel.check()?;
                bound.add(plain.len(), used_before + used, "the workbook")?;
                if styles {
                    tags += count_tags(plain);
                    check_styles(tags)?;
                }
                texts.as_mut().map_or(Ok(()), |texts| texts.look(plain))
            })
            .map_err(fault)?;
        used_before += entry.stored.len() as u64;
    }
    Ok(())
}

fn is_part(entry: &Entry<'_>, part: &str) -> bool {
    let file = entry.name.rsplit(['/', '\\']).next().unwrap_or_default();
    file.eq_ignore_ascii_case(part)
}

fn count_tags(plain: &[u8]) -> u64 {
    memchr::memchr_iter(b'<', plain).count() as u64
}

fn check_styles(tags: u64) -> Result<(), IngestError> {
    if tags > WORKBOOK_STYLE_TAGS_MAX {
        let message = format!(
            "the styles of the workbook have more than {WORKBOOK_STYLE_TAGS_MAX} elements, the limit; \
             send its sheets as csv or parquet"
        );
        return Err(IngestError::Bomb { message });
    }
    Ok(())
}

/// What was seen of the shared texts so far.
#[derive(Default)]
struct SharedTexts {
    tags: u64,
    /// The end of the last block, so that a claim across two blocks is seen.
    tail: Vec<u8>,
    started: bool,
}

impl SharedTexts {
    fn look(&mut self, plain: &[u8]) -> Result<(), IngestError> {
        if !std::mem::replace(&mut self.started, true) {
            check_encoding(plain)?;
        }
        self.tags += count_tags(plain);
        if self.tags > TAGS_PER_TEXT * WORKBOOK_TEXTS_MAX {
            return Err(too_many());
        }
        // A claim may begin in one block and end in the next.
        self.tail.extend_from_slice(plain.get(..CLAIM_BYTES).unwrap_or(plain));
        check_claims(&self.tail)?;
        check_claims(plain)?;
        if plain.len() > CLAIM_BYTES {
            self.tail.clear();
            self.tail.extend_from_slice(plain);
        }
        let keep = self.tail.len().saturating_sub(2 * CLAIM_BYTES);
        self.tail.drain(..keep);
        Ok(())
    }
}

/// Texts in UTF-16 and the like would hide what is looked for; Excel writes UTF-8.
fn check_encoding(start: &[u8]) -> Result<(), IngestError> {
    let head = &start[..start.len().min(256)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let prolog = head.split("?>").next().unwrap_or_default();
    let named = prolog.contains("encoding");
    let utf8 =
        ["\"utf-8\"", "'utf-8'", "\"utf8\"", "\"us-ascii\""].iter().any(|n| prolog.contains(n));
    if head.contains('\0') || (named && !utf8) {
        let message = "the shared texts of the workbook are not UTF-8; save it with Excel again";
        return Err(IngestError::malformed(Format::Xlsx, message));
    }
    Ok(())
}

fn check_claims(text: &[u8]) -> Result<(), IngestError> {
    for at in memchr::memmem::find_iter(text, CLAIM) {
        let rest = &text[at + CLAIM.len()..];
        let rest = &rest[..rest.len().min(CLAIM_BYTES)];
        if rest.len() == CLAIM_BYTES && rest.iter().all(u8::is_ascii_whitespace) {
            return Err(IngestError::malformed(Format::Xlsx, "the shared texts are damaged"));
        }
        let quote = |b: &&u8| matches!(b, b'=' | b'"' | b'\'') || b.is_ascii_whitespace();
        let digits = rest.iter().skip_while(quote).take_while(|b| b.is_ascii_digit());
        let claim =
            digits.fold(0u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')));
        if claim > WORKBOOK_TEXTS_MAX {
            return Err(too_many());
        }
    }
    Ok(())
}

fn too_many() -> IngestError {
    let message = format!(
        "the workbook has more than {WORKBOOK_TEXTS_MAX} shared texts, the limit; send its sheets as \
         csv or parquet"
    );
    IngestError::Bomb { message }
}
