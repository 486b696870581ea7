//! Stages: `GRAPH { }`, `GRAPH g = GRAPH { }`, `USE g`, and the query behind them.

use graphlume_expr::{ErrorCode, QueryError, nearest};
use graphlume_types::limits::QUERY_BINDINGS_MAX;

use super::{Parsed, Parser};
use crate::ast::{Call, Name, Stage, StageStep, Text};
use crate::error::placed;
use crate::lex::Tok;

/// What the name of a procedure ends in that makes a graph.
const WRITE: &str = ".write";
/// Words that begin or continue what makes rows of a graph.
const ROWS: &[&str] =
    &["RETURN", "WITH", "UNWIND", "ORDER", "SKIP", "LIMIT", "UNION", "YIELD", "WHERE"];

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Parsed<Text> {
    let mut parser = Parser::new(text)?;
    let mut stages = Vec::new();
    while parser.is_word("GRAPH") {
        let last = parser.graph(&mut stages)?;
        if last {
            parser.eat(";");
            parser.end()?;
            return Ok(Text { stages, rows: None, from: None });
        }
    }
    let mut from = parser.used(&stages, None)?;
    let steps = parser.writes()?;
    let has_steps = !steps.is_empty();
    if has_steps {
        stages.push(Stage { name: None, from, steps });
        from = Some(stages.len() - 1);
    }
    let ends = *parser.kind() == Tok::Eof || parser.is(";");
    let rows = if has_steps && ends { None } else { Some(parser.union(false)?) };
    parser.eat(";");
    parser.end()?;
    Ok(Text { stages, rows, from })
}

