//! Behaviour of the whole store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "test threads need no names")]

mod basics;
mod crash;
mod damage;
mod drafts;
mod faults;
mod full_disk;
mod heads;
mod load;
mod model;
mod ours;
mod snapshots;
mod steps;
mod upkeep;

use std::path::Path;
use std::time::Duration;

use graphlume_types::{DatasetId, FileId, KeyId, UserId};
use serde_json::{Map, Value, json};

use crate::*;

/// A folder in memory where there is one: for tests of what is written, not of whether it lasts.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Options that do not mind how full the machine's disk is.
pub(crate) fn options() -> Options {
    Options { free_bytes_upload_min: 0, free_bytes_commit_min: 0, ..Options::default() }
}

pub(crate) fn open(dir: &Path) -> Store {
    try_open(dir, options()).unwrap()
}

/// Opens a folder that this process held a moment ago. The crash tests beside this one start processes,
/// and between its fork and its exec such a process holds a copy of every lock of ours.
pub(crate) fn try_open(dir: &Path, options: Options) -> Result<Store, StoreError> {
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    loop {
        match Store::open(dir, options.clone()) {
            Err(StoreError::InUse { .. }) if std::time::Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            done => return done,
        }
    }
}

pub(crate) fn file(id: u128, author: u64, org: Option<&str>, created_at: i64) -> FileRec {
    FileRec {
        file_id: FileId::from_bytes(id.to_be_bytes()),
        name: format!("file {id}"),
        description: String::new(),
        file_type: "csv".into(),
        file_compression: String::new(),
        parser_options: Map::new(),
        sql_transforms: Value::Null,
        author: UserId(author),
        org_name: org.map(str::to_owned),
        agent_name: String::new(),
        agent_version: String::new(),
        bytes_count: None,
        created_at,
        updated_at: created_at,
        is_uploaded: false,
        is_valid: false,
        errors: Vec::new(),
        tables_schemas: Vec::new(),
        raw: None,
        tables: Vec::new(),
        notices: Vec::new(),
    }
}

pub(crate) fn dataset(id: u128, author: u64, org: Option<&str>, created_at: i64) -> DatasetRec {
    let body = json!({
        "dataset_id": DatasetId::from_bytes(id.to_be_bytes()),
        "name": format!("dataset {id}"),
        "author": author,
        "org_name": org,
        "created_at": created_at,
        "updated_at": created_at,
        "node_encodings": {"bindings": {"node": "id", "node_color": "kind", "node_label": "name"}},
        "edge_encodings": {"bindings": {"source": "src", "destination": "dst"}},
        "metadata": {"agent": "client", "apiversion": "3", "bg": {"color": "#FFFFFF"}},
    });
    serde_json::from_value(body).unwrap()
}

pub(crate) fn user(id: u64, username: &str, email: &str) -> UserRec {
    let body = json!({"id": id, "username": username, "email": email, "created_at": 1});
    serde_json::from_value(body).unwrap()
}

pub(crate) fn key(id: &str, user: u64) -> KeyRec {
    KeyRec {
        key_id: KeyId(id.into()),
        secret_sha256: SecretDigest::new([9; 32]),
        user: UserId(user),
        label: "laptop".into(),
        created_at: 5,
        revoked_at: None,
    }
}

pub(crate) fn assert_sound(store: &Store) {
    let report = store.fsck(true).unwrap();
    assert_eq!(report.problems, Vec::new());
}
