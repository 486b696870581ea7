//! Rules of the PTX that ships, held by reading it: what would only show on a card, or only cost time there.
//! What is allowed to break one is listed here with the reason; a new kernel that does fails until it is.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod scan;

use std::collections::BTreeMap;

use graphlume_kernels::MODULES;
use scan::{Instruction, Kernel};

/// Static shared memory that every card gives a block without being asked.
const SHARED_BYTES_MAX: u32 = 48 << 10;

/// Kernels with local memory, which is device memory: the sine and cosine of large angles keep a table there.
const LOCAL_MEMORY: &[&str] = &["fa_part"];

/// Atomics whose memory the compiler could not name, because one pointer is either shared or global. They are slower.
const GENERIC_ATOMICS: &[(&str, usize)] = &[("col_hist_codes", 10), ("col_hist_range", 8)];

/// Divisions of f64 within a loop: some 30 instructions each on a card with full rate, 60 times that without.
const DIVISIONS_IN_LOOPS: &[(&str, usize)] = &[
    ("frame_quantize", 2),
    ("lv_decide_block", 1),
    ("lv_decide_large", 1),
    ("lv_decide_narrow", 2),
    ("lv_decide_tiny", 2),
    ("lv_decide_warp", 1),
    ("lv_wide_search", 1),
    ("lv_wide_settle", 1),
];

/// Kernels that do not ask how many blocks there are: one block works, or a block has one piece of a fixed size. All
/// others stride over the grid, and are right for every number of blocks.
const FIXED_GRIDS: &[&str] = &[
    "bfs_close",
    "bfs_narrow",
    "canary_answer",
    "cc_giant",
    "fa_finish",
    "fa_rest",
    "fa_speed",
    "fa_top",
    "frame_box_end",
    "frame_tiles",
    "pr_class_counts",
    "pr_close",
    "scan_spine_u32",
    "scan_spine_u64",
    "sp_close",
    "sp_turn",
    "tally_least",
];

fn each_kernel(mut check: impl FnMut(&Kernel<'_>)) {
    let mut seen = 0;
    for module in MODULES {
        let kernels = scan::kernels(module.ptx);
        let names: Vec<&str> = kernels.iter().map(|k| k.name).collect();
        assert_eq!(names, module.kernels().collect::<Vec<_>>(), "{}", module.name);
        seen += kernels.len();
        kernels.iter().for_each(&mut check);
    }
    assert!(seen > 100, "{seen} kernels were read");
}

/// The kernels with instructions that `counts` chooses, and how many.
fn counted(counts: impl Fn(&Instruction<'_>) -> bool) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    each_kernel(|kernel| {
        let count = kernel.instructions.iter().filter(|i| counts(i)).count();
        if count > 0 {
            found.insert(kernel.name.to_owned(), count);
        }
    });
    found
}

