//! Sessions on the GPU, which here is the emulator: the real engine, the real device code, the real
//! kernels on the host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_emu::emulator::{self, Noticed, Times};
use graphlume_emu::{fault_test, gpu_test};
use graphlume_expr::Strictness;
use graphlume_types::{Coded, DatasetId, SessionId};

use super::kit::{Engine, config, grid, live_engine, next_frame, until};
use crate::{
    Backend, Config, Control, GpuChoice, OnDeviceLost, ParsedQuery, QueryAnswer, QueryRequest,
    ResultMode, SessionState, block_on,
};

/// Everything goes to the GPU; nothing comes to rest.
pub(super) fn on(gpu: &Gpu) -> Config {
    Config {
        gpu: GpuChoice::Use(gpu.clone()),
        gpu_edges_min: 0,
        stop_at_rest: false,
        frame_interval: Duration::from_millis(10),
        on_device_lost: OnDeviceLost::Cpu,
        ..config()
    }
}

pub(super) fn open_gpu() -> Gpu {
    Gpu::open(&GpuOptions::default()).expect("the emulator")
}

fn state(e: &Engine, s: &SessionId) -> Arc<SessionState> {
    block_on(e.handle.info(s.clone())).expect("known").state
}

fn moved(e: &Engine, s: &SessionId, more: u64) {
    let from = state(e, s).iterations;
    until("the layout to move", || state(e, s).iterations >= from + more);
}

/// Stops the engine and waits until nothing of it holds the device.
pub(super) fn stop(mut e: Engine) {
    let remains = e.handle.remains();
    e.thread.take().expect("running").stop();
    drop(e);
    until("the engine to be gone", || remains.strong_count() == 0);
}

/// Workers may still be dropping what they held when the engine is gone.
pub(super) fn emptied(gpu: &Gpu) {
    until("the ledger to be empty", || gpu.budget().used() == 0);
}

#[test]
fn a_session_is_laid_out_on_the_gpu_and_gives_everything_back() {
    gpu_test(&["fa_positions", "frame_box", "frame_quantize", "frame_delta"], |gpu| {
        let e = live_engine(on(gpu));
        let data = e.add(1, grid(12));
        let s = e.open("on-the-gpu", data, 60_000);
        let mut viewer = e.attach(&s);
        let first = next_frame(&mut viewer);
        moved(&e, &s, 20);
        let now = state(&e, &s);
        assert_eq!((now.backend, now.backend_reason.as_str()), (Backend::Cuda, ""));
        let later = next_frame(&mut viewer);
        assert!(later.seq > first.seq);
        // Once the positions have been copied out, frames are made where they are.
        until("a delta made on the device", || gpu.launches("frame_delta") > 0);
        let stats = e.handle.stats();
        assert!(
            stats.device_iterations_total >= 20 && stats.device_uploads_total == 1,
            "{stats:?}"
        );
        assert!(stats.device_memory_bytes > 0 && stats.device_memory_bytes == gpu.budget().used());
        // A pin holds on the device, and exact positions come from there.
        let at = [77.0, -5.0];
        block_on(e.handle.control(s.clone(), Control::Pin { node: 3, at })).expect("pinned");
        moved(&e, &s, 3);
        let exact = block_on(e.handle.reads(s.clone()).positions(first.epoch)).expect("positions");
        let x = f32::from_le_bytes(exact[48 + 24..48 + 28].try_into().expect("4 bytes"));
        assert_eq!(x, 77.0);
        drop(viewer);
        block_on(e.handle.forget(data)).expect("forgotten");
        until("the device's ledger to be empty", || gpu.budget().used() == 0);
        stop(e);
    });
}

#[test]
fn the_gpus_health_is_what_a_known_answer_says() {
    gpu_test(&[], |gpu| {
        let e = live_engine(on(gpu));
        let health = block_on(e.handle.probe()).expect("probed");
        let report = health.gpu.expect("a GPU");
        assert!(report.is_healthy() && report.memory_bytes_max > 0, "{report:?}");
        stop(e);
    });
}

#[test]
fn a_small_graph_stays_on_the_cpu_and_says_why() {
    gpu_test(&[], |gpu| {
        let e = live_engine(Config { gpu_edges_min: 1_000, ..on(gpu) });
        let data = e.add(1, grid(12));
        let s = e.open("small", data, 60_000);
        let viewer = e.attach(&s);
        moved(&e, &s, 20);
        let now = state(&e, &s);
        assert_eq!(now.backend, Backend::Cpu);
        assert!(now.backend_reason.contains("1000 edges"), "{}", now.backend_reason);
        assert_eq!(gpu.budget().used(), 0);
        drop(viewer);
        stop(e);
    });
}

