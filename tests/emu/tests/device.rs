//! Memory, streams, replays and the canary of the device layer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use graphlume_device::cuda::kernels::canary_answer;
use graphlume_device::cuda::{Buf, DeviceError, Gpu, GpuOptions, GpuState, Grid, Pod};
use graphlume_emu::gpu_test;

/// As many bytes as a pinned block holds.
const BLOCK_BYTES: usize = 2 << 20;

fn answers(gpu: &Gpu, blocks: u32) -> Buf<u32> {
    gpu.zeros("answers", blocks as usize).unwrap()
}

fn ask(gpu: &Gpu, salt: u32, into: &mut Buf<u32>) -> Result<(), DeviceError> {
    let grid = Grid::blocks(into.len() as u32, 256);
    canary_answer(gpu, grid, salt, into.view_mut())
}

/// What the kernel answers for a salt.
fn answer(gpu: &Gpu, salt: u32) -> u32 {
    let mut one = answers(gpu, 1);
    ask(gpu, salt, &mut one).unwrap();
    gpu.read(one.view()).unwrap()[0]
}

fn is_recording<T: std::fmt::Debug>(answer: Result<T, DeviceError>) -> bool {
    matches!(answer, Err(DeviceError::Recording { .. }))
}

fn there_and_back<T: Pod + PartialEq + std::fmt::Debug>(gpu: &Gpu, make: impl Fn(u64) -> T) {
    for len in [0, 1, 2, 31, 32, 33, 255, 1023, 1025, 65_537] {
        let host: Vec<T> = (0..len).map(&make).collect();
        let mut there = gpu.upload("values", &host).unwrap();
        assert_eq!(there.len(), host.len());
        assert_eq!(there.is_empty(), host.is_empty());
        assert_eq!(gpu.read(there.view()).unwrap(), host);
        let mut copied = gpu.alloc("a copy", host.len()).unwrap();
        gpu.copy(there.view(), copied.view_mut()).unwrap();
        gpu.zero(there.view_mut()).unwrap();
        assert_eq!(gpu.read(copied.view()).unwrap(), host);
        assert!(gpu.read(there.view()).unwrap().iter().all(|v| *v == T::zeroed()));
    }
}

#[test]
fn values_of_all_types_come_back() {
    gpu_test(&[], |gpu| {
        there_and_back(gpu, |i| i as u8);
        there_and_back(gpu, |i| i as u16);
        there_and_back(gpu, |i| i as u32);
        there_and_back(gpu, |i| i << 33 | i);
        there_and_back(gpu, |i| -(i as i32));
        there_and_back(gpu, |i| -(i as i64));
        there_and_back(gpu, |i| i as f32 + 0.5);
        there_and_back(gpu, |i| i as f64 + 0.25);
        there_and_back(gpu, |i| [i as f32, -(i as f32)]);
        there_and_back(gpu, |i| [i as u8, 1, 2]);
        assert_eq!(gpu.budget().used(), 0);
    });
}

#[test]
fn copies_of_several_blocks_come_back() {
    gpu_test(&[], |gpu| {
        let host: Vec<u8> = (0..2 * BLOCK_BYTES + 5).map(|i| (i % 251) as u8).collect();
        for len in [65_535, 65_536, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, host.len()] {
            let there = gpu.upload("bytes", &host[..len]).unwrap();
            assert!(gpu.read(there.view()).unwrap() == host[..len], "{len} bytes");
        }
        let there = gpu.upload("bytes", &host).unwrap();
        let mut part = vec![0; BLOCK_BYTES + 7];
        gpu.read_into(there.slice(3..3 + part.len()), &mut part).unwrap();
        assert!(part == host[3..3 + part.len()]);
    });
}

