//! Expressions and brushes drawn at random, as texts and as questions to single cells.

use graphlume_expr::Scalar;

use super::kit::{Cell, Draw, FLOATS, MICROS, Random, TEXTS};
use crate::{Axis, Brush, Kept, Rule};

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Tree {
    Leaf(&'static str, Ask),
    Not(Box<Tree>),
    And(Vec<Tree>),
    Or(Vec<Tree>),
}

/// What is asked of a cell.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Compare(&'static str, Cell),
    In(Vec<Cell>),
    Between(Cell, Cell),
    Like(&'static str, bool),
    IsNull(bool),
}

const COMPARISONS: [&str; 8] = ["=", "==", "!=", "<>", "<", "<=", ">", ">="];
const PATTERNS: [&str; 6] = ["a%", "%_%", "", "A__", "100\\%", "%é%"];
const COLUMNS: [&str; 8] =
    ["whole", "float", "unsigned", "truth", "text", "micros", "days", "list"];

/// A value that may stand beside a column.
fn value(draw: &mut Draw, column: &str) -> Cell {
    match column {
        "truth" => Cell::Truth(draw.below(2) == 1),
        "text" => Cell::Text(draw.pick(&TEXTS).to_owned()),
        "list" => Cell::Text(draw.pick(&["[1]", "[1, 2]", "[2]"]).to_owned()),
        "micros" | "days" => Cell::Micros(draw.pick(&MICROS)),
        _ => Cell::Number(match draw.below(3) {
            0 => draw.below(9) as f64 - 4.0,
            1 => draw.below(17) as f64 / 2.0 - 4.0,
            _ => *FLOATS.iter().filter(|v| v.is_finite()).nth(draw.below(5)).unwrap(),
        }),
    }
}

fn leaf(draw: &mut Draw, axis: Axis) -> Tree {
    let column = match (axis, draw.below(4)) {
        (Axis::Node, 0) => draw.pick(&["degree", "degree_in", "degree_out", "community"]),
        _ => draw.pick(&COLUMNS),
    };
    let text = matches!(column, "text" | "list");
    let ask = match draw.below(6) {
        0 => Ask::IsNull(draw.below(2) == 1),
        1 => {
            let mut list: Vec<Cell> =
                (0..1 + draw.below(20)).map(|_| value(draw, column)).collect();
            if draw.below(3) == 0 {
                list.push(Cell::Null);
            }
            Ask::In(list)
        }
        2 if column != "truth" => Ask::Between(value(draw, column), value(draw, column)),
        3 if text => Ask::Like(draw.pick(&PATTERNS), draw.below(2) == 1),
        _ => {
            let known = if column == "truth" { 4 } else { COMPARISONS.len() };
            Ask::Compare(draw.pick(&COMPARISONS[..known]), value(draw, column))
        }
    };
    Tree::Leaf(column, ask)
}

impl Tree {
    pub(super) fn draw(draw: &mut Draw, axis: Axis, depth: usize) -> Self {
        let list = |draw: &mut Draw| {
            (0..2 + draw.below(2)).map(|_| Self::draw(draw, axis, depth - 1)).collect()
        };
        match if depth == 0 { 0 } else { draw.below(5) } {
            0 | 1 => leaf(draw, axis),
            2 => Self::Not(Box::new(Self::draw(draw, axis, depth - 1))),
            3 => Self::And(list(draw)),
            _ => Self::Or(list(draw)),
        }
    }

    pub(super) fn text(&self, prefix: &str) -> String {
        let joined = |list: &[Self], word: &str| {
            let parts: Vec<String> = list.iter().map(|t| format!("({})", t.text(prefix))).collect();
            parts.join(word)
        };
        match self {
            Self::Not(tree) => format!("not ({})", tree.text(prefix)),
            Self::And(list) => joined(list, " and "),
            Self::Or(list) => joined(list, " OR "),
            Self::Leaf(column, ask) => format!(
                "{prefix}{column} {}",
                match ask {
                    Ask::Compare(cmp, with) => format!("{cmp} {}", written(with)),
                    Ask::In(list) => {
                        let list: Vec<String> = list.iter().map(written).collect();
                        format!("in ({})", list.join(", "))
                    }
                    Ask::Between(a, b) => format!("between {} and {}", written(a), written(b)),
                    Ask::Like(p, fold) => format!("{} '{p}'", if *fold { "ilike" } else { "like" }),
                    Ask::IsNull(null) => if *null { "is null" } else { "is not null" }.to_owned(),
                }
            ),
        }
    }

    /// Whether it holds for an element, in logic of three values.
    pub(super) fn holds(&self, of: &Random, axis: Axis, element: u32) -> Option<bool> {
        match self {
            Self::Leaf(column, ask) => ask.holds(&of.cell(axis, column, element)),
            Self::Not(tree) => tree.holds(of, axis, element).map(|v| !v),
            Self::And(list) => {
                let all: Vec<_> = list.iter().map(|tree| tree.holds(of, axis, element)).collect();
                let unknown = all.contains(&None);
                if all.contains(&Some(false)) { Some(false) } else { (!unknown).then_some(true) }
            }
            Self::Or(list) => {
                let all: Vec<_> = list.iter().map(|tree| tree.holds(of, axis, element)).collect();
                let unknown = all.contains(&None);
                if all.contains(&Some(true)) { Some(true) } else { (!unknown).then_some(false) }
            }
        }
    }
}

/// A value in an expression; times as the ISO text of their microseconds.
fn written(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Number(v) => format!("{v:?}"),
        Cell::Truth(v) => v.to_string(),
        Cell::Text(v) => format!("'{v}'"),
        Cell::Micros(v) => format!("'{}'", graphlume_types::calendar::iso8601(*v)),
    }
}