/// The numbers of a column of what a call of PageRank over the dataset gives, and what is said beside it.
fn ranks(e: &Engine, data: DatasetId) -> (Vec<f64>, Vec<String>) {
    let text = r#"[{"type": "Call", "function": "compute_cugraph", "params": {"alg": "pagerank",
        "params": {"tol": 1e-10, "max_iter": 1000}}}]"#;
    let query = graphlume_gfql::parse(&serde_json::from_str(text).expect("JSON")).expect("a query");
    let request = QueryRequest {
        ask: ParsedQuery::Gfql(Arc::new(query), None),
        drawn: true,
        strictness: Strictness::Strict,
        mode: ResultMode::Rows,
        user: None,
        others: vec![],
    };
    let found = block_on(e.handle.query(data, request)).expect("answered").expect("ranks");
    let QueryAnswer::Graph(graph) = found.answer else { panic!("a graph") };
    let nodes = graph.nodes().expect("nodes");
    let ranks = graphlume_table::to_f64(nodes.column("pagerank").expect("ranks").as_ref());
    (ranks.expect("numbers"), found.notices.iter().map(|n| n.text.to_string()).collect())
}

#[test]
fn an_algorithm_of_a_query_runs_on_the_gpu_over_the_copy_that_is_there() {
    gpu_test(&["pr_inverse"], |gpu| {
        let e = live_engine(on(gpu));
        let data = e.add(1, grid(12));
        let (first, said) = ranks(&e, data);
        assert!(said.len() == 1 && said[0].contains("on the GPU"), "{said:?}");
        let (second, _) = ranks(&e, data);
        assert_eq!(first, second);
        assert_eq!(e.handle.stats().device_uploads_total, 1, "one copy for both");
        stop(e);
        let e = live_engine(Config { gpu_edges_min: 1_000, ..on(gpu) });
        let data = e.add(1, grid(12));
        let (cpu, said) = ranks(&e, data);
        assert!(said.len() == 1 && said[0].contains("fewer than the 1000"), "{said:?}");
        assert!(cpu.iter().zip(&first).all(|(a, b)| (a - b).abs() < 1e-7), "{cpu:?} {first:?}");
        stop(e);
    });
}

#[test]
fn faulty_launches_of_an_algorithm_cost_a_line_and_not_the_answer() {
    fault_test(|| {
        let gpu = open_gpu();
        let e = live_engine(on(&gpu));
        let data = e.add(1, grid(12));
        emulator::fail_launch(3, 700, Noticed::Later);
        let (lost, said) = ranks(&e, data);
        assert!(said.len() == 1 && said[0].contains("the GPU failed"), "{said:?}");
        emulator::clear();
        let (again, said) = ranks(&e, data);
        assert_eq!(lost, again);
        assert!(said.len() == 1 && said[0].contains("lost"), "{said:?}");
        stop(e);
    });
}

#[test]
fn what_never_fits_the_card_is_served_by_the_cpu() {
    gpu_test(&[], |_| {
        let options = GpuOptions { memory_limit: Some(64 << 10), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).expect("the emulator");
        let e = live_engine(on(&gpu));
        let data = e.add(1, grid(30));
        let s = e.open("too-large", data, 60_000);
        let viewer = e.attach(&s);
        moved(&e, &s, 5);
        let now = state(&e, &s);
        assert_eq!(now.backend, Backend::Cpu);
        assert!(now.backend_reason.contains("device memory"), "{}", now.backend_reason);
        drop(viewer);
        stop(e);
        emptied(&gpu);
    });
}

