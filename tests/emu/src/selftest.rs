//! The emulator against kernels that are right, and against kernels that are wrong on purpose.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::process::Command;

use crate::emulator::{self, Noticed, Times, call};
use crate::fault_test;

/// The driver as a program without our device crate sees it.
struct Raw {
    module: *mut c_void,
}

const SUCCESS: c_int = 0;
const OUT_OF_MEMORY: c_int = 2;
const ILLEGAL_ADDRESS: c_int = 700;

impl Raw {
    fn new() -> Self {
        let mut context = std::ptr::null_mut();
        assert_eq!(
            call!(
                c"cuDevicePrimaryCtxRetain" as fn(*mut *mut c_void, c_int) -> c_int,
                &raw mut context,
                0
            ),
            SUCCESS
        );
        assert_eq!(call!(c"cuCtxSetCurrent" as fn(*mut c_void) -> c_int, context), SUCCESS);
        // The kernels of the self-test are in no PTX that ships, so the text is made up.
        let source = include_str!("../cpp/selftest.cu");
        let names = source.lines().filter_map(|l| l.strip_prefix("GL_KERNEL void GL_BOUNDS("));
        let entries: String = names
            .map(|l| l.split_once(") ").unwrap().1.split_once('(').unwrap().0)
            .map(|name| format!(".visible .entry {name}(\n"))
            .collect();
        let text = CString::new(format!(".version 8.2\n.target sm_75\n{entries}")).unwrap();
        let mut module = std::ptr::null_mut();
        let loaded = call!(
            c"cuModuleLoadData" as fn(*mut *mut c_void, *const c_char) -> c_int,
            &raw mut module,
            text.as_ptr()
        );
        assert_eq!(loaded, SUCCESS);
        Self { module }
    }

    fn try_alloc(&self, words: usize) -> Result<u64, c_int> {
        let mut at = 0;
        let code = call!(
            c"cuMemAlloc_v2" as fn(*mut u64, usize) -> c_int,
            &raw mut at,
            words * size_of::<u32>()
        );
        if code == SUCCESS { Ok(at) } else { Err(code) }
    }

    fn upload(&self, words: &[u32]) -> u64 {
        let at = self.try_alloc(words.len()).unwrap();
        let copied = call!(
            c"cuMemcpyHtoD_v2" as fn(u64, *const u32, usize) -> c_int,
            at,
            words.as_ptr(),
            size_of_val(words)
        );
        assert_eq!(copied, SUCCESS);
        at
    }

    fn try_read(&self, at: u64, words: usize) -> Result<Vec<u32>, c_int> {
        let mut out = vec![0; words];
        let code = call!(
            c"cuMemcpyDtoH_v2" as fn(*mut u32, u64, usize) -> c_int,
            out.as_mut_ptr(),
            at,
            words * size_of::<u32>()
        );
        if code == SUCCESS { Ok(out) } else { Err(code) }
    }

    fn free(&self, at: u64) {
        assert_eq!(call!(c"cuMemFree_v2" as fn(u64) -> c_int, at), SUCCESS);
    }

    /// A kernel by its name, or the driver's code.
    fn function(&self, name: &str) -> Result<*mut c_void, c_int> {
        let name = CString::new(name).unwrap();
        let mut function = std::ptr::null_mut();
        let found = call!(
            c"cuModuleGetFunction" as fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int,
            &raw mut function,
            self.module,
            name.as_ptr()
        );
        if found == SUCCESS { Ok(function) } else { Err(found) }
    }

    fn launch(
        &self,
        name: &str,
        grid: (u32, u32, u32),
        stream: *mut c_void,
        values: &[u64],
    ) -> c_int {
        self.launch_of(self.function(name).unwrap(), grid, stream, values)
    }

    fn launch_of(
        &self,
        function: *mut c_void,
        grid: (u32, u32, u32),
        stream: *mut c_void,
        values: &[u64],
    ) -> c_int {
        let mut values = values.to_vec();
        let mut list: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        call!(
            c"cuLaunchKernel"
                as fn(
                    *mut c_void,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    *mut c_void,
                    *mut *mut c_void,
                    *mut *mut c_void,
                ) -> c_int,
            function,
            grid.0,
            1,
            1,
            grid.1,
            1,
            1,
            grid.2,
            stream,
            list.as_mut_ptr(),
            std::ptr::null_mut()
        )
    }

