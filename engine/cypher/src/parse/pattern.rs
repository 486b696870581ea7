//! Patterns.

use graphlume_expr::ErrorCode;
use graphlume_types::limits::{CYPHER_HOPS_MAX, CYPHER_PATTERN_STEPS_MAX};

use super::{Parsed, Parser};
use crate::ast::{Expr, NodePattern, PathKind, PathPattern, RelPattern};
use crate::error::placed;
use crate::lex::Tok;
use graphlume_graph::Direction;

/// Property names and their values, and whether braces were written.
type Props = (Vec<(String, Expr)>, bool);

impl Parser<'_> {
    /// One connected pattern, with its name when one is allowed.
    pub(crate) fn part(&mut self, named: bool) -> Parsed<PathPattern> {
        let mut name = None;
        if named && self.variable_ahead() && self.is_at(1, "=") {
            name = Some(self.variable()?);
            self.next();
        }
        let kind = if self.is_at(1, "(") && self.is_word("shortestPath") {
            PathKind::Shortest
        } else if self.is_at(1, "(") && self.is_word("allShortestPaths") {
            PathKind::AllShortest
        } else {
            let mut part = self.element()?;
            part.name = name;
            return Ok(part);
        };
        self.next();
        self.next();
        let at = self.pos();
        let mut part = self.element()?;
        self.need(")")?;
        if part.rels.len() != 1 {
            let what = "a shortest path needs exactly one relationship pattern";
            return Err(placed(ErrorCode::Syntax, self.text, at, what)
                .suggest("write shortestPath((a)-[*]->(b))"));
        }
        (part.name, part.kind) = (name, kind);
        Ok(part)
    }

    /// Nodes and relationships in turn; the whole may stand in parentheses.
    fn element(&mut self) -> Parsed<PathPattern> {
        if self.is("(") && self.is_at(1, "(") {
            return self.deeper(|p| {
                p.next();
                let part = p.element()?;
                p.need(")")?;
                Ok(part)
            });
        }
        let mut nodes = vec![self.node()?];
        let mut rels = Vec::new();
        while self.is("-") || self.is("<") && self.is_at(1, "-") {
            if rels.len() >= CYPHER_PATTERN_STEPS_MAX {
                let what = format!("a pattern has more than {CYPHER_PATTERN_STEPS_MAX} steps");
                return Err(placed(ErrorCode::Limit, self.text, self.pos(), what));
            }
            rels.push(self.rel()?);
            nodes.push(self.node()?);
        }
        Ok(PathPattern { name: None, kind: PathKind::Plain, nodes, rels })
    }

    fn node(&mut self) -> Parsed<NodePattern> {
        let at = self.pos();
        self.need("(")?;
        let name = if self.variable_ahead() { Some(self.variable()?) } else { None };
        let labels = self.labels()?;
        let (props, braces) = self.props()?;
        self.need(")")?;
        Ok(NodePattern { name, labels, props, braces, at })
    }

    /// `:A:B`, all of which must hold.
    pub(super) fn labels(&mut self) -> Parsed<Vec<String>> {
        let mut labels = Vec::new();
        while self.eat(":") {
            labels.push(self.schema_name("a label")?);
            if self.is("|") || self.is("&") || self.is("!") {
                return Err(self
                    .error("label expressions with |, & and ! are not part of this language")
                    .suggest("write n:A:B for both labels, or WHERE n:A OR n:B"));
            }
        }
        Ok(labels)
    }

    fn props(&mut self) -> Parsed<Props> {
        if matches!(self.kind(), Tok::Param(_)) {
            return Err(self
                .error("a parameter cannot be the properties of a pattern")
                .suggest("name the properties: {name: $name}"));
        }
        if !self.is("{") {
            return Ok((Vec::new(), false));
        }
        self.deeper(|p| Ok((p.entries()?, true)))
    }

    fn rel(&mut self) -> Parsed<RelPattern> {
        let at = self.pos();
        let left = self.eat("<");
        self.need("-")?;
        let mut rel = RelPattern {
            name: None,
            types: Vec::new(),
            direction: Direction::Undirected,
            range: None,
            props: Vec::new(),
            at,
        };
        if self.eat("[") {
            if self.variable_ahead() {
                rel.name = Some(self.variable()?);
            }
            if self.eat(":") {
                rel.types.push(self.schema_name("a relationship type")?);
                while self.eat("|") {
                    self.eat(":");
                    rel.types.push(self.schema_name("a relationship type")?);
                }
            }
            if self.eat("*") {
                rel.range = Some(self.range()?);
            }
            rel.props = self.props()?.0;
            self.need("]")?;
        }
        self.need("-")?;
        let right = self.eat(">");
        rel.direction = match (left, right) {
            (true, false) => Direction::Reverse,
            (false, true) => Direction::Forward,
            _ => Direction::Undirected,
        };
        Ok(rel)
    }

    /// What follows the star of a variable length.
    fn range(&mut self) -> Parsed<(u32, Option<u32>)> {
        let min = self.hops()?;
        if !self.eat("..") {
            return Ok(min.map_or((1, None), |n| (n, Some(n))));
        }
        let max = self.hops()?;
        Ok((min.unwrap_or(1), max))
    }

    fn hops(&mut self) -> Parsed<Option<u32>> {
        let Tok::Int(n) = *self.kind() else {
            if self.is("-") || matches!(self.kind(), Tok::Float(_)) {
                return Err(self.unexpected("a number of relationships that is whole and positive"));
            }
            return Ok(None);
        };
        let Some(hops) = u32::try_from(n).ok().filter(|n| *n as usize <= CYPHER_HOPS_MAX) else {
            let what = format!("a path of {n} relationships is longer than {CYPHER_HOPS_MAX}");
            return Err(placed(ErrorCode::Limit, self.text, self.pos(), what));
        };
        self.next();
        Ok(Some(hops))
    }
}
