//! Behaviour of the device layer when the device fails: every allocation refused in turn, every launch
//! fatal in turn, wrong answers, and slow ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use graphlume_device::cuda::kernels::canary_answer;
use graphlume_device::cuda::{Buf, DeviceError, Gpu, GpuOptions, GpuState, Grid, Replay};
use graphlume_emu::emulator::{self, Counted, Noticed, Times};
use graphlume_emu::fault_test;

const CANARY: &str = "canary_answer";
/// Illegal address, launch timeout, launch failure.
const STICKY: [i32; 3] = [700, 702, 719];

fn open() -> Gpu {
    Gpu::open(&GpuOptions::default()).unwrap()
}

fn ask(gpu: &Gpu, salt: u32, into: &mut Buf<u32>) -> Result<(), DeviceError> {
    let grid = Grid::blocks(into.len() as u32, 256);
    canary_answer(gpu, grid, salt, into.view_mut())
}

/// What the driver holds for us.
fn held() -> Vec<u64> {
    let what = [
        Counted::LiveAllocations,
        Counted::LivePinned,
        Counted::LiveStreams,
        Counted::LiveEvents,
        Counted::LiveGraphs,
        Counted::LiveModules,
    ];
    what.into_iter().map(emulator::count).collect()
}

/// A little of everything: uploads, another stream, a replay, the canary, reads.
#[derive(Default)]
struct Work {
    bufs: Vec<Buf<u32>>,
    replay: Option<Replay>,
    other: Option<Gpu>,
}

impl Work {
    fn run(&mut self, gpu: &Gpu) -> Result<Vec<u32>, DeviceError> {
        self.bufs.push(gpu.upload("input", &[1_u32; 100])?);
        self.bufs.push(gpu.zeros("answers", 2)?);
        let other = self.other.insert(gpu.stream()?).clone();
        self.bufs.push(other.upload("a larger input", &vec![3; 40_000])?);
        let mut there = other.alloc("copies", 2)?;
        let [.., here, large] = self.bufs.as_mut_slice() else { unreachable!("three are there") };
        ask(gpu, 1, here)?;
        ask(&other, 2, here)?;
        let replay = gpu.capture(|| {
            ask(gpu, 3, here)?;
            gpu.copy(here.view(), there.view_mut())
        })?;
        let replay = self.replay.insert(replay);
        replay.launch()?;
        gpu.canary()?;
        replay.launch()?;
        let sum: u32 = other.read(large.view())?.iter().sum();
        let mut answer = other.read(there.view())?;
        answer.push(sum);
        gpu.sync()?;
        Ok(answer)
    }
}

fn run(gpu: &Gpu) -> Result<Vec<u32>, DeviceError> {
    Work::default().run(gpu)
}

#[test]
fn faulty_nothing_is_left_when_the_last_handle_goes() {
    fault_test(|| {
        let before = held();
        let gpu = open();
        let answer = run(&gpu).unwrap();
        assert_eq!(run(&gpu).unwrap(), answer, "the same work gives the same answer");
        assert!(held() > before);
        drop(gpu);
        assert_eq!(held(), before);
    });
}

#[test]
fn faulty_an_allocation_refused_once_is_tried_again() {
    fault_test(|| {
        let gpu = open();
        let want = run(&gpu).unwrap();
        drop(gpu);
        let mut refused = 0;
        for at in 1.. {
            let before = held();
            let gpu = open();
            emulator::refuse_memory(at, Times::Once);
            assert_eq!(run(&gpu), Ok(want.clone()), "allocation {at} refused once");
            emulator::clear();
            if gpu.driver_refusals() == 0 {
                break;
            }
            refused += gpu.driver_refusals();
            assert_eq!(gpu.state(), GpuState::Ready);
            drop(gpu);
            assert_eq!(held(), before);
        }
        assert_eq!(refused, 5, "four buffers and the canary's");
    });
}

