//! Texts whose stages make graphs: which elements of a graph each stage asks for, as queries for rows and as patterns. Who runs
//! them is the caller, who knows the procedures and the other language's patterns.

use std::collections::BTreeSet;

use graphlume_expr::{Cmp, ErrorCode, QueryError};
use graphlume_graph::Direction;

use crate::ast;
use crate::ast::{
    Call, Clause, Expr, Item, Kind, Match, Name, NodePattern, PathKind, PathPattern, Projected,
    Projection, RelPattern, StageStep, Union,
};
use crate::bind::{Binder, NumberIds, Written, children};
use crate::query::Query;

/// A text: stages that make graphs, one after the other, and what is asked for behind them.
#[derive(Clone, Debug)]
pub struct Text {
    stages: Vec<Stage>,
    rows: Option<Query>,
    from: Option<usize>,
}

/// A stage, which makes a graph of one that is there.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name, by which later stages may begin with its graph.
    pub name: Option<String>,
    /// The number of the stage that it begins with; `None` for the graph of the dataset.
    pub from: Option<usize>,
    /// What it does, one step after the other, each to the graph of the one before; never empty.
    pub steps: Vec<PlannedStep>,
}

/// A step of a stage.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The step as written.
    pub written: String,
    /// What it does.
    pub does: Does,
}

/// What a step does to a graph.
#[derive(Clone, Debug)]
pub enum Does {
    /// Calls the procedure that this query is, whose name ends in `.write`.
    Call(Query),
    /// Keeps what lies on the walks of a pattern of one line.
    Walks(Walks),
    /// Keeps the elements that a query finds row by row, with their variables in the order of its columns: each column has
    /// one cell, the list of what was found.
    Rows(Query, Vec<Variable>),
}

/// A variable of a pattern, which marks the elements that it stood for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name; `None` where none was written.
    pub name: Option<String>,
    /// Whether it stands for edges, else for nodes.
    pub edges: bool,
}

/// A pattern of one line without a condition that concerns several of its elements, comparisons of two properties aside.
#[derive(Clone, Debug)]
pub struct Walks {
    /// Nodes and edges in turn, a node first and last.
    pub elements: Vec<Element>,
    /// Comparisons that hold on every walk.
    pub comparisons: Vec<Comparison>,
    /// The same as [`Does::Rows`], for graphs without a column that is compared; only where there are comparisons.
    pub by_rows: Option<(Query, Vec<Variable>)>,
}

/// A node or an edge of a pattern.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its variable's name.
    pub name: Option<String>,
    /// The query whose only column has the nodes, or the edges, that it may stand for; `None` for all.
    pub test: Option<Query>,
    /// How an edge is followed; `None` for a node.
    pub hop: Option<Hop>,
}

/// How an edge of a pattern is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// From the node before it to the node behind it.
    pub direction: Direction,
    /// The least and the greatest number of edges in a row, without a greatest for any; `None` for just one.
    pub range: Option<(u32, Option<u32>)>,
}

/// A comparison of two properties, each a variable's name and the property's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// How they compare.
    pub cmp: Cmp,
    /// Left side.
    pub left: (String, String),
    /// Right side.
    pub right: (String, String),
}

impl Text {
    /// The stages in their order.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The query behind the stages, and the stage whose graph it reads, `None` for that of the dataset. Without a query the
    /// graph of the last stage is the answer.
    #[must_use]
    pub fn rows(&self) -> Option<(&Query, Option<usize>)> {
        self.rows.as_ref().map(|query| (query, self.from))
    }

    /// The query of a text without stages.
    #[must_use]
    pub fn into_query(self) -> Option<Query> {
        self.rows.filter(|_| self.stages.is_empty())
    }
}

impl From<Query> for Text {
    fn from(query: Query) -> Self {
        Self { stages: Vec::new(), rows: Some(query), from: None }
    }
}

/// Reads a text, whose stages may make graphs.
///
/// # Errors
/// [`QueryError`] that says what is wrong at which character, and what to write instead.
pub fn parse_text(text: &str) -> Result<Text, QueryError> {
    parse_text_with(text, &NumberIds::default())
}

