"""What scripts/ptx reads out of a kernel source, and what it refuses."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import ptx_launches  # noqa: E402
from ptx_source import SourceError, includes, kernels  # noqa: E402

GOOD = """#include "common.cuh"
#define T 128

// Sums rows.
// In `f64`.
//@ offsets: n + 1, ends: *,
//@ sums: max(div_up(n, 4), 2 * (n - 1)), in: blocks * threads, shared: 4 * T2
GL_KERNEL void GL_BOUNDS(T) row_sums(u32 n, const u32* GL_RESTRICT offsets,  // where rows begin
                                     const float2* ends, f64* sums, u8* in, u32 T2) {
}
//@ none
GL_KERNEL void other(u64 n) {}
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "common.cuh").write_text('#include "deeper.cuh"\n')
    (tmp_path / "deeper.cuh").write_text('#include "common.cuh"\n')

    def write(text):
        path = tmp_path / "rows.cu"
        path.write_text(text)
        return path

    return write


def test_a_kernel_is_read_as_it_is_written(source):
    sums, other = kernels(source(GOOD))
    assert (sums.name, sums.threads_max, other.name, other.threads_max) == ("row_sums", 128, "other", 1024)
    assert sums.doc == ("Sums rows.", "In `f64`.")
    assert [(p.name, p.rust, p.pointer, p.const) for p in sums.params] == [
        ("n", "u32", False, False), ("offsets", "u32", True, True), ("ends", "[f32; 2]", True, True),
        ("sums", "f64", True, False), ("in", "u8", True, False), ("T2", "u32", False, False),
    ]
    assert sums.lengths["ends"] is None
    assert sums.lengths["offsets"] == "i128::from(n).saturating_add(1_i128)"


def test_headers_of_headers_belong_to_the_source_once(source):
    path = source(GOOD)
    assert [f.name for f in includes(path)] == ["rows.cu", "common.cuh", "deeper.cuh"]


def test_the_launch_has_the_parameters_and_the_checks(source):
    text = ptx_launches.family("rows", kernels(source(GOOD)))
    for part in [
        "n: u32, offsets: View<'_, u32>, ends: View<'_, [f32; 2]>, sums: ViewMut<'_, f64>, r#in: ViewMut<'_, u8>",
        'Kernel::new("rows", "row_sums", 128)', "Launch::<6>::new(&ROW_SUMS).scalar(n)", '.input("ends", ends, None)',
        ".shared(items(4_i128.saturating_mul(i128::from(T2))))", "/// In `f64`.",
    ]:
        assert part in text, part


@pytest.mark.parametrize(("change", "message"), [
    (("//@ none\n", ""), "no lengths line"),
    (("offsets: n + 1, ", ""), "lacks offsets"),
    (("offsets: n + 1", "offsets: m + 1"), "m is no integer parameter"),
    (("offsets: n + 1", "offsets: n +"), "ends early"),
    (("offsets: n + 1", "offsets: (n"), "bracket stays open"),
    (("offsets: n + 1", "offset: n + 1"), "no pointer parameter"),
    (("GL_BOUNDS(T)", "GL_BOUNDS(MISSING)"), "neither a number nor defined"),
    (("u32 T2", "size_t T2"), "type size_t"),
    (("other(u64 n)", "other(u64 grid)"), "reserved"),
    (("GL_KERNEL void other(u64 n) {}", "#define K(x) GL_KERNEL void x(u64 n) {}"), "not inside a macro"),
])
def test_what_cannot_be_launched_safely_is_refused(source, change, message):
    assert change[0] in GOOD
    with pytest.raises(SourceError, match=message):
        kernels(source(GOOD.replace(*change)))