    fn run(&self, name: &str, blocks: u32, threads: u32, values: &[u64]) {
        let code = self.launch(name, (blocks, threads, 0), std::ptr::null_mut(), values);
        assert_eq!(code, SUCCESS, "{name}");
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = call!(c"cuModuleUnload" as fn(*mut c_void) -> c_int, self.module);
    }
}

#[test]
fn grids_of_any_size_cover_the_work() {
    fault_test(|| {
        let raw = Raw::new();
        let input: Vec<u32> = (0..1_000).collect();
        let wanted: Vec<u32> = input.iter().map(|v| v * 2).collect();
        for (blocks, threads) in [(1, 32), (3, 96), (7, 256), (40, 64)] {
            let (from, to) = (raw.upload(&input), raw.try_alloc(1_000).unwrap());
            assert_eq!(raw.try_read(to, 1).unwrap(), [0xA5A5_A5A5], "memory starts with garbage");
            raw.run("st_double", blocks, threads, &[1_000, from, to]);
            assert_eq!(raw.try_read(to, 1_000).unwrap(), wanted);
            raw.free(from);
            raw.free(to);
        }
    });
}

#[test]
fn warps_and_blocks_meet_as_on_the_hardware() {
    fault_test(|| {
        let raw = Raw::new();
        let out = raw.upload(&[0, 0]);
        for threads in [32, 64, 224, 1024] {
            raw.run("st_block", 3, threads, &[9, out]);
        }
        assert_eq!(raw.try_read(out, 2).unwrap(), [0, 3 * (32 + 64 + 224 + 1024)]);
        raw.free(out);
    });
}

#[test]
fn shared_memory_is_garbage_before_every_block_and_may_be_sized_by_the_launch() {
    fault_test(|| {
        let raw = Raw::new();
        let out = raw.upload(&[0; 64]);
        for _ in 0..2 {
            raw.run("st_garbage", 1, 64, &[out]);
            assert_eq!(raw.try_read(out, 64).unwrap(), [u32::MAX; 64]);
        }
        let null = std::ptr::null_mut();
        assert_eq!(raw.launch("st_dynamic", (1, 64, 256), null, &[out]), SUCCESS);
        assert_eq!(raw.try_read(out, 64).unwrap(), (0..64).rev().collect::<Vec<u32>>());
        raw.free(out);
    });
}

#[test]
fn launches_beyond_the_bounds_of_the_kernel_or_the_card_are_refused() {
    fault_test(|| {
        let raw = Raw::new();
        let null = std::ptr::null_mut();
        for grid in [(0, 64, 0), (1, 0, 0), (1, 128, 0), (1, 64, 1 << 20)] {
            assert_eq!(raw.launch("st_garbage", grid, null, &[0]), 1, "{grid:?}");
        }
    });
}

#[test]
fn a_recording_is_replayed_with_the_arguments_of_its_time() {
    fault_test(|| {
        let raw = Raw::new();
        let (a, b) = (raw.upload(&[1, 2, 3]), raw.upload(&[0; 3]));
        let double = raw.function("st_double").unwrap();
        let mut stream = std::ptr::null_mut();
        let mut graph = std::ptr::null_mut();
        let mut replay = std::ptr::null_mut();
        let ok = |code: c_int| assert_eq!(code, SUCCESS);
        ok(call!(c"cuStreamCreate" as fn(*mut *mut c_void, c_uint) -> c_int, &raw mut stream, 1));
        ok(call!(c"cuStreamBeginCapture_v2" as fn(*mut c_void, c_int) -> c_int, stream, 0));
        assert_eq!(raw.function("st_double").unwrap_err(), 900, "nothing is loaded meanwhile");
        ok(raw.launch_of(double, (1, 32, 0), stream, &[3, a, b]));
        ok(raw.launch_of(double, (1, 32, 0), stream, &[3, b, a]));
        ok(call!(
            c"cuStreamEndCapture" as fn(*mut c_void, *mut *mut c_void) -> c_int,
            stream,
            &raw mut graph
        ));
        assert_eq!(raw.try_read(a, 3).unwrap(), [1, 2, 3], "recording runs nothing");
        ok(call!(
            c"cuGraphInstantiateWithFlags" as fn(*mut *mut c_void, *mut c_void, u64) -> c_int,
            &raw mut replay,
            graph,
            0
        ));
        for _ in 0..2 {
            ok(call!(c"cuGraphLaunch" as fn(*mut c_void, *mut c_void) -> c_int, replay, stream));
        }
        assert_eq!(raw.try_read(a, 3).unwrap(), [16, 32, 48]);
        ok(call!(c"cuGraphExecDestroy" as fn(*mut c_void) -> c_int, replay));
        ok(call!(c"cuGraphDestroy" as fn(*mut c_void) -> c_int, graph));
        ok(call!(c"cuStreamBeginCapture_v2" as fn(*mut c_void, c_int) -> c_int, stream, 0));
        assert_eq!(call!(c"cuStreamSynchronize" as fn(*mut c_void) -> c_int, stream), 900);
        assert_eq!(
            call!(
                c"cuStreamEndCapture" as fn(*mut c_void, *mut *mut c_void) -> c_int,
                stream,
                &raw mut graph
            ),
            901
        );
        ok(call!(c"cuStreamDestroy_v2" as fn(*mut c_void) -> c_int, stream));
        raw.free(a);
        raw.free(b);
    });
}

