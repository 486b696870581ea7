//! Tokens to expressions.

use graphlume_expr::cell::Cell;
use graphlume_expr::{Cmp, ErrorCode, QueryError};
use graphlume_types::limits::{QUERY_DEPTH_MAX, QUERY_OPERATORS_MAX, QUERY_TEXT_CHARS_MAX};

use super::lex::{Token, broken, tokens};

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    Xor,
    And,
    Compare(Cmp),
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    In,
    Contains,
    Starts,
    Ends,
    Match,
}

/// What holds of how many items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Any,
    All,
    None,
    Single,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Cell),
    /// A column or a variable; dots are part of the name.
    Name(String),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    IsNull(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Call(String, Vec<Expr>),
    Case(Option<Box<Expr>>, Vec<(Expr, Expr)>, Option<Box<Expr>>),
    List(Vec<Expr>),
    Map(Vec<(String, Expr)>),
    /// A value by its name in a map, a node or an edge.
    Field(Box<Expr>, String),
    Quantified(Quantifier, String, Box<Expr>, Box<Expr>),
    Comprehension(String, Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
}

/// Deepest nesting: each level of brackets takes some calls of the parser.
const DEPTH_MAX: usize = 4 * QUERY_DEPTH_MAX;

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Result<Expr, QueryError> {
    read(text, false)
}

/// Reads a data frame query, in which `|`, `&` and `~` are or, and, not.
pub(crate) fn parse_frame(text: &str) -> Result<Expr, QueryError> {
    read(text, true)
}

fn read(text: &str, frame: bool) -> Result<Expr, QueryError> {
    if text.chars().count() > QUERY_TEXT_CHARS_MAX {
        let message = format!("the expression is longer than {QUERY_TEXT_CHARS_MAX} characters");
        return Err(QueryError::new(ErrorCode::Limit, message));
    }
    let tokens = tokens(text)?;
    // Each operator may be a level of the tree, and the stack ends.
    if tokens.iter().filter(|(t, _)| is_operator(t)).count() > QUERY_OPERATORS_MAX {
        let message = format!("the expression has more than {QUERY_OPERATORS_MAX} operators");
        return Err(QueryError::new(ErrorCode::Limit, message).suggest("test for a list with IN"));
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0, frame };
    let expr = parser.or()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.broken("unexpected text")),
    }
}

