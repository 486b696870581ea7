//! Nodes and edges as values of rows.

use super::{Cell, fields_notation, plain_name};

/// A node or an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Whether it is an edge.
    pub edge: bool,
    /// Its id.
    pub id: Cell,
    /// The labels of a node; an edge has its type here.
    pub labels: Vec<String>,
    /// Names and values.
    pub properties: Vec<(String, Cell)>,
    /// The ids of an edge's ends, where the rows have them.
    pub ends: [Cell; 2],
}

impl Entity {
    pub(super) fn weight(&self) -> usize {
        let properties = self.properties.iter().map(|(_, v)| 1 + v.weight()).sum::<usize>();
        4 + self.labels.len() + properties
    }

    pub(super) fn key(&self) -> String {
        format!("{}{}", if self.edge { "edge " } else { "node " }, self.id.key())
    }

    /// What stands for it in a text, as in a pattern of Cypher.
    #[must_use]
    pub fn notation(&self) -> String {
        let mut out = String::from(if self.edge { "[" } else { "(" });
        for label in &self.labels {
            out.push(':');
            out.push_str(&plain_name(label));
        }
        if !self.properties.is_empty() {
            if !self.labels.is_empty() {
                out.push(' ');
            }
            out.push_str(&fields_notation(&self.properties));
        }
        out.push(if self.edge { ']' } else { ')' });
        out
    }
}