#[test]
fn faults_come_when_they_are_ordered_and_end_when_cleared() {
    fault_test(|| {
        let raw = Raw::new();
        emulator::refuse_memory(2, Times::Once);
        let outcomes: Vec<_> = (0..4).map(|_| raw.try_alloc(8)).collect();
        assert_eq!(outcomes[1], Err(OUT_OF_MEMORY));
        emulator::refuse_memory(1, Times::FromThenOn);
        assert_eq!([raw.try_alloc(8), raw.try_alloc(8)], [Err(OUT_OF_MEMORY); 2]);
        emulator::clear();
        emulator::limit_memory(1 << 12);
        assert_eq!(raw.try_alloc(1 << 11), Err(OUT_OF_MEMORY));
        outcomes.into_iter().flatten().for_each(|at| raw.free(at));

        let out = raw.upload(&[5, 6]);
        emulator::spoil("st_double", 2, Times::Once);
        let doubled = || {
            raw.run("st_double", 1, 32, &[2, out, out]);
            raw.try_read(out, 2).unwrap()
        };
        assert_eq!([doubled(), doubled(), doubled()], [[10, 12], [21, 24], [42, 48]]);

        let null = std::ptr::null_mut();
        for (noticed, answer) in [(Noticed::AtOnce, ILLEGAL_ADDRESS), (Noticed::Later, SUCCESS)] {
            emulator::fail_launch(1, ILLEGAL_ADDRESS, noticed);
            assert_eq!(raw.launch("st_double", (1, 32, 0), null, &[2, out, out]), answer);
            assert_eq!(raw.try_read(out, 2), Err(ILLEGAL_ADDRESS), "the error stays");
            emulator::clear();
            assert_eq!(raw.try_read(out, 2).unwrap(), [42, 48]);
        }
        raw.free(out);
    });
}

#[test]
fn a_delay_is_seen_by_those_who_wait() {
    fault_test(|| {
        let raw = Raw::new();
        let out = raw.upload(&[1]);
        let mut stream = std::ptr::null_mut();
        assert_eq!(
            call!(c"cuStreamCreate" as fn(*mut *mut c_void, c_uint) -> c_int, &raw mut stream, 1),
            SUCCESS
        );
        emulator::delay(Some("st_double"), 30);
        let began = std::time::Instant::now();
        assert_eq!(raw.launch("st_double", (1, 32, 0), stream, &[1, out, out]), SUCCESS);
        assert_eq!(call!(c"cuStreamQuery" as fn(*mut c_void) -> c_int, stream), 600);
        assert_eq!(call!(c"cuStreamSynchronize" as fn(*mut c_void) -> c_int, stream), SUCCESS);
        assert!(began.elapsed().as_millis() >= 30);
        assert_eq!(call!(c"cuStreamQuery" as fn(*mut c_void) -> c_int, stream), SUCCESS);
        assert_eq!(call!(c"cuStreamDestroy_v2" as fn(*mut c_void) -> c_int, stream), SUCCESS);
        raw.free(out);
    });
}

