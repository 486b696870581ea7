//! From tokens to a tree whose leaves are tests of one column.

use graphlume_expr::{Cmp, QueryError, Scalar};

use super::lex::{Kind, Token, tokens, wrong};
use crate::rule::Axis;

/// Characters of an expression.
const CHARS_MAX: usize = 1 << 16;
/// Brackets and negations within each other.
const DEPTH_MAX: usize = 64;

/// A column as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    /// What was written before its colon.
    pub(crate) axis: Option<Axis>,
    /// The name.
    pub(crate) name: String,
    /// Where it begins, in characters from 1.
    pub(crate) at: usize,
}

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Literal {
    /// The value.
    pub(crate) value: Scalar,
    /// Where it begins, in characters from 1.
    pub(crate) at: usize,
}

/// What is asked of the cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// A comparison.
    Compare(Cmp, Literal),
    /// Whether it is one of some.
    In(Vec<Literal>),
    /// Whether it is between two, both included.
    Between(Literal, Literal),
    /// Whether a text is like a pattern, perhaps in any case.
    Like(Literal, bool),
    /// Whether it is null.
    IsNull,
}

/// An expression. A negation stands at the tests alone, where it holds for the cells that have a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A test, or with `true` its negation.
    Test(Name, Test, bool),
    /// All of them.
    And(Vec<Expr>),
    /// One of them.
    Or(Vec<Expr>),
}

impl Expr {
    /// The negation: of a conjunction one of the negations, and the other way round.
    fn negated(self) -> Self {
        let all = |list: Vec<Self>| list.into_iter().map(Self::negated).collect();
        match self {
            Self::Test(name, test, not) => Self::Test(name, test, !not),
            Self::And(list) => Self::Or(all(list)),
            Self::Or(list) => Self::And(all(list)),
        }
    }

    /// The columns, as they stand in the text.
    pub(crate) fn names(&self) -> Vec<&Name> {
        match self {
            Self::Test(name, ..) => vec![name],
            Self::And(list) | Self::Or(list) => list.iter().flat_map(Self::names).collect(),
        }
    }
}

/// Reads an expression.
///
/// # Errors
/// [`QueryError`] with the character at fault.
pub(crate) fn parse(text: &str) -> Result<Expr, QueryError> {
    let chars = text.chars().count();
    if chars > CHARS_MAX {
        return Err(wrong(CHARS_MAX, format!("the expression of {chars} characters has to end"))
            .suggest("select the elements and keep the selection instead"));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, place: 0, depth: 0 };
    let expr = parser.or()?;
    match parser.peek().kind {
        Kind::End => Ok(expr),
        _ => Err(parser
            .unexpected("and, or, or the end")
            .suggest("join two comparisons by and or or")),
    }
}

/// Words that are no names unless they are quoted.
const KEYWORDS: [&str; 11] =
    ["and", "or", "not", "in", "between", "like", "ilike", "is", "null", "true", "false"];

