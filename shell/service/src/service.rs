//! What every use case shares, and how the service starts and stops.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use graphlume_engine::{EngineHandle, EngineThread};
use graphlume_storage::{Options, Role, Store, UserRec};
use graphlume_types::Clock;
use graphlume_types::limits::{
    BYTES_PER_USER_MAX, FILES_PER_USER_MAX, LISTS_AT_ONCE_MAX, PARSES_IN_PROGRESS_MAX,
    RENDERS_PER_CORE, UPLOAD_BYTES_MAX,
};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use crate::ServiceError;
use crate::damage::Damage;
use crate::files::Board;
use crate::identity::accounts::{self, NewAccount};
use crate::identity::links::LinkSettings;
use crate::identity::{Identity, first_password, password, random_text};
use crate::keeper::{self, PositionKeeper};
use crate::loader::TableLoader;
use crate::pages::Pages;
use crate::parsers::{Parsers, WorkerConfig};
use crate::pictures::PictureHost;
use crate::principal::Principal;
use crate::quotas::{QuotaSettings, Quotas};
use crate::sessions::Visits;
use crate::steady::SteadyClock;
use crate::tables::TableCache;
use crate::unread::Unread;
use crate::upkeep::Failures;

/// The name of the account that the first start makes.
pub const FIRST_USERNAME: &str = "admin";

/// Settings of the service. They hold a password and therefore do not print.
#[derive(Clone)]
pub struct ServiceConfig {
    /// The data folder.
    pub data_dir: PathBuf,
    /// Password of the first superuser; generated when absent.
    pub admin_password: Option<String>,
    /// Whether a generated one goes into a file of the data folder instead of to whoever started the server.
    pub keep_password: bool,
    /// Whether a dataset may cite the file of an account that shares no organization with the caller.
    pub allow_foreign_file_ids: bool,
    /// Sites from which pages may load pictures, besides our own.
    pub picture_hosts: Vec<PictureHost>,
    /// Bytes of parsed tables kept for the next load.
    pub table_cache_bytes: u64,
    /// The processes that parse uploaded bytes; absent, this process does it itself.
    pub workers: Option<WorkerConfig>,
    /// Bytes of one uploaded body.
    pub upload_bytes_max: u64,
    /// What one account may hold.
    pub quotas: QuotaSettings,
    /// Settings of login links.
    pub links: LinkSettings,
    /// Settings of the engine.
    pub engine: graphlume_engine::Config,
}

impl ServiceConfig {
    /// Defaults for a data folder.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            data_dir,
            admin_password: None,
            keep_password: false,
            allow_foreign_file_ids: false,
            picture_hosts: Vec::new(),
            table_cache_bytes: 512 << 20,
            workers: None,
            upload_bytes_max: UPLOAD_BYTES_MAX,
            quotas: QuotaSettings { files_max: FILES_PER_USER_MAX, bytes_max: BYTES_PER_USER_MAX },
            links: LinkSettings::default(),
            engine: graphlume_engine::Config::default(),
        }
    }
}

/// The superuser that the first start made.
pub struct Bootstrap {
    /// Its login name.
    pub username: String,
    /// Its password, for showing once.
    pub password: String,
    /// Whether the password was generated.
    pub generated: bool,
    /// The file with the password, where it is not to be shown.
    pub kept_in: Option<PathBuf>,
}

impl std::fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bootstrap").field("username", &self.username).finish_non_exhaustive()
    }
}

/// A service that runs.
pub struct Started {
    /// The use cases.
    pub service: Arc<Service>,
    /// The engine behind them.
    pub engine: EngineHandle,
    /// To be joined at the end.
    pub engine_thread: EngineThread,
    /// Set at the first start on a data folder.
    pub bootstrap: Option<Bootstrap>,
}

/// What the use cases and the loader share.
pub(crate) struct Core {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub cache: TableCache,
    pub parsers: Parsers,
    pub board: Arc<Board>,
    pub quotas: Quotas,
    /// The turn to look at the rows of a dataset before its graph is built.
    pub previews: Mutex<()>,
}

