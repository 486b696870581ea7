//! The logical plan: a tree of operators over one row of numbered slots.
//!
//! Every variable of a query has a slot of its own, so a subquery works on the row of its surroundings.

mod number;

use std::sync::Arc;

use graphlume_expr::Cmp;

use crate::ast::{Binary, Quantifier};
use crate::func::Function;
use crate::value::Value;
use graphlume_graph::Direction;

/// Number of a variable in the row.
pub(crate) type Slot = usize;

/// An entry of a map projection.
#[derive(Clone, Debug)]
pub(crate) enum MapItem {
    All,
    Entry(Arc<str>, Ex),
}

/// An expression whose names are resolved.
#[derive(Clone, Debug)]
pub(crate) enum Ex {
    Const(Value),
    Slot(Slot),
    Param(usize),
    Prop(Box<Ex>, usize),
    HasLabels(Box<Ex>, Vec<usize>),
    Not(Box<Ex>),
    And(Vec<Ex>),
    Or(Vec<Ex>),
    Compare(Box<Ex>, Vec<(Cmp, Ex)>),
    Binary(Binary, Box<Ex>, Box<Ex>),
    Neg(Box<Ex>),
    Plus(Box<Ex>),
    IsNull(Box<Ex>, bool),
    Index(Box<Ex>, Box<Ex>),
    Slice(Box<Ex>, Option<Box<Ex>>, Option<Box<Ex>>),
    Case {
        subject: Option<Box<Ex>>,
        arms: Vec<(Ex, Ex)>,
        otherwise: Option<Box<Ex>>,
    },
    List(Vec<Ex>),
    Map(Vec<(Arc<str>, Ex)>),
    MapProjection(Box<Ex>, Vec<MapItem>),
    ListComp {
        slot: Slot,
        list: Box<Ex>,
        filter: Option<Box<Ex>>,
        body: Option<Box<Ex>>,
    },
    Quantified {
        kind: Quantifier,
        slot: Slot,
        list: Box<Ex>,
        filter: Option<Box<Ex>>,
    },
    Reduce {
        acc: Slot,
        init: Box<Ex>,
        slot: Slot,
        list: Box<Ex>,
        body: Box<Ex>,
    },
    /// Whether the plan yields a row.
    Exists(Box<Op>),
    /// The expression over all rows of the plan, as a list.
    Collect(Box<Op>, Box<Ex>),
    /// The slot in the first row of the plan, or null.
    First(Box<Op>, Slot),
    Call(&'static Function, Vec<Ex>),
}

/// What an aggregate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggKind {
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Collect,
    StDev,
    StDevP,
    PercentileCont,
    PercentileDisc,
}

#[derive(Clone, Debug)]
pub(crate) struct Agg {
    pub kind: AggKind,
    pub arg: Option<Ex>,
    /// Second argument, the same for all rows of a group.
    pub extra: Option<Ex>,
    pub distinct: bool,
    pub slot: Slot,
    /// Slot of how often a row counts; once without it.
    pub weight: Option<Slot>,
}

/// How a scan may find its nodes without looking at all of them.
#[derive(Clone, Debug)]
pub(crate) struct Seek {
    /// Number of the property; `None` for the function `id`.
    pub key: Option<usize>,
    pub value: Ex,
    /// Whether the value is a list of which one must match.
    pub any: bool,
}

/// A relationship of a pattern, seen from the end that is bound.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub from: Slot,
    pub to: Slot,
    pub rel: Slot,
    pub direction: Direction,
    pub types: Vec<usize>,
    /// Labels of the far end.
    pub labels: Vec<usize>,
    /// Whether the far end is bound already.
    pub closes: bool,
    /// Relationships of the same pattern that this one must differ from.
    pub others: Vec<Slot>,
    /// Whether the pattern is walked against the way it is written.
    pub backward: bool,
}

/// A step along which paths are counted.
#[derive(Clone, Debug)]
pub(crate) struct Tallied {
    pub step: Step,
    /// Conditions on the far end alone.
    pub tests: Vec<Ex>,
    /// Whether the relationship must differ from the one of the step before.
    pub apart: bool,
}

/// Bounds of a variable length and what each relationship must have.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub min: u32,
    pub max: Option<u32>,
    pub props: Vec<(usize, Ex)>,
}

