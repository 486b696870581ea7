//! Positions are written down while layouts move, and the next engine goes on from them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphlume_types::{DatasetId, SessionId};
use parking_lot::Mutex;
use serde_json::json;

use super::kit::{
    Engine, checkpointing_engine, config, grid, next, next_frame, placed_path,
    placed_path_in_space, restless, until,
};
use super::placement::depths;
use crate::{Checkpoint, CheckpointStore, Control, Phase, Placement, ViewerEvent, block_on};

/// Keeps in memory and remembers what happened.
#[derive(Default)]
struct MemStore {
    kept: Mutex<HashMap<(SessionId, DatasetId), Checkpoint>>,
    log: Mutex<Vec<String>>,
    /// While set, a write does not end.
    gate: AtomicBool,
    /// While set, a write panics.
    panics: AtomicBool,
}

impl MemStore {
    fn writes(&self) -> usize {
        self.log.lock().iter().filter(|l| *l == "keep").count()
    }

    fn last(&self, s: &SessionId, data: DatasetId) -> Option<Checkpoint> {
        self.kept.lock().get(&(s.clone(), data)).cloned()
    }

    fn note(&self, what: &str) {
        self.log.lock().push(what.to_owned());
    }
}

impl CheckpointStore for MemStore {
    fn write(&self, session: &SessionId, checkpoint: &Checkpoint) {
        self.note("keep");
        assert!(!self.panics.load(Ordering::SeqCst), "the store panics");
        while self.gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kept.lock().insert((session.clone(), checkpoint.dataset), checkpoint.clone());
    }

    fn read(&self, session: &SessionId, dataset: DatasetId, _: u32) -> Option<Checkpoint> {
        self.last(session, dataset)
    }

    fn forget_session(&self, session: &SessionId, dataset: DatasetId) {
        self.note("forget session");
        self.kept.lock().remove(&(session.clone(), dataset));
    }

    fn forget_dataset(&self, dataset: DatasetId) {
        self.note("forget dataset");
        self.kept.lock().retain(|(_, d), _| *d != dataset);
    }
}

fn rig(config: crate::Config) -> (Engine, Arc<MemStore>) {
    let store = Arc::new(MemStore::default());
    (checkpointing_engine(config, store.clone()), store)
}

/// The present positions to the bit.
fn exact(e: &Engine, s: &SessionId) -> Vec<[f32; 2]> {
    let info = block_on(e.handle.info(s.clone())).expect("known");
    let epoch = info.graph.expect("a graph").epoch;
    let bytes = block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions");
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&bytes).expect("a frame");
    page.positions
}

fn iterations(e: &Engine, s: &SessionId) -> u64 {
    block_on(e.handle.info(s.clone())).expect("known").state.iterations
}

fn play(e: &Engine, s: &SessionId, on: bool) {
    let control = Control::Play { on, for_millis: None };
    block_on(e.handle.control(s.clone(), control)).expect("taken");
}

#[test]
fn positions_are_written_down_every_few_seconds_while_they_change_and_when_they_stop() {
    let (e, store) = rig(restless());
    let data = e.add(1, grid(20));
    let s = e.open("s", data, 600_000);
    let _viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 5);
    e.clock.advance(Duration::from_millis(3_900));
    e.settle_down();
    assert_eq!(store.writes(), 0, "not before its time");
    e.clock.advance(Duration::from_millis(200));
    until("the first copy", || store.writes() == 1);
    let first = store.last(&s, data);
    e.settle_down();
    assert_eq!(store.writes(), 1, "one for a few seconds");
    // At most one write at a time, however long it takes.
    store.gate.store(true, Ordering::SeqCst);
    e.clock.advance(Duration::from_secs(5));
    until("the second copy", || store.writes() == 2);
    e.clock.advance(Duration::from_secs(60));
    e.settle_down();
    assert_eq!(store.writes(), 2);
    assert!(iterations(&e, &s) > 0, "the engine does not wait for the disk");
    store.gate.store(false, Ordering::SeqCst);
    until("the copy that had to wait", || store.writes() == 3);
    play(&e, &s, false);
    until("the copy of the end", || {
        store.last(&s, data).is_some_and(|k| k.positions == exact(&e, &s))
    });
    let last = store.last(&s, data).expect("kept");
    assert!(first.is_some_and(|f| f.metadata.iterations < last.metadata.iterations));
    e.settle_down();
    let writes = store.writes();
    for _ in 0..3 {
        e.clock.advance(Duration::from_secs(60));
        e.settle_down();
    }
    assert_eq!(store.writes(), writes, "what does not change is not written");
}

