//! The bytes of a file.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use graphlume_ingest::ParseSpec;
use graphlume_storage::{FileRec, Tag};

use super::upload_stream::{StoredUpload, UploadStream};
use super::{Files, commit, parse_spec, record_parse, reply};
use crate::claims::Claim;
use crate::data::{DataStore, blocking};
use crate::error::ServiceError;
use crate::reply::FileReply;
use crate::upload_progress::ProgressEntry;

/// The body of a file on its way in. Dropping it leaves the file as it was.
pub struct FileUpload {
    data: Arc<DataStore>,
    stream: UploadStream,
    entry: ProgressEntry,
    rec: FileRec,
    tag: Tag,
    spec: ParseSpec,
    erase: bool,
    claim: Claim,
}

impl Files {
    /// Starts the upload of a file's bytes. `query` holds the address's parameters: `erase`, and parser
    /// options on top of the record's. `declared_len` is the announced length of the body.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; an unknown parameter; a body over the limit;
    /// [`ServiceError::Conflict`] while another upload of the file runs.
    pub async fn begin_upload(
        &self,
        who: &Principal,
        id: &str,
        query: Vec<(String, String)>,
        declared_len: Option<u64>,
    ) -> Result<FileUpload, ServiceError> {
        let (rec, tag) = self.file_for(who, Action::Write, id).await?;
        let (erase, query) = take_erase(query)?;
        let spec = parse_spec(&rec, &query)?;
        let claim = self.ctx.claims.take(format!("file {id}"))?;
        let (entry, watch) = self.ctx.data.progress.begin(rec.file_id);
        let stream = UploadStream::begin(&self.ctx, rec.author, declared_len, watch).await?;
        let data = Arc::clone(&self.ctx.data);
        Ok(FileUpload { data, stream, entry, rec, tag, spec, erase, claim })
    }
}

impl FileUpload {
    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// A body over the limit or over its announced length; a disk that fails.
    pub async fn write(&mut self, piece: Bytes) -> Result<(), ServiceError> {
        self.stream.write(piece).await
    }

    /// Parses the body and answers once bytes and record are durable. Content that does not parse is a
    /// success with `is_valid` false and `errors`.
    ///
    /// # Errors
    /// A body shorter than announced; a disk that fails; a file deleted meanwhile.
    pub async fn finish(self) -> Result<FileReply, ServiceError> {
        let Self { data, stream, entry, mut rec, tag, spec, erase, claim } = self;
        let kept_options = spec.options.clone();
        let before = rec.clone();
        let StoredUpload { raw, parsed, room, .. } = stream.finish(spec).await?;
        let dropped = parsed.is_refused() && erase;
        record_parse(&mut rec, parsed)?;
        rec.updated_at = data.clock.unix_micros();
        rec.parser_options = kept_options;
        if dropped {
            rec.is_uploaded = false;
            rec.raw = None;
            rec.bytes_count = None;
        } else {
            rec.raw = Some(raw);
            rec.bytes_count = Some(raw.len);
        }
        let write = move |c: &DataStore| {
            // Of the body's length something is reserved; what was parsed from it is known by now.
            let room = c.quotas.record_within(&c.store, &rec, Some(&before), room)?;
            commit(c, &rec, tag)?;
            drop((claim, entry, room));
            reply(rec)
        };
        blocking(&data, write).await
    }
}

/// Takes `erase` out of the parameters; it is true unless stated.
fn take_erase(query: Vec<(String, String)>) -> Result<(bool, Vec<(String, String)>), ServiceError> {
    let mut erase = true;
    let mut rest = Vec::new();
    for (name, value) in query {
        if name != "erase" {
            rest.push((name, value));
            continue;
        }
        erase = match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "" => true,
            "false" | "0" => false,
            _ => {
                let shown: String = value.chars().take(40).collect();
                let message = format!("erase={shown:?} is not possible; use true or false");
                return Err(ServiceError::invalid("erase", message));
            }
        };
    }
    Ok((erase, rest))
}
