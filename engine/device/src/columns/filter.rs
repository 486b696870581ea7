//! Filters: the rows in which a predicate is true.

use graphlume_types::CancelToken;

use super::predicate::normalise;
use super::program::{Node, Program};
use super::store::HostWords;
use super::{
    ColumnOpError, Device, DeviceColumn, Mask, MaskOp, Predicate, check_rows, cpu, gpu, same_rows,
};

impl Device {
    /// The rows of `columns` in which the predicate is true; it names columns by their place in
    /// `columns`. All have `rows` rows. Nulls and NaN match no comparison; see [`Predicate`].
    ///
    /// Up to 8 columns, 64 tests and 12 results at a time run as one pass; larger predicates are
    /// divided, and the masks of their parts combined.
    /// Cost: the widths of the columns it names and n / 8 bytes for each mask. Where no row of a
    /// group of 1024 passes the first tests of an "and", the columns of the others are not read.
    ///
    /// # Errors
    /// [`ColumnOpError::Value`] when a value cannot be compared with a column's cells,
    /// [`ColumnOpError::DType`], [`ColumnOpError::NoColumn`], [`ColumnOpError::Limit`] beyond 64 levels of
    /// nesting; [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn filter(
        &self,
        rows: usize,
        columns: &[&DeviceColumn],
        predicate: &Predicate,
        cancel: &CancelToken,
    ) -> Result<Mask, ColumnOpError> {
        check_rows("filter", rows)?;
        for column in columns {
            same_rows("filter", column.rows, rows)?;
        }
        let node = normalise(predicate, columns, false, 0)?;
        let nullable: Vec<bool> = columns.iter().map(|c| c.valid.is_some()).collect();
        self.filter_node(rows, columns, &nullable, &node, cancel)
    }

    fn filter_node(
        &self,
        rows: usize,
        columns: &[&DeviceColumn],
        nullable: &[bool],
        node: &Node,
        cancel: &CancelToken,
    ) -> Result<Mask, ColumnOpError> {
        cancel.check()?;
        if let Some(program) = Program::compile(node, nullable) {
            return self.filter_program(rows, columns, &program, cancel);
        }
        let of = |part: &Node| self.filter_node(rows, columns, nullable, part, cancel);
        let (op, parts) = match node {
            Node::And(parts) => (MaskOp::And, parts),
            Node::Or(parts) => (MaskOp::Or, parts),
            Node::Leaf(_) => {
                // A single test always fits, unless its list has 2^32 values.
                let (primitive, what) = ("filter", "the length of a list");
                let limit = u64::from(u32::MAX);
                return Err(ColumnOpError::Limit { primitive, what, got: limit + 1, limit });
            }
        };
        if let [only] = parts.as_slice() {
            return of(only);
        }
        let (left, right) = parts.split_at(parts.len() / 2);
        let half = |parts: &[Node]| match op {
            MaskOp::And => Node::And(parts.to_vec()),
            _ => Node::Or(parts.to_vec()),
        };
        let (left, right) = (of(&half(left))?, of(&half(right))?);
        self.mask_combine(op, &left, &right)
    }

    fn filter_program(
        &self,
        rows: usize,
        columns: &[&DeviceColumn],
        program: &Program,
        cancel: &CancelToken,
    ) -> Result<Mask, ColumnOpError> {
        let elsewhere = ColumnOpError::Elsewhere { primitive: "filter" };
        let read = program.columns.iter().map(|c| columns[*c]);
        let bits = match self {
            Self::Cpu(c) => {
                let sources = read.map(|column| {
                    let cells = column.cells.host()?;
                    let valid = match &column.valid {
                        Some(mask) => Some(mask.bits.host()?.cells()),
                        None => None,
                    };
                    let wide = if column.dtype.words(1) == 2 { cells.cells() } else { &[] };
                    Some(cpu::filter::Source { cells: cells.cells(), wide, valid })
                });
                let sources: Vec<_> = sources.collect::<Option<_>>().ok_or(elsewhere)?;
                let mut out = HostWords::zeros(&c.budget, rows.div_ceil(32))?;
                c.pool.install(|| {
                    cpu::filter::run(program, &sources, rows, out.cells_mut(), cancel)
                })?;
                out.into()
            }
            Self::Cuda(g) => {
                let sources = read.map(|column| {
                    let valid = match &column.valid {
                        Some(mask) => Some(mask.bits.cuda()?),
                        None => None,
                    };
                    Some(gpu::filter::Source { cells: column.cells.cuda()?, valid })
                });
                let sources: Vec<_> = sources.collect::<Option<_>>().ok_or(elsewhere)?;
                gpu::filter::run(g, check_rows("filter", rows)?, program, &sources)?.into()
            }
        };
        Ok(Mask { rows, bits })
    }
}
