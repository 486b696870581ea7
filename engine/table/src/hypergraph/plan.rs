//! Options that have met the columns of a table: what becomes a node, what is joined with what, and
//! which columns come out.

use std::collections::HashSet;

use graphlume_types::limits::HYPERGRAPH_PAIRS_MAX;

use super::{HypergraphError, Options};

/// The edges that one column, or one pair of columns, gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Join {
    pub left: usize,
    /// Only in the direct form.
    pub right: Option<usize>,
}

/// A column of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeColumn {
    /// The node of the left column's value.
    Left,
    /// The node of the right column's value.
    Right,
    Event,
    Kind,
    Category,
    /// A column of the table.
    Attribute(usize),
}

/// A column of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeColumn {
    Id,
    Title,
    Kind,
    Category,
    Event,
    /// A column of the table.
    Attribute(usize),
}

/// A transform that fits a table with certain columns.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    pub(super) options: &'a Options,
    pub(super) columns: &'a [&'a str],
    /// Columns whose values become nodes, in the order of the nodes.
    pub(super) entities: Vec<usize>,
    /// In the order of the edges.
    pub(super) joins: Vec<Join>,
    /// The column that names the rows, if there is one.
    pub(super) event: Option<usize>,
    /// What was ignored.
    pub warnings: Vec<String>,
}

