//! Histograms of columns: how many elements there are in each part, and how many of them pass.

mod codes;
mod parts;
mod ranges;
mod values;

use std::sync::Arc;

use graphlume_expr::{QueryError, Scalar};
use graphlume_store::CacheKey;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::column::{Cells, ColumnKind};
use crate::rule::{Axis, FilterKind, FilterSet, Rule};
use crate::visible::{Applied, Visible};
use crate::work::Work;
use codes::Codes;
use ranges::Ranges;
use values::Values;

pub use parts::{Count, Parts, VALUES_MAX};

/// Parts of a range at most: with the nulls each has a number of a byte.
pub const BINS_MAX: u8 = 254;

/// A histogram that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose column it is.
    pub axis: Axis,
    /// The column.
    pub column: String,
    /// Parts of a range of numbers or dates at most, up to [`BINS_MAX`].
    pub bins: u8,
    /// Whether numbers are to be divided by their logarithms, as far as none is negative.
    pub log: bool,
    /// Of categories only values that contain this, in any case.
    pub search: Option<String>,
}

/// The histogram of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Whose column it is.
    pub axis: Axis,
    /// The column.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// Its parts.
    pub parts: Parts,
    /// Elements without a value: null and NaN; of a range what is infinite as well, which no brush can keep.
    pub nulls: Count,
}

impl Histogram {
    /// The histogram as it is sent to a page.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut all =
            json!({"axis": self.axis.name(), "name": self.name, "kind": self.kind.name()});
        match &self.parts {
            Parts::Ranges { log, edges, counts } => {
                all["log"] = (*log).into();
                all["edges"] = edges.as_slice().into();
                all["total"] = counts.iter().map(|c| c.total).collect();
                all["passing"] = counts.iter().map(|c| c.passing).collect();
            }
            Parts::Values { values, distinct, others } => {
                let value = |(value, count): &(Scalar, Count)| {
                    let value = match value {
                        Scalar::Bool(v) => (*v).into(),
                        Scalar::Int(v) => (*v).into(),
                        Scalar::UInt(v) => (*v).into(),
                        Scalar::Text(v) => Value::from(&**v),
                        _ => Value::Null,
                    };
                    json!({"value": value, "total": count.total, "passing": count.passing})
                };
                all["values"] = values.iter().map(value).collect();
                all["distinct"] = (*distinct).into();
                all["others"] = others.json();
            }
        }
        all["nulls"] = self.nulls.json();
        all
    }
}

/// A column whose elements have the numbers of their parts: those of nodes by index, those of edges in drawn order.
#[derive(Debug)]
pub(crate) struct Binned {
    codes: Codes,
    shape: Shape,
    /// Elements of each part, and at last those without a value.
    totals: Vec<u64>,
}

/// What the parts are.
#[derive(Debug)]
enum Shape {
    Ranges(Ranges),
    Values(Values),
}

impl Shape {
    fn len(&self) -> usize {
        match self {
            Self::Ranges(ranges) => ranges.len(),
            Self::Values(values) => values.len(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Ranges(ranges) => ranges.len() as u64 * 8,
            Self::Values(values) => values.bytes(),
        }
    }
}

/// A column divided into so many parts, perhaps by logarithms. Of values both say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BinnedColumn {
    axis: Axis,
    column: String,
    bins: u8,
    log: bool,
}

impl CacheKey for BinnedColumn {
    type Value = Binned;
}