#[test]
fn sessions_that_stand_still_make_room_for_those_that_move() {
    gpu_test(&[], |_| {
        // Measured, not guessed: what one session takes, and half of another.
        let gpu = open_gpu();
        let e = live_engine(on(&gpu));
        let data = e.add(1, grid(12));
        let s = e.open("alone", data, 60_000);
        let viewer = e.attach(&s);
        moved(&e, &s, 3);
        let one = gpu.budget().peak();
        drop(viewer);
        stop(e);
        let options = GpuOptions { memory_limit: Some(one * 3 / 2), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).expect("the emulator");
        let e = live_engine(on(&gpu));
        let sessions: Vec<_> = (1..=3)
            .map(|n| {
                let data = e.add(n, grid(12));
                let s = e.open(&format!("turn-{n}"), data, 60_000);
                let viewer = e.attach(&s);
                moved(&e, &s, 3);
                assert_eq!(state(&e, &s).backend, Backend::Cuda, "{:?}", state(&e, &s));
                let off = Control::Play { on: false, for_millis: None };
                block_on(e.handle.control(s.clone(), off)).expect("paused");
                (s, viewer)
            })
            .collect();
        assert!(gpu.budget().peak() <= one * 3 / 2);
        // The first one comes back.
        let play = Control::Play { on: true, for_millis: None };
        block_on(e.handle.control(sessions[0].0.clone(), play)).expect("playing");
        moved(&e, &sessions[0].0, 3);
        assert_eq!(state(&e, &sessions[0].0).backend, Backend::Cuda);
        assert!(e.handle.stats().device_uploads_total >= 3);
        drop(sessions);
        stop(e);
        emptied(&gpu);
    });
}

#[test]
fn faulty_memory_at_every_allocation_ends_on_the_gpu_or_on_the_cpu_and_leaks_nothing() {
    fault_test(|| {
        let mut on_gpu = 0;
        for k in 1.. {
            let gpu = open_gpu();
            let e = live_engine(on(&gpu));
            let data = e.add(1, grid(8));
            emulator::refuse_memory(k, Times::FromThenOn);
            let before = emulator::count(emulator::Counted::Allocations);
            let s = e.open("short", data, 60_000);
            let viewer = e.attach(&s);
            moved(&e, &s, 2);
            let now = state(&e, &s);
            let asked = emulator::count(emulator::Counted::Allocations) - before;
            match now.backend {
                Backend::Cuda => on_gpu += 1,
                Backend::Cpu => {
                    assert!(now.backend_reason.contains("device memory"), "{k}: {now:?}");
                    assert!(e.handle.stats().device_refusals_total > 0, "{k}");
                }
            }
            drop(viewer);
            stop(e);
            emptied(&gpu);
            emulator::clear();
            if now.backend == Backend::Cuda || k > 200 {
                assert!(asked < k, "{k}: {asked} allocations were asked for");
                break;
            }
        }
        assert_eq!(on_gpu, 1, "without refusals it is the GPU");
    });
}

#[test]
fn faulty_launches_lose_the_gpu_and_sessions_go_on_with_the_cpu() {
    fault_test(|| {
        for (k, noticed) in [(1, Noticed::AtOnce), (4, Noticed::Later), (25, Noticed::Later)] {
            let gpu = open_gpu();
            let e = live_engine(on(&gpu));
            let data = e.add(1, grid(8));
            emulator::fail_launch(k, 700, noticed);
            let s = e.open("loses", data, 60_000);
            let mut viewer = e.attach(&s);
            until("the loss", || e.handle.stats().device_losses_total == 1);
            moved(&e, &s, 5);
            next_frame(&mut viewer);
            let now = state(&e, &s);
            assert_eq!(now.backend, Backend::Cpu);
            assert!(now.backend_reason.contains("lost"), "{now:?}");
            let health = e.handle.health();
            assert!(health.ok && !health.gpu.expect("a GPU").is_healthy());
            drop(viewer);
            stop(e);
            emulator::clear();
        }
    });
}

/// Loses the device where no session computes: two wrong answers of its canary in a row.
fn lose_by_canary(e: &Engine) {
    emulator::spoil("canary_answer", 1, Times::FromThenOn);
    until("the loss", || {
        let _ = e.handle.health();
        e.handle.stats().device_losses_total == 1
    });
}

