//! Rules about the elements of a picture, and filters made of them. Their JSON is that of a session's document.

use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_scene::Bits;
use serde_json::Value;

/// Nodes or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Nodes, by index.
    Node,
    /// Edges, in drawn order.
    Edge,
}

impl Axis {
    /// `node` or `edge`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Edge => "edge",
        }
    }

    /// The axis of this name; `point` is what clients call a node.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "node" | "point" => Some(Self::Node),
            "edge" => Some(Self::Edge),
            _ => None,
        }
    }
}

/// Which values of a column a brush keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// Numbers from the first to the second, both included; of a date milliseconds since 1970.
    Range([f64; 2]),
    /// These values; null stands for what has none.
    Values(Vec<Scalar>),
}

/// A part of a histogram that was marked.
#[derive(Debug, Clone, PartialEq)]
pub struct Brush {
    /// Whose column it is.
    pub axis: Axis,
    /// The column.
    pub column: String,
    /// What of it is kept.
    pub kept: Kept,
}

/// A set of nodes as it travels: bit i of byte i / 8, least significant first, for every node of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeBytes(pub Arc<[u8]>);

/// Which elements are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// Those for which an expression is true, in the grammar of the clients.
    Expr(String),
    /// Those within a brush.
    Brush(Brush),
    /// These nodes.
    Nodes(NodeBytes),
    /// These nodes and all within so many hops of them, whatever the direction.
    Ego(NodeBytes, u32),
    /// What a text in Cypher returns.
    Cypher(String),
    /// What operations keep.
    Gfql(Value),
}

/// Whether a filter keeps or hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// Only what the rule means stays.
    Filter,
    /// What the rule means goes.
    Exclusion,
}

/// A filter of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Its id within the session.
    pub id: String,
    /// What it does.
    pub kind: FilterKind,
    /// Whether it does it now.
    pub on: bool,
    /// What it is about. Shared with the document, so that comparing two sets is cheap.
    pub rule: Arc<Rule>,
}

/// What of a picture is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilterSet {
    /// All of them apply.
    pub filters: Vec<Filter>,
    /// Whether nodes go that no visible edge touches.
    pub prune_orphans: bool,
}

impl FilterSet {
    /// Whether anything of it is on.
    #[must_use]
    pub fn hides(&self) -> bool {
        self.prune_orphans || self.filters.iter().any(|filter| filter.on)
    }
}

impl Rule {
    /// Reads a rule of a session's document. A set of nodes may unpack to `set_bytes_max` bytes, a bit for each node of the
    /// graph ([`NodeBytes::bytes_of`]); what packs more is refused before it is unpacked any further.
    ///
    /// # Errors
    /// [`QueryError`] that names the field, its value and what to write instead. What depends on the graph, such as the
    /// names of columns, is checked when the rule is evaluated.
    pub fn of_json(json: &Value, set_bytes_max: u64) -> Result<Self, QueryError> {
        let Some((kind, value)) =
            json.as_object().filter(|o| o.len() == 1).and_then(|o| o.iter().next())
        else {
            return Err(wrong(
                "rule",
                json,
                "an object with one of expr, brush, nodes, ego, query and gfql",
            ));
        };
        Ok(match kind.as_str() {
            "expr" => Self::Expr(text(value, "expr")?),
            "brush" => Self::Brush(brush(value)?),
            "nodes" => Self::Nodes(NodeBytes::of_json(value, "nodes", set_bytes_max)?),
            "ego" => {
                let nodes = NodeBytes::of_json(&value["nodes"], "ego.nodes", set_bytes_max)?;
                let hops = value["hops"].as_u64().and_then(|hops| u32::try_from(hops).ok());
                let hops = hops.ok_or_else(|| {
                    wrong("ego.hops", &value["hops"], "a whole number of hops, for example 1")
                })?;
                Self::Ego(nodes, hops)
            }
            "query" => Self::Cypher(text(value, "query")?),
            "gfql" => {
                // What is no query is refused now, and not when it is first evaluated.
                graphlume_gfql::parse(value)?;
                Self::Gfql(value.clone())
            }
            "sets" => {
                return Err(QueryError::new(
                    ErrorCode::Unsupported,
                    "only a collection may be made of other collections",
                )
                .field("sets")
                .suggest("use one of expr, brush, nodes, ego, query and gfql"));
            }
            _ => {
                let kinds = ["expr", "brush", "nodes", "ego", "query", "gfql"];
                let known = graphlume_expr::listed(&kinds);
                return Err(QueryError::new(
                    ErrorCode::Predicate,
                    format!("there is no rule {kind:?}"),
                )
                .field("rule")
                .suggest(match graphlume_expr::nearest(kind, &kinds) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => format!("use one of {known}"),
                }));
            }
        })
    }

    /// Whether finding what it means may take as long as a query: such a filter is left alone while it is off.
    #[must_use]
    pub const fn is_query(&self) -> bool {
        matches!(self, Self::Cypher(_) | Self::Gfql(_))
    }

    /// Bytes that it takes once it is read, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Expr(text) | Self::Cypher(text) => text.len() as u64,
            Self::Nodes(NodeBytes(bytes)) | Self::Ego(NodeBytes(bytes), _) => bytes.len() as u64,
            Self::Brush(brush) => match &brush.kept {
                Kept::Range(_) => 16,
                Kept::Values(values) => values.iter().map(bytes_of_value).sum(),
            },
            Self::Gfql(query) => bytes_of_json(query),
        }
    }
}

