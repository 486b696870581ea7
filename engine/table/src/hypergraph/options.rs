//! Options of a hypergraph as asked for, before they meet a table.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::HypergraphError;

/// The options of one transform. The default is all columns, every row a node of its own, nulls left
/// out and every column kept on the edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Columns whose values become nodes; all when absent.
    pub entity_types: Option<Vec<String>>,
    /// Whether edges join the values of a row with each other, instead of with a node for the row.
    pub direct: bool,
    /// Whether nulls make no nodes and no edges.
    pub drop_na: bool,
    /// Whether edges carry nothing but their ends and their kind.
    pub drop_edge_attrs: bool,
    /// The names of the columns that are made.
    pub names: Names,
    /// What stands between a category and a value in a node id.
    pub delim: String,
    /// What a null is called.
    pub null_text: String,
    /// The category of the nodes that stand for rows.
    pub event_type: String,
    /// Columns that never become nodes.
    pub skip: Vec<String>,
    /// Category to columns: equal values of these columns are one node.
    pub categories: Vec<(String, Vec<String>)>,
    /// For the direct form, which columns are joined with which; all with all when absent.
    pub edges: Option<Vec<(String, Vec<String>)>>,
    /// Where the options stand in the request, for messages.
    pub at: String,
}

/// The names of the columns that the transform makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Node id, in the nodes.
    pub node_id: String,
    /// Node title, in the nodes.
    pub title: String,
    /// Which column a node comes from, in the nodes.
    pub node_type: String,
    /// Category, in the nodes and, with categories, in the edges.
    pub category: String,
    /// The row's node: in the edges and the nodes.
    pub event_id: String,
    /// The value's node, in the edges.
    pub attrib_id: String,
    /// First end of a direct edge.
    pub source: String,
    /// Second end of a direct edge.
    pub destination: String,
    /// Which columns an edge comes from.
    pub edge_type: String,
}

impl Default for Names {
    fn default() -> Self {
        let name = str::to_owned;
        Self {
            node_id: name("nodeID"),
            title: name("nodeTitle"),
            node_type: name("type"),
            category: name("category"),
            event_id: name("EventID"),
            attrib_id: name("attribID"),
            source: name("src"),
            destination: name("dst"),
            edge_type: name("edgeType"),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            entity_types: None,
            direct: false,
            drop_na: true,
            drop_edge_attrs: false,
            names: Names::default(),
            delim: "::".to_owned(),
            null_text: "null".to_owned(),
            event_type: "event".to_owned(),
            skip: Vec::new(),
            categories: Vec::new(),
            edges: None,
            at: "hypergraph".to_owned(),
        }
    }
}

/// Members of an element.
const FIELDS: &[&str] = &["entity_types", "direct", "drop_na", "drop_edge_attrs", "opts"];
/// Members of `opts`.
const OPTS: &[&str] = &[
    "EVENTID",
    "CATEGORIES",
    "DELIM",
    "SKIP",
    "EDGES",
    "TITLE",
    "NODEID",
    "ATTRIBID",
    "EVENTTYPE",
    "SOURCE",
    "DESTINATION",
    "CATEGORY",
    "NODETYPE",
    "EDGETYPE",
    "NULLVAL",
];

impl Options {
    /// Reads the JSON form (spec 2.4); `path` is where it stands in the request. Null members count as
    /// absent.
    ///
    /// # Errors
    /// [`HypergraphError::Invalid`]: an unknown member, a value of the wrong type, a name used twice.
    pub fn from_json(value: &Value, path: &str) -> Result<Self, HypergraphError> {
        let map = object(value, path)?;
        known(map, FIELDS, path)?;
        let member = |name: &str| map.get(name).filter(|v| !v.is_null());
        let mut out = Self { at: path.to_owned(), ..Self::default() };
        if let Some(v) = member("entity_types") {
            let field = format!("{path}.entity_types");
            let list = texts(v, &field)?;
            distinct(&list, &field)?;
            out.entity_types = Some(list);
        }
        for (name, slot) in [
            ("direct", &mut out.direct),
            ("drop_na", &mut out.drop_na),
            ("drop_edge_attrs", &mut out.drop_edge_attrs),
        ] {
            if let Some(v) = member(name) {
                *slot = v
                    .as_bool()
                    .ok_or_else(|| wrong(v, &format!("{path}.{name}"), "true or false"))?;
            }
        }
        if let Some(opts) = member("opts") {
            out.read_opts(opts, &format!("{path}.opts"))?;
        }
        out.check_names()?;
        Ok(out)
    }

