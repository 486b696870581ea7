//! Nodes and edges in the rows of a query: which columns are theirs, and what functions tell of them.

use arrow_schema::DataType;
use graphlume_expr::Scalar;
use graphlume_expr::cell::{Cell, Entity, Reader};
use graphlume_table::Table;

use crate::scope::RowSchema;

/// The column with the identity of nodes: of the rows themselves, or behind the name of a step.
pub(crate) const NODE_ID: &str = "__gfql_node_id__";
/// The columns with the identity of edges, likewise.
pub(crate) const EDGE_IDS: [&str; 2] = ["__gfql_edge_index_0__", "__gfql_edge_id__"];
/// How the names begin that clients make up for their own use.
const INTERNAL: [&str; 2] = ["__gfql_", "__cypher_"];

const LABEL: &str = "label__";
const LABELS: &str = "labels";
const TYPE: &str = "type";
const EDGE_ID: &str = "edge_id";

/// Whether a part of a dotted name is one that clients make up for their own use.
pub(crate) fn is_internal(name: &str) -> bool {
    name.split('.').any(|part| INTERNAL.iter().any(|prefix| part.starts_with(prefix)))
}

/// What a function says of a node or an edge; `None` where it has no such.
pub(super) fn tell(entity: &Entity, function: &str) -> Option<Cell> {
    let texts = |names: Vec<&String>| {
        Cell::List(names.into_iter().map(|n| Cell::string(n.as_str())).collect())
    };
    Some(match function {
        "keys" | "__node_keys__" | "__edge_keys__" => {
            texts(entity.properties.iter().map(|(name, _)| name).collect())
        }
        "properties" => Cell::Map(entity.properties.clone()),
        "id" => entity.id.clone(),
        "elementid" => Cell::string(entity.id.text()),
        "__node_entity__" | "__edge_entity__" => Cell::string(entity.notation()),
        "labels" if !entity.edge => texts(entity.labels.iter().collect()),
        "type" if entity.edge => {
            entity.labels.first().map_or(Cell::NULL, |t| Cell::string(t.as_str()))
        }
        // Rows of paths name the ends of their edges as steps of their own.
        "startnode" if entity.edge && !entity.ends[0].is_null() => entity.ends[0].clone(),
        "endnode" if entity.edge && !entity.ends[1].is_null() => entity.ends[1].clone(),
        _ => return None,
    })
}

/// Reads the node or the edge that a name stands for, row by row.
#[derive(Debug)]
pub(super) struct EntityReader {
    edge: bool,
    /// True, or not null, where the row has the element.
    present: Reader,
    id: Reader,
    listed: Option<Reader>,
    flags: Vec<(String, Reader)>,
    kind: Option<Reader>,
    properties: Vec<(String, Reader)>,
    ends: [Option<Reader>; 2],
}

impl EntityReader {
    /// The element that `alias` stands for, when it stands for one.
    pub(super) fn new(table: &Table, alias: &str, schema: &RowSchema) -> Option<Self> {
        let prefix = format!("{alias}.");
        let reader = |name: &str| table.column(name).and_then(Reader::new);
        let own_id = |prefix: &str| {
            let node = reader(&format!("{prefix}{NODE_ID}")).map(|r| (false, r));
            node.or_else(|| reader(&format!("{prefix}{}", EDGE_IDS[0])).map(|r| (true, r)))
        };
        let marker = table.column(alias).filter(|c| c.data_type() == &DataType::Boolean);
        let (prefix, (edge, id), present) = match (own_id(&prefix), marker) {
            (Some(found), _) => {
                let present = found.1.clone();
                (prefix.as_str(), found, present)
            }
            (None, Some(marker)) => ("", own_id("")?, Reader::new(marker)?),
            (None, None) => return None,
        };
        let bare = prefix.is_empty();
        let names = table.column_names().into_iter();
        let names = names.filter_map(|n| n.strip_prefix(prefix)).filter(|name| {
            !(is_internal(name)
                || bare && (*name == alias || schema.markers.iter().any(|m| m == name)))
        });
        let column = |name: &str| table.column(&format!("{prefix}{name}"));
        let names: Vec<&str> = names.collect();
        let is_list = |name: &str| {
            column(name).is_some_and(|c| {
                matches!(c.data_type(), DataType::List(_) | DataType::LargeList(_))
            })
        };
        let listed = (!edge && is_list(LABELS)).then(|| reader(&format!("{prefix}{LABELS}")));
        let listed = listed.flatten();
        let mut flags = Vec::new();
        let mut properties = Vec::new();
        for name in names {
            let Some(reader) = reader(&format!("{prefix}{name}")) else { continue };
            let hidden = if edge {
                name == EDGE_ID
                    || name == TYPE
                    || schema.ends.iter().any(|end| end.as_deref() == Some(name))
            } else {
                name == LABELS && listed.is_some()
            };
            match name.strip_prefix(LABEL).filter(|_| !edge) {
                Some(label) => flags.push((label.to_owned(), reader)),
                None if hidden => {}
                None => properties.push((name.to_owned(), reader)),
            }
        }
        let untyped = edge || listed.is_none() && flags.is_empty();
        let kind = untyped.then(|| reader(&format!("{prefix}{TYPE}"))).flatten();
        let end = |end: &Option<String>| {
            end.as_ref().filter(|_| edge && bare).and_then(|name| reader(name))
        };
        let ends = [end(&schema.ends[0]), end(&schema.ends[1])];
        Some(Self { edge, present, id, listed, flags, kind, properties, ends })
    }

    pub(super) fn get(&self, row: usize) -> Cell {
        if matches!(self.present.get(row), Cell::NULL | Cell::Scalar(Scalar::Bool(false))) {
            return Cell::NULL;
        }
        let mut labels: Vec<String> = Vec::new();
        let mut add = |label: String| {
            if !labels.contains(&label) {
                labels.push(label);
            }
        };
        if let Some(Cell::List(listed)) = self.listed.as_ref().map(|r| r.get(row)) {
            listed.iter().filter(|l| !l.is_null()).for_each(|label| add(label.text()));
        }
        for (label, flag) in &self.flags {
            if flag.get(row).is_true() {
                add(label.clone());
            }
        }
        match self.kind.as_ref().map(|r| r.get(row)) {
            None | Some(Cell::NULL) => {}
            Some(kind) => add(kind.text()),
        }
        let property = |(name, r): &(String, Reader)| {
            let cell = r.get(row);
            (!cell.is_null()).then(|| (name.clone(), cell))
        };
        let end = |i: usize| self.ends[i].as_ref().map_or(Cell::NULL, |r| r.get(row));
        Cell::Entity(std::sync::Arc::new(Entity {
            edge: self.edge,
            id: self.id.get(row),
            labels,
            properties: self.properties.iter().filter_map(property).collect(),
            ends: [end(0), end(1)],
        }))
    }
}