#[test]
fn the_next_engine_shows_the_same_positions_and_waits_for_somebody_to_resume() {
    let (e, store) = rig(restless());
    let data = e.add(1, grid(20));
    let s = e.open("s", data, 600_000);
    let viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 20);
    let patch = json!({"gravity": 3.0}).as_object().cloned().unwrap_or_default();
    block_on(e.handle.control(s.clone(), Control::Settings(patch))).expect("taken");
    let at = [1234.5, -77.0];
    block_on(e.handle.control(s.clone(), Control::Pin { node: 7, at })).expect("pinned");
    until("the pin", || exact(&e, &s)[7] == at);
    block_on(e.handle.suspend()).expect("written");
    assert_eq!(e.phase(&s), Phase::Paused);
    let (before, done) = (exact(&e, &s), iterations(&e, &s));
    assert_eq!(store.last(&s, data).expect("kept").positions, before);
    drop(viewer);
    drop(e);

    let e = checkpointing_engine(restless(), store.clone());
    let data = e.add(1, grid(20));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    assert!(next_frame(&mut viewer).is_key());
    e.settle_down();
    let state = block_on(e.handle.info(s.clone())).expect("known").state;
    assert_eq!((state.state, state.playing, state.iterations), (Phase::Paused, false, done));
    assert_eq!(state.settings.gravity, 3.0, "knobs as the viewers had turned them");
    assert!(state.detail.contains("resume"), "{}", state.detail);
    assert_eq!(exact(&e, &s), before);
    play(&e, &s, true);
    until("it to go on", || iterations(&e, &s) > done + 20);
    let now = exact(&e, &s);
    assert!(now != before && now[7] == at, "a pinned node stays");
}

#[test]
fn a_placement_is_kept() {
    let (e, store) = rig(config());
    let data = e.add(1, grid(5));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let positions: Vec<[f32; 2]> = (0_u8..25).map(|v| [f32::from(v), 0.5]).collect();
    let placement =
        Placement { epoch, positions: positions.clone(), depths: None, by: "line".to_owned() };
    block_on(e.handle.control(s.clone(), Control::Place(Arc::new(placement)))).expect("placed");
    block_on(e.handle.suspend()).expect("written");
    drop((viewer, e));

    let e = checkpointing_engine(config(), store);
    let data = e.add(1, grid(5));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    assert_eq!(exact(&e, &s), positions);
    let state = block_on(e.handle.info(s.clone())).expect("known").state;
    assert_eq!((state.state, state.placed_by.as_str()), (Phase::Settled, "line"));
    assert!(state.displaced, "it is known without being written down that nodes were moved");
}

#[test]
fn nodes_that_were_only_pinned_are_where_the_data_has_them_after_a_restart() {
    let (e, store) = rig(config());
    let data = e.add(1, placed_path(5));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    let at = [500.0, 500.0];
    block_on(e.handle.control(s.clone(), Control::Pin { node: 2, at })).expect("pinned");
    until("the pin", || exact(&e, &s)[2] == at);
    block_on(e.handle.suspend()).expect("written");
    drop((viewer, e));

    let e = checkpointing_engine(config(), store);
    let s = e.open("s", e.add(1, placed_path(5)), 0);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    assert_eq!(exact(&e, &s)[2], at);
    let state = block_on(e.handle.info(s.clone())).expect("known").state;
    assert!(!state.displaced && state.iterations == 0);
}