/// The use cases of the product.
pub struct Service {
    pub(crate) core: Arc<Core>,
    pub(crate) engine: EngineHandle,
    pub(crate) identity: Identity,
    pub(crate) links: LinkSettings,
    pub(crate) visits: Visits,
    pub(crate) pages: Arc<Pages>,
    pub(crate) parses: Arc<Semaphore>,
    /// Places for answers that are being written out.
    pub(crate) renders: Arc<Semaphore>,
    /// Places for lists that are being written out.
    pub(crate) lists: Arc<Semaphore>,
    pub(crate) unread: Unread,
    pub(crate) damage: Damage,
    pub(crate) steady: Arc<SteadyClock>,
    pub(crate) upload_bytes_max: u64,
    pub(crate) allow_foreign_file_ids: bool,
    pub(crate) picture_hosts: Vec<PictureHost>,
    access: watch::Sender<u64>,
    pub(crate) upkeep_failures: Arc<Failures>,
    /// Ids of files and `dataset/part`s whose bytes are being replaced.
    pub(crate) busy: Arc<Mutex<HashSet<String>>>,
}

impl Service {
    /// Opens the data folder, makes the first superuser, starts the engine. Blocks on the disk and on
    /// one password hash; later calls need a tokio runtime.
    ///
    /// # Errors
    /// A data folder in use, damaged or with an exposed key; an engine that cannot start.
    pub fn start(config: ServiceConfig, clock: Arc<dyn Clock>) -> Result<Started, ServiceError> {
        let store = Store::open(&config.data_dir, Options::with_clock(Arc::clone(&clock)))?;
        let steady = Arc::new(SteadyClock::new(Arc::clone(&clock), SteadyClock::mark(&store)?));
        let clock: Arc<dyn Clock> = Arc::clone(&steady) as Arc<dyn Clock>;
        if !steady.behind().is_zero() {
            tracing::warn!(
                seconds = steady.behind().as_secs(),
                "the machine's clock is behind what it showed in an earlier run; times go on from there. If that time was \
                 wrong, run `graphlume doctor --accept-clock`"
            );
        }
        // Before the key of tokens is read, which damage replaces.
        let damage = Damage::at_start(&store)?;
        let identity = Identity::open(&store)?;
        let bootstrap = bootstrap(&store, config.admin_password, config.keep_password)?;
        let cache = TableCache::new(config.table_cache_bytes);
        let parsers = Parsers::new(config.workers).map_err(|e| {
            ServiceError::Internal(format!("the parse workers cannot be kept: {e}"))
        })?;
        let board = Arc::default();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (quotas, clock_of_core) = (Quotas::new(config.quotas), Arc::clone(&clock));
        let (clock_of_store, previews) = (clock_of_core, Mutex::new(()));
        let core = Core { store, clock: clock_of_store, cache, parsers, board, quotas, previews };
        let core = Arc::new(core);
        let loader = Arc::new(TableLoader::new(Arc::clone(&core)));
        if let Err(e) = keeper::sweep(&core) {
            tracing::warn!(error = %e, "positions that nobody needs were not removed");
        }
        let keeper = Arc::new(PositionKeeper::new(Arc::clone(&core)));
        let (engine, engine_thread) =
            graphlume_engine::start(config.engine, loader, Some(keeper), Arc::clone(&clock))?;
        let service = Arc::new(Self {
            core,
            engine: engine.clone(),
            identity,
            links: config.links,
            visits: Visits::new(),
            pages: Pages::new(clock),
            parses: Arc::new(Semaphore::new(PARSES_IN_PROGRESS_MAX)),
            renders: Arc::new(Semaphore::new(cores * RENDERS_PER_CORE)),
            lists: Arc::new(Semaphore::new(LISTS_AT_ONCE_MAX)),
            unread: Unread::default(),
            damage,
            steady,
            upload_bytes_max: config.upload_bytes_max.min(UPLOAD_BYTES_MAX),
            allow_foreign_file_ids: config.allow_foreign_file_ids,
            picture_hosts: config.picture_hosts,
            access: watch::Sender::new(0),
            upkeep_failures: Arc::default(),
            busy: Arc::new(Mutex::new(HashSet::new())),
        });
        Ok(Started { service, engine, engine_thread, bootstrap })
    }

    /// Waits until the store has stopped after a failed sync, and gives the reason: the process must start again.
    pub async fn store_stopped(&self) -> Arc<str> {
        let store = self.core.store.clone();
        store.stopped().await
    }

    /// The engine, for callers that [`Service::authorize_viewer`] let through.
    #[must_use]
    pub const fn engine(&self) -> &EngineHandle {
        &self.engine
    }

