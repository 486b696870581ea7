//! The procedures that CALL may name: the caller's.

use std::sync::Arc;

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::canon::Column;
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::{CancelToken, Notice};

use crate::column_reader::ColumnReader;
use crate::value::Value;

/// What a procedure returns.
#[derive(Clone, Debug, Default)]
pub struct ProcedureTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, as wide as there are columns.
    pub rows: Vec<Vec<Value>>,
}

impl ProcedureTable {
    /// The rows of a table.
    ///
    /// # Errors
    /// [`QueryError`] for a column whose type has no values in the language.
    pub fn of_rows(rows: &Table) -> Result<Self, QueryError> {
        let mut table = Self::default();
        let mut cells = Vec::new();
        for name in rows.column_names() {
            let Some(array) = rows.column(name) else { continue };
            table.columns.push(name.to_owned());
            cells.push(ColumnReader::new(Arc::new(Column::try_new(array)?), array));
        }
        let row = |row| cells.iter().map(|c| c.value(row)).collect();
        table.rows = (0..rows.num_rows() as u32).map(row).collect();
        Ok(table)
    }
}

/// The procedures that CALL may name.
pub trait Procedures: Sync {
    /// Runs a procedure.
    ///
    /// # Errors
    /// [`QueryError`] when there is no such procedure, or it refuses.
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[Value],
        cancel: &CancelToken,
    ) -> Result<ProcedureTable, QueryError>;

    /// What there is to say beside the answers given so far.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// No procedure at all.
pub(crate) struct NoProcedures;

impl Procedures for NoProcedures {
    fn call(
        &self,
        _: &PropertyGraph,
        name: &str,
        _: &[Value],
        _: &CancelToken,
    ) -> Result<ProcedureTable, QueryError> {
        let text = format!("the procedure {name:?} cannot be called here");
        Err(QueryError::new(ErrorCode::Query, text).field("procedure").value(name))
    }
}