fn order(a: &Cell, b: &Cell) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => a.partial_cmp(b),
        (Cell::Truth(a), Cell::Truth(b)) => Some(a.cmp(b)),
        (Cell::Text(a), Cell::Text(b)) => Some(a.cmp(b)),
        (Cell::Micros(a), Cell::Micros(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|i| like(&text[i..], rest)),
        ['_', rest @ ..] => !text.is_empty() && like(&text[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => text.first() == Some(c) && like(&text[1..], rest),
    }
}

impl Ask {
    fn holds(&self, cell: &Cell) -> Option<bool> {
        let is_null = *cell == Cell::Null;
        Some(match self {
            Self::IsNull(wanted) => is_null == *wanted,
            // A null that is listed is found, and then it is known.
            Self::In(list) if is_null => return list.contains(&Cell::Null).then_some(true),
            _ if is_null => return None,
            Self::In(list) => list.iter().any(|v| order(cell, v).is_some_and(|o| o.is_eq())),
            Self::Compare(cmp, with) => {
                let order = order(cell, with)?;
                match *cmp {
                    "=" | "==" => order.is_eq(),
                    "!=" | "<>" => order.is_ne(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
            Self::Between(low, high) => order(cell, low)?.is_ge() && order(cell, high)?.is_le(),
            Self::Like(pattern, fold) => {
                let Cell::Text(text) = cell else { return None };
                let of = |t: &str| -> Vec<char> {
                    if *fold { t.to_lowercase().chars().collect() } else { t.chars().collect() }
                };
                like(&of(text), &of(pattern))
            }
        })
    }
}

/// A brush, and whether it keeps a cell.
pub(super) fn brush(draw: &mut Draw, axis: Axis) -> Brush {
    let mut columns = COLUMNS.to_vec();
    if axis == Axis::Node {
        columns.extend(["degree", "community"]);
    }
    let column = draw.pick(&columns);
    let kept = match column {
        "whole" | "float" | "unsigned" | "degree" => {
            let (a, b) = (draw.below(17) as f64 / 2.0 - 4.0, draw.below(17) as f64 / 2.0 - 4.0);
            Kept::Range([a, b])
        }
        "micros" | "days" => {
            let millis = |draw: &mut Draw| draw.pick(&MICROS) as f64 / 1e3;
            Kept::Range([millis(draw), millis(draw)])
        }
        _ => Kept::Values(
            (0..draw.below(4))
                .map(|_| match draw.below(4) {
                    0 => Scalar::Null,
                    _ if column == "community" => Scalar::Int(draw.below(4) as i64),
                    _ => match value(draw, column) {
                        Cell::Truth(v) => Scalar::Bool(v),
                        Cell::Text(v) => Scalar::text(v),
                        other => panic!("{other:?}"),
                    },
                })
                .collect(),
        ),
    };
    Brush { axis, column: column.to_owned(), kept }
}

fn brushed(kept: &Kept, cell: &Cell) -> bool {
    match (kept, cell) {
        (Kept::Range([low, high]), Cell::Number(v)) => low <= v && v <= high,
        (Kept::Range([low, high]), Cell::Micros(v)) => {
            *low <= *v as f64 / 1e3 && *v as f64 / 1e3 <= *high
        }
        (Kept::Range(_), _) => false,
        (Kept::Values(list), cell) => list.iter().any(|v| match (v, cell) {
            (Scalar::Null, Cell::Null) => true,
            (Scalar::Bool(a), Cell::Truth(b)) => a == b,
            (Scalar::Int(a), Cell::Number(b)) => *a as f64 == *b,
            (Scalar::Text(a), Cell::Text(b)) => **a == **b,
            _ => false,
        }),
    }
}

/// Whether a rule means an element.
pub(super) fn means(
    of: &Random,
    rule: &Rule,
    tree: Option<&Tree>,
    axis: Axis,
    element: u32,
) -> bool {
    match (rule, tree) {
        (Rule::Brush(brush), _) => brushed(&brush.kept, &of.cell(axis, &brush.column, element)),
        (_, Some(tree)) => tree.holds(of, axis, element) == Some(true),
        _ => panic!("not drawn: {rule:?}"),
    }
}