fn is_operator(token: &Token) -> bool {
    const WORDS: [&str; 9] = ["and", "or", "xor", "not", "is", "in", "contains", "starts", "ends"];
    match token {
        Token::Symbol(s) => !matches!(*s, "(" | ")" | "]" | "}" | ":" | "," | "."),
        Token::Name(name) => WORDS.iter().any(|w| name.eq_ignore_ascii_case(w)),
        _ => false,
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    frame: bool,
}

type Read = Result<Expr, QueryError>;

fn both(op: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(t, _)| t)
    }

    fn broken(&self, what: &str) -> QueryError {
        let at = self.tokens.get(self.at).map_or(self.text.len(), |(_, at)| *at);
        broken(self.text, at, what)
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(s) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.tokens.get(self.at + ahead).map(|(t, _)| t);
        matches!(token, Some(Token::Name(n)) if n.eq_ignore_ascii_case(word))
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), QueryError> {
        if self.symbol(symbol) {
            Ok(())
        } else {
            Err(self.broken(&format!("{symbol:?} is missing")))
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), QueryError> {
        if self.word(word) { Ok(()) } else { Err(self.broken(&format!("{word} is missing"))) }
    }

    fn or(&mut self) -> Read {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.broken("too many brackets within each other"));
        }
        let mut left = self.xor()?;
        while self.word("or") || self.frame && self.symbol("|") {
            left = both(Binary::Or, left, self.xor()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn xor(&mut self) -> Read {
        let mut left = self.and()?;
        while self.word("xor") {
            left = both(Binary::Xor, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Read {
        let mut left = self.not()?;
        while self.word("and") || self.frame && self.symbol("&") {
            left = both(Binary::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Read {
        let mut negations = 0;
        while self.word("not") || self.frame && self.symbol("~") {
            negations += 1;
        }
        let inner = self.comparison()?;
        Ok((0..negations).fold(inner, |e, _| Expr::Not(Box::new(e))))
    }

    fn comparison(&mut self) -> Read {
        let mut left = self.test()?;
        let mut chained: Option<Expr> = None;
        loop {
            let found =
                CMPS.iter().find(|(s, _)| matches!(self.peek(), Token::Symbol(t) if t == s));
            let Some((_, cmp)) = found else { break };
            self.at += 1;
            let right = self.test()?;
            let one = both(Binary::Compare(*cmp), left, right.clone());
            chained = Some(match chained {
                Some(before) => both(Binary::And, before, one),
                None => one,
            });
            left = right;
        }
        Ok(chained.unwrap_or(left))
    }

    fn test(&mut self) -> Read {
        let mut left = self.sum()?;
        loop {
            left = if self.word("is") {
                let negative = self.word("not");
                self.expect_word("null")?;
                let test = Expr::IsNull(Box::new(left));
                if negative { Expr::Not(Box::new(test)) } else { test }
            } else if self.is_word(0, "not") && self.is_word(1, "in") {
                self.at += 2;
                Expr::Not(Box::new(both(Binary::In, left, self.sum()?)))
            } else if self.word("in") {
                both(Binary::In, left, self.sum()?)
            } else if self.word("contains") {
                both(Binary::Contains, left, self.sum()?)
            } else if self.is_word(0, "starts") && self.is_word(1, "with") {
                self.at += 2;
                both(Binary::Starts, left, self.sum()?)
            } else if self.is_word(0, "ends") && self.is_word(1, "with") {
                self.at += 2;
                both(Binary::Ends, left, self.sum()?)
            } else if self.symbol("=~") {
                both(Binary::Match, left, self.sum()?)
            } else {
                return Ok(left);
            };
        }
    }

    fn sum(&mut self) -> Read {
        let mut left = self.product()?;
        loop {
            let op = if self.symbol("+") {
                Binary::Add
            } else if self.symbol("-") {
                Binary::Sub
            } else {
                return Ok(left);
            };
            left = both(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Read {
        let mut left = self.unary()?;
        loop {
            let op = if self.symbol("*") {
                Binary::Mul
            } else if self.symbol("/") {
                Binary::Div
            } else if self.symbol("%") {
                Binary::Rem
            } else {
                return Ok(left);
            };
            left = both(op, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> Read {
        let mut negative = false;
        loop {
            if self.symbol("-") {
                negative = !negative;
            } else if !self.symbol("+") {
                break;
            }
        }
        let inner = self.postfix()?;
        Ok(if negative { Expr::Negative(Box::new(inner)) } else { inner })
    }

    fn postfix(&mut self) -> Read {
        let mut inner = self.primary()?;
        loop {
            // Dots behind a plain name are part of it.
            if let (Token::Symbol("."), Some(Token::Name(name) | Token::Quoted(name))) =
                (self.peek(), self.tokens.get(self.at + 1).map(|(t, _)| t))
            {
                inner = Expr::Field(Box::new(inner), name.clone());
                self.at += 2;
                continue;
            }
            if !self.symbol("[") {
                return Ok(inner);
            }
            if self.symbol("..") {
                let end = self.until_bracket()?;
                inner = Expr::Slice(Box::new(inner), None, end);
                continue;
            }
            let first = Box::new(self.or()?);
            inner = if self.symbol("..") {
                let end = self.until_bracket()?;
                Expr::Slice(Box::new(inner), Some(first), end)
            } else {
                self.expect("]")?;
                Expr::Index(Box::new(inner), first)
            };
        }
    }

    fn until_bracket(&mut self) -> Result<Option<Box<Expr>>, QueryError> {
        if self.symbol("]") {
            return Ok(None);
        }
        let end = self.or()?;
        self.expect("]")?;
        Ok(Some(Box::new(end)))
    }

    fn primary(&mut self) -> Read {
        let token = self.peek().clone();
        if self.symbol("(") {
            let inner = self.or()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.symbol("[") {
            return self.list();
        }
        if self.symbol("{") {
            return self.map();
        }
        self.at += 1;
        match token {
            Token::Whole(v) => Ok(Expr::Literal(Cell::Scalar(v))),
            Token::Float(v) => Ok(Expr::Literal(Cell::float(v))),
            Token::Text(v) => Ok(Expr::Literal(Cell::string(v))),
            Token::Quoted(name) => Ok(Expr::Name(self.dotted(name))),
            Token::Name(name) => self.named(name),
            _ => {
                self.at -= 1;
                Err(self.broken("an operand is missing"))
            }
        }
    }

    fn named(&mut self, name: String) -> Read {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "true" => return Ok(Expr::Literal(Cell::bool(true))),
            "false" => return Ok(Expr::Literal(Cell::bool(false))),
            "null" | "none" if !matches!(self.peek(), Token::Symbol("(")) => {
                return Ok(Expr::Literal(Cell::NULL));
            }
            "case" => return self.case(),
            _ => {}
        }
        if !self.symbol("(") {
            return Ok(Expr::Name(self.dotted(name)));
        }
        let quantifier = match lower.as_str() {
            "any" => Some(Quantifier::Any),
            "all" => Some(Quantifier::All),
            "none" => Some(Quantifier::None),
            "single" => Some(Quantifier::Single),
            _ => None,
        };
        if let Some(quantifier) = quantifier {
            let (name, list) = self.each()?;
            self.expect_word("where")?;
            let test = Box::new(self.or()?);
            self.expect(")")?;
            return Ok(Expr::Quantified(quantifier, name, list, test));
        }
        let mut args = Vec::new();
        if !self.symbol(")") {
            loop {
                args.push(self.or()?);
                if !self.symbol(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        Ok(Expr::Call(lower, args))
    }

    fn dotted(&mut self, mut name: String) -> String {
        while matches!(self.peek(), Token::Symbol(".")) {
            let next = self.tokens.get(self.at + 1).map(|(t, _)| t.clone());
            let (Some(Token::Name(part)) | Some(Token::Quoted(part))) = next else { break };
            self.at += 2;
            name = format!("{name}.{part}");
        }
        name
    }

    /// `x IN list`.
    fn each(&mut self) -> Result<(String, Box<Expr>), QueryError> {
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.broken("a variable is missing"));
        };
        self.at += 1;
        self.expect_word("in")?;
        Ok((name, Box::new(self.sum()?)))
    }

    fn list(&mut self) -> Read {
        if matches!(self.peek(), Token::Name(_)) && self.is_word(1, "in") {
            let start = self.at;
            let (name, list) = self.each()?;
            let test = if self.word("where") { Some(Box::new(self.or()?)) } else { None };
            let item = if self.symbol("|") { Some(Box::new(self.or()?)) } else { None };
            if self.symbol("]") {
                return Ok(Expr::Comprehension(name, list, test, item));
            }
            self.at = start;
        }
        let mut items = Vec::new();
        if self.symbol("]") {
            return Ok(Expr::List(items));
        }
        loop {
            items.push(self.or()?);
            if !self.symbol(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(Expr::List(items))
    }

    /// `{name: value, ...}`.
    fn map(&mut self) -> Read {
        let mut fields: Vec<(String, Expr)> = Vec::new();
        if self.symbol("}") {
            return Ok(Expr::Map(fields));
        }
        loop {
            let (Token::Name(name) | Token::Quoted(name) | Token::Text(name)) = self.peek().clone()
            else {
                return Err(self.broken("the name of a field is missing"));
            };
            self.at += 1;
            self.expect(":")?;
            let value = self.or()?;
            // As in a map of JSON, the last of several values of one name stands.
            fields.retain(|(other, _)| *other != name);
            fields.push((name, value));
            if !self.symbol(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(Expr::Map(fields))
    }

    fn case(&mut self) -> Read {
        let operand = if self.is_word(0, "when") { None } else { Some(Box::new(self.or()?)) };
        let mut arms = Vec::new();
        while self.word("when") {
            let test = self.or()?;
            self.expect_word("then")?;
            arms.push((test, self.or()?));
        }
        if arms.is_empty() {
            return Err(self.broken("WHEN is missing"));
        }
        let otherwise = if self.word("else") { Some(Box::new(self.or()?)) } else { None };
        self.expect_word("end")?;
        Ok(Expr::Case(operand, arms, otherwise))
    }
}

const CMPS: &[(&str, Cmp)] = &[
    ("=", Cmp::Eq),
    ("==", Cmp::Eq),
    ("<>", Cmp::Ne),
    ("!=", Cmp::Ne),
    ("<", Cmp::Lt),
    ("<=", Cmp::Le),
    (">", Cmp::Gt),
    (">=", Cmp::Ge),
];
