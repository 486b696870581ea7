//! Syntax tree of a text. There is no form for a clause that writes.

use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::Direction;

/// A name and the byte where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub text: String,
    pub at: usize,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A whole text: stages that make graphs, and what is asked for in rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub stages: Vec<Stage>,
    /// The query behind the stages; without it the graph of the last stage is the answer.
    pub rows: Option<Union>,
    /// The stage whose graph that query reads; `None` for that of the dataset.
    pub from: Option<usize>,
}

/// `GRAPH name = GRAPH { ... }`, or the same without a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    pub name: Option<Name>,
    /// The stage that this one begins with; `None` for the graph of the dataset.
    pub from: Option<usize>,
    /// The steps, and each as it was written.
    pub steps: Vec<(StageStep, String)>,
}

/// What a stage does, one step after the other, each to the graph of the one before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StageStep {
    /// MATCH clauses next to each other: one pattern.
    Match(Vec<Match>),
    Call(Call),
}

/// Parts of a union; of one part the flags are empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Union {
    pub parts: Vec<Vec<Clause>>,
    /// Whether the part after this joint keeps duplicates, and where the joint is.
    pub all: Vec<(bool, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Clause {
    Match(Match),
    Unwind { list: Expr, name: Name },
    With { body: Projection, filter: Option<Expr> },
    Return(Projection),
    Call(Call),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub optional: bool,
    pub parts: Vec<PathPattern>,
    pub filter: Option<Expr>,
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub name: Name,
    /// `None` when the parentheses are missing.
    pub args: Option<Vec<Expr>>,
    /// Result column and the name it gets; `None` without YIELD.
    pub yields: Option<Vec<(Name, Name)>>,
    pub star: bool,
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    pub distinct: bool,
    pub star: bool,
    pub items: Vec<Item>,
    pub order: Vec<(Expr, bool)>,
    pub skip: Option<Expr>,
    pub limit: Option<Expr>,
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub expr: Expr,
    /// The alias, or the text as written.
    pub name: Name,
    pub aliased: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Plain,
    Shortest,
    AllShortest,
}

/// One connected pattern: a node more than relationships.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathPattern {
    pub name: Option<Name>,
    pub kind: PathKind,
    pub nodes: Vec<NodePattern>,
    pub rels: Vec<RelPattern>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodePattern {
    pub name: Option<Name>,
    pub labels: Vec<String>,
    pub props: Vec<(String, Expr)>,
    /// Whether braces were written, be they empty.
    pub braces: bool,
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RelPattern {
    pub name: Option<Name>,
    pub types: Vec<String>,
    pub direction: Direction,
    pub range: Option<(u32, Option<u32>)>,
    pub props: Vec<(String, Expr)>,
    pub at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    In,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Any,
    All,
    None,
    Single,
}

/// An expression and the byte where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub kind: Kind,
    pub at: usize,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Projected {
    /// `.name`
    Property(String),
    /// `.*`
    All,
    /// `name: expression`
    Entry(String, Expr),
    /// `name`
    Variable(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Scalar(Scalar),
    Param(String),
    Var(String),
    Prop(Box<Expr>, String),
    HasLabels(Box<Expr>, Vec<String>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Compare(Box<Expr>, Vec<(Cmp, Expr)>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Neg(Box<Expr>),
    Plus(Box<Expr>),
    IsNull(Box<Expr>, bool),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Case {
        subject: Option<Box<Expr>>,
        arms: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    List(Vec<Expr>),
    Map(Vec<(String, Expr)>),
    MapProjection(Box<Expr>, Vec<Projected>),
    ListComp {
        name: Name,
        list: Box<Expr>,
        filter: Option<Box<Expr>>,
        body: Option<Box<Expr>>,
    },
    PatternComp {
        part: Box<PathPattern>,
        filter: Option<Box<Expr>>,
        body: Box<Expr>,
    },
    Quantified {
        kind: Quantifier,
        name: Name,
        list: Box<Expr>,
        filter: Option<Box<Expr>>,
    },
    Reduce {
        acc: Name,
        init: Box<Expr>,
        name: Name,
        list: Box<Expr>,
        body: Box<Expr>,
    },
    /// A pattern in the place of a truth value, or a shortest path in the place of a path.
    Pattern(Box<PathPattern>),
    /// `EXISTS { ... }`; the clauses of a full subquery, or those made of a pattern.
    Exists(Vec<Clause>),
    Call {
        name: String,
        args: Vec<Expr>,
        distinct: bool,
    },
    CountStar,
}