/// Bytes of a value of a brush.
fn bytes_of_value(value: &Scalar) -> u64 {
    let text = match value {
        // The text with its two counters.
        Scalar::Text(text) => text.len() + 16,
        _ => 0,
    };
    (size_of::<Scalar>() + text) as u64
}

/// Bytes of a JSON value as it is kept in memory, about.
fn bytes_of_json(value: &Value) -> u64 {
    const OF_MEMBER: u64 = 64;
    let inside: u64 = match value {
        Value::String(text) => text.len() as u64,
        Value::Array(list) => list.iter().map(bytes_of_json).sum(),
        Value::Object(map) => {
            map.iter().map(|(key, v)| OF_MEMBER + key.len() as u64 + bytes_of_json(v)).sum()
        }
        _ => 0,
    };
    size_of::<Value>() as u64 + inside
}

fn wrong(field: &str, value: &Value, wanted: &str) -> QueryError {
    QueryError::new(ErrorCode::Type, format!("{field} must be {wanted}")).field(field).value(value)
}

fn text(value: &Value, field: &str) -> Result<String, QueryError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(field, value, "a text"))
}

fn brush(value: &Value) -> Result<Brush, QueryError> {
    let axis = value["axis"].as_str().and_then(Axis::of);
    let axis = axis.ok_or_else(|| wrong("brush.axis", &value["axis"], "node or edge"))?;
    let column = text(&value["column"], "brush.column")?;
    let kept = match (value.get("range"), value.get("values")) {
        (Some(range), None) => {
            let ends =
                range.as_array().map(|ends| ends.iter().map(Value::as_f64).collect::<Vec<_>>());
            match ends.as_deref() {
                Some([Some(low), Some(high)]) => Kept::Range([*low, *high]),
                _ => {
                    return Err(wrong(
                        "brush.range",
                        range,
                        "two numbers, the least and the greatest that are kept",
                    ));
                }
            }
        }
        (None, Some(values)) => {
            let list = values.as_array().map(|list| list.iter().map(Scalar::from_json).collect());
            match list {
                Some(Some(list)) => Kept::Values(distinct(list)),
                _ => {
                    return Err(wrong(
                        "brush.values",
                        values,
                        "a list of texts, numbers, truth values and null",
                    ));
                }
            }
        }
        _ => {
            return Err(wrong(
                "brush",
                value,
                "an object with axis, column and either range or values",
            ));
        }
    };
    Ok(Brush { axis, column, kept })
}

/// The same values, each once and in order: two brushes that keep the same values are the same rule.
fn distinct(mut list: Vec<Scalar>) -> Vec<Scalar> {
    list.sort_by(|a, b| a.rank().cmp(&b.rank()).then(a.order(b)));
    list.dedup_by(|a, b| a == b);
    list.shrink_to_fit();
    list
}

impl NodeBytes {
    /// Bytes of a set of the nodes of a graph with `nodes` of them.
    #[must_use]
    pub const fn bytes_of(nodes: u32) -> u64 {
        nodes.div_ceil(8) as u64
    }

    /// A set of the nodes of a graph with `count` of them as rules name it: base64 of deflated bytes (RFC 1951).
    #[must_use]
    pub fn pack(nodes: &Bits, count: u32) -> String {
        let bytes = nodes.bytes(count);
        let mut packed = Vec::new();
        // Reading from memory cannot fail.
        let _ = DeflateEncoder::new(bytes.as_slice(), Compression::fast()).read_to_end(&mut packed);
        STANDARD.encode(packed)
    }