fn listed(list: &[(&str, usize)]) -> BTreeMap<String, usize> {
    list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn nothing_is_read_past_the_caches_and_written_by_the_same_kernel() {
    each_kernel(|kernel| {
        let accesses = kernel.accesses();
        let both: Vec<_> = accesses.uncached.intersection(&accesses.written).collect();
        assert!(both.is_empty(), "{} reads {both:?} with ld.global.nc and writes it", kernel.name);
        let lost = accesses.unknown;
        assert!(lost.is_empty(), "{}: no parameter leads to the addresses {lost:?}", kernel.name);
    });
}

#[test]
fn local_memory_is_kept_by_the_listed_kernels_alone() {
    let mut found = Vec::new();
    each_kernel(|kernel| {
        if kernel.body.contains(".local ") {
            found.push(kernel.name.to_owned());
        }
    });
    assert_eq!(found, LOCAL_MEMORY);
}

#[test]
fn atomics_name_their_memory_except_the_listed() {
    assert_eq!(counted(|i| i.is_generic_atomic()), listed(GENERIC_ATOMICS));
}

#[test]
fn no_loop_divides_numbers_of_64_bits_except_the_listed() {
    let divides =
        |i: &Instruction<'_>| i.in_loop && i.op.starts_with("div.") && i.op.ends_with("f64");
    assert_eq!(counted(divides), listed(DIVISIONS_IN_LOOPS));
}

#[test]
fn shared_memory_is_static_and_fits_every_card() {
    each_kernel(|kernel| {
        let bytes = kernel.shared_bytes;
        assert!(bytes <= SHARED_BYTES_MAX, "{}: {bytes} bytes of shared memory", kernel.name);
    });
    let dynamic: Vec<&str> =
        MODULES.iter().filter(|m| m.ptx.contains(".extern .shared")).map(|m| m.name).collect();
    assert!(dynamic.is_empty(), "dynamic shared memory in {dynamic:?}");
}

#[test]
fn grids_have_one_dimension_and_any_number_of_blocks_except_the_listed() {
    let mut fixed = Vec::new();
    each_kernel(|kernel| {
        for word in ["tid.y", "tid.z", "ctaid.y", "ctaid.z", "%smid", "%nsmid", "%gridid", "%clock"]
        {
            assert!(!kernel.body.contains(word), "{} reads {word}", kernel.name);
        }
        assert!(kernel.head.contains(".maxntid "), "{} has no bound of its block", kernel.name);
        if !kernel.body.contains("%nctaid.x") {
            fixed.push(kernel.name.to_owned());
        }
    });
    fixed.sort();
    assert_eq!(fixed, FIXED_GRIDS);
}

/// Blocks run in any order and perhaps one after the other: one that waits for another might wait for ever.
#[test]
fn no_block_waits_for_another() {
    let waits = |i: &Instruction<'_>| {
        ["membar", "fence", "nanosleep", "barrier.cluster", "griddepcontrol", "mbarrier"]
            .iter()
            .any(|w| i.op.starts_with(w))
            || i.op.contains(".volatile")
            || i.op.contains(".acquire")
            || i.op.contains(".release")
    };
    assert_eq!(counted(waits), BTreeMap::new());
}

/// The rules above find nothing when the scan reads nothing: here is a kernel that breaks all of them.
#[test]
fn the_scan_sees_what_the_rules_forbid() {
    let ptx = "\
.shared .align 4 .b8 part[128];
.visible .entry wrong(
	.param .u64 wrong_param_0,
	.param .u64 wrong_param_1
)
.maxntid 256, 1, 1
{
	.local .align 4 .b8 	__local_depot1[8];
	ld.param.u64 	%rd1, [wrong_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	mov.u32 	%r2, part;
$L__BB0_1:
	ld.global.nc.f64 	%fd1, [%rd4+8];
	div.rn.f64 	%fd2, %fd1, %fd1;
	st.global.f64 	[%rd4], %fd2;
	atom.add.u32 	%r3, [%rd1], 1;
	ld.global.u64 	%rd8, [%rd4];
	st.global.u32 	[%rd8], %r3;
	@%p1 bra 	$L__BB0_1;
	div.rn.f64 	%fd2, %fd1, %fd1;
	ret;

}
";
    let kernels = scan::kernels(ptx);
    let [kernel] = kernels.as_slice() else { panic!("{} kernels", kernels.len()) };
    assert_eq!((kernel.name, kernel.shared_bytes), ("wrong", 128));
    assert!(kernel.head.contains(".maxntid") && kernel.body.contains(".local "));
    let accesses = kernel.accesses();
    assert!(
        accesses.uncached.contains("wrong_param_0") && accesses.written.contains("wrong_param_0")
    );
    assert_eq!(accesses.unknown, ["%rd8"]);
    let count =
        |f: &dyn Fn(&Instruction<'_>) -> bool| kernel.instructions.iter().filter(|i| f(i)).count();
    assert_eq!(count(&|i| i.is_generic_atomic()), 1);
    assert_eq!(count(&|i| i.in_loop && i.op.starts_with("div.")), 1);
}