/// Reads a text in which texts of digits may stand for ids.
///
/// # Errors
/// Those of [`parse_text`].
pub fn parse_text_with(text: &str, ids: &NumberIds) -> Result<Text, QueryError> {
    let from_text = Written { text, ids };
    let ast::Text { stages, rows, from } = crate::parse::parse(text)?;
    let planned = |stage: ast::Stage| {
        let steps =
            stage.steps.into_iter().map(|(step, written)| planned(from_text, step, written));
        Ok(Stage {
            name: stage.name.map(|name| name.text),
            from: stage.from,
            steps: steps.collect::<Result<_, QueryError>>()?,
        })
    };
    let stages = stages.into_iter().map(planned).collect::<Result<_, QueryError>>()?;
    let rows = rows.map(|tree| Query::new(from_text, tree)).transpose()?;
    Ok(Text { stages, rows, from })
}

/// Reads a query for rows, without stages.
///
/// # Errors
/// [`QueryError`] that says what is wrong at which character, and what to write instead.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    parse_text(text)?.into_query().ok_or_else(|| {
        let what = "the text makes graphs, and only rows can be asked for here";
        QueryError::new(ErrorCode::Query, what).field("query").suggest(
            "write the query for rows alone, without GRAPH, USE and procedures that end in .write",
        )
    })
}

fn planned(text: Written<'_>, step: StageStep, written: String) -> Result<PlannedStep, QueryError> {
    let does = match step {
        StageStep::Call(call) => {
            let args = call.args.or(Some(Vec::new()));
            Does::Call(query(text, vec![Clause::Call(Call { args, ..call })])?)
        }
        StageStep::Match(matches) => {
            // The whole is read once as it was written, so that its mistakes are told as those of any pattern.
            let whole = matches.iter().cloned().map(Clause::Match);
            query(text, whole.chain([returned(vec![constant()])]).collect())?;
            match walks(text, &matches)? {
                Some(mut walks) => {
                    if !walks.comparisons.is_empty() {
                        walks.by_rows = Some(row_by_row(text, matches)?);
                    }
                    Does::Walks(walks)
                }
                None => {
                    let (query, variables) = row_by_row(text, matches)?;
                    Does::Rows(query, variables)
                }
            }
        }
    };
    Ok(PlannedStep { written, does })
}

fn query(text: Written<'_>, clauses: Vec<Clause>) -> Result<Query, QueryError> {
    Query::new(text, Union { parts: vec![clauses], all: vec![] })
}

fn returned(items: Vec<Item>) -> Clause {
    Clause::Return(Projection {
        distinct: false,
        star: false,
        items,
        order: vec![],
        skip: None,
        limit: None,
        at: 0,
    })
}

fn item(kind: Kind, name: &str) -> Item {
    let name = Name { text: name.to_owned(), at: 0 };
    Item { expr: Expr { kind, at: 0 }, name, aliased: true }
}

fn constant() -> Item {
    item(Kind::Scalar(graphlume_expr::Scalar::Bool(true)), "true")
}