#[test]
fn faulty_every_refused_allocation_is_an_answer_and_leaks_nothing() {
    fault_test(|| {
        let before = held();
        let gpu = open();
        let want = run(&gpu).unwrap();
        let kept = gpu.budget().used();
        let fresh = || run(&gpu);
        let mut refused = 0;
        for at in 1.. {
            emulator::refuse_memory(at, Times::FromThenOn);
            let answer = fresh();
            emulator::clear();
            assert_eq!(gpu.budget().used(), kept, "the ledger after refusal {at}");
            assert_eq!(gpu.state(), GpuState::Ready);
            if answer.is_ok() {
                break;
            }
            refused += 1;
            let Err(DeviceError::OutOfMemory { need, free, limit, .. }) = answer else {
                panic!("refusal {at}: {answer:?}");
            };
            assert!(need > 0 && free > 0 && limit == gpu.budget().limit());
            assert_eq!(fresh().as_ref(), Ok(&want), "the same work after refusal {at}");
        }
        assert_eq!(refused, 4, "the canary's own memory was there already");
        assert_eq!(gpu.driver_refusals(), refused);
        drop(gpu);
        assert_eq!(held(), before);
    });
}

#[test]
fn faulty_copies_do_without_pinned_memory() {
    fault_test(|| {
        let gpu = open();
        emulator::refuse_pinned(1, Times::FromThenOn);
        let pinned = emulator::count(Counted::LivePinned);
        let host: Vec<u32> = (0..1_000_003).collect();
        let there = gpu.upload("numbers", &host).unwrap();
        assert!(gpu.read(there.view()).unwrap() == host);
        assert_eq!(emulator::count(Counted::LivePinned), pinned);
        emulator::clear();
        emulator::refuse_pinned(2, Times::Once);
        assert!(gpu.read(there.view()).unwrap() == host);
        assert_eq!(emulator::count(Counted::LivePinned), pinned, "half a pair is given back");
        assert!(gpu.read(there.view()).unwrap() == host);
        assert_eq!(emulator::count(Counted::LivePinned), pinned + 2);
        assert!(gpu.read(there.view()).unwrap() == host);
        assert_eq!(emulator::count(Counted::LivePinned), pinned + 2, "a pair is used again");
    });
}

/// Every call of every handle answers `Lost` with the same reason, and none reaches the driver.
fn assert_all_lost(gpu: &Gpu, work: &mut Work, reason: &str) {
    let want = DeviceError::Lost { reason: reason.to_owned() };
    assert_eq!(gpu.state(), GpuState::Lost { reason: reason.to_owned() });
    let calls = emulator::count(Counted::Calls);
    let handles = [Some(gpu.clone()), work.other.clone()];
    for handle in handles.into_iter().flatten() {
        assert_eq!(handle.alloc::<u32>("more", 1).map(drop), Err(want.clone()));
        assert_eq!(handle.upload("nothing", &[0_u32; 0]).map(drop), Err(want.clone()));
        assert_eq!(handle.stream().map(drop), Err(want.clone()));
        assert_eq!(handle.sync(), Err(want.clone()));
        assert_eq!(handle.timer().map(drop), Err(want.clone()));
        assert_eq!(handle.canary(), Err(want.clone()));
        assert_eq!(handle.capture(|| Ok(())).map(drop), Err(want.clone()));
        for buf in &mut work.bufs {
            assert_eq!(handle.read(buf.view()), Err(want.clone()));
            assert_eq!(handle.read(buf.slice(..0)), Err(want.clone()));
            assert_eq!(handle.zero(buf.view_mut()), Err(want.clone()));
            let host = vec![0; buf.len()];
            assert_eq!(handle.write(buf.view_mut(), &host), Err(want.clone()));
            assert_eq!(ask(&handle, 1, buf), Err(want.clone()));
        }
    }
    if let Some(replay) = &work.replay {
        assert_eq!(replay.launch(), Err(want));
    }
    assert_eq!(emulator::count(Counted::Calls), calls, "the driver was asked");
}

