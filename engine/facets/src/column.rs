//! The columns that may be filtered and brushed: those of the tables, and those that follow from the graph.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeStringArray};
use arrow_schema::DataType;
use graphlume_algo::component::{core_number, weak};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::canon::Column;
use graphlume_store::CacheKey;
use graphlume_store::dictionary::coded;
use graphlume_table::{Table, cell_text};
use rayon::prelude::*;

use crate::rule::Axis;
use crate::work::Work;

/// What the values of a column are, for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Dates and moments.
    Date,
    /// Texts, numbers of groups, and whatever has no order to speak of.
    Category,
    /// Truth values.
    Boolean,
}

impl ColumnKind {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Category => "category",
            Self::Boolean => "boolean",
        }
    }
}

/// A column that may be filtered and brushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetColumn {
    /// Whose column it is.
    pub axis: Axis,
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// Whether it follows from the graph and is in no table.
    pub derived: bool,
}

/// A column of the nodes that follows from the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// Edges at the node, those to itself twice.
    Degree,
    /// Edges that end at the node.
    DegreeIn,
    /// Edges that begin at the node.
    DegreeOut,
    /// The number of its community, as the picture is coloured by them.
    Community,
    /// The number of its weakly connected component, in the order of the first nodes.
    Component,
    /// The greatest k such that the node is in the k-core.
    Core,
}

impl Derived {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Degree,
        Self::DegreeIn,
        Self::DegreeOut,
        Self::Community,
        Self::Component,
        Self::Core,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Degree => "degree",
            Self::DegreeIn => "degree_in",
            Self::DegreeOut => "degree_out",
            Self::Community => "community",
            Self::Component => "component",
            Self::Core => "core",
        }
    }

    const fn kind(self) -> ColumnKind {
        match self {
            Self::Community | Self::Component => ColumnKind::Category,
            _ => ColumnKind::Number,
        }
    }
}

impl CacheKey for Derived {
    type Value = Column;
}

/// The texts of a column whose values are neither texts nor numbers: what a page shows of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown(Axis, String);

impl CacheKey for Shown {
    type Value = Column;
}

/// A column, ready to be tested: by rows of its table, or by nodes where it is derived.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) axis: Axis,
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    pub(crate) derived: bool,
    /// Numbers, truth values or texts. Of dates it is the ticks.
    pub(crate) column: Arc<Column>,
    /// Ticks per second of dates.
    pub(crate) per_second: i64,
}

/// The kind of a column of this type, without a look at its cells.
fn kind_of(dtype: &DataType) -> ColumnKind {
    match dtype {
        DataType::Boolean => ColumnKind::Boolean,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => ColumnKind::Date,
        DataType::Dictionary(_, values) => kind_of(values),
        DataType::RunEndEncoded(_, values) => kind_of(values.data_type()),
        dtype if graphlume_table::is_numeric(dtype) => ColumnKind::Number,
        _ => ColumnKind::Category,
    }
}

