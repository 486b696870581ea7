//! Filter programs on the processor: the same steps over the same groups of 1024 rows as in the
//! kernel.

use bytemuck::Pod;
use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;

use super::super::DType;
use super::super::mask::last_word;
use super::super::program::{GUARD, INVERT, Instruction, NEGATE, Op, Program, SLOTS, VALID};
use super::mask::pack8;
use super::{CHUNK, CHUNK_WORDS};

/// Mask words of a group.
const GROUP: usize = 32;

/// A column of the program: the words of its cells and of its validity.
#[derive(Clone, Copy)]
pub(in crate::columns) struct Source<'a> {
    pub cells: &'a [u32],
    /// The same, as pairs; empty for cells of 4 bytes.
    pub wide: &'a [u64],
    pub valid: Option<&'a [u32]>,
}

pub(in crate::columns) fn run(
    program: &Program,
    columns: &[Source<'_>],
    rows: usize,
    out: &mut [u32],
    cancel: &CancelToken,
) -> Result<(), Cancelled> {
    // Cells of 8 bytes need a list that is aligned for them.
    let lists: Vec<u64> = program
        .lists
        .chunks(2)
        .map(|p| u64::from(p[0]) | u64::from(p.get(1).copied().unwrap_or(0)) << 32)
        .collect();
    out.par_chunks_mut(CHUNK_WORDS).enumerate().try_for_each(|(c, part)| {
        cancel.check()?;
        for (g, words) in part.chunks_mut(GROUP).enumerate() {
            let first = c * CHUNK + g * GROUP * 32;
            group(program, &lists, columns, first, rows, words);
        }
        Ok(())
    })?;
    if let Some(last) = out.last_mut() {
        *last &= last_word(rows);
    }
    Ok(())
}

fn group(
    program: &Program,
    lists: &[u64],
    columns: &[Source<'_>],
    first: usize,
    rows: usize,
    out: &mut [u32],
) {
    let mut slots = [[0_u32; GROUP]; SLOTS];
    let end = rows.min(first + GROUP * 32);
    for step in &program.steps {
        let mut result = [u32::MAX; GROUP];
        match step.op {
            Op::And | Op::Or => {
                let (a, b) = (&slots[step.a as usize], &slots[step.b as usize]);
                for ((to, x), y) in result.iter_mut().zip(a).zip(b) {
                    *to = if step.op == Op::And { x & y } else { x | y };
                }
            }
            _ if step.flags & GUARD != 0 && slots[step.b as usize].iter().all(|w| *w == 0) => {
                result = [0; GROUP];
            }
            _ => test(step, lists, columns, first, end, &mut result),
        }
        slots[step.to as usize] = result;
    }
    out.copy_from_slice(&slots[0][..out.len()]);
}

fn test(
    step: &Instruction,
    lists: &[u64],
    columns: &[Source<'_>],
    first: usize,
    end: usize,
    result: &mut [u32; GROUP],
) {
    let words = first / 32..end.div_ceil(32);
    // `All` without nulls reads no column, and its program may have none.
    if let Some(source) = columns.get(step.column as usize) {
        match step.op {
            Op::Bits => {
                let flip = if step.flags & NEGATE != 0 { u32::MAX } else { 0 };
                for (to, from) in result.iter_mut().zip(&source.cells[words.clone()]) {
                    *to = from ^ flip;
                }
            }
            Op::Lookup => {
                let (table, codes) =
                    (&bytemuck::cast_slice::<u64, u32>(lists)[step.at as usize..], step.len);
                cells(step, &source.cells[first..end], result, |v| {
                    v < codes && table[(v / 32) as usize] >> (v % 32) & 1 != 0
                });
            }
            Op::Range | Op::List => typed(step, lists, source, first..end, result),
            _ => {}
        }
        if let Some(valid) = source.valid.filter(|_| step.flags & VALID != 0) {
            for (to, from) in result.iter_mut().zip(&valid[words]) {
                *to &= from;
            }
        }
    }
    if step.flags & INVERT != 0 {
        for word in result.iter_mut() {
            *word = !*word;
        }
    }
}

fn typed(
    step: &Instruction,
    lists: &[u64],
    source: &Source<'_>,
    rows: std::ops::Range<usize>,
    result: &mut [u32; GROUP],
) {
    let (low, high) = (step.low, step.high);
    let (narrow, wide) = (source.cells, source.wide);
    match step.dtype {
        DType::I64 => each::<i64>(step, lists, cast(&wide[rows]), low as i64, high as i64, result),
        DType::F64 => {
            let (low, high) = (f64::from_bits(low), f64::from_bits(high));
            each::<f64>(step, lists, cast(&wide[rows]), low, high, result);
        }
        DType::I32 => {
            each::<i32>(step, lists, cast(&narrow[rows]), low as i32, high as i32, result)
        }
        DType::F32 => {
            let (low, high) = (f32::from_bits(low as u32), f32::from_bits(high as u32));
            each::<f32>(step, lists, cast(&narrow[rows]), low, high, result);
        }
        DType::U32 | DType::Codes | DType::Bool => {
            each::<u32>(step, lists, &narrow[rows], low as u32, high as u32, result);
        }
    }
}

fn cast<A: Pod, B: Pod>(cells: &[A]) -> &[B] {
    bytemuck::cast_slice(cells)
}

#[allow(clippy::eq_op, reason = "a cell that does not equal itself is NaN")]
fn each<T: Pod + PartialOrd>(
    step: &Instruction,
    lists: &[u64],
    values: &[T],
    low: T,
    high: T,
    result: &mut [u32; GROUP],
) {
    let negate = step.flags & NEGATE != 0;
    if step.op == Op::List {
        let all = bytemuck::cast_slice::<u64, T>(lists);
        let at = step.at as usize * 4 / size_of::<T>();
        let list = &all[at..at + step.len as usize];
        cells_where(values, result, |v: T| {
            let near = list.partition_point(|x| *x < v);
            (list.get(near).is_some_and(|x| *x == v) != negate) & (v == v)
        });
    } else {
        cells_where(values, result, |v: T| ((v >= low) & (v <= high) != negate) & (v == v));
    }
}

fn cells(
    step: &Instruction,
    values: &[u32],
    result: &mut [u32; GROUP],
    holds: impl Fn(u32) -> bool,
) {
    let negate = step.flags & NEGATE != 0;
    cells_where(values, result, |v| holds(v) != negate);
}

fn cells_where<T: Copy>(values: &[T], result: &mut [u32; GROUP], holds: impl Fn(T) -> bool) {
    for (word, part) in result.iter_mut().zip(values.chunks(32)) {
        let mut bytes = [0_u8; 32];
        for (byte, v) in bytes.iter_mut().zip(part) {
            *byte = u8::from(holds(*v));
        }
        let mut bits = 0;
        for k in 0..4 {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[8 * k..8 * k + 8]);
            bits |= pack8(eight) << (8 * k);
        }
        *word = bits;
    }
}
