//! `graphlume export` and `graphlume import`.

use std::sync::Arc;

use graphlume_service::command::Command;
use graphlume_storage::{Options, Store, check_export};
use graphlume_types::SystemClock;

use super::user::on_existing;
use crate::cli::{ExportArgs, ImportArgs};
use crate::failure::{Failure, failure};

/// Writes every record as JSON lines and every immutable file.
pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    // A server has a working folder of its own.
    let to = std::path::absolute(&args.dir)?;
    on_existing(&args.data.data, Command::Export { to })
}

/// Reads a backup into an empty data folder.
pub fn import(args: &ImportArgs) -> Result<(), Failure> {
    let data = &args.data.data;
    if std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some()) {
        let shown = data.display();
        return Err(failure(format!("--data {shown}: is not empty; import into a new folder")));
    }
    // Before anything is made, so that a mistyped name leaves no folder behind.
    check_export(&args.dir)?;
    let is_new = !data.exists();
    let store = Store::open(data, Options::with_clock(Arc::new(SystemClock)))?;
    let report = match store.import(&args.dir) {
        Ok(report) => report,
        Err(e) => {
            drop(store);
            if is_new {
                std::fs::remove_dir_all(data)?;
            }
            return Err(e.into());
        }
    };
    say!("{} records and {} files in {}", report.records, report.blobs, data.display());
    Ok(())
}
