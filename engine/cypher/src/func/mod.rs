//! Functions, in one table: name, arguments, result.

mod entity;
mod list;
mod math;
mod string;
mod temporal;

use crate::error::{Res, type_error};
use crate::graph_view::GraphView;
use crate::types::Ty;
use crate::value::Value;

/// A function of values.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: &'static str,
    pub min: usize,
    pub max: usize,
    /// Kinds of the arguments; the last holds for all that follow.
    pub args: &'static [Ty],
    pub result: Ty,
    pub run: fn(&GraphView, &[Value]) -> Res<Value>,
}

const TABLES: &[&[Function]] =
    &[entity::TABLE, list::TABLE, math::TABLE, string::TABLE, temporal::TABLE];

/// The function of this name, whatever its case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLES.iter().flat_map(|t| t.iter()).find(|f| f.name.eq_ignore_ascii_case(name))
}

/// All names.
pub(crate) fn names() -> Vec<&'static str> {
    TABLES.iter().flat_map(|t| t.iter()).map(|f| f.name).collect()
}

/// The argument of this number; null when it was left out.
fn arg(args: &[Value], i: usize) -> &Value {
    args.get(i).unwrap_or(&Value::NULL)
}

fn wrong(function: &str, wanted: &str, found: &Value) -> Box<graphlume_expr::QueryError> {
    type_error(format!("{function} takes {wanted}, not {}", found.kind()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_unique_whatever_their_case() {
        let mut names: Vec<String> = super::names().iter().map(|n| n.to_lowercase()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
