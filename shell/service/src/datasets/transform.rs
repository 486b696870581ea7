//! `edge_hypergraph_transform`: the edge tables of a dataset are not its edges but what its edges are
//! made from. Element `i` belongs to edge file `i`; a single element belongs to all of them, and to a
//! table uploaded into the dataset.

use graphlume_identity::body;
use graphlume_storage::{DatasetRec, TableSchema};
use graphlume_table::{
    Hypergraph, HypergraphCx, HypergraphOptions, HypergraphPlan, Table, hypergraph,
    hypergraph_union,
};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value};

use super::encodings::{bind_default, bound};
use crate::error::ServiceError;
use crate::files::tables::stack;

const FIELD: &str = "edge_hypergraph_transform";

/// The transforms of a dataset, at least one.
pub(crate) struct Transforms(Vec<HypergraphOptions>);

/// The shapes of the tables that transforms make.
pub(crate) struct Made {
    pub edges: TableSchema,
    pub nodes: TableSchema,
}

impl Transforms {
    /// Those of a create body, with the elements as they were sent.
    pub(crate) fn of_create(map: &Map<String, Value>) -> Result<Vec<Value>, ServiceError> {
        let elements = body::list(map, FIELD)?.unwrap_or_default();
        Self::of_elements(elements)?;
        Ok(elements.to_vec())
    }

    /// Those of a record; `None` when its edge tables are its edges.
    pub(crate) fn of(rec: &DatasetRec) -> Result<Option<Self>, ServiceError> {
        Self::of_elements(&rec.edge_hypergraph_transform)
    }

    fn of_elements(elements: &[Value]) -> Result<Option<Self>, ServiceError> {
        let parse = |(i, e)| HypergraphOptions::from_json(e, &format!("{FIELD}[{i}]"));
        let options: Vec<_> = elements.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok((!options.is_empty()).then_some(Self(options)))
    }

    /// Refuses a number of elements that says nothing about a number of files.
    pub(crate) fn check_count(&self, files: usize) -> Result<(), ServiceError> {
        let elements = self.0.len();
        if elements == 1 || elements == files {
            return Ok(());
        }
        let message = format!(
            "{FIELD} has {elements} elements and edge_files has {files}; \
             send one element for all tables, or one for each file"
        );
        Err(ServiceError::invalid(FIELD, message))
    }

    /// The element of edge table `i`.
    fn element(&self, i: usize) -> &HypergraphOptions {
        // The constructor refuses an empty list.
        self.0.get(i).unwrap_or(&self.0[0])
    }

    /// Binds what was not bound: rows to values, or values to values, and the ids of the nodes unless
    /// they come in a table of their own.
    pub(crate) fn bind(&self, edges: &mut Value, nodes: &mut Value, given_nodes: bool) {
        let (source, destination) = self.0[0].ends();
        let other = |end: &str| if end == source { destination } else { source };
        let (source_bound, destination_bound) = (
            bound(edges, "source").map(str::to_owned),
            bound(edges, "destination").map(str::to_owned),
        );
        if source_bound.is_none() {
            let end = destination_bound.as_deref().map_or(source, other);
            bind_default(edges, "source", end);
        }
        if destination_bound.is_none() {
            let end = source_bound.as_deref().map_or(destination, other);
            bind_default(edges, "destination", end);
        }
        if !given_nodes {
            bind_default(nodes, "node", self.node_id());
        }
    }

    /// The column of node ids in the nodes that are made.
    pub(crate) fn node_id(&self) -> &str {
        &self.0[0].names.node_id
    }

    /// The column of node titles in the nodes that are made.
    pub(crate) fn title(&self) -> &str {
        &self.0[0].names.title
    }

    /// The shapes of what the transforms make of tables of these shapes.
    pub(crate) fn shapes(
        &self,
        tables: &[&TableSchema],
        notices: &mut Vec<Notice>,
    ) -> Result<Made, ServiceError> {
        let empty =
            || TableSchema { name: String::new(), dtypes: Map::new(), num_cols: 0, num_rows: 0 };
        let mut made = Made { edges: empty(), nodes: empty() };
        for (i, table) in tables.iter().enumerate() {
            let columns: Vec<&str> = table.dtypes.keys().map(String::as_str).collect();
            let plan = HypergraphPlan::new(self.element(i), &columns)?;
            for (side, layout) in
                [(&mut made.edges, plan.edge_columns()), (&mut made.nodes, plan.node_columns())]
            {
                for (name, from) in layout {
                    let dtype = from.and_then(|i| table.dtypes.get(columns[i])).cloned();
                    let text = || Value::String("object".to_owned());
                    side.dtypes.insert(name.to_owned(), dtype.unwrap_or_else(text));
                }
            }
            of_transforms(notices, &plan.warnings);
        }
        Ok(made)
    }

    /// Bytes of what the transforms make, at most.
    pub(crate) fn bytes_max(&self, tables: &[&TableSchema]) -> u64 {
        let of = |(i, table): (usize, &&TableSchema)| -> u64 {
            let columns: Vec<&str> = table.dtypes.keys().map(String::as_str).collect();
            let cells: u64 = table.dtypes.values().map(cell_bytes).sum();
            let plan = HypergraphPlan::new(self.element(i), &columns);
            plan.map_or(0, |p| p.bytes_max(table.num_rows, cells))
        };
        tables.iter().enumerate().map(of).fold(0, u64::saturating_add)
    }

    /// The graph of the tables. The rows of later tables are numbered on from those of earlier ones.
    pub(crate) fn run(
        &self,
        tables: Vec<Table>,
        cancel: &CancelToken,
    ) -> Result<Option<Hypergraph>, ServiceError> {
        let alike = tables.windows(2).all(|w| w[0].batch().schema() == w[1].batch().schema());
        let tables: Vec<Table> =
            if alike && self.0.len() == 1 { stack(tables)?.into_iter().collect() } else { tables };
        let (mut parts, mut first_event) = (Vec::with_capacity(tables.len()), 0);
        for (i, table) in tables.iter().enumerate() {
            let cx = HypergraphCx { cancel, first_event };
            parts.push(hypergraph(table, self.element(i), cx)?);
            first_event += table.num_rows() as u64;
        }
        Ok(hypergraph_union(parts)?)
    }
}

/// What transforms passed over.
pub(crate) fn of_transforms(notices: &mut Vec<Notice>, texts: &[String]) {
    for text in texts {
        note(notices, Notice::new("transform-option-ignored", text.clone()));
    }
}

/// Bytes of a cell in the result of a transform, where text is a number.
fn cell_bytes(dtype: &Value) -> u64 {
    match dtype.as_str().unwrap_or_default() {
        "bool" | "int8" | "uint8" => 1,
        "int16" | "uint16" | "float16" => 2,
        "int32" | "uint32" | "float32" | "category" => 4,
        _ => 8,
    }
}