    /// Reads base64 of deflated bytes (RFC 1951).
    fn of_json(value: &Value, field: &str, bytes_max: u64) -> Result<Self, QueryError> {
        let wanted = "base64 of a deflated set of bits, one for each node";
        let packed = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let packed = packed.ok_or_else(|| wrong(field, value, wanted))?;
        let mut bytes = Vec::new();
        let read = DeflateDecoder::new(packed.as_slice())
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes);
        if read.is_err() {
            return Err(wrong(field, value, wanted));
        }
        if bytes.len() as u64 > bytes_max {
            let text = format!(
                "{field} unpacks to more than {bytes_max} bytes, a bit for each node: the set is of another graph"
            );
            return Err(QueryError::new(ErrorCode::Type, text)
                .field(field)
                .suggest("select the nodes again"));
        }
        Ok(Self(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::DeflateEncoder;
    use serde_json::json;

    use super::*;

    fn packed(bytes: &[u8]) -> String {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        STANDARD.encode(encoder.finish().unwrap())
    }

    #[test]
    fn every_kind_of_rule_is_read() {
        let read = |json: Value| Rule::of_json(&json, 3).unwrap();
        assert_eq!(read(json!({"expr": "a = 1"})), Rule::Expr("a = 1".to_owned()));
        let range = json!({"brush": {"axis": "edge", "column": "w", "range": [1, 2.5]}});
        let brush =
            |axis, column: &str, kept| Rule::Brush(Brush { axis, column: column.to_owned(), kept });
        assert_eq!(read(range), brush(Axis::Edge, "w", Kept::Range([1.0, 2.5])));
        let values =
            json!({"brush": {"axis": "node", "column": "k", "values": ["a", null, 3, "a", 3]}});
        let Rule::Brush(found) = read(values) else { panic!("a brush") };
        let Kept::Values(found) = found.kept else { panic!("values") };
        assert_eq!(found.len(), 3, "each once");
        for value in [Scalar::text("a"), Scalar::Null, Scalar::Int(3)] {
            assert!(found.contains(&value), "{value:?}");
        }
        let many = json!({"brush": {"axis": "node", "column": "k", "values": vec![7; 100_000]}});
        assert!(read(many).bytes() < 100);
        let nodes = NodeBytes(vec![5, 0, 1].into());
        assert_eq!(read(json!({"nodes": packed(&[5, 0, 1])})), Rule::Nodes(nodes.clone()));
        assert_eq!(
            read(json!({"ego": {"nodes": packed(&[5, 0, 1]), "hops": 2}})),
            Rule::Ego(nodes, 2)
        );
        assert_eq!(
            read(json!({"query": "MATCH (n) RETURN n"})),
            Rule::Cypher("MATCH (n) RETURN n".to_owned())
        );
        let chain = json!([{"type": "Node"}]);
        assert_eq!(read(json!({"gfql": chain})), Rule::Gfql(chain));
    }

    #[test]
    fn what_is_no_rule_is_told_by_its_field() {
        for (json, said) in [
            (json!("a = 1"), "rule must be an object"),
            (json!({"expr": "a", "query": "b"}), "rule must be an object"),
            (json!({"exprs": "a"}), "did you mean \"expr\"?"),
            (json!({"sets": ["a"]}), "only a collection"),
            (json!({"expr": 3}), "expr must be a text | field: expr | value: 3"),
            (
                json!({"brush": {"axis": "line", "column": "a", "range": [0, 1]}}),
                "brush.axis must be node or edge",
            ),
            (json!({"brush": {"axis": "node", "column": "a"}}), "brush must be an object"),
            (
                json!({"brush": {"axis": "node", "column": "a", "range": [0]}}),
                "brush.range must be two numbers",
            ),
            (
                json!({"brush": {"axis": "node", "column": "a", "values": [[]]}}),
                "brush.values must be a list",
            ),
            (json!({"nodes": "??"}), "nodes must be base64"),
            (json!({"nodes": packed(&[0; 1 << 22])}), "nodes unpacks to more than 3 bytes"),
            (json!({"nodes": STANDARD.encode([255, 255, 255])}), "nodes must be base64"),
            (
                json!({"ego": {"nodes": packed(&[1]), "hops": -1}}),
                "ego.hops must be a whole number",
            ),
            (json!({"gfql": [{"type": "Nodes"}]}), "Nodes"),
        ] {
            let error = Rule::of_json(&json, 3).unwrap_err().to_string();
            assert!(error.contains(said), "{json}: {error}");
        }
    }
}
