//! The front door: what the service is made of, and how it starts and stops.

mod operator;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use graphlume_engine::{EngineHandle, EngineThread};
use graphlume_identity::{
    Bootstrap, Identity, LinkSettings, Principal, SteadyClock, make_first_account,
};
use graphlume_storage::{Options, Store};
use graphlume_types::limits::{LISTS_AT_ONCE_MAX, RENDERS_PER_CORE, UPLOAD_BYTES_MAX};
use graphlume_types::{Clock, settings};
use graphlume_workers::{Parsers, WorkerConfig};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::agents::Agents;
use crate::answer_budget::AnswerBudget;
use crate::claims::Claims;
use crate::context::Context;
use crate::data::DataStore;
use crate::datasets::Datasets;
use crate::datasets::loader::TableLoader;
use crate::error::ServiceError;
use crate::files::Files;
use crate::health::Health;
use crate::parse_turns::ParseTurns;
use crate::pictures::PictureHost;
use crate::queries::Queries;
use crate::quotas::{QuotaSettings, Quotas};
use crate::sessions::Sessions;
use crate::sessions::checkpoints::{self, Checkpoints};
use crate::table_cache::TableCache;
use crate::upkeep::Upkeep;

/// Settings of the service. They hold a password and therefore do not print.
#[derive(Clone)]
pub struct ServiceConfig {
    /// The data folder.
    pub data_dir: PathBuf,
    /// Password of the first superuser; generated when absent.
    pub admin_password: Option<String>,
    /// Whether a generated one goes into a file of the data folder instead of to the terminal.
    pub keep_password: bool,
    /// What may be set on the command line.
    pub settings: ServiceSettings,
    /// Bytes of parsed tables kept for the next load.
    pub table_cache_bytes: u64,
    /// The processes that parse uploaded bytes; absent, this process does it itself.
    pub workers: Option<WorkerConfig>,
    /// Bytes of one uploaded body.
    pub upload_bytes_max: u64,
    /// Settings of the engine.
    pub engine: graphlume_engine::Config,
}

/// Settings of the use cases: flags of `graphlume serve`, which takes this structure as it stands here.
#[derive(Debug, Clone, Args)]
pub struct ServiceSettings {
    /// Let any account cite a file id of another account when it creates a dataset. For one process that
    /// plots for several accounts; leave it off otherwise
    #[arg(long, env = "GRAPHLUME_ALLOW_FOREIGN_FILE_IDS", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub allow_foreign_file_ids: bool,
    /// A site from which pages may load the logos, backgrounds and icons that datasets and addresses name, such as
    /// images.example.org, *.example.org, or https: for every one; repeat for several. Without it no other site is asked,
    /// and so none learns who looks
    #[arg(
        long = "picture-host",
        value_name = "SITE",
        env = "GRAPHLUME_PICTURE_HOST",
        value_delimiter = ','
    )]
    pub picture_hosts: Vec<PictureHost>,
    /// What one account may hold.
    #[command(flatten)]
    pub quotas: QuotaSettings,
    /// Settings of login links.
    #[command(flatten)]
    pub links: LinkSettings,
}

impl ServiceConfig {
    /// Defaults for a data folder.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            data_dir,
            admin_password: None,
            keep_password: false,
            settings: settings::defaults(),
            table_cache_bytes: 512 << 20,
            workers: None,
            upload_bytes_max: UPLOAD_BYTES_MAX,
            engine: graphlume_engine::Config::default(),
        }
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

/// The use cases of the product, a field a subject. What concerns several of them is a method.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use graphlume_service::{Principal, Service, ServiceConfig};
/// use graphlume_types::SystemClock;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let started = Service::start(ServiceConfig::new(folder.path().into()), Arc::new(SystemClock))?;
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// runtime.block_on(async {
///     let karate = started.service.datasets.get(&Principal::anonymous(), "Karate").await?;
///     assert_eq!(karate.data.edge_count, Some(78));
///     Ok::<_, graphlume_service::ServiceError>(())
/// })?;
/// started.engine_thread.stop();
/// # Ok(())
/// # }
/// ```
pub struct Service {
    /// Who is asking.
    pub identity: Arc<Identity>,
    /// Uploaded files.
    pub files: Files,
    /// Datasets, and those that ship with the server.
    pub datasets: Datasets,
    /// Queries over the graphs of datasets.
    pub queries: Queries,
    /// Visualizations.
    pub sessions: Arc<Sessions>,
    /// The tools of agents.
    pub agents: Agents,
    /// What operators ask.
    pub health: Health,
    /// The regular work on the data folder.
    pub upkeep: Upkeep,
    pub(crate) ctx: Arc<Context>,
    steady: Arc<SteadyClock>,
}

