//! Whole flows over a temporary data folder, a standing clock and a real engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod damage;
mod datasets;
mod files;
mod identity;
mod links;
mod live;
mod logout;
mod rights;
mod sessions;
mod upkeep;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::EngineThread;
use graphlume_types::{Code, Coded, TestClock};
use serde_json::{Value, json};

use crate::admin::{Admin, NewUser};
use crate::{
    Bootstrap, DirectReply, ElementKind, FileReply, IdentityError, PageRequest, Principal, Service,
    ServiceConfig, ServiceError,
};

pub(crate) const NOW: i64 = 1_800_000_000;
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const EDGES_CSV: &str = "s,d,w\na,b,1\nb,c,2\nc,a,3\n";

/// A service over its own folder.
pub(crate) struct Rig {
    pub service: Arc<Service>,
    pub clock: Arc<TestClock>,
    pub bootstrap: Option<Bootstrap>,
    pub dir: Arc<tempfile::TempDir>,
    engine_thread: Option<EngineThread>,
}

pub(crate) fn config(dir: &Path) -> ServiceConfig {
    let mut config = ServiceConfig::new(dir.to_owned());
    config.admin_password = Some("admin-password".to_owned());
    config.engine.threads = 2;
    config.engine.exit_on_panic = false;
    config
}

impl Rig {
    pub(crate) fn new() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Self::with_users(dir, &[])
    }

    /// With accounts whose passwords are `<name>-password`; `name@org` puts one into an organization.
    pub(crate) fn with(users: &[&str]) -> Self {
        Self::with_users(Arc::new(tempfile::tempdir().unwrap()), users)
    }

    fn with_users(dir: Arc<tempfile::TempDir>, users: &[&str]) -> Self {
        let clock = Arc::new(TestClock::at(NOW));
        // The first start makes the superuser; accounts are added while no service runs.
        let first = Self::start(Arc::clone(&dir), Arc::clone(&clock), config(dir.path()));
        if users.is_empty() {
            return first;
        }
        first.stop();
        let admin = Admin::open(dir.path(), clock.clone()).unwrap();
        for user in users {
            let (name, org) = user.split_once('@').map_or((*user, None), |(n, o)| (n, Some(o)));
            admin.add_user(new_user(name, org)).unwrap();
        }
        drop(admin);
        Self::start(Arc::clone(&dir), clock, config(dir.path()))
    }

    pub(crate) fn start(
        dir: Arc<tempfile::TempDir>,
        clock: Arc<TestClock>,
        config: ServiceConfig,
    ) -> Self {
        let begin = std::time::Instant::now();
        let started = loop {
            match Service::start(config.clone(), clock.clone()) {
                Ok(started) => break started,
                // A load of the stopped engine may still hold the folder for a moment.
                Err(e) if e.slug() == "storage-in-use" && begin.elapsed().as_secs() < 20 => {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                Err(e) => panic!("{e}"),
            }
        };
        Self {
            service: started.service,
            clock,
            bootstrap: started.bootstrap,
            dir,
            engine_thread: Some(started.engine_thread),
        }
    }

    pub(crate) fn stop(mut self) -> (Arc<tempfile::TempDir>, Arc<TestClock>) {
        self.engine_thread.take().unwrap().stop();
        (Arc::clone(&self.dir), Arc::clone(&self.clock))
    }

    pub(crate) fn restart(self) -> Self {
        let (dir, clock) = self.stop();
        let config = config(dir.path());
        Self::start(dir, clock, config)
    }

    pub(crate) async fn token(&self, name: &str) -> String {
        let body = json!({"username": name, "password": format!("{name}-password")}).to_string();
        self.service.identity.login(body.as_bytes(), PEER).await.unwrap().token
    }

    pub(crate) async fn user(&self, name: &str) -> Principal {
        let token = self.token(name).await;
        self.service.identity.authenticate(&token).unwrap()
    }

    pub(crate) async fn file(&self, who: &Principal, body: Value) -> FileReply {
        self.service.files.create(who, body.to_string().as_bytes()).await.unwrap()
    }

    pub(crate) async fn upload(
        &self,
        who: &Principal,
        id: &str,
        query: &[(&str, &str)],
        body: &[u8],
    ) -> Result<FileReply, ServiceError> {
        let query = pairs(query);
        let length = Some(body.len() as u64);
        let mut up = self.service.files.begin_upload(who, id, query, length).await?;
        for piece in body.chunks(700) {
            up.write(Bytes::copy_from_slice(piece)).await?;
        }
        up.finish().await
    }

    /// A file with data in it.
    pub(crate) async fn loaded(&self, who: &Principal, kind: &str, body: &[u8]) -> FileReply {
        let id = self.file(who, json!({"file_type": kind})).await.file_id;
        self.upload(who, &id, &[], body).await.unwrap()
    }

    pub(crate) async fn dataset(
        &self,
        who: &Principal,
        body: Value,
    ) -> Result<String, ServiceError> {
        let made = self.service.datasets.create(who, body.to_string().as_bytes()).await?;
        Ok(made.data.dataset_id)
    }

    /// A dataset whose tables come later.
    pub(crate) async fn empty_dataset(&self, who: &Principal) -> String {
        self.dataset(who, create_body(json!({}))).await.unwrap()
    }

    pub(crate) async fn part(
        &self,
        who: &Principal,
        id: &str,
        part: ElementKind,
        format: &str,
        body: &[u8],
    ) -> Result<DirectReply, ServiceError> {
        let length = Some(body.len() as u64);
        let begin =
            self.service.datasets.begin_part_upload(who, id, part, format, Vec::new(), length);
        let mut up = begin.await?;
        up.write(Bytes::copy_from_slice(body)).await?;
        up.finish().await
    }
}