    fn read_opts(&mut self, opts: &Value, path: &str) -> Result<(), HypergraphError> {
        let map = object(opts, path)?;
        known(map, OPTS, path)?;
        for (key, value) in map.iter().filter(|(_, v)| !v.is_null()) {
            let field = format!("{path}.{key}");
            let slot = match key.as_str() {
                "SKIP" => {
                    self.skip = texts(value, &field)?;
                    continue;
                }
                "CATEGORIES" => {
                    self.categories = lists(value, &field)?;
                    continue;
                }
                "EDGES" => {
                    self.edges = Some(lists(value, &field)?);
                    continue;
                }
                "DELIM" => &mut self.delim,
                "NULLVAL" => &mut self.null_text,
                "EVENTTYPE" => &mut self.event_type,
                "EVENTID" => &mut self.names.event_id,
                "TITLE" => &mut self.names.title,
                "NODEID" => &mut self.names.node_id,
                "ATTRIBID" => &mut self.names.attrib_id,
                "SOURCE" => &mut self.names.source,
                "DESTINATION" => &mut self.names.destination,
                "CATEGORY" => &mut self.names.category,
                "NODETYPE" => &mut self.names.node_type,
                _ => &mut self.names.edge_type,
            };
            *slot = value.as_str().ok_or_else(|| wrong(value, &field, "a string"))?.to_owned();
        }
        Ok(())
    }

    /// Two columns of one table cannot have the same name.
    fn check_names(&self) -> Result<(), HypergraphError> {
        let n = &self.names;
        let in_nodes = [&n.node_id, &n.title, &n.node_type, &n.category, &n.event_id];
        let ends = if self.direct { [&n.source, &n.destination] } else { [&n.attrib_id; 2] };
        let mut in_edges = vec![&n.event_id, &n.edge_type, &n.category, ends[0]];
        in_edges.extend(self.direct.then_some(ends[1]));
        for names in [&in_nodes[..], &in_edges[..]] {
            let mut seen = HashSet::new();
            if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
                return Err(self.twice(twice));
            }
        }
        Ok(())
    }

    fn twice(&self, name: &str) -> HypergraphError {
        let field = format!("{}.opts", self.at);
        let message = format!(
            "{field} gives the name {name:?} to two columns of the result; give each its own"
        );
        HypergraphError::invalid(field, message)
    }

    /// The columns of the edges that hold their source and destination. Edges of rows run from the row
    /// to the value.
    #[must_use]
    pub fn ends(&self) -> (&str, &str) {
        let n = &self.names;
        if self.direct { (&n.source, &n.destination) } else { (&n.event_id, &n.attrib_id) }
    }

    /// The category of a column's values.
    pub(super) fn category_of<'a>(&'a self, column: &'a str) -> &'a str {
        let of = |(_, columns): &&(String, Vec<String>)| columns.iter().any(|c| c == column);
        // Of several the last one, as a lookup table filled in order would have it.
        self.categories.iter().rev().find(of).map_or(column, |(category, _)| category)
    }
}

fn kind(v: &Value) -> &'static str {
    match v {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(v: &Value, field: &str, expected: &str) -> HypergraphError {
    HypergraphError::invalid(field, format!("{field} is a JSON {}; expected {expected}", kind(v)))
}

fn object<'a>(v: &'a Value, field: &str) -> Result<&'a Map<String, Value>, HypergraphError> {
    v.as_object().ok_or_else(|| wrong(v, field, "an object, which may be empty"))
}

fn known(map: &Map<String, Value>, legal: &[&str], path: &str) -> Result<(), HypergraphError> {
    let Some(name) = map.keys().find(|k| !legal.contains(&k.as_str())) else { return Ok(()) };
    let field = format!("{path}.{name:.64}");
    let message = format!("{field} is unknown; the members are: {}", legal.join(", "));
    Err(HypergraphError::invalid(field, message))
}

fn texts(v: &Value, field: &str) -> Result<Vec<String>, HypergraphError> {
    let list = v.as_array().ok_or_else(|| wrong(v, field, "an array of column names"))?;
    let text = |(i, v): (usize, &Value)| {
        let at = format!("{field}[{i}]");
        v.as_str().map(str::to_owned).ok_or_else(|| wrong(v, &at, "a column name"))
    };
    list.iter().enumerate().map(text).collect()
}

fn lists(v: &Value, field: &str) -> Result<Vec<(String, Vec<String>)>, HypergraphError> {
    let map = v
        .as_object()
        .ok_or_else(|| wrong(v, field, "an object of a name to an array of column names"))?;
    let entry = |(k, v): (&String, &Value)| Ok((k.clone(), texts(v, &format!("{field}.{k:.64}"))?));
    map.iter().map(entry).collect()
}

fn distinct(list: &[String], field: &str) -> Result<(), HypergraphError> {
    let mut seen = HashSet::new();
    match list.iter().find(|c| !seen.insert(c.as_str())) {
        Some(c) => Err(HypergraphError::invalid(
            field,
            format!("{field} names column {c:?} more than once; name it once"),
        )),
        None => Ok(()),
    }
}
