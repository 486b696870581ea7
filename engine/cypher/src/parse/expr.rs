//! Operators, by precedence.

use graphlume_expr::{Cmp, Scalar};

use super::{Parsed, Parser};
use crate::ast::{Binary, Expr, Kind};
use crate::lex::Tok;

const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const TEST: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const POWER: u8 = 9;
const SIGN: u8 = 10;

enum Infix {
    Or,
    And,
    Compare(Cmp),
    Binary(Binary, u8),
    IsNull,
}

impl Parser<'_> {
    /// An expression.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.level(OR)
    }

    /// An expression of operators that bind at least as tightly as `least`.
    pub(super) fn level(&mut self, least: u8) -> Parsed<Expr> {
        self.deeper(|p| {
            let at = p.pos();
            let mut left = p.prefix(least)?;
            // What stands in parentheses of its own is not continued as a chain.
            let mut closed = p.closed_at == Some(p.at);
            // A chain of operators makes a tree as deep as the chain is long.
            let mut links = 0;
            while let Some(infix) = p.infix(least) {
                if !matches!(infix, Infix::Or | Infix::And) {
                    links += 1;
                    p.check_depth(links)?;
                }
                p.depth += links;
                let joined = p.join(left, infix, at, closed);
                p.depth -= links;
                closed = false;
                left = joined?;
            }
            Ok(left)
        })
    }

    fn prefix(&mut self, least: u8) -> Parsed<Expr> {
        let at = self.pos();
        if self.is_word("NOT") && least <= NOT {
            self.next();
            let inner = self.level(NOT)?;
            return Ok(Expr { kind: Kind::Not(Box::new(inner)), at });
        }
        if self.eat("-") {
            // The smallest integer has no positive counterpart.
            if let Tok::Int(n) = *self.kind()
                && !self.is_at(1, ".")
                && !self.is_at(1, "[")
            {
                self.next();
                let value = if n == 1 << 63 { i64::MIN } else { -(n as i64) };
                return Ok(Expr { kind: Kind::Scalar(Scalar::Int(value)), at });
            }
            let inner = self.level(SIGN)?;
            return Ok(Expr { kind: Kind::Neg(Box::new(inner)), at });
        }
        if self.eat("+") {
            let inner = self.level(SIGN)?;
            return Ok(Expr { kind: Kind::Plus(Box::new(inner)), at });
        }
        self.postfix()
    }

    /// The operator that comes next, when it binds tightly enough; nothing is consumed.
    fn infix(&self, least: u8) -> Option<Infix> {
        let (infix, level) = match self.kind() {
            Tok::Sym(symbol) => {
                let of = |op, level| (Infix::Binary(op, level), level);
                let compare = |op| (Infix::Compare(op), COMPARE);
                match *symbol {
                    "=" => compare(Cmp::Eq),
                    "<>" => compare(Cmp::Ne),
                    "<" => compare(Cmp::Lt),
                    "<=" => compare(Cmp::Le),
                    ">" => compare(Cmp::Gt),
                    ">=" => compare(Cmp::Ge),
                    "=~" => of(Binary::Matches, TEST),
                    "+" => of(Binary::Add, SUM),
                    "-" => of(Binary::Sub, SUM),
                    "*" => of(Binary::Mul, PRODUCT),
                    "/" => of(Binary::Div, PRODUCT),
                    "%" => of(Binary::Mod, PRODUCT),
                    "^" => of(Binary::Pow, POWER),
                    _ => return None,
                }
            }
            Tok::Ident(word) => match word.to_ascii_uppercase().as_str() {
                "OR" => (Infix::Or, OR),
                "XOR" => (Infix::Binary(Binary::Xor, XOR), XOR),
                "AND" => (Infix::And, AND),
                "IN" => (Infix::Binary(Binary::In, TEST), TEST),
                "CONTAINS" => (Infix::Binary(Binary::Contains, TEST), TEST),
                "STARTS" if self.is_word_at(1, "WITH") => {
                    (Infix::Binary(Binary::StartsWith, TEST), TEST)
                }
                "ENDS" if self.is_word_at(1, "WITH") => {
                    (Infix::Binary(Binary::EndsWith, TEST), TEST)
                }
                "IS" => (Infix::IsNull, TEST),
                _ => return None,
            },
            _ => return None,
        };
        (level >= least).then_some(infix)
    }

    fn join(&mut self, left: Expr, infix: Infix, offset: usize, closed: bool) -> Parsed<Expr> {
        let kind = match infix {
            Infix::Or => {
                self.next();
                let right = self.level(XOR)?;
                match left.kind {
                    Kind::Or(mut list) if !closed => {
                        list.push(right);
                        Kind::Or(list)
                    }
                    _ => Kind::Or(vec![left, right]),
                }
            }
            Infix::And => {
                self.next();
                let right = self.level(NOT)?;
                match left.kind {
                    Kind::And(mut list) if !closed => {
                        list.push(right);
                        Kind::And(list)
                    }
                    _ => Kind::And(vec![left, right]),
                }
            }
            Infix::Compare(op) => {
                self.next();
                let right = self.level(TEST)?;
                match left.kind {
                    Kind::Compare(first, mut rest) if !closed => {
                        rest.push((op, right));
                        Kind::Compare(first, rest)
                    }
                    _ => Kind::Compare(Box::new(left), vec![(op, right)]),
                }
            }
            Infix::IsNull => {
                self.next();
                let negated = self.eat_word("NOT");
                self.need_word("NULL")?;
                Kind::IsNull(Box::new(left), negated)
            }
            Infix::Binary(op, level) => {
                self.next();
                if matches!(op, Binary::StartsWith | Binary::EndsWith) {
                    self.next();
                }
                let right = self.level(level + 1)?;
                Kind::Binary(op, Box::new(left), Box::new(right))
            }
        };
        Ok(Expr { kind, at: offset })
    }
}