#[test]
fn faulty_a_fatal_launch_loses_the_device_for_good() {
    fault_test(|| {
        let gpu = open();
        let first = emulator::count(Counted::Launches);
        run(&gpu).unwrap();
        let launches = emulator::count(Counted::Launches) - first;
        drop(gpu);
        assert_eq!(launches, 5, "two, the canary and two replays");
        for (code, noticed) in
            STICKY.iter().flat_map(|c| [(*c, Noticed::AtOnce), (*c, Noticed::Later)])
        {
            for at in 1..=launches {
                let gpu = open();
                let budget = gpu.budget().clone();
                let mut work = Work::default();
                emulator::fail_launch(at, code, noticed);
                let answer = work.run(&gpu);
                let Err(DeviceError::Lost { reason }) = answer else {
                    panic!("launch {at} of {launches}, {code}, {noticed:?}: {answer:?}");
                };
                assert!(reason.contains(&code.to_string()) && reason.contains(CANARY), "{reason}");
                assert_all_lost(&gpu, &mut work, &reason);
                let calls = emulator::count(Counted::Calls);
                drop((work, gpu));
                assert_eq!(emulator::count(Counted::Calls), calls, "a drop asked the driver");
                assert_eq!(budget.used(), 0);
                emulator::clear();
            }
        }
    });
}