/// The machine's clock, made steady; says so where it is behind.
fn steady_clock(store: &Store, clock: Arc<dyn Clock>) -> Result<Arc<SteadyClock>, ServiceError> {
    let steady = Arc::new(SteadyClock::new(clock, SteadyClock::mark(store)?));
    if !steady.behind().is_zero() {
        tracing::warn!(
            seconds = steady.behind().as_secs(),
            "the machine's clock is behind what it showed in an earlier run; times go on from there. If that time was \
             wrong, run `graphlume doctor --accept-clock`"
        );
    }
    Ok(steady)
}

impl Service {
    /// Opens the data folder, makes the first superuser, starts the engine. Blocks on the disk and on
    /// one password hash; later calls need a tokio runtime.
    ///
    /// # Errors
    /// A data folder in use, damaged or with an exposed key; an engine that cannot start.
    pub fn start(config: ServiceConfig, clock: Arc<dyn Clock>) -> Result<Started, ServiceError> {
        let store = Store::open(&config.data_dir, Options::with_clock(Arc::clone(&clock)))?;
        let steady = steady_clock(&store, clock)?;
        let clock: Arc<dyn Clock> = Arc::clone(&steady) as Arc<dyn Clock>;
        let identity = Arc::new(Identity::open(&store, Arc::clone(&clock), config.settings.links)?);
        let bootstrap = make_first_account(&store, config.admin_password, config.keep_password)?;
        let parsers = Parsers::new(config.workers).map_err(|e| {
            ServiceError::Internal(format!("the parse workers cannot be kept: {e}"))
        })?;
        let data = Arc::new(DataStore {
            store,
            clock: Arc::clone(&clock),
            cache: TableCache::new(config.table_cache_bytes),
            parsers,
            progress: Arc::default(),
            quotas: Quotas::new(config.settings.quotas),
            previews: Mutex::new(()),
        });
        let loader = Arc::new(TableLoader::new(Arc::clone(&data)));
        if let Err(e) = checkpoints::sweep(&data) {
            tracing::warn!(error = %e, "positions that nobody needs were not removed");
        }
        let kept = Arc::new(Checkpoints::new(Arc::clone(&data)));
        let (engine, engine_thread) =
            graphlume_engine::start(config.engine, loader, Some(kept), clock)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let ctx = Arc::new(Context {
            data,
            engine: engine.clone(),
            identity,
            parses: ParseTurns::new(),
            renders: Arc::new(Semaphore::new(cores * RENDERS_PER_CORE)),
            lists: Arc::new(Semaphore::new(LISTS_AT_ONCE_MAX)),
            answer_budget: AnswerBudget::default(),
            claims: Claims::default(),
            upload_bytes_max: config.upload_bytes_max.min(UPLOAD_BYTES_MAX),
            allow_foreign_file_ids: config.settings.allow_foreign_file_ids,
            picture_hosts: config.settings.picture_hosts,
        });
        Ok(Started { service: Arc::new(Self::of(ctx, steady)), engine, engine_thread, bootstrap })
    }

    fn of(ctx: Arc<Context>, steady: Arc<SteadyClock>) -> Self {
        let (files, datasets) = (Files::new(Arc::clone(&ctx)), Datasets::new(Arc::clone(&ctx)));
        let queries = Queries::new(Arc::clone(&ctx), files.clone(), datasets.clone());
        let sessions = Arc::new(Sessions::new(Arc::clone(&ctx)));
        Self {
            identity: Arc::clone(&ctx.identity),
            agents: Agents::new(Arc::clone(&ctx), Arc::clone(&sessions), queries.clone()),
            files,
            datasets,
            queries,
            sessions,
            health: Health::new(Arc::clone(&ctx), Arc::clone(&steady)),
            upkeep: Upkeep::new(Arc::clone(&ctx), Arc::clone(&steady)),
            ctx,
            steady,
        }
    }

    /// Waits until the store has stopped after a failed sync, and gives the reason: the process must start again.
    pub async fn store_stopped(&self) -> Arc<str> {
        let store = self.ctx.data.store.clone();
        store.stopped().await
    }

    /// Deletes a dataset; its viz sessions end.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`].
    pub async fn delete_dataset(&self, who: &Principal, id: &str) -> Result<(), ServiceError> {
        let dataset = self.datasets.delete(who, id).await?;
        self.sessions.forget_dataset(dataset);
        let user = who.user().map(|u| u.0);
        tracing::info!(target: "audit", event = "dataset-deleted", user, %dataset);
        Ok(())
    }
}
