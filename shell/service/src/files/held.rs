//! Rights that datasets give on the files whose tables they hold: whether a file is kept from its organization, and which
//! of its tables a caller may make a dataset of. Answered by the indexes of the store, whatever the records hold.

use graphlume_identity::Principal;
use graphlume_identity::authz::{Action, Decision, Held, Resource, decides};
use graphlume_storage::{
    DatasetHead, DatasetRec, FileHead, FileRec, Headed as _, PrivacyMode, TableRec,
};
use graphlume_types::DatasetId;
use graphlume_types::limits::HOLDERS_LOOKED_AT_MAX;

use super::no_file;
use crate::data::DataStore;
use crate::error::ServiceError;

/// Whether the datasets that hold a file can matter to what a caller may do with it.
fn matters(who: &Principal, file: &FileHead) -> bool {
    who.user() != Some(file.author) && who.belongs_to(file.org_name.as_deref())
}

/// What the datasets of a file's author say about it to another account. Asks nothing where no answer could help.
pub(crate) fn held(
    data: &DataStore,
    who: &Principal,
    file: &FileHead,
) -> Result<Held, ServiceError> {
    let privately =
        matters(who, file) && data.store.is_held_privately(&file.file_id, file.author)?;
    Ok(Held { privately })
}

/// Where the tables come from that a caller may make a dataset of.
pub(crate) enum Citable {
    /// The file as it is.
    File,
    /// A dataset that the caller may see: the tables that it shows, and no others, whatever the file is by now.
    Shown(Box<TableRec>),
}

/// What of table `index` of a file a caller may make a dataset of.
///
/// # Errors
/// [`ServiceError::NotFound`] where that is nothing.
pub(crate) fn citable(
    data: &DataStore,
    who: &Principal,
    file: &FileRec,
    index: u32,
) -> Result<Citable, ServiceError> {
    let head = file.head();
    let resource = Resource::File(&head, held(data, who, &head)?);
    if decides(who, Action::Cite, resource) == Decision::Allow {
        return Ok(Citable::File);
    }
    let hidden = || no_file(file.file_id);
    if who.is_anonymous() || who.scope().is_some() {
        return Err(hidden());
    }
    let dataset = shown_by(data, who, file, index)?.ok_or_else(hidden)?;
    // The record is the truth of this moment: what was shared a moment ago may be private by now.
    let rec = data.store.get::<DatasetRec>(&dataset)?.ok_or_else(hidden)?;
    if decides(who, Action::Read, Resource::Dataset(&rec)) != Decision::Allow {
        return Err(hidden());
    }
    let of_file =
        |t: &&TableRec| t.table_index == index && t.file.is_some_and(|f| f.file_id == file.file_id);
    let shown = rec.node_tables.iter().chain(&rec.edge_tables).filter(of_file);
    let newest = shown.max_by_key(|t| t.uploaded_at).cloned();
    newest.map(|t| Citable::Shown(Box::new(t))).ok_or_else(hidden)
}

/// The dataset that shows a caller the latest version of a table, unless a private one that is not for the caller
/// holds the file: then nothing of it is given away, whatever else holds it.
///
/// The id of a file does not tell which address the caller was given. So datasets that are open to every caller with their
/// address count only where no other one shows the table, and where all of them show the same version.
fn shown_by(
    data: &DataStore,
    who: &Principal,
    file: &FileRec,
    index: u32,
) -> Result<Option<DatasetId>, ServiceError> {
    let mut newest: Option<(i64, DatasetId)> = None;
    let (mut by_address, mut versions_differ) = (None::<(i64, DatasetId)>, false);
    for (seen, holder) in data.store.holders(&file.file_id, file.author).enumerate() {
        let holder = holder?;
        let is_private = holder.mode == Some(PrivacyMode::Private);
        if seen >= HOLDERS_LOOKED_AT_MAX {
            return Ok(newest.filter(|_| !is_private).map(|(_, dataset)| dataset));
        }
        let head = data.store.head::<DatasetRec>(&holder.dataset)?;
        let may = |d: &DatasetHead| decides(who, Action::Read, Resource::Dataset(d));
        if head.as_ref().is_none_or(|d| may(d) != Decision::Allow) {
            if is_private {
                return Ok(None);
            }
            continue;
        }
        let uploaded = holder.tables.iter().find(|(i, _)| *i == index).map(|(_, at)| *at);
        let found = uploaded.map(|at| (at, holder.dataset));
        if holder.mode.is_some() {
            newest = newest.max(found);
        } else if let Some((at, _)) = found {
            versions_differ |= by_address.is_some_and(|(other, _)| other != at);
            by_address = found;
        }
    }
    let found = newest.or(by_address.filter(|_| !versions_differ));
    Ok(found.map(|(_, dataset)| dataset))
}