    /// Changes whenever somebody may have lost the right to watch something. Whoever streams to viewers
    /// asks [`Service::authorize_viewer`] again then.
    #[must_use]
    pub fn access_changes(&self) -> watch::Receiver<u64> {
        self.access.subscribe()
    }

    /// How often [`Service::access_changes`] has told of a change.
    #[must_use]
    pub fn access_version(&self) -> u64 {
        *self.access.borrow()
    }

    /// Refuses a caller who was logged out since [`Service::access_version`] was `since`.
    ///
    /// # Errors
    /// [`ServiceError::TokenInvalid`].
    pub fn require_access_since(&self, who: &Principal, since: u64) -> Result<(), ServiceError> {
        if self.access_version() == since { Ok(()) } else { self.require_in_force(who) }
    }

    /// Tells [`Service::access_changes`].
    pub(crate) fn access_changed(&self) {
        self.access.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// [`blocking`] on the service's own core.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Core) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        blocking(&self.core, work).await
    }

    /// Marks `what` as being replaced.
    ///
    /// # Errors
    /// [`ServiceError::Conflict`] while another upload of the same thing is in progress.
    pub(crate) fn claim(&self, what: String) -> Result<Claim, ServiceError> {
        if !self.busy.lock().insert(what.clone()) {
            return Err(ServiceError::Conflict(format!(
                "another upload of {what} is in progress; wait for it to end and try again"
            )));
        }
        Ok(Claim { busy: Arc::clone(&self.busy), what })
    }
}

/// The sole right to replace something, given back on drop.
pub(crate) struct Claim {
    busy: Arc<Mutex<HashSet<String>>>,
    what: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.busy.lock().remove(&self.what);
    }
}

/// The outcome of a task; one that panicked is a defect of ours.
pub(crate) fn joined<T>(
    outcome: Result<Result<T, ServiceError>, tokio::task::JoinError>,
) -> Result<T, ServiceError> {
    outcome.unwrap_or_else(|e| {
        tracing::error!(error = %e, "a task failed");
        Err(ServiceError::Internal("a task of the server failed".to_owned()))
    })
}

/// Runs `work` to its end even when the caller goes away: what was written must also be told.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
) -> Result<T, ServiceError> {
    joined(tokio::spawn(work).await)
}

/// Runs blocking `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    core: &Arc<Core>,
    work: impl FnOnce(&Core) -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    let core = Arc::clone(core);
    joined(tokio::task::spawn_blocking(move || work(&core)).await)
}

/// Makes the first superuser when there is none. Damaged records are passed over: `doctor` names them, and they are
/// no reason to refuse a start.
fn bootstrap(
    store: &Store,
    given: Option<String>,
    keep: bool,
) -> Result<Option<Bootstrap>, ServiceError> {
    let (mut is_taken, mut damaged) = (false, 0_u64);
    for account in store.scan::<UserRec>() {
        match account {
            Ok(account) if account.role == Role::Superuser => {
                if given.is_some() {
                    tracing::info!(
                        superuser = account.username,
                        "GRAPHLUME_ADMIN_PASSWORD is for the first start alone and was not looked at; \
                         `graphlume user password` changes a password"
                    );
                }
                return Ok(None);
            }
            Ok(account) => is_taken |= account.username == FIRST_USERNAME,
            Err(e) if e.is_corrupt() => damaged += 1,
            Err(e) => return Err(e.into()),
        }
    }
    // A superuser may be among the damaged ones.
    if is_taken || damaged > 0 {
        tracing::warn!(
            damaged,
            "there is no superuser, and none was made, because an account {FIRST_USERNAME:?} exists or records are \
             damaged; `graphlume user set NAME --role superuser` makes one"
        );
        return Ok(None);
    }
    let generated = given.is_none();
    let password = given.unwrap_or_else(random_text);
    if !generated {
        password::check_new("GRAPHLUME_ADMIN_PASSWORD", &password)
            .map_err(|e| ServiceError::Setup(e.to_string()))?;
    }
    let new = NewAccount {
        username: FIRST_USERNAME.to_owned(),
        password_hash: password::hash(&password)?,
        email: String::new(),
        role: Role::Superuser,
        org: None,
    };
    // Before the account, which nobody could use without it.
    let kept_in =
        if generated && keep { Some(first_password::keep(store.dir(), &password)?) } else { None };
    let user = accounts::add(store, new)?;
    Ok(Some(Bootstrap { username: user.username, password, generated, kept_in }))
}