/// The pattern as walks of a line, where it is one.
fn walks(text: Written<'_>, matches: &[Match]) -> Result<Option<Walks>, QueryError> {
    let [Match { optional: false, parts, filter, .. }] = matches else { return Ok(None) };
    let [PathPattern { kind: PathKind::Plain, name, nodes, rels }] = parts.as_slice() else {
        return Ok(None);
    };
    let nodes_named = nodes.iter().map(|n| &n.name);
    let named: Vec<&str> = (nodes_named.chain(rels.iter().map(|r| &r.name)).chain([name]))
        .filter_map(|name| Some(name.as_ref()?.text.as_str()))
        .collect();
    let known: BTreeSet<&str> = named.iter().copied().collect();
    let is_path = |rel: &RelPattern| rel.range.is_some();
    let whole: Vec<&str> = (rels.iter().filter(|r| is_path(r)).map(|r| &r.name).chain([name]))
        .filter_map(|name| Some(name.as_ref()?.text.as_str()))
        .collect();
    let bounds_are_odd =
        rels.iter().any(|r| matches!(r.range, Some((min, Some(max))) if max == 0 || min > max));
    if known.len() < named.len() || bounds_are_odd {
        return Ok(None);
    }
    let props = nodes.iter().flat_map(|n| &n.props).chain(rels.iter().flat_map(|r| &r.props));
    if props.into_iter().any(|(_, e)| !mentioned(e, &known).is_empty()) {
        return Ok(None);
    }
    let (mut tests, mut comparisons) = (Vec::new(), Vec::new());
    let mut conjuncts = Vec::new();
    filter.iter().for_each(|filter| Binder::conjuncts(filter, &mut conjuncts));
    for conjunct in conjuncts {
        let of: Vec<&str> = mentioned(conjunct, &known).into_iter().collect();
        if of.iter().any(|name| whole.contains(name)) {
            return Ok(None);
        }
        match of.as_slice() {
            [name] => tests.push((*name, conjunct)),
            [_, _] => match comparison(conjunct) {
                Some(found) => comparisons.push(found),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    let mut elements = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let (mut alone, filter) = (node.clone(), conjunction(&node.name, &tests));
        let name = alone.name.get_or_insert_with(hidden).text.clone();
        let tested = filter.is_some() || !node.labels.is_empty() || !node.props.is_empty();
        let part =
            PathPattern { name: None, kind: PathKind::Plain, nodes: vec![alone], rels: vec![] };
        let test = tested.then(|| alone_query(text, part, filter, &name)).transpose()?;
        elements.push(Element { name: text_of(&node.name), test, hop: None });
        let Some(rel) = rels.get(i) else { continue };
        let (mut alone, filter) = (rel.clone(), conjunction(&rel.name, &tests));
        let name = alone.name.get_or_insert_with(hidden).text.clone();
        (alone.direction, alone.range) = (Direction::Forward, None);
        let tested = filter.is_some() || !rel.types.is_empty() || !rel.props.is_empty();
        let nodes = vec![bare(None), bare(None)];
        let part = PathPattern { name: None, kind: PathKind::Plain, nodes, rels: vec![alone] };
        let test = tested.then(|| alone_query(text, part, filter, &name)).transpose()?;
        let hop = Some(Hop { direction: rel.direction, range: rel.range });
        elements.push(Element { name: text_of(&rel.name), test, hop });
    }
    Ok(Some(Walks { elements, comparisons, by_rows: None }))
}

/// The elements that a part of one variable finds.
fn alone_query(
    text: Written<'_>,
    part: PathPattern,
    filter: Option<Expr>,
    name: &str,
) -> Result<Query, QueryError> {
    let found = Clause::Match(Match { optional: false, parts: vec![part], filter, at: 0 });
    query(text, vec![found, returned(vec![item(Kind::Var(name.to_owned()), name)])])
}

/// A name that no text can write.
fn hidden() -> Name {
    Name { text: "\0".to_owned(), at: 0 }
}

fn text_of(name: &Option<Name>) -> Option<String> {
    name.as_ref().map(|name| name.text.clone())
}

fn bare(name: Option<Name>) -> NodePattern {
    NodePattern { name, labels: vec![], props: vec![], braces: false, at: 0 }
}

/// The tests of a variable, joined.
fn conjunction(name: &Option<Name>, tests: &[(&str, &Expr)]) -> Option<Expr> {
    let name = name.as_ref()?;
    let own = tests.iter().filter(|(of, _)| *of == name.text);
    let mut own: Vec<Expr> = own.map(|(_, test)| (*test).clone()).collect();
    if own.len() < 2 { own.pop() } else { Some(Expr { kind: Kind::And(own), at: 0 }) }
}

/// `a.x < b.y`.
fn comparison(e: &Expr) -> Option<Comparison> {
    let Kind::Compare(left, rest) = &e.kind else { return None };
    let [(cmp, right)] = rest.as_slice() else { return None };
    let side = |e: &Expr| match &e.kind {
        Kind::Prop(of, property) => match &of.kind {
            Kind::Var(name) => Some((name.clone(), property.clone())),
            _ => None,
        },
        _ => None,
    };
    Some(Comparison { cmp: *cmp, left: side(left)?, right: side(right)? })
}

/// The pattern as a query that lists what each variable stood for. Each relationship is looked for by a MATCH of its own, so that
/// it may be the same as another one, as on the walks of [`Walks`].
fn row_by_row(
    text: Written<'_>,
    matches: Vec<Match>,
) -> Result<(Query, Vec<Variable>), QueryError> {
    let mut variables = Vec::new();
    let mut clauses = Vec::new();
    for (i, mut found) in matches.into_iter().enumerate() {
        let mut fresh = 0;
        let mut name = |own: &mut Option<Name>| {
            fresh += 1;
            let hidden = Name { text: format!("\0{i}.{fresh}"), at: 0 };
            let written = own.is_some();
            (own.get_or_insert(hidden).text.clone(), written)
        };
        for part in &mut found.parts {
            let nodes = part.nodes.iter_mut().map(|n| (name(&mut n.name), false));
            let mut new: Vec<((String, bool), bool)> = nodes.collect();
            new.extend(part.rels.iter_mut().map(|r| (name(&mut r.name), true)));
            for ((name, written), edges) in new {
                if !variables.iter().any(|(known, _, _)| *known == name) {
                    variables.push((name, written, edges));
                }
            }
        }
        clauses.extend(split(found).into_iter().map(Clause::Match));
    }
    let items = variables.iter().map(|(name, ..)| {
        let args = vec![Expr { kind: Kind::Var(name.clone()), at: 0 }];
        item(Kind::Call { name: "collect".to_owned(), args, distinct: true }, name)
    });
    clauses.push(returned(items.collect()));
    let variables = variables
        .into_iter()
        .map(|(name, written, edges)| Variable { name: written.then_some(name), edges });
    Ok((query(text, clauses)?, variables.collect()))
}

/// A MATCH as one for each relationship, with the condition behind the last. One that names a path, or is optional, stays whole.
fn split(found: Match) -> Vec<Match> {
    let paths = found.parts.iter().any(|p| p.name.is_some() || p.kind != PathKind::Plain);
    if found.optional || paths {
        return vec![found];
    }
    let one = |nodes: Vec<NodePattern>, rels: Vec<RelPattern>| Match {
        optional: false,
        parts: vec![PathPattern { name: None, kind: PathKind::Plain, nodes, rels }],
        filter: None,
        at: found.at,
    };
    let mut out = Vec::new();
    for part in found.parts {
        let mut nodes = part.nodes.into_iter();
        let Some(mut near) = nodes.next() else { continue };
        if part.rels.is_empty() {
            out.push(one(vec![near.clone()], vec![]));
        }
        for (rel, far) in part.rels.into_iter().zip(nodes) {
            let next = bare(far.name.clone());
            out.push(one(vec![near, far], vec![rel]));
            near = next;
        }
    }
    if let Some(last) = out.last_mut() {
        last.filter = found.filter;
    }
    out
}

/// Those of the names that an expression has; of a subquery all, since it may name any.
fn mentioned<'n>(e: &Expr, names: &BTreeSet<&'n str>) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    collect(e, names, &mut found);
    found
}