#[test]
fn faulty_device_is_the_reason_also_for_a_session_that_was_not_there_at_the_loss() {
    fault_test(|| {
        let gpu = open_gpu();
        let e = live_engine(on(&gpu));
        let (before, after) = (e.add(1, grid(8)), e.add(2, grid(8)));
        let moves = e.open("moves", before, 60_000);
        let viewer = e.attach(&moves);
        moved(&e, &moves, 3);
        let off = Control::Play { on: false, for_millis: None };
        let stopped = block_on(e.handle.control(moves.clone(), off)).expect("paused");
        assert_eq!(stopped.backend, Backend::Cuda);
        lose_by_canary(&e);
        // One that stands still is told, too, and never says that it is on the CPU without the reason.
        let mut now = state(&e, &moves);
        until("the session to leave the device", || {
            now = state(&e, &moves);
            now.backend == Backend::Cpu
        });
        assert!(now.backend_reason.contains("lost"), "{now:?}");
        let late = e.open("late", after, 60_000);
        let other = e.attach(&late);
        moved(&e, &late, 3);
        let now = state(&e, &late);
        assert_eq!(now.backend, Backend::Cpu);
        assert!(now.backend_reason.contains("lost"), "{now:?}");
        drop((viewer, other));
        stop(e);
    });
}

#[test]
fn faulty_loss_under_a_supervisor_asks_for_a_new_process_at_once() {
    fault_test(|| {
        let gpu = open_gpu();
        let e = live_engine(Config { on_device_lost: OnDeviceLost::Exit, ..on(&gpu) });
        let data = e.add(1, grid(8));
        let s = e.open("ends", data, 60_000);
        let viewer = e.attach(&s);
        moved(&e, &s, 3);
        emulator::fail_launch(1, 719, Noticed::Later);
        until("the loss", || e.handle.stats().device_losses_total == 1);
        let reason = block_on(e.handle.restart_wanted());
        assert!(reason.contains("719"), "{reason}");
        // Until the process ends, callers are still answered.
        block_on(e.handle.reads(s.clone()).node_card(0)).expect("a card");
        drop(viewer);
        stop(e);
    });
}

/// Whether the loop answered while a kernel did not end: a machine that is slow enough may let the kernel end
/// before the questions are asked, so that one attempt says nothing.
fn answers_beside_a_kernel_that_hangs() -> bool {
    const HANGS: Duration = Duration::from_millis(2_500);
    let gpu = open_gpu();
    let e = live_engine(Config {
        on_device_lost: OnDeviceLost::Exit,
        alarm_after: Duration::from_millis(200),
        give_up_after: Duration::from_millis(600),
        ..on(&gpu)
    });
    let data = e.add(1, grid(8));
    let s = e.open("hangs", data, 60_000);
    let viewer = e.attach(&s);
    moved(&e, &s, 3);
    // Once a frame: a delay of every launch would add up to more than the test may take.
    let begun = Instant::now();
    emulator::delay(Some("frame_box"), HANGS.as_millis() as u32);
    let reason = block_on(e.handle.restart_wanted());
    // Not before its time: `device/steps.rs` holds that with given times. Here the work may have begun before `begun`.
    assert!(reason.contains("did not end"), "{reason}");
    assert!(e.handle.stats().alarms_total >= 1);
    block_on(e.handle.info(s.clone())).expect("answered");
    block_on(e.handle.reads(s.clone()).node_card(0)).expect("a card");
    let beside = begun.elapsed() < HANGS;
    emulator::delay(None, 0);
    drop(viewer);
    stop(e);
    // The thread that waited for the device is still there for a moment.
    std::thread::sleep(Duration::from_secs(3));
    beside
}

#[test]
fn faulty_kernel_that_does_not_end_is_noticed_and_the_loop_goes_on() {
    fault_test(|| assert!((0..5).any(|_| answers_beside_a_kernel_that_hangs())));
}

#[test]
fn faulty_canary_makes_the_gpu_unhealthy_and_a_second_one_loses_it() {
    fault_test(|| {
        let gpu = open_gpu();
        let e = live_engine(on(&gpu));
        block_on(e.handle.probe()).expect("probed");
        emulator::spoil("canary_answer", 1, Times::FromThenOn);
        until("an unhealthy GPU", || e.handle.health().gpu.is_ok_and(|g| !g.is_healthy()));
        until("the loss", || {
            let _ = e.handle.health();
            e.handle.stats().device_losses_total == 1
        });
        assert!(e.handle.health().ok, "the CPU serves");
        stop(e);
    });
}

#[test]
fn errors_of_the_device_keep_their_names() {
    let e = graphlume_device::cuda::DeviceError::Lost { reason: "x".to_owned() };
    let e = crate::EngineError::from_coded(&graphlume_algo::AlgoError::from(e));
    assert_eq!((e.code(), e.slug()), (graphlume_types::Code::Unavailable, "gpu-lost"));
}