/// What the next engine shows of a graph with a column z, whose nodes were `placed` with these third coordinates:
/// the version of them that viewers read, and the coordinates.
fn depths_afterwards(z: Option<Vec<f32>>) -> (u32, Vec<f32>) {
    let (e, store) = rig(config());
    let graph = || placed_path_in_space(&[Some(30.0), Some(31.0), None, Some(35.0)]);
    let data = e.add(1, graph());
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let positions = vec![[1.0, 0.5]; 4];
    let placement = Placement { epoch, positions, depths: z.map(Arc::new), by: "kk".to_owned() };
    block_on(e.handle.control(s.clone(), Control::Place(Arc::new(placement)))).expect("placed");
    block_on(e.handle.suspend()).expect("written");
    drop((viewer, e));

    let e = checkpointing_engine(config(), store);
    let data = e.add(1, graph());
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let state = block_on(e.handle.info(s.clone())).expect("known").state;
    (state.depths, depths(&e, &s, epoch).expect("third coordinates"))
}

#[test]
fn the_third_coordinates_of_a_placement_are_kept() {
    let (version, z) = depths_afterwards(Some(vec![1.0, -2.0, f32::NAN, 4.0]));
    assert_eq!((z[0], z[1], z[3]), (1.0, -2.0, 4.0));
    assert!(z[2].is_nan(), "a node without one has none: {z:?}");
    assert_eq!(version, 2, "not the number of those of the data");
    let (version, z) = depths_afterwards(None);
    assert_eq!((version, z[0], z[3]), (1, 30.0, 35.0), "those of the data hold");
}

#[test]
fn nothing_moves_behind_the_last_copy() {
    let (e, store) = rig(restless());
    let data = e.add(1, grid(20));
    let s = e.open("s", data, 600_000);
    let _viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 5);
    // A viewer that drags a node and presses play all the time.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in (0_u8..100).cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let at = [f32::from(step), 5.0];
                drop(block_on(e.handle.control(s.clone(), Control::Pin { node: 7, at })));
                let play = Control::Play { on: true, for_millis: None };
                drop(block_on(e.handle.control(s.clone(), play)));
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        block_on(e.handle.suspend()).expect("written");
        let kept = store.last(&s, data).expect("kept").positions;
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(exact(&e, &s), kept);
        assert_eq!(e.phase(&s), Phase::Paused);
        stop.store(true, Ordering::Relaxed);
    });
    let refused = block_on(e.handle.control(s, Control::Play { on: true, for_millis: None }));
    assert!(matches!(refused, Err(crate::EngineError::Stopped)), "{refused:?}");
}

#[test]
fn a_layout_that_had_settled_is_settled_again() {
    let (e, store) = rig(config());
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 600_000);
    let _viewer = e.attach(&s);
    e.reach(&s, Phase::Settled);
    until("the copy", || store.last(&s, data).is_some_and(|k| k.metadata.settled));
    let before = exact(&e, &s);
    drop(e);
    let e = checkpointing_engine(config(), store);
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    e.settle_down();
    assert_eq!(e.phase(&s), Phase::Settled);
    assert_eq!(exact(&e, &s), before);
}