/// An operator; its input comes first.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// The row as it is.
    Argument,
    Scan {
        id: OpId,
        input: Box<Op>,
        slot: Slot,
        labels: Vec<usize>,
        seek: Vec<Seek>,
    },
    /// Labels of a node that is bound.
    Check {
        id: OpId,
        input: Box<Op>,
        slot: Slot,
        labels: Vec<usize>,
    },
    Expand {
        id: OpId,
        input: Box<Op>,
        step: Step,
    },
    /// The ends of paths of at least one step from the nodes of a scan, each with the number of paths that
    /// lead to it.
    Tally {
        id: OpId,
        input: Box<Op>,
        from: Slot,
        steps: Vec<Tallied>,
        weight: Slot,
        /// Whether anything looks at the ends; without it there is one row for all paths.
        ends: bool,
    },
    /// A relationship that is bound: binds or checks its ends.
    Ends {
        id: OpId,
        input: Box<Op>,
        step: Step,
        from_bound: bool,
    },
    VarExpand {
        id: OpId,
        input: Box<Op>,
        step: Step,
        span: Span,
    },
    /// A list of relationships that is bound.
    Walk {
        id: OpId,
        input: Box<Op>,
        step: Step,
    },
    Shortest {
        id: OpId,
        input: Box<Op>,
        step: Step,
        span: Span,
        path: Slot,
        all: bool,
    },
    Path {
        id: OpId,
        input: Box<Op>,
        slot: Slot,
        nodes: Vec<Slot>,
        rels: Vec<Slot>,
    },
    Filter {
        id: OpId,
        input: Box<Op>,
        test: Ex,
    },
    Project {
        id: OpId,
        input: Box<Op>,
        items: Vec<(Slot, Ex)>,
    },
    Aggregate {
        id: OpId,
        input: Box<Op>,
        keys: Vec<(Slot, Ex)>,
        aggs: Vec<Agg>,
    },
    Distinct {
        id: OpId,
        input: Box<Op>,
        slots: Vec<Slot>,
    },
    Sort {
        id: OpId,
        input: Box<Op>,
        keys: Vec<(Ex, bool)>,
        keep: Vec<Slot>,
        top: Option<(Option<Ex>, Ex)>,
    },
    Skip {
        id: OpId,
        input: Box<Op>,
        count: Ex,
    },
    Limit {
        id: OpId,
        input: Box<Op>,
        count: Ex,
    },
    Unwind {
        id: OpId,
        input: Box<Op>,
        list: Ex,
        slot: Slot,
    },
    Optional {
        id: OpId,
        input: Box<Op>,
        inner: Box<Op>,
        slots: Vec<Slot>,
    },
    Union {
        id: OpId,
        parts: Vec<(Op, Vec<Slot>)>,
        out: Vec<Slot>,
    },
    Call {
        id: OpId,
        input: Box<Op>,
        name: String,
        args: Vec<Ex>,
        yields: Vec<(String, Slot)>,
    },
}

/// Number of an operator in its plan, by which a run keeps what it has found out for it. The binder leaves it at 0;
/// [`Plan::numbered`] gives each operator its own, from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OpId(pub(crate) usize);

/// A whole query, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub root: Op,
    pub columns: Vec<(String, Slot)>,
    pub slots: usize,
    /// Property names that the query mentions.
    pub keys: Vec<String>,
    /// Labels that the query mentions.
    pub labels: Vec<String>,
    /// Relationship types that the query mentions.
    pub types: Vec<String>,
    pub params: Vec<String>,
    /// Numbers of the property names that nodes or relationships are asked for.
    pub entity_keys: Vec<usize>,
    /// Names of slots, for people; empty for those without one.
    pub names: Vec<String>,
    /// A procedure that is the whole query and names no result columns.
    pub whole_call: bool,
    /// Operators in line.
    pub depth: usize,
    /// Operators in all, those of subqueries too.
    pub operators: usize,
    /// Whether what is known of a graph could make another plan.
    pub open: bool,
}

/// The operator that feeds another, borrowed as that one is.
macro_rules! input_of {
    ($op:expr) => {
        match $op {
            Op::Argument | Op::Union { .. } => None,
            Op::Scan { input, .. }
            | Op::Check { input, .. }
            | Op::Expand { input, .. }
            | Op::Tally { input, .. }
            | Op::Ends { input, .. }
            | Op::VarExpand { input, .. }
            | Op::Walk { input, .. }
            | Op::Shortest { input, .. }
            | Op::Path { input, .. }
            | Op::Filter { input, .. }
            | Op::Project { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Distinct { input, .. }
            | Op::Sort { input, .. }
            | Op::Skip { input, .. }
            | Op::Limit { input, .. }
            | Op::Unwind { input, .. }
            | Op::Optional { input, .. }
            | Op::Call { input, .. } => Some(input),
        }
    };
}
pub(crate) use input_of;

impl Op {
    /// How many operators stand in line, the longest way.
    pub(crate) fn depth(&self) -> usize {
        let (mut depth, mut at) = (0, Some(self));
        while let Some(op) = at {
            depth += match op {
                Self::Optional { inner, .. } => 1 + inner.depth(),
                Self::Union { parts, .. } => {
                    1 + parts.iter().map(|(p, _)| p.depth()).max().unwrap_or(0)
                }
                _ => 1,
            };
            at = op.input();
        }
        depth
    }

    /// The operator that feeds this one.
    pub(crate) fn input(&self) -> Option<&Self> {
        input_of!(self).map(|input| &**input)
    }
}