impl Work<'_> {
    pub(crate) fn histograms(
        &self,
        set: &FilterSet,
        wanted: &[Wanted],
    ) -> Result<Vec<Histogram>, QueryError> {
        let columns = wanted.iter().map(|one| self.binned(one)).collect::<Result<Vec<_>, _>>()?;
        let (applied, _) = self.applied(set, false)?;
        // Histograms without the same brushes see the same elements.
        let own: Vec<Vec<usize>> =
            wanted.iter().map(|one| own_brushes(set, &applied, one)).collect();
        let mut seen: Vec<(&[usize], Visible)> = Vec::new();
        for left_out in &own {
            if seen.iter().any(|(known, _)| known == left_out) {
                continue;
            }
            let rest: Vec<&Applied> =
                applied.iter().filter(|a| !left_out.contains(&a.at)).collect();
            let of_edges =
                |(one, own): (&Wanted, &Vec<usize>)| one.axis == Axis::Edge && own == left_out;
            let wants_edges = wanted.iter().zip(&own).any(of_edges);
            seen.push((left_out, self.visible(&rest, set.prune_orphans, wants_edges)?));
        }
        let asked: Vec<_> = wanted.iter().zip(&columns).zip(&own).collect();
        let counted = asked.par_iter().map(|((one, (kind, column)), own)| {
            let visible = seen.iter().find(|(known, _)| known == own).map(|(_, visible)| visible);
            let bits = visible.and_then(|v| match one.axis {
                Axis::Node => Some(&v.nodes),
                Axis::Edge => v.edges.as_ref(),
            });
            let passing = column.codes.counts(bits, column.totals.len(), self.cancel)?;
            Ok(column.histogram(one, *kind, &passing))
        });
        counted.collect()
    }

    /// A column with the numbers of its parts, which are made once and kept.
    fn binned(&self, wanted: &Wanted) -> Result<(ColumnKind, Arc<Binned>), QueryError> {
        let cells = self.cells(wanted.axis, &wanted.column)?;
        let is_range = matches!(cells.kind, ColumnKind::Number | ColumnKind::Date);
        let key = BinnedColumn {
            axis: wanted.axis,
            column: wanted.column.clone(),
            bins: if is_range { wanted.bins.clamp(1, BINS_MAX) } else { 0 },
            log: cells.kind == ColumnKind::Number && wanted.log,
        };
        if let Some(found) = self.caches.columns.get(&key) {
            return Ok((cells.kind, found));
        }
        let binned = Arc::new(self.bin(&cells, &key)?);
        let bytes = binned.codes.bytes() + binned.shape.bytes() + binned.totals.len() as u64 * 8;
        self.caches.columns.put(key, &binned, (bytes, self.keep_max()), self.cancel);
        Ok((cells.kind, binned))
    }

    fn bin(&self, cells: &Cells, key: &BinnedColumn) -> Result<Binned, QueryError> {
        let rows = cells.column.len() as u64;
        // The numbers of rows before they are put into the order of the elements, and lists of values while they are made.
        let _memory = self.cancel.hold(rows * 16)?;
        let (codes, mut shape) = match key.bins {
            0 => {
                let (codes, values) = self.values(cells)?;
                (codes, Shape::Values(values))
            }
            bins => {
                let ranges = Ranges::of(cells, bins, key.log, self.cancel)?;
                let codes = ranges.codes(cells, self.cancel)?;
                (Codes::Bytes(codes), Shape::Ranges(ranges))
            }
        };
        let codes = match (cells.axis, cells.derived) {
            (Axis::Edge, _) => {
                let drawn = self.drawn_rows()?;
                codes.gathered(self.edges(), |e| Some(drawn[e as usize]), self.cancel)?
            }
            (Axis::Node, false) if !self.graph.rows_are_nodes(self.frame) => {
                codes.gathered(self.nodes(), |v| self.graph.node_row(self.frame, v), self.cancel)?
            }
            (Axis::Node, _) => codes,
        };
        let totals = codes.counts(None, shape.len() + 1, self.cancel)?;
        if let Shape::Values(values) = &mut shape {
            values.sort(&totals);
        }
        Ok(Binned { codes, shape, totals })
    }
}

/// The filters of a set that are brushes on the column itself: what they hide is still shown in its histogram.
fn own_brushes(set: &FilterSet, applied: &[Applied], wanted: &Wanted) -> Vec<usize> {
    let own = applied.iter().filter(|a| {
        let rule = set.filters.get(a.at).map(|f| f.rule.as_ref());
        a.kind == FilterKind::Filter
            && matches!(rule, Some(Rule::Brush(b)) if b.axis == wanted.axis && b.column == wanted.column)
    });
    own.map(|a| a.at).collect()
}

impl Binned {
    fn histogram(&self, wanted: &Wanted, kind: ColumnKind, passing: &[u64]) -> Histogram {
        let count = |part: usize| Count { total: self.totals[part], passing: passing[part] };
        let parts = match &self.shape {
            Shape::Ranges(ranges) => Parts::Ranges {
                log: ranges.log,
                edges: ranges.edges.clone(),
                counts: (0..ranges.len()).map(count).collect(),
            },
            Shape::Values(values) => values.parts(wanted.search.as_deref(), count),
        };
        Histogram {
            axis: wanted.axis,
            name: wanted.column.clone(),
            kind,
            parts,
            nulls: count(self.shape.len()),
        }
    }
}
