//! Kit that the tests share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use graphlume_table::Table;
use graphlume_types::{CancelToken, Clock, Code, DatasetId, SessionId, SystemClock, TestClock};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    CheckpointStore, Config, Encodings, EngineHandle, EngineThread, LayoutSettings, LoadError,
    Loaded, Loader, Phase, Viewer, ViewerEvent, block_on,
};

/// What a dataset of the test loader is.
#[derive(Clone)]
pub(super) enum Source {
    Graph(Box<Loaded>),
    Waiting,
    Fails(Code),
    Panics,
}

#[derive(Default)]
pub(super) struct MemLoader {
    sources: Mutex<HashMap<DatasetId, Source>>,
    pub(super) loads: AtomicUsize,
    /// While set, loads wait here, checking their token.
    pub(super) gate: AtomicBool,
    pub(super) stopped: AtomicUsize,
    pub(super) footprint: Mutex<Option<u64>>,
}

impl MemLoader {
    pub(super) fn set(&self, dataset: DatasetId, source: Source) {
        self.sources.lock().insert(dataset, source);
    }
}

impl Loader for MemLoader {
    fn load(&self, dataset: DatasetId, cancel: &CancelToken) -> Result<Loaded, LoadError> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        while self.gate.load(Ordering::SeqCst) {
            if let Err(stopped) = cancel.check() {
                self.stopped.fetch_add(1, Ordering::SeqCst);
                return Err(stopped.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let source = self.sources.lock().get(&dataset).cloned();
        match source {
            Some(Source::Graph(loaded)) => Ok(*loaded),
            Some(Source::Waiting) => Err(LoadError::Waiting("no edges uploaded".to_owned())),
            Some(Source::Fails(code)) => Err(LoadError::Failed {
                code,
                slug: "broken-table",
                message: "the edge table is broken".to_owned(),
            }),
            Some(Source::Panics) => panic!("the loader panics"),
            None => Err(LoadError::NotFound(dataset)),
        }
    }

    fn footprint_bytes(&self, _: DatasetId) -> Option<u64> {
        *self.footprint.lock()
    }
}

pub(super) fn id(n: u8) -> DatasetId {
    DatasetId::from_bytes([n; 16])
}

pub(super) fn session(name: &str) -> SessionId {
    name.parse().expect("a session name")
}

fn edges(pairs: &[(i64, i64)]) -> Table {
    let column = |f: fn(&(i64, i64)) -> i64| {
        Arc::new(pairs.iter().map(|p| Some(f(p))).collect::<Int64Array>()) as arrow_array::ArrayRef
    };
    let batch = RecordBatch::try_from_iter([("s", column(|p| p.0)), ("d", column(|p| p.1))]);
    Table::try_new(batch.expect("two columns")).expect("a table")
}

pub(super) fn graph(pairs: &[(i64, i64)]) -> Loaded {
    Loaded {
        name: "a graph".to_owned(),
        description: "made for a test".to_owned(),
        edges: edges(pairs),
        source: "s".to_owned(),
        destination: "d".to_owned(),
        nodes: None,
        node: None,
        encodings: Encodings::new(json!({}), json!({}), json!({"k": 1})),
        compute: Vec::new(),
        owner: None,
        version: 0,
        notices: Vec::new(),
    }
}

/// A square grid of `side * side` nodes.
pub(super) fn grid(side: i64) -> Loaded {
    let mut pairs = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let v = y * side + x;
            if x + 1 < side {
                pairs.push((v, v + 1));
            }
            if y + 1 < side {
                pairs.push((v, v + side));
            }
        }
    }
    graph(&pairs)
}

/// Nodes 0..n in a path, node `i` bound to (10 i, -i), with a name column.
pub(super) fn placed_path(n: i64) -> Loaded {
    let pairs: Vec<(i64, i64)> = (1..n).map(|i| (i - 1, i)).collect();
    #[allow(clippy::cast_precision_loss, reason = "small")]
    let at = |f: f64| (0..n).map(|i| Some(i as f64 * f)).collect::<Float64Array>();
    let names: StringArray = (0..n).map(|i| Some(format!("Node {i}"))).collect();
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new((0..n).map(Some).collect::<Int64Array>()) as arrow_array::ArrayRef),
        ("x", Arc::new(at(10.0))),
        ("y", Arc::new(at(-1.0))),
        ("name", Arc::new(names)),
    ]);
    let bindings = json!({"node": "id", "node_x": "x", "node_y": "y", "node_title": "name"});
    Loaded {
        nodes: Some(Table::try_new(nodes.expect("four columns")).expect("a table")),
        node: Some("id".to_owned()),
        encodings: Encodings::new(
            json!({"bindings": bindings}),
            json!({"bindings": {"source": "s", "destination": "d"}}),
            Value::Null,
        ),
        ..graph(&pairs)
    }
}