#[test]
fn faulty_a_device_lost_while_recording_ends_the_recording() {
    fault_test(|| {
        let gpu = open();
        gpu.load_family("canary").unwrap();
        let other = gpu.stream().unwrap();
        let mut buf = gpu.zeros::<u32>("answers", 2).unwrap();
        let mut there = other.zeros::<u32>("answers", 2).unwrap();
        emulator::fail_launch(1, 719, Noticed::AtOnce);
        let answer = gpu.capture(|| {
            ask(&gpu, 1, &mut buf)?;
            ask(&other, 2, &mut there)
        });
        assert!(matches!(answer.map(drop), Err(DeviceError::Lost { .. })));
        let budget = gpu.budget().clone();
        drop((buf, there, other, gpu));
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn faulty_one_wrong_canary_makes_the_device_suspect_and_a_second_loses_it() {
    fault_test(|| {
        let gpu = open();
        gpu.canary().unwrap();
        emulator::spoil(CANARY, 1, Times::Once);
        assert!(matches!(gpu.canary(), Err(DeviceError::Canary { got, want }) if got != want));
        assert!(matches!(gpu.state(), GpuState::Suspect { .. }));
        let buf = gpu.upload("numbers", &[1_u32, 2]).unwrap();
        assert_eq!(gpu.read(buf.view()).unwrap(), [1, 2], "a suspect device still works");
        gpu.canary().unwrap();
        assert_eq!(gpu.state(), GpuState::Ready);
        emulator::spoil(CANARY, 1, Times::FromThenOn);
        assert!(matches!(gpu.canary(), Err(DeviceError::Canary { .. })));
        let lost = gpu.canary().unwrap_err();
        assert!(matches!(&lost, DeviceError::Lost { reason } if reason.contains("canary")));
        assert_eq!(gpu.read(buf.view()), Err(lost));
    });
}

#[test]
fn faulty_a_busy_device_lets_the_canary_wait_no_longer_than_it_may() {
    fault_test(|| {
        const BUSY: Duration = Duration::from_millis(600);
        let gpu = open();
        gpu.canary().unwrap();
        // A thread that is not scheduled for long enough meets a device that is free again.
        let gave_up_while_it_was_busy = || {
            emulator::delay(Some(CANARY), BUSY.as_millis() as u32);
            let start = Instant::now();
            let late = gpu.canary().unwrap_err();
            let still_busy = start.elapsed() < BUSY;
            assert_eq!(late, DeviceError::Timeout { step: "the canary", millis: 200 });
            assert_eq!(gpu.state(), GpuState::Ready);
            emulator::clear();
            std::thread::sleep(BUSY.saturating_sub(start.elapsed()));
            gpu.canary().unwrap();
            still_busy
        };
        assert!((0..5).any(|_| gave_up_while_it_was_busy()));
    });
}

/// Calls that wait for another stream, made by `work`.
fn waits(work: impl FnOnce()) -> u64 {
    let before = emulator::count(Counted::Waits);
    work();
    emulator::count(Counted::Waits) - before
}

#[test]
fn faulty_readers_of_one_buffer_do_not_wait_for_each_other() {
    fault_test(|| {
        let gpu = open();
        let mut shared = gpu.upload("a graph", &[1_u32, 2, 3]).unwrap();
        let readers: Vec<Gpu> = (0..3).map(|_| gpu.stream().unwrap()).collect();
        let mut own: Vec<_> =
            readers.iter().map(|r| r.zeros::<u32>("a result", 3).unwrap()).collect();
        let mut read = |times: usize, shared: &Buf<u32>| {
            for _ in 0..times {
                for (reader, own) in readers.iter().zip(&mut own) {
                    reader.copy(shared.view(), own.view_mut()).unwrap();
                }
            }
        };
        assert_eq!(waits(|| read(1, &shared)), 3, "each waits for the upload");
        assert_eq!(waits(|| read(5, &shared)), 0, "and then for nobody");
        let replay_of = |own: &mut Buf<u32>| {
            let replay = readers[0].capture(|| readers[0].copy(shared.view(), own.view_mut()));
            replay.unwrap()
        };
        let mut result = readers[0].zeros::<u32>("a result", 3).unwrap();
        let replay = replay_of(&mut result);
        assert_eq!(waits(|| replay.launch().unwrap()), 0, "nor does a replay that reads it");
        assert_eq!(waits(|| drop(gpu.read(shared.view()).unwrap())), 0, "nor does the home stream");
        assert_eq!(
            waits(|| gpu.zero(shared.view_mut()).unwrap()),
            3,
            "a write waits for all readers"
        );
        assert_eq!(waits(|| gpu.zero(shared.view_mut()).unwrap()), 0, "once");
        assert_eq!(waits(|| read(1, &shared)), 3, "each waits for the write");
        assert_eq!(waits(|| drop(replay)), 0, "what a replay has read is shared still");
        assert_eq!(waits(|| drop(shared)), 3, "the release waits for all readers");
        for (reader, own) in readers.iter().zip(&own) {
            assert_eq!(reader.read(own.view()).unwrap(), [0; 3]);
        }
    });
}

#[test]
fn faulty_a_write_on_another_stream_waits_for_readers_on_a_third_that_is_gone() {
    fault_test(|| {
        let gpu = open();
        let mut shared = gpu.upload("a graph", &[1_u32, 2]).unwrap();
        let reader = gpu.stream().unwrap();
        let mut own = reader.zeros::<u32>("a result", 2).unwrap();
        reader.copy(shared.view(), own.view_mut()).unwrap();
        let copied = reader.read(own.view()).unwrap();
        drop((own, reader));
        let writer = gpu.stream().unwrap();
        let made = waits(|| writer.zero(shared.view_mut()).unwrap());
        assert_eq!(made, 3, "for the home stream, for the reader, and the home stream for it");
        assert_eq!((copied, gpu.read(shared.view()).unwrap()), (vec![1, 2], vec![0, 0]));
    });
}

#[test]
fn faulty_many_readers_that_are_over_are_forgotten() {
    fault_test(|| {
        let gpu = open();
        let shared = gpu.upload("a graph", &[1_u32, 2]).unwrap();
        let before = emulator::count(Counted::LiveEvents);
        for _ in 0..50 {
            let reader = gpu.stream().unwrap();
            assert_eq!(reader.read(shared.view()).unwrap(), [1, 2]);
        }
        let kept = emulator::count(Counted::LiveEvents) - before;
        assert!(kept <= 8, "{kept} events of streams that are gone");
    });
}

#[test]
fn faulty_small_downloads_do_not_hold_the_stream() {
    fault_test(|| {
        let gpu = open();
        let host: Vec<u32> = (0..16_000).collect();
        let there = gpu.upload("numbers", &host).unwrap();
        let unpinned = emulator::count(Counted::UnpinnedDownloads);
        for len in [1, 2, 1000, 16_000] {
            assert!(gpu.read(there.slice(..len)).unwrap() == host[..len], "{len}");
        }
        let pinned = emulator::count(Counted::LivePinned);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| assert!(gpu.read(there.view()).unwrap() == host));
            }
        });
        assert_eq!(emulator::count(Counted::UnpinnedDownloads), unpinned);
        assert!(emulator::count(Counted::LivePinned) < pinned + 8, "blocks are used again");
        emulator::refuse_pinned(1, Times::FromThenOn);
        let fresh = open();
        let numbers = fresh.upload("numbers", &[4_u32, 5]).unwrap();
        assert_eq!(fresh.read(numbers.view()).unwrap(), [4, 5], "without pinned memory too");
    });
}