/// Runs `kernel` in a process of its own, and gives what it wrote to standard error; it must not end well.
fn crash(kernel: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let run = Command::new(program)
        .args(["--exact", "selftest::child", "--nocapture"])
        .env("GRAPHLUME_EMU_CHILD", kernel)
        .env_remove("GRAPHLUME_EMU_SEED") // The words depend on who comes first.
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success(), "{kernel} was not noticed: {said}");
    said
}

/// The other half of [`crash`]; by itself it only checks that its kernel exists.
#[test]
fn child() {
    let kernel = std::env::var("GRAPHLUME_EMU_CHILD").unwrap_or_else(|_| "st_double".to_owned());
    fault_test(|| {
        let raw = Raw::new();
        let out = raw.upload(&[0; 64]);
        let values: &[u64] = match kernel.as_str() {
            "st_bad_global" => &[64, out],
            "st_double" => &[64, out, out],
            _ => &[out],
        };
        raw.run(&kernel, if kernel == "st_bad_global" { 2 } else { 1 }, 64, values);
        raw.free(out);
    });
}

/// Whether this run uses the library under AddressSanitizer.
fn sanitized() -> bool {
    emulator::library().ends_with("asan/libcuda.so")
}

#[test]
fn writing_out_of_bounds_is_noticed() {
    let said = crash("st_bad_global");
    let wanted = if sanitized() {
        ["heap-buffer-overflow", "st_bad_global"]
    } else {
        ["behind an allocation of 256 bytes", "out of bounds"]
    };
    assert!(wanted.iter().all(|w| said.contains(w)), "{said}");
}

#[cfg(graphlume_emu_asan)]
#[test]
fn the_sanitizers_see_shared_memory_too() {
    if sanitized() {
        let said = crash("st_bad_shared");
        assert!(said.contains("out of bounds") || said.contains("buffer-overflow"), "{said}");
        assert!(said.contains("selftest.cu"), "{said}");
    }
}

#[test]
fn meetings_that_cannot_happen_end_the_process() {
    for (kernel, wanted) in [
        ("st_bad_barrier", "a thread has left the kernel while others wait in __syncthreads"),
        ("st_bad_two_barriers", "one barrier is reached from two places"),
        ("st_bad_mask", "wait for each other in different places"),
        ("st_bad_stack", if sanitized() { "stack-overflow" } else { "out of stack" }),
    ] {
        let said = crash(kernel);
        assert!(said.contains(wanted) && said.contains(kernel), "{kernel}: {said}");
    }
}

#[test]
fn a_missing_barrier_gives_a_wrong_result() {
    fault_test(|| {
        let raw = Raw::new();
        let out = raw.upload(&[0; 64]);
        raw.run("st_bad_race", 1, 64, &[out]);
        let right: Vec<u32> = (1..=64).rev().collect();
        assert_ne!(raw.try_read(out, 64).unwrap(), right);
        raw.free(out);
    });
}

#[test]
fn a_seed_changes_the_order_of_blocks_and_lanes() {
    let turns = |seed: &str| {
        let program = std::env::current_exe().unwrap();
        let run = Command::new(program)
            .args(["--exact", "selftest::order", "--nocapture"])
            .env("GRAPHLUME_EMU_SEED", seed)
            .env("GRAPHLUME_EMU_CHILD", "order")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{said}");
        said.lines().find(|l| l.starts_with("turns ")).expect(&said).to_owned()
    };
    assert_ne!(turns("1"), turns("2"));
    assert_eq!(turns("3"), turns("3"));
}

/// The other half of the test above: every thread gets a number, whatever the order.
#[test]
fn order() {
    fault_test(|| {
        let raw = Raw::new();
        let (next, turn) = (raw.upload(&[0]), raw.upload(&[0; 256]));
        raw.run("st_order", 4, 64, &[next, turn]);
        let mut turns = raw.try_read(turn, 256).unwrap();
        if std::env::var_os("GRAPHLUME_EMU_CHILD").is_some() {
            eprintln!("turns {turns:?}");
        }
        turns.sort_unstable();
        assert_eq!(turns, (0..256).collect::<Vec<u32>>());
        raw.free(next);
        raw.free(turn);
    });
}