#[test]
fn parts_of_a_buffer_are_written_and_read() {
    gpu_test(&[], |gpu| {
        let mut buf = gpu.zeros::<u32>("numbers", 10).unwrap();
        gpu.write(buf.slice_mut(2..4), &[7, 8]).unwrap();
        gpu.write(buf.slice_mut(9..), &[9]).unwrap();
        gpu.write(buf.slice_mut(..=0), &[1]).unwrap();
        assert_eq!(gpu.read(buf.view()).unwrap(), [1, 0, 7, 8, 0, 0, 0, 0, 0, 9]);
        assert_eq!(gpu.read(buf.slice(2..10).slice(1..3)).unwrap(), [8, 0]);
        assert_eq!(gpu.read(buf.slice(10..)).unwrap(), Vec::<u32>::new());
        let (mut low, high) = buf.view_mut().split_at(5);
        gpu.write(high, &[5, 6, 7, 8, 9]).unwrap();
        gpu.write(low.reborrow().slice(..1), &[3]).unwrap();
        assert_eq!((low.len(), low.is_empty()), (5, false));
        assert_eq!(gpu.read(buf.view()).unwrap(), [3, 0, 7, 8, 0, 5, 6, 7, 8, 9]);
        assert!(catch_unwind(AssertUnwindSafe(|| buf.slice(3..11).len())).is_err());
    });
}