impl Parser<'_> {
    /// A stage; whether it has no name, so that its graph is the answer.
    fn graph(&mut self, stages: &mut Vec<Stage>) -> Parsed<bool> {
        self.next();
        if stages.len() >= QUERY_BINDINGS_MAX {
            let what = format!("the text has more than {QUERY_BINDINGS_MAX} stages");
            return Err(placed(ErrorCode::Limit, self.text, self.pos(), what));
        }
        let name = if self.is("{") { None } else { Some(self.graph_name(stages)?) };
        let body = self.pos();
        self.need("{")?;
        let from = self.used(stages, name.as_ref())?;
        let steps = self.steps()?;
        if steps.is_empty() {
            return Err(placed(ErrorCode::EmptyGraph, self.text, body, "the graph has no clauses")
                .suggest("write GRAPH { MATCH (n) } for a copy of the nodes"));
        }
        let last = name.is_none();
        stages.push(Stage { name, from, steps });
        Ok(last)
    }

    /// `name = GRAPH`, where no other stage has that name.
    fn graph_name(&mut self, stages: &[Stage]) -> Parsed<Name> {
        let name = self.variable()?;
        if find(stages, &name.text).is_some() {
            let what = format!("there is a graph {:?} already", name.text);
            return Err(placed(ErrorCode::DuplicateGraph, self.text, name.at, what)
                .suggest("give each graph a name of its own; case does not tell them apart"));
        }
        self.need("=")?;
        self.need_word("GRAPH")?;
        Ok(name)
    }

    /// `USE name`, where it stands: the stage of that name. `own` is the name of the stage that is being read.
    fn used(&mut self, stages: &[Stage], own: Option<&Name>) -> Parsed<Option<usize>> {
        if !self.eat_word("USE") {
            return Ok(None);
        }
        let name = self.variable()?;
        match find(stages, &name.text) {
            Some(at) => Ok(Some(at)),
            None => Err(self.unknown_graph(&name, stages, own)),
        }
    }

    fn unknown_graph(&self, name: &Name, stages: &[Stage], own: Option<&Name>) -> QueryError {
        let text = &name.text;
        if own.is_some_and(|own| own.text.eq_ignore_ascii_case(text)) {
            let what = format!("the graph {text:?} cannot be made of itself");
            return placed(ErrorCode::Circular, self.text, name.at, what)
                .suggest("leave USE out, or name a graph that stands before");
        }
        let follows = (0..self.tokens.len() - self.at).any(|n| {
            self.is_word_at(n, "GRAPH") && self.is_word_at(n + 1, text) && self.is_at(n + 2, "=")
        });
        if follows {
            let what = format!("the graph {text:?} is made only behind this place");
            return placed(ErrorCode::ForwardGraph, self.text, name.at, what)
                .suggest("write its GRAPH before the USE that names it");
        }
        let names: Vec<&str> =
            stages.iter().filter_map(|s| Some(s.name.as_ref()?.text.as_str())).collect();
        let what = format!("no graph is named {text:?}");
        placed(ErrorCode::Unresolved, self.text, name.at, what).suggest(
            match nearest(text, &names) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("write GRAPH {text} = GRAPH {{ ... }} before"),
            },
        )
    }

    /// The clauses of a stage, up to the closing brace.
    fn steps(&mut self) -> Parsed<Vec<(StageStep, String)>> {
        let mut steps: Vec<(StageStep, String)> = Vec::new();
        while !self.eat("}") {
            self.count_clause()?;
            let at = self.pos();
            if self.is_word("MATCH") || self.is_word("OPTIONAL") {
                let optional = self.eat_word("OPTIONAL");
                self.need_word("MATCH")?;
                let found = self.match_clause(optional, at)?;
                let written = self.written(at);
                match steps.last_mut() {
                    Some((StageStep::Match(list), before)) => {
                        list.push(found);
                        before.push(' ');
                        before.push_str(&written);
                    }
                    _ => steps.push((StageStep::Match(vec![found]), written)),
                }
            } else if self.eat_word("CALL") {
                let call = self.call()?;
                if !is_write(&call) {
                    return Err(self.makes_rows(&call));
                }
                steps.push((StageStep::Call(call), self.written(at)));
            } else if let Some(word) = ROWS.iter().find(|word| self.is_word(word)) {
                let what = format!("{word} makes rows, and a stage makes a graph");
                return Err(placed(ErrorCode::GraphClause, self.text, at, what).suggest(
                    "inside of GRAPH { } stand USE, MATCH with WHERE, and CALL of procedures that end in .write; \
                     ask for rows behind it: GRAPH g = GRAPH { ... } USE g MATCH (n) RETURN n",
                ));
            } else if self.is_word("USE") {
                return Err(self.error("USE begins a stage").suggest("write it right behind {"));
            } else {
                return Err(self.unexpected("MATCH, CALL or }"));
            }
        }
        Ok(steps)
    }

    fn makes_rows(&self, call: &Call) -> QueryError {
        let name = &call.name.text;
        if call.yields.is_some() {
            let what = format!("YIELD makes rows of {name}, and a stage makes a graph");
            return placed(ErrorCode::GraphClause, self.text, call.name.at, what)
                .suggest("leave YIELD out: the values become columns of the graph");
        }
        placed(
            ErrorCode::Query,
            self.text,
            call.name.at,
            format!("{name} makes rows, and a stage makes a graph"),
        )
        .suggest(format!("write {name}{WRITE}(...)"))
    }

    /// Procedures that make graphs, at the beginning of a query.
    fn writes(&mut self) -> Parsed<Vec<(StageStep, String)>> {
        let mut steps = Vec::new();
        loop {
            let (before, at) = (self.at, self.pos());
            if !self.eat_word("CALL") {
                return Ok(steps);
            }
            let call = self.call()?;
            if !is_write(&call) {
                self.at = before;
                return Ok(steps);
            }
            self.count_clause()?;
            steps.push((StageStep::Call(call), self.written(at)));
        }
    }

    /// The text from a byte to the last token, without line breaks.
    fn written(&self, from: usize) -> String {
        let text = self.text.get(from..self.last_end()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Whether a call makes a graph and no rows.
fn is_write(call: &Call) -> bool {
    call.name.text.ends_with(WRITE) && call.yields.is_none()
}

/// The stage of a name.
fn find(stages: &[Stage], name: &str) -> Option<usize> {
    let is =
        |stage: &Stage| stage.name.as_ref().is_some_and(|own| own.text.eq_ignore_ascii_case(name));
    stages.iter().position(is)
}