impl Work<'_> {
    /// All columns: those of the nodes, the derived ones, those of the edges.
    pub(crate) fn columns(&self) -> Result<Vec<FacetColumn>, QueryError> {
        let nodes = self.graph.node_table(self.cancel)?;
        let of = |table: &Table, axis| {
            let fields = table.batch().schema_ref().fields().iter();
            fields
                .map(|f| FacetColumn {
                    axis,
                    name: f.name().clone(),
                    kind: kind_of(f.data_type()),
                    derived: false,
                })
                .collect::<Vec<_>>()
        };
        let mut all = of(&nodes, Axis::Node);
        let derived = Derived::ALL.into_iter().filter(|d| nodes.column(d.name()).is_none());
        all.extend(derived.map(|d| FacetColumn {
            axis: Axis::Node,
            name: d.name().to_owned(),
            kind: d.kind(),
            derived: true,
        }));
        all.extend(self.graph.edges().map(|edges| of(edges, Axis::Edge)).unwrap_or_default());
        Ok(all)
    }

    /// Whether there is a column.
    pub(crate) fn has(&self, axis: Axis, name: &str) -> Result<bool, QueryError> {
        Ok(match axis {
            Axis::Node => {
                self.graph.node_table(self.cancel)?.column(name).is_some()
                    || Derived::ALL.iter().any(|d| d.name() == name)
            }
            Axis::Edge => self.graph.edges().is_some_and(|t| t.column(name).is_some()),
        })
    }

    /// A column by its name; one of a table has the precedence.
    pub(crate) fn cells(&self, axis: Axis, name: &str) -> Result<Cells, QueryError> {
        let table = match axis {
            Axis::Node => Some(self.graph.node_table(self.cancel)?),
            Axis::Edge => self.graph.edges().cloned(),
        };
        let Some((table, array)) = table.as_ref().and_then(|t| Some((t, t.column(name)?))) else {
            let derived = Derived::ALL.into_iter().find(|d| d.name() == name && axis == Axis::Node);
            return match derived {
                Some(derived) => Ok(Cells {
                    axis,
                    name: name.to_owned(),
                    kind: derived.kind(),
                    derived: true,
                    column: self.derived(derived)?,
                    per_second: 1,
                }),
                None => Err(self.no_column(axis, name)?),
            };
        };
        let column = self.graph.column(table, axis == Axis::Edge, name).ok_or_else(|| {
            let text = format!("column {name:?} has no values to test");
            QueryError::new(ErrorCode::ColumnType, text).field(name)
        })?;
        let mut cells = Cells {
            axis,
            name: name.to_owned(),
            kind: kind_of(array.data_type()),
            derived: false,
            column,
            per_second: 1,
        };
        match cells.column.as_ref() {
            Column::Int(_) | Column::UInt(_) | Column::Float(_) => cells.kind = ColumnKind::Number,
            Column::Bool(_) => cells.kind = ColumnKind::Boolean,
            Column::Text(_) => cells.kind = ColumnKind::Category,
            Column::Instant(ticks, per_second) => {
                cells.kind = ColumnKind::Date;
                cells.per_second = *per_second;
                cells.column = Arc::new(Column::Int(ticks.clone()));
            }
            _ => {
                cells.kind = ColumnKind::Category;
                cells.column = self.shown(axis, name, array)?;
            }
        }
        Ok(cells)
    }

    /// The error of a column that does not exist, which names the nearest one that does.
    pub(crate) fn no_column(&self, axis: Axis, name: &str) -> Result<QueryError, QueryError> {
        let all = self.columns()?;
        let own: Vec<&str> =
            all.iter().filter(|c| c.axis == axis).map(|c| c.name.as_str()).collect();
        Ok(QueryError::no_column(name, axis.name(), &own))
    }

    fn shown(&self, axis: Axis, name: &str, array: &ArrayRef) -> Result<Arc<Column>, QueryError> {
        let key = Shown(axis, name.to_owned());
        if let Some(found) = self.caches.columns.get(&key) {
            return Ok(found);
        }
        // The texts are about as long as the cells; where they are not, what is kept is counted.
        let _memory = self.cancel.hold(2 * array.get_array_memory_size() as u64)?;
        let parts = (0..array.len().div_ceil(ROWS_AT_ONCE)).into_par_iter().map(|part| {
            self.cancel.check()?;
            let from = part * ROWS_AT_ONCE;
            let rows = from..array.len().min(from + ROWS_AT_ONCE);
            Ok::<_, QueryError>(rows.map(|row| cell_text(array.as_ref(), row)).collect::<Vec<_>>())
        });
        let parts = parts.collect::<Result<Vec<_>, QueryError>>()?;
        let texts: ArrayRef = Arc::new(parts.into_iter().flatten().collect::<LargeStringArray>());
        let texts = coded(&texts).unwrap_or(texts);
        let bytes = texts.get_array_memory_size() as u64;
        let column = Arc::new(Column::try_new(&texts)?);
        self.caches.columns.put(key, &column, (bytes, self.keep_max()), self.cancel);
        Ok(column)
    }

    /// A derived column, which is made once and kept.
    pub(crate) fn derived(&self, derived: Derived) -> Result<Arc<Column>, QueryError> {
        if let Some(found) = self.caches.columns.get(&derived) {
            return Ok(found);
        }
        let t = &self.frame.topology;
        let bytes = u64::from(t.num_nodes()) * 8;
        let _memory = self.cancel.hold(bytes)?;
        let each = |of: &(dyn Fn(u32) -> u32 + Sync)| {
            (0..t.num_nodes()).into_par_iter().map(|v| i64::from(of(v))).collect::<Vec<i64>>()
        };
        let numbers = |found: &[u32]| each(&|v| found.get(v as usize).copied().unwrap_or_default());
        let failed = |e: graphlume_algo::AlgoError| match self.cancel.check() {
            Err(stopped) => stopped.into(),
            Ok(()) => {
                let text = format!("the column {:?} cannot be computed: {e}", derived.name());
                QueryError::new(ErrorCode::CallFailed, text).field(derived.name())
            }
        };
        let cells = match derived {
            Derived::Degree => each(&|v| t.degree(v)),
            Derived::DegreeIn => each(&|v| t.in_degree(v)),
            Derived::DegreeOut => each(&|v| t.out_degree(v)),
            Derived::Community => numbers(&self.picture.communities(self.cancel)?),
            Derived::Component => numbers(&weak::run(t, self.cancel).map_err(failed)?),
            Derived::Core => numbers(&core_number::run(t, false, self.cancel).map_err(failed)?),
        };
        self.cancel.check()?;
        let column = Arc::new(Column::Int(Int64Array::from(cells)));
        self.caches.columns.put(derived, &column, (bytes, self.keep_max()), self.cancel);
        Ok(column)
    }
}

/// Rows between two looks at the token.
pub(crate) const ROWS_AT_ONCE: usize = 1 << 14;