/// A path of four placed nodes with these third coordinates in a column z; without a column for none.
pub(super) fn placed_path_in_space(z: &[Option<f64>]) -> Loaded {
    let mut loaded = placed_path(4);
    if z.is_empty() {
        return loaded;
    }
    let nodes = loaded.nodes.expect("a table");
    let z = ("z", Arc::new(z.iter().copied().collect::<Float64Array>()) as arrow_array::ArrayRef);
    let kept = ["id", "x", "y", "name"]
        .map(|name| (name, Arc::clone(nodes.column(name).expect("a column"))));
    let columns = RecordBatch::try_from_iter(kept.into_iter().chain([z])).expect("five columns");
    loaded.nodes = Some(Table::try_new(columns).expect("a table"));
    loaded
}

pub(super) struct Engine {
    pub(super) handle: EngineHandle,
    pub(super) thread: Option<EngineThread>,
    pub(super) loader: Arc<MemLoader>,
    pub(super) clock: Arc<TestClock>,
}

pub(super) fn config() -> Config {
    Config {
        threads: 2,
        tick: Duration::from_millis(1),
        iterations_per_s_max: 0,
        exit_on_panic: false,
        ..Config::default()
    }
}

/// For tests in which a layout must move for as long as it may.
pub(super) fn restless() -> Config {
    Config { stop_at_rest: false, ..config() }
}

/// An engine whose clock stands still.
pub(super) fn engine(config: Config) -> Engine {
    let clock = Arc::new(TestClock::at(1_000));
    let loader = Arc::new(MemLoader::default());
    let (handle, thread) =
        crate::start(config, loader.clone(), None, clock.clone()).expect("started");
    Engine { handle, thread: Some(thread), loader, clock }
}

/// An engine whose clock stands still and whose positions are kept.
pub(super) fn checkpointing_engine(config: Config, store: Arc<dyn CheckpointStore>) -> Engine {
    let clock = Arc::new(TestClock::at(1_000));
    let loader = Arc::new(MemLoader::default());
    let (handle, thread) =
        crate::start(config, loader.clone(), Some(store), clock.clone()).expect("started");
    Engine { handle, thread: Some(thread), loader, clock }
}

/// An engine in real time; its test clock means nothing.
pub(super) fn live_engine(config: Config) -> Engine {
    let loader = Arc::new(MemLoader::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (handle, thread) = crate::start(config, loader.clone(), None, clock).expect("started");
    Engine { handle, thread: Some(thread), loader, clock: Arc::new(TestClock::at(0)) }
}

impl Engine {
    pub(super) fn add(&self, n: u8, loaded: Loaded) -> DatasetId {
        self.loader.set(id(n), Source::Graph(Box::new(loaded)));
        id(n)
    }

    pub(super) fn open(&self, name: &str, dataset: DatasetId, play: u64) -> SessionId {
        let settings = LayoutSettings { play, ..LayoutSettings::default() };
        block_on(self.handle.open(session(name), dataset, settings)).expect("opened");
        session(name)
    }

    pub(super) fn attach(&self, session: &SessionId) -> Viewer {
        block_on(self.handle.attach(session.clone())).expect("attached")
    }

    pub(super) fn phase(&self, session: &SessionId) -> Phase {
        block_on(self.handle.info(session.clone())).expect("known").state.state
    }

    pub(super) fn reach(&self, session: &SessionId, phase: Phase) {
        let begun = Instant::now();
        while self.phase(session) != phase {
            let state = block_on(self.handle.info(session.clone())).expect("known").state;
            assert!(begun.elapsed() < Duration::from_secs(30), "not {phase:?} but {state:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the engine take its turns until it has seen everything up to now.
    pub(super) fn settle_down(&self) {
        for _ in 0..3 {
            block_on(self.handle.caller.call(crate::cmd::fail_point::FailPoint::Tick))
                .expect("alive");
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

/// Waits in real time for something that must happen soon.
pub(super) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(30), "still waiting for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The JSON of an event's message.
pub(super) fn message(event: &ViewerEvent) -> Option<serde_json::Value> {
    event.message().map(|message| serde_json::to_value(message).expect("JSON"))
}

/// The viewer's next event that `pick` takes; others are passed over.
pub(super) fn next<T>(
    viewer: &mut Viewer,
    what: &str,
    mut pick: impl FnMut(ViewerEvent) -> Option<T>,
) -> T {
    let mut found = None;
    until(what, || {
        while let Some(event) = viewer.try_next(true) {
            found = pick(event);
            if found.is_some() {
                return true;
            }
        }
        false
    });
    found.expect("found")
}

pub(super) fn next_frame(viewer: &mut Viewer) -> Arc<crate::PositionFrame> {
    next(viewer, "a frame", |e| match e {
        ViewerEvent::Frame(f) => Some(f),
        _ => None,
    })
}

/// Flags of a binary frame.
pub(super) fn flags(frame: &[u8]) -> u16 {
    u16::from_le_bytes([frame[6], frame[7]])
}