#[test]
fn positions_of_other_data_are_not_taken() {
    let (e, store) = rig(restless());
    let data = e.add(1, grid(6));
    let s = e.open("s", data, 600_000);
    let viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 5);
    block_on(e.handle.suspend()).expect("written");
    drop(viewer);
    drop(e);
    let kept = store.last(&s, data).expect("kept");
    let swapped: Vec<(i64, i64)> =
        (0..35).map(|v| (v, v + 1)).chain((0..35).map(|v| (v + 1, v))).collect();
    for loaded in [super::kit::graph(&swapped), placed_path(36)] {
        store.kept.lock().insert((s.clone(), data), kept.clone());
        let e = checkpointing_engine(restless(), store.clone());
        let data = e.add(1, loaded);
        let s = e.open("s", data, 0);
        let mut viewer = e.attach(&s);
        next_frame(&mut viewer);
        e.settle_down();
        assert_eq!(
            (e.phase(&s), iterations(&e, &s)),
            (Phase::Settled, 0),
            "anew, as its address says"
        );
        assert_ne!(exact(&e, &s), kept.positions);
    }
}

#[test]
fn positions_go_with_their_session_and_with_the_data() {
    let (e, store) = rig(restless());
    let moved = |e: &Engine, n: u8| {
        let data = e.add(n, grid(5));
        let s = e.open("s", data, 600_000);
        let viewer = e.attach(&s);
        until("iterations", || iterations(e, &s) > 5);
        // The write is under way when the end comes.
        store.gate.store(true, Ordering::SeqCst);
        let writes = store.writes();
        play(e, &s, false);
        until("the write", || store.writes() > writes);
        drop(viewer);
        (s, data)
    };
    let gone = |what: &str| {
        store.gate.store(false, Ordering::SeqCst);
        until(what, || store.log.lock().last().is_some_and(|l| l.starts_with("forget")));
        assert!(store.kept.lock().is_empty(), "{what}");
    };
    let (s, _) = moved(&e, 1);
    block_on(e.handle.close(s)).expect("closed");
    gone("a closed session");
    let (s, data) = moved(&e, 2);
    block_on(e.handle.changed(data)).expect("changed");
    gone("other data");
    until("the new graph", || e.phase(&s) != Phase::Loading);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    e.reach(&s, Phase::Running);
    drop(viewer);
    block_on(e.handle.close(s)).expect("closed");
    let (_, data) = moved(&e, 3);
    block_on(e.handle.forget(data)).expect("forgotten");
    gone("a deleted dataset");
    let (s, _) = moved(&e, 4);
    let other = e.add(5, grid(4));
    e.settle_down();
    e.open("s", other, 0);
    gone("a name that was taken over");
    assert_eq!(exact_len(&e, &s), 16);
}

fn exact_len(e: &Engine, s: &SessionId) -> usize {
    let mut viewer = e.attach(s);
    next_frame(&mut viewer);
    exact(e, s).len()
}

#[test]
fn a_session_that_was_given_up_for_want_of_viewers_goes_on_where_it_was() {
    let (e, store) = rig(restless());
    let data = e.add(1, grid(8));
    let s = e.open("s", data, 600_000);
    let viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 20);
    play(&e, &s, false);
    e.settle_down();
    let before = exact(&e, &s);
    until("the copy", || store.last(&s, data).is_some_and(|k| k.positions == before));
    drop(viewer);
    e.settle_down();
    e.clock.advance(Duration::from_secs(7 * 3600));
    until("its end", || e.handle.stats().sessions == 0);
    block_on(e.handle.caller.call(crate::cmd::fail_point::FailPoint::EvictAll)).expect("evicted");
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    assert_eq!(exact(&e, &s), before);
}

#[test]
fn a_keeper_that_fails_harms_nothing() {
    let (e, store) = rig(restless());
    store.panics.store(true, Ordering::SeqCst);
    let data = e.add(1, grid(6));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    until("iterations", || iterations(&e, &s) > 5);
    e.clock.advance(Duration::from_secs(5));
    until("a failed write", || store.writes() >= 1);
    store.panics.store(false, Ordering::SeqCst);
    e.clock.advance(Duration::from_secs(5));
    until("the next", || store.last(&s, data).is_some());
    next(&mut viewer, "frames", |event| matches!(event, ViewerEvent::Frame(_)).then_some(()));
    block_on(e.handle.suspend()).expect("answered");
}