#[test]
fn the_same_bytes_are_seen_as_pairs() {
    gpu_test(&[], |gpu| {
        let mut flat = gpu.upload("positions", &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(gpu.read(flat.view().cast::<[f32; 2]>()).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
        gpu.write(flat.view_mut().cast::<[f32; 2]>().slice(1..), &[[5.0, 6.0]]).unwrap();
        assert_eq!(gpu.read(flat.view()).unwrap(), [1.0, 2.0, 5.0, 6.0]);
        assert!(
            catch_unwind(AssertUnwindSafe(|| flat.slice(1..).cast::<[f32; 2]>().len())).is_err()
        );
        assert!(catch_unwind(AssertUnwindSafe(|| flat.slice(1..3).cast::<u64>().len())).is_err());
    });
}

#[test]
fn lengths_that_differ_are_refused() {
    gpu_test(&[], |gpu| {
        let mut buf = gpu.zeros::<u32>("numbers", 4).unwrap();
        let other = gpu.zeros::<u32>("numbers", 5).unwrap();
        let is_length = |r| matches!(r, Err(DeviceError::Length { .. }));
        assert!(is_length(gpu.write(buf.view_mut(), &[1, 2, 3])));
        assert!(is_length(gpu.copy(other.view(), buf.view_mut())));
        assert!(is_length(gpu.read_into(buf.view(), &mut [0; 5])));
        assert_eq!(gpu.state(), GpuState::Ready);
    });
}

#[test]
fn what_the_budget_does_not_hold_is_refused_and_nothing_else_suffers() {
    gpu_test(&[], |_| {
        let options = GpuOptions { memory_limit: Some(1 << 20), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).unwrap();
        assert_eq!(gpu.budget().limit(), 1 << 20);
        let half = gpu.alloc::<u8>("one half", 1 << 19).unwrap();
        let rest = gpu.alloc::<u8>("most of the rest", (1 << 19) - 512).unwrap();
        let full = gpu.alloc::<u8>("a kilobyte", 1024).unwrap_err();
        let want =
            DeviceError::OutOfMemory { what: "a kilobyte", need: 1024, free: 512, limit: 1 << 20 };
        assert_eq!(full, want);
        let tiny = gpu.alloc::<u8>("one byte", 1).unwrap();
        assert_eq!(gpu.budget().used(), 1 << 20);
        let large = gpu.alloc::<u8>("too much", (1 << 20) + 1).unwrap_err();
        let need = (1 << 20) + 512;
        assert_eq!(large, DeviceError::TooLarge { what: "too much", need, limit: 1 << 20 });
        let endless = gpu.alloc::<u64>("endless", usize::MAX).unwrap_err();
        assert!(matches!(endless, DeviceError::TooLarge { need: u64::MAX, .. }));
        let nothing = gpu.alloc::<u64>("nothing", 0).unwrap();
        assert_eq!(gpu.read(nothing.view()).unwrap(), Vec::<u64>::new());
        drop((half, rest, tiny));
        assert_eq!(gpu.budget().used(), 0);
        assert!(gpu.alloc::<u8>("all of it", 1 << 20).is_ok());
        assert_eq!((gpu.state(), gpu.driver_refusals()), (GpuState::Ready, 0));
    });
}

#[test]
fn a_launch_that_the_kernel_is_not_made_for_is_refused_by_name() {
    gpu_test(&["canary_answer"], |gpu| {
        let mut four = answers(gpu, 4);
        let mut run = |grid| canary_answer(gpu, grid, 1, four.view_mut());
        let short = run(Grid::blocks(5, 256)).unwrap_err();
        let (kernel, param) = ("canary_answer", "answers");
        assert_eq!(short, DeviceError::Length { kernel, param, len: 4, need: 5 });
        for (blocks, threads) in [(0, 256), (4, 0), (4, 100), (4, 288), (u32::MAX, 256)] {
            let refused = run(Grid::blocks(blocks, threads)).unwrap_err();
            let as_grid = matches!(refused, DeviceError::Grid { kernel: "canary_answer", .. });
            assert!(as_grid || blocks == u32::MAX, "{refused}");
        }
        let refused = run(Grid::blocks(4, 256).with_shared(64 << 20)).unwrap_err();
        assert!(
            matches!(refused, DeviceError::Launch { kernel: "canary_answer", .. }),
            "{refused}"
        );
        assert_eq!((gpu.state(), gpu.launches("canary_answer")), (GpuState::Ready, 0));
        run(Grid::blocks(4, 256)).unwrap();
        assert_eq!(gpu.launches("canary_answer"), 1);
        assert_eq!(gpu.launches("no such kernel"), 0);
    });
}

#[test]
fn grids_cover_the_items_and_stay_bounded() {
    gpu_test(&[], |gpu| {
        assert_eq!(Grid::cover(gpu, 0, 256), Grid { blocks: 1, threads: 256, shared: 0 });
        assert_eq!(Grid::cover(gpu, 257, 256).blocks, 2);
        assert_eq!(Grid::warps(gpu, 9, 256).blocks, 2);
        let most = Grid::cover(gpu, usize::MAX, 256).blocks;
        let threads = u64::from(most) * 256;
        let at_once = u64::from(gpu.info().sm_count) * u64::from(gpu.info().max_threads_per_sm);
        assert!((at_once..=16 * at_once).contains(&threads), "{threads} threads");
        assert_eq!(Grid::warps(gpu, usize::MAX, 256).blocks, most);
    });
}

#[test]
fn every_kernel_of_the_build_loads() {
    gpu_test(&[], |gpu| gpu.load_kernels().unwrap());
}

#[test]
fn a_replay_does_again_what_was_recorded() {
    gpu_test(&["canary_answer"], |gpu| {
        let want = answer(gpu, 5);
        let (mut a, mut b) = (answers(gpu, 3), answers(gpu, 3));
        let before = gpu.launches("canary_answer");
        let replay = gpu
            .capture(|| {
                ask(gpu, 5, &mut a)?;
                gpu.copy(a.view(), b.view_mut())?;
                gpu.zero(a.view_mut())
            })
            .unwrap();
        assert_eq!((gpu.launches("canary_answer"), replay.kernels()), (before, 1));
        assert_eq!(gpu.read(b.view()).unwrap(), [0; 3], "recording runs nothing");
        for round in 1..=3 {
            replay.launch().unwrap();
            assert_eq!(gpu.read(b.view()).unwrap(), [want; 3]);
            assert_eq!(gpu.read(a.view()).unwrap(), [0; 3]);
            assert_eq!(gpu.launches("canary_answer"), before + round);
            gpu.zero(b.view_mut()).unwrap();
        }
    });
}

#[test]
fn a_replay_keeps_the_memory_that_it_uses() {
    gpu_test(&["canary_answer"], |gpu| {
        gpu.load_family("canary").unwrap();
        let mut kept = answers(gpu, 2);
        let mut dropped = answers(gpu, 2);
        let replay = gpu.capture(|| {
            ask(gpu, 9, &mut dropped)?;
            gpu.copy(dropped.view(), kept.view_mut())
        });
        let replay = replay.unwrap();
        drop(dropped);
        assert_eq!(gpu.budget().used(), 1024, "both are still paid for");
        let crowd = gpu.upload("other data", &[7_u32; 2]).unwrap();
        replay.launch().unwrap();
        let got = gpu.read(kept.view()).unwrap();
        assert_eq!(gpu.read(crowd.view()).unwrap(), [7; 2]);
        drop((kept, crowd));
        replay.launch().unwrap();
        drop(replay);
        assert_eq!(gpu.budget().used(), 0);
        assert_eq!(got, [answer(gpu, 9); 2]);
    });
}

#[test]
fn a_recording_refuses_what_it_cannot_hold_and_goes_on() {
    gpu_test(&["canary_answer"], |gpu| {
        let want = answer(gpu, 3);
        // An answer of each multiprocessor, as the driver rounds it up.
        let canary = (u64::from(gpu.info().sm_count) * 4).next_multiple_of(512);
        let mut buf = answers(gpu, 2);
        let mut early = Some(answers(gpu, 2));
        let mut unused = Some(answers(gpu, 2));
        let replay = gpu.capture(|| {
            assert!(is_recording(gpu.alloc::<u32>("memory", 4)));
            assert!(is_recording(gpu.upload("memory", &[1_u32])));
            assert!(is_recording(gpu.read(buf.view())));
            assert!(is_recording(gpu.write(buf.view_mut(), &[1, 2])));
            assert!(is_recording(gpu.sync()));
            assert!(is_recording(gpu.timer().map(drop)));
            assert!(is_recording(gpu.capture(|| Ok(())).map(drop)));
            gpu.zero(early.as_mut().unwrap().view_mut())?;
            early = None;
            unused = None;
            assert_eq!(gpu.budget().used(), 3 * 512, "freed when the recording ends");
            std::thread::scope(|s| {
                let other = s.spawn(|| gpu.zero(buf.view_mut()));
                assert!(is_recording(other.join().unwrap()), "another thread's work");
            });
            gpu.canary()?;
            ask(gpu, 3, &mut buf)
        });
        let replay = replay.unwrap();
        assert_eq!(gpu.budget().used(), 2 * 512 + canary, "two buffers and the canary's");
        assert_eq!(gpu.read(buf.view()).unwrap(), [0; 2]);
        replay.launch().unwrap();
        assert_eq!(gpu.read(buf.view()).unwrap(), [want; 2]);
    });
}

#[test]
fn a_failed_recording_leaves_the_stream_usable() {
    gpu_test(&["canary_answer"], |gpu| {
        gpu.load_family("canary").unwrap();
        let mut buf = answers(gpu, 2);
        let own = DeviceError::Absent { reason: "of this test".to_owned() };
        let failed = gpu.capture(|| {
            ask(gpu, 1, &mut buf)?;
            Err(own.clone())
        });
        assert_eq!(failed.map(drop).unwrap_err(), own);
        let panicked =
            catch_unwind(AssertUnwindSafe(|| gpu.capture(|| panic!("of this test")).map(drop)));
        assert!(panicked.is_err());
        assert_eq!(gpu.read(buf.view()).unwrap(), [0; 2]);
        let empty = gpu.capture(|| Ok(())).unwrap();
        empty.launch().unwrap();
        ask(gpu, 1, &mut buf).unwrap();
        assert_ne!(gpu.read(buf.view()).unwrap(), [0; 2]);
    });
}

#[test]
fn buffers_pass_between_streams() {
    gpu_test(&["canary_answer"], |gpu| {
        let want = answer(gpu, 4);
        let other = gpu.stream().unwrap();
        let mut here = answers(gpu, 4);
        for round in 0..20 {
            ask(&other, 4, &mut here).unwrap();
            let mut there = answers(&other, 4);
            gpu.copy(here.view(), there.view_mut()).unwrap();
            gpu.zero(here.view_mut()).unwrap();
            assert_eq!(other.read(there.view()).unwrap(), [want; 4], "round {round}");
        }
        let mut foreign = answers(&other, 4);
        let refused = other.capture(|| {
            assert!(is_recording(ask(gpu, 1, &mut foreign)), "its stream records");
            ask(&other, 4, &mut here)
        });
        refused.unwrap().launch().unwrap();
        assert_eq!(gpu.read(here.view()).unwrap(), [want; 4]);
    });
}

#[test]
fn buffers_of_another_context_are_refused() {
    gpu_test(&["canary_answer"], |gpu| {
        let other = Gpu::open(&GpuOptions::default()).unwrap();
        let mut foreign = answers(&other, 2);
        let is_other = |r| matches!(r, Err(DeviceError::OtherDevice { .. }));
        assert!(is_other(ask(gpu, 1, &mut foreign)));
        assert!(is_other(gpu.zero(foreign.view_mut())));
        assert!(is_other(gpu.read(foreign.view()).map(drop)));
        ask(gpu, 1, &mut answers(gpu, 2)).unwrap();
        assert_eq!(other.read(foreign.view()).unwrap(), [0; 2]);
    });
}

#[test]
fn handles_work_in_many_threads() {
    gpu_test(&["canary_answer"], |gpu| {
        let want = answer(gpu, 6);
        let shared = gpu.upload("shared", &[11_u32, 12, 13]).unwrap();
        std::thread::scope(|s| {
            for worker in 0..4_usize {
                let shared = &shared;
                s.spawn(move || {
                    let own = gpu.stream().unwrap();
                    for _ in 0..5 {
                        let mut mine = answers(&own, 3);
                        ask(if worker == 0 { gpu } else { &own }, 6, &mut mine).unwrap();
                        assert_eq!(own.read(mine.view()).unwrap(), [want; 3]);
                        own.copy(shared.view(), mine.view_mut()).unwrap();
                        assert_eq!(gpu.read(mine.view()).unwrap(), [11, 12, 13]);
                        let host = vec![worker as u32; 50_000];
                        let bulk = own.upload("bulk", &host).unwrap();
                        assert!(own.read(bulk.view()).unwrap() == host);
                    }
                });
            }
        });
    });
}

#[test]
fn the_canary_answers_rightly_also_on_a_full_device() {
    gpu_test(&[], |_| {
        let options = GpuOptions { memory_limit: Some(1 << 20), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).unwrap();
        gpu.canary().unwrap();
        let left = gpu.budget().limit() - gpu.budget().used();
        let _all = gpu.alloc::<u8>("the rest", left as usize).unwrap();
        for round in 2..6 {
            gpu.canary().unwrap();
            assert_eq!(gpu.launches("canary_answer"), round);
        }
        assert_eq!(gpu.state(), GpuState::Ready);
    });
}

#[test]
fn the_device_describes_itself() {
    gpu_test(&[], |gpu| {
        let info = gpu.info();
        assert!(!info.name.is_empty() && info.driver.contains('.'));
        assert!(info.memory_bytes > 0 && info.sm_count > 0 && info.max_threads_per_sm >= 1024);
        assert!(info.compute_capability >= (7, 5));
        assert!((1..=info.memory_bytes / 10 * 9).contains(&gpu.budget().limit()));
        assert!(format!("{gpu:?}").contains(&info.name));
        let beyond = GpuOptions { ordinal: 999, memory_limit: None };
        let absent = Gpu::open(&beyond).unwrap_err();
        assert!(matches!(&absent, DeviceError::Absent { reason } if reason.contains("999")));
    });
}