impl<'a> Plan<'a> {
    /// Matches `options` with a table's columns.
    ///
    /// # Errors
    /// [`HypergraphError::Invalid`]: a column that is not there, no column left to make nodes of, more
    /// pairs of columns than [`HYPERGRAPH_PAIRS_MAX`].
    pub fn new(options: &'a Options, columns: &'a [&'a str]) -> Result<Self, HypergraphError> {
        let find = |name: &str| columns.iter().position(|c| *c == name);
        let left_out =
            |name: &str| name == options.names.event_id || options.skip.iter().any(|s| s == name);
        let entities: Vec<usize> = match &options.entity_types {
            None => (0..columns.len()).filter(|c| !left_out(columns[*c])).collect(),
            Some(names) => {
                let field = format!("{}.entity_types", options.at);
                let wanted = names.iter().filter(|name| !left_out(name));
                let known =
                    |name: &String| find(name).ok_or_else(|| unknown(&field, name, columns));
                wanted.map(known).collect::<Result<_, _>>()?
            }
        };
        if entities.is_empty() {
            let field = format!("{}.entity_types", options.at);
            let message = format!(
                "{field} leaves no column to make nodes of; the columns are: {}",
                listed(columns)
            );
            return Err(HypergraphError::invalid(field, message));
        }
        let joins = match (&options.edges, options.direct) {
            (_, false) => rows_with_values(&entities, columns),
            (None, true) => all_pairs(&entities, columns, options)?,
            (Some(edges), true) => named_pairs(edges, columns, options)?,
        };
        let named = options.skip.iter().map(|c| ("SKIP", c));
        let merged = options.categories.iter().flat_map(|(_, list)| list);
        let absent = named
            .chain(merged.map(|c| ("CATEGORIES", c)))
            .filter(|(_, c)| find(c).is_none() && **c != options.names.event_id);
        let warnings = absent.map(|(option, column)| {
            let at = &options.at;
            format!("{at}.opts.{option} names column {column:?}, which is not there: ignored")
        });
        Ok(Self {
            options,
            columns,
            entities,
            joins,
            event: find(&options.names.event_id),
            warnings: warnings.collect(),
        })
    }

    /// The columns of the edges with the column of the table that each repeats, if it repeats one.
    #[must_use]
    pub fn edge_columns(&self) -> Vec<(&str, Option<usize>)> {
        let raw = |c| if let EdgeColumn::Attribute(i) = c { Some(i) } else { None };
        self.edge_layout().into_iter().map(|c| (self.edge_name(c), raw(c))).collect()
    }

    /// The columns of the nodes, likewise.
    #[must_use]
    pub fn node_columns(&self) -> Vec<(&str, Option<usize>)> {
        let raw = |c| if let NodeColumn::Attribute(i) = c { Some(i) } else { None };
        self.node_layout().into_iter().map(|c| (self.node_name(c), raw(c))).collect()
    }

    /// An upper bound of the result's size for a table of `rows` rows, when a row's cells take
    /// `row_bytes` in the result (text counts as 4: it is written once).
    #[must_use]
    pub fn bytes_max(&self, rows: u64, row_bytes: u64) -> u64 {
        let edges = rows.saturating_mul(self.joins.len() as u64);
        let events = if self.options.direct { 0 } else { rows };
        let nodes = rows.saturating_mul(self.entities.len() as u64).saturating_add(events);
        let attributes = if self.options.drop_edge_attrs { 0 } else { row_bytes };
        // Ends, event, kind and category of an edge, and its row while it is made.
        let edge = 6 * 4 + attributes;
        edges.saturating_mul(edge).saturating_add(nodes.saturating_mul(NODE_TEXT_BYTES + row_bytes))
    }

    pub(super) fn edge_layout(&self) -> Vec<EdgeColumn> {
        use EdgeColumn as C;
        let mut out = if self.options.direct {
            vec![C::Left, C::Right, C::Event, C::Kind]
        } else {
            vec![C::Event, C::Left, C::Kind]
        };
        if !self.options.categories.is_empty() {
            out.push(C::Category);
        }
        if !self.options.drop_edge_attrs {
            // A column that is called like one of ours is not there twice.
            let taken: HashSet<&str> = out.iter().map(|c| self.edge_name(*c)).collect();
            let node_type = self.options.names.node_type.as_str();
            let rest = (0..self.columns.len()).filter(|i| {
                let name = self.columns[*i];
                name != node_type && !taken.contains(name)
            });
            out.extend(rest.map(C::Attribute).collect::<Vec<_>>());
        }
        out
    }

    pub(super) fn edge_name(&self, column: EdgeColumn) -> &str {
        let n = &self.options.names;
        match column {
            EdgeColumn::Left if self.options.direct => &n.source,
            EdgeColumn::Left => &n.attrib_id,
            EdgeColumn::Right => &n.destination,
            EdgeColumn::Event => &n.event_id,
            EdgeColumn::Kind => &n.edge_type,
            EdgeColumn::Category => &n.category,
            EdgeColumn::Attribute(i) => self.columns[i],
        }
    }

    pub(super) fn node_layout(&self) -> Vec<NodeColumn> {
        use NodeColumn as C;
        let ours = [C::Title, C::Kind, C::Category, C::Id, C::Event];
        let taken: HashSet<&str> = ours.iter().map(|c| self.node_name(*c)).collect();
        let shown: Vec<usize> = if self.options.direct {
            self.entities.clone()
        } else {
            let first = self.entities.first().copied();
            let rest = (0..self.columns.len()).filter(|i| Some(*i) != first);
            first.into_iter().chain(rest).collect()
        };
        let mut attributes =
            shown.into_iter().filter(|i| !taken.contains(self.columns[*i])).map(C::Attribute);
        // The first kind of value leads, what is ours follows, and the other columns end the table.
        let lead = self.entities.first().filter(|i| !taken.contains(self.columns[**i]));
        let mut out: Vec<C> = lead.and_then(|_| attributes.next()).into_iter().collect();
        out.extend(&ours[..4]);
        out.extend(attributes);
        out.push(C::Event);
        out
    }

    pub(super) fn node_name(&self, column: NodeColumn) -> &str {
        let n = &self.options.names;
        match column {
            NodeColumn::Id => &n.node_id,
            NodeColumn::Title => &n.title,
            NodeColumn::Kind => &n.node_type,
            NodeColumn::Category => &n.category,
            NodeColumn::Event => &n.event_id,
            NodeColumn::Attribute(i) => self.columns[i],
        }
    }

    /// What precedes the values of a column in node ids.
    pub(super) fn prefix(&self, column: usize) -> String {
        format!("{}{}", self.options.category_of(self.columns[column]), self.options.delim)
    }
}

/// Bytes of a node's id and title with their offsets, and of the codes of its kind and category.
const NODE_TEXT_BYTES: u64 = 2 * (24 + 4) + 3 * 4;

fn rows_with_values(entities: &[usize], columns: &[&str]) -> Vec<Join> {
    by_name(entities, columns).into_iter().map(|left| Join { left, right: None }).collect()
}

fn by_name(entities: &[usize], columns: &[&str]) -> Vec<usize> {
    let mut sorted = entities.to_vec();
    sorted.sort_by_key(|c| columns[*c]);
    sorted
}

fn too_many_pairs(options: &Options) -> HypergraphError {
    let field = format!("{}.entity_types", options.at);
    let message = format!(
        "{field}: a direct hypergraph joins at most {HYPERGRAPH_PAIRS_MAX} pairs of columns; \
         name fewer columns, or the pairs themselves in opts.EDGES"
    );
    HypergraphError::invalid(field, message)
}

/// Each column with those behind it, by the names of the first and then of the second.
fn all_pairs(
    entities: &[usize],
    columns: &[&str],
    options: &Options,
) -> Result<Vec<Join>, HypergraphError> {
    let k = entities.len();
    if k * (k - 1) / 2 > HYPERGRAPH_PAIRS_MAX {
        return Err(too_many_pairs(options));
    }
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by_key(|i| columns[entities[*i]]);
    let pairs = order.into_iter().flat_map(|i| {
        let rest = by_name(&entities[i + 1..], columns);
        rest.into_iter().map(move |right| Join { left: entities[i], right: Some(right) })
    });
    Ok(pairs.collect())
}

/// The pairs that `EDGES` names. A name may be a column or a category, which stands for its columns.
fn named_pairs(
    edges: &[(String, Vec<String>)],
    columns: &[&str],
    options: &Options,
) -> Result<Vec<Join>, HypergraphError> {
    let at = format!("{}.opts.EDGES", options.at);
    let expand = |name: &str, field: &str| -> Result<(Vec<usize>, bool), HypergraphError> {
        if let Some(i) = columns.iter().position(|c| *c == name) {
            if name == options.names.event_id {
                let message =
                    format!("{field} names {name:?}, which names the rows; name another column");
                return Err(HypergraphError::invalid(field, message));
            }
            return Ok((vec![i], false));
        }
        let category = options.categories.iter().find(|(category, _)| category == name);
        let (_, list) = category.ok_or_else(|| unknown(field, name, columns))?;
        let there = list.iter().filter_map(|c| columns.iter().position(|have| have == c));
        Ok((there.collect(), true))
    };
    let mut keys: Vec<&(String, Vec<String>)> = edges.iter().collect();
    keys.sort_by_key(|(name, _)| name.as_str());
    let mut out = Vec::new();
    for (from, to) in keys {
        let (left, left_merged) = expand(from, &format!("{at}.{from:.64}"))?;
        let mut to: Vec<&String> = to.iter().collect();
        to.sort();
        for name in to {
            let (right, right_merged) = expand(name, &format!("{at}.{from:.64}"))?;
            let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (*l, *r)));
            for (left, right) in pairs.filter(|(l, r)| l != r || !(left_merged || right_merged)) {
                if out.len() == HYPERGRAPH_PAIRS_MAX {
                    return Err(too_many_pairs(options));
                }
                out.push(Join { left, right: Some(right) });
            }
        }
    }
    Ok(out)
}

fn unknown(field: &str, name: &str, columns: &[&str]) -> HypergraphError {
    let message = format!(
        "{field} names column {name:?}, which is not there; the columns are: {}",
        listed(columns)
    );
    HypergraphError::invalid(field, message)
}

fn listed(columns: &[&str]) -> String {
    const SHOWN: usize = 20;
    let mut out = columns.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if columns.len() > SHOWN {
        out.push_str(&format!(" and {} more", columns.len() - SHOWN));
    }
    out
}