fn collect<'n>(e: &Expr, names: &BTreeSet<&'n str>, found: &mut BTreeSet<&'n str>) {
    let mut add = |name: &str| found.extend(names.get(name).copied());
    match &e.kind {
        Kind::Var(name) => add(name),
        Kind::MapProjection(_, items) => {
            for item in items {
                if let Projected::Variable(name) = item {
                    add(&name.text);
                }
            }
        }
        Kind::Pattern(part) => part_names(part, names, found),
        Kind::PatternComp { .. } => found.extend(names),
        Kind::Exists(clauses) => match clauses.as_slice() {
            [Clause::Match(Match { parts, filter: None, .. })] => {
                parts.iter().for_each(|part| part_names(part, names, found));
            }
            _ => found.extend(names),
        },
        _ => {}
    }
    children(e, &mut |child| collect(child, names, found));
}

fn part_names<'n>(part: &PathPattern, names: &BTreeSet<&'n str>, found: &mut BTreeSet<&'n str>) {
    let nodes = part.nodes.iter().map(|n| (&n.name, &n.props));
    for (name, props) in nodes.chain(part.rels.iter().map(|r| (&r.name, &r.props))) {
        found.extend(name.iter().filter_map(|name| names.get(name.text.as_str()).copied()));
        props.iter().for_each(|(_, e)| collect(e, names, found));
    }
}