pub(crate) fn new_user(name: &str, org: Option<&str>) -> NewUser {
    NewUser {
        name: None,
        username: name.to_owned(),
        password: format!("{name}-password"),
        email: format!("{name}@example.org"),
        role: if name.starts_with("staff") { "staff" } else { "user" }.to_owned(),
        org: org.map(str::to_owned),
    }
}

pub(crate) fn pairs(query: &[(&str, &str)]) -> Vec<(String, String)> {
    query.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// A create body over columns `s` and `d`, with `more` on top.
pub(crate) fn create_body(more: Value) -> Value {
    let mut body = json!({
        "name": "g",
        "metadata": {"agent": "pygraphistry", "apiversion": "3"},
        "node_encodings": {"bindings": {}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
    });
    for (k, v) in more.as_object().unwrap() {
        body[k] = v.clone();
    }
    body
}

pub(crate) fn page(limit: &str, offset: &str) -> PageRequest {
    let some = |t: &str| (!t.is_empty()).then(|| t.to_owned());
    PageRequest { address: "http://h/x/".to_owned(), limit: some(limit), offset: some(offset) }
}

/// A page of a list as clients read it.
pub(crate) fn read(page: crate::Page) -> Value {
    serde_json::from_slice(&page.body).unwrap()
}

/// What a member of each entry of a page is.
pub(crate) fn each(page: crate::Page, member: &str) -> Vec<String> {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    read(page)["results"].as_array().unwrap().iter().map(|r| text(&r[member])).collect()
}

/// The code of a refusal.
pub(crate) fn code<T>(outcome: Result<T, impl Coded>) -> Code {
    match outcome {
        Ok(_) => panic!("was not refused"),
        Err(e) => e.code(),
    }
}

/// No file of a data folder holds one of the secrets.
pub(crate) fn assert_not_on_disk(folder: &Path, secrets: &[&str]) {
    let files = files_below(folder);
    assert!(files.len() > 2);
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
            assert!(!found, "{path:?}");
        }
    }
}

/// Every file below a folder, at any depth.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}