#[test]
fn faulty_kernels_that_are_not_loaded_cannot_be_recorded() {
    fault_test(|| {
        let gpu = open();
        let mut buf = gpu.zeros::<u32>("answers", 2).unwrap();
        let refused = gpu.capture(|| ask(&gpu, 1, &mut buf)).map(drop);
        assert!(matches!(refused, Err(DeviceError::Module { .. })), "{refused:?}");
        assert!(matches!(gpu.load_family("no such family"), Err(DeviceError::Module { .. })));
        gpu.load_family("canary").unwrap();
        let replay = gpu.capture(|| ask(&gpu, 1, &mut buf)).unwrap();
        replay.launch().unwrap();
        assert_ne!(gpu.read(buf.view()).unwrap(), [0, 0]);
    });
}

/// How long the stream of a handle takes to be done.
fn wait(gpu: &Gpu) -> Duration {
    let start = Instant::now();
    gpu.sync().unwrap();
    start.elapsed()
}

#[test]
fn faulty_streams_wait_for_each_other_where_they_share_and_nowhere_else() {
    const LONG: Duration = Duration::from_millis(250);
    // Several attempts, since a thread that is not scheduled between a launch and its wait sees another time.
    let attempt = || {
        let gpu = open();
        let other = gpu.stream().unwrap();
        let mut here = gpu.zeros::<u32>("answers", 2).unwrap();
        let mut there = other.zeros::<u32>("answers", 2).unwrap();
        emulator::delay(Some(CANARY), 500);

        ask(&gpu, 1, &mut here).unwrap();
        let apart = wait(&other) < LONG;
        other.copy(here.view(), there.view_mut()).unwrap();
        let reads = wait(&other) > LONG;
        let done = wait(&gpu) < LONG;

        ask(&other, 2, &mut here).unwrap();
        let stranger = wait(&gpu) > LONG;

        let replay = gpu.capture(|| ask(&gpu, 3, &mut there)).unwrap();
        replay.launch().unwrap();
        let replayed = wait(&other) > LONG;
        emulator::clear();
        [apart, reads, done, stranger, replayed]
    };
    fault_test(|| {
        let what = [
            "streams that share nothing do not wait",
            "the copy waits for the kernel whose result it reads",
            "the kernel has ended",
            "the home stream waits for the other one",
            "the other stream waits for the replay",
        ];
        let mut seen = Vec::new();
        while seen.len() < 5 && !seen.contains(&[true; 5]) {
            seen.push(attempt());
        }
        assert!(seen.contains(&[true; 5]), "{what:?}: {seen:?}");
    });
}

#[test]
fn faulty_a_timer_measures_the_stream() {
    fault_test(|| {
        let gpu = open();
        let mut buf = gpu.zeros::<u32>("answers", 2).unwrap();
        ask(&gpu, 1, &mut buf).unwrap();
        emulator::delay(Some(CANARY), 60);
        let mut timer = gpu.timer().unwrap();
        ask(&gpu, 1, &mut buf).unwrap();
        let first = timer.elapsed_ms().unwrap();
        ask(&gpu, 1, &mut buf).unwrap();
        let both = timer.elapsed_ms().unwrap();
        assert!((55.0..5_000.0).contains(&first) && both >= first + 55.0, "{first} {both}");
    });
}

#[test]
fn faulty_a_driver_that_fails_from_the_start_is_no_gpu() {
    fault_test(|| {
        let gpu = open();
        let mut buf = gpu.zeros::<u32>("answers", 2).unwrap();
        emulator::fail_launch(1, 700, Noticed::AtOnce);
        assert!(matches!(ask(&gpu, 1, &mut buf), Err(DeviceError::Lost { .. })));
        let again = Gpu::open(&GpuOptions::default()).unwrap_err();
        let DeviceError::Absent { reason } = again else { panic!("{again}") };
        assert!(reason.contains("700"), "{reason}");
    });
}