struct Parser<'a> {
    tokens: &'a [Token],
    place: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.place.min(self.tokens.len() - 1)]
    }

    /// The token, which is thereby read.
    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.place += 1;
        token
    }

    fn is_keyword(&self, word: &str) -> bool {
        matches!(&self.peek().kind, Kind::Word(w) if w.eq_ignore_ascii_case(word))
    }

    /// Reads a word of the grammar if it is the next.
    fn keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(word);
        self.place += usize::from(found);
        found
    }

    fn sign(&mut self, sign: char) -> bool {
        let found = self.peek().kind == Kind::Sign(sign);
        self.place += usize::from(found);
        found
    }

    fn unexpected(&self, wanted: &str) -> QueryError {
        let token = self.peek();
        let found = match &token.kind {
            Kind::Word(w) => format!("the word {w:?}"),
            Kind::Text(w) | Kind::Quoted(w) | Kind::Name(w) => format!("the text {w:?}"),
            Kind::Number(v) => match v {
                Scalar::Int(v) => format!("the number {v}"),
                Scalar::UInt(v) => format!("the number {v}"),
                Scalar::Float(v) => format!("the number {v}"),
                _ => "a number".to_owned(),
            },
            Kind::Cmp(_) => "a comparison".to_owned(),
            Kind::Sign(c) => format!("the sign {c:?}"),
            Kind::End => "the end".to_owned(),
        };
        wrong(token.at, format!("{wanted} is expected, and there is {found}"))
    }

    /// Goes one level deeper for `read`.
    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Expr, QueryError>,
    ) -> Result<Expr, QueryError> {
        if self.depth == DEPTH_MAX {
            let text =
                format!("more than {DEPTH_MAX} brackets and negations stand within each other");
            return Err(wrong(self.peek().at, text).suggest("leave out brackets"));
        }
        self.depth += 1;
        let made = read(self);
        self.depth -= 1;
        made
    }

    fn or(&mut self) -> Result<Expr, QueryError> {
        let mut list = vec![self.and()?];
        while self.keyword("or") {
            list.push(self.and()?);
        }
        Ok(if list.len() > 1 { Expr::Or(list) } else { list.swap_remove(0) })
    }

    fn and(&mut self) -> Result<Expr, QueryError> {
        let mut list = vec![self.not()?];
        while self.keyword("and") {
            list.push(self.not()?);
        }
        Ok(if list.len() > 1 { Expr::And(list) } else { list.swap_remove(0) })
    }

    fn not(&mut self) -> Result<Expr, QueryError> {
        if self.keyword("not") {
            return Ok(self.deeper(Self::not)?.negated());
        }
        if self.sign('(') {
            let inner = self.deeper(Self::or)?;
            return if self.sign(')') {
                Ok(inner)
            } else {
                Err(self.unexpected("a closing bracket"))
            };
        }
        self.test()
    }

    fn test(&mut self) -> Result<Expr, QueryError> {
        let starts_value = match &self.peek().kind {
            Kind::Number(_) | Kind::Text(_) => true,
            Kind::Word(w) => ["true", "false", "null"].iter().any(|k| w.eq_ignore_ascii_case(k)),
            _ => false,
        };
        if starts_value {
            let value = self.value()?;
            let Kind::Cmp(cmp) = self.peek().kind else {
                return Err(self.unexpected("a comparison").suggest("for example degree > 3"));
            };
            self.place += 1;
            let name = self.name()?;
            return Ok(Expr::Test(name, Test::Compare(cmp.turned(), value), false));
        }
        let name = self.name()?;
        if let Kind::Cmp(cmp) = self.peek().kind {
            self.place += 1;
            let value = self.value()?;
            return Ok(Expr::Test(name, Test::Compare(cmp, value), false));
        }
        if self.keyword("is") {
            let not = self.keyword("not");
            return match self.keyword("null") {
                true => Ok(Expr::Test(name, Test::IsNull, not)),
                false => Err(self
                    .unexpected("null")
                    .suggest("write is null, is not null, or = for a value")),
            };
        }
        let not = self.keyword("not");
        let test = if self.keyword("in") {
            Test::In(self.list()?)
        } else if self.keyword("between") {
            let low = self.value()?;
            if !self.keyword("and") {
                return Err(self.unexpected("and").suggest("for example degree between 3 and 9"));
            }
            Test::Between(low, self.value()?)
        } else if self.is_keyword("like") || self.is_keyword("ilike") {
            let fold = self.is_keyword("ilike");
            self.place += 1;
            let pattern = self.value()?;
            if !matches!(pattern.value, Scalar::Text(_)) {
                return Err(wrong(pattern.at, "a text in quotes is expected")
                    .suggest("for example name like 'a%'"));
            }
            Test::Like(pattern, fold)
        } else {
            let wanted = if not { "in, between, like or ilike" } else { "a comparison" };
            let hint = match self.peek().kind {
                Kind::Sign('(') => "there are no functions: compare a column with a value",
                _ => "for example degree > 3, kind in ('a', 'b') or name is null",
            };
            return Err(self.unexpected(wanted).suggest(hint));
        };
        Ok(Expr::Test(name, test, not))
    }

    fn list(&mut self) -> Result<Vec<Literal>, QueryError> {
        if !self.sign('(') {
            return Err(self
                .unexpected("an opening bracket")
                .suggest("for example kind in ('a', 'b')"));
        }
        let mut list = vec![self.value()?];
        while self.sign(',') {
            list.push(self.value()?);
        }
        match self.sign(')') {
            true => Ok(list),
            false => Err(self.unexpected("a comma or a closing bracket")),
        }
    }

    fn name(&mut self) -> Result<Name, QueryError> {
        let first = self.peek().clone();
        let follows = self.tokens.get(self.place + 1);
        if let (Kind::Word(word), Some(Token { kind: Kind::Sign(':'), joined: true, .. })) =
            (&first.kind, follows)
        {
            let Some(axis) = Axis::of(&word.to_lowercase()) else {
                return Err(wrong(first.at, format!("{word:?} is no kind of element")).suggest(
                    "write point: for nodes, edge: for edges, or the whole name in backticks",
                ));
            };
            self.place += 2;
            let Name { name, .. } = self.plain_name()?;
            return Ok(Name { axis: Some(axis), name, at: first.at });
        }
        self.plain_name()
    }

    fn plain_name(&mut self) -> Result<Name, QueryError> {
        let token = self.peek();
        let name = match &token.kind {
            Kind::Word(w) if !KEYWORDS.iter().any(|k| w.eq_ignore_ascii_case(k)) => w.clone(),
            Kind::Quoted(w) | Kind::Name(w) => w.clone(),
            _ => {
                return Err(self.unexpected("the name of a column").suggest(
                    "for example point:degree > 3; a name that is a word of the grammar or has spaces goes into backticks",
                ));
            }
        };
        let at = token.at;
        self.place += 1;
        Ok(Name { axis: None, name, at })
    }

    fn value(&mut self) -> Result<Literal, QueryError> {
        let token = self.next();
        let value = match token.kind {
            Kind::Number(v) => v,
            Kind::Text(text) | Kind::Quoted(text) => Scalar::text(text),
            Kind::Word(ref w) if w.eq_ignore_ascii_case("true") => Scalar::Bool(true),
            Kind::Word(ref w) if w.eq_ignore_ascii_case("false") => Scalar::Bool(false),
            Kind::Word(ref w) if w.eq_ignore_ascii_case("null") => Scalar::Null,
            kind => {
                self.place -= 1;
                let error = self.unexpected("a value");
                return Err(match kind {
                    Kind::Word(w) => error.suggest(format!(
                        "a text goes into quotes: '{w}'; columns are compared with values alone"
                    )),
                    _ => error.suggest("a number, a text in quotes, true, false or null"),
                });
            }
        };
        Ok(Literal { value, at: token.at })
    }
}
