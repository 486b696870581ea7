//! Operands: literals, calls, brackets and what follows an operand.

use graphlume_expr::Scalar;

use super::{Parsed, Parser};
use crate::ast::{Clause, Expr, Kind, Match, Name, PathPattern, Projected, Quantifier};
use crate::lex::Tok;

impl Parser<'_> {
    /// An operand with its property accesses, subscripts and labels.
    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let at = self.pos();
        let mut expr = self.atom()?;
        let mut links = 0;
        loop {
            let kind = if self.is(".") {
                self.next();
                Kind::Prop(Box::new(expr), self.schema_name("a property name")?)
            } else if self.is("[") {
                self.next();
                self.subscript(expr)?
            } else if self.is(":") && self.label_follows(&expr) {
                Kind::HasLabels(Box::new(expr), self.labels()?)
            } else {
                return Ok(expr);
            };
            links += 1;
            self.check_depth(links)?;
            expr = Expr { kind, at };
        }
    }

    /// In a map projection or a CASE no colon follows a variable, so one here begins labels.
    fn label_follows(&self, expr: &Expr) -> bool {
        matches!(self.ahead(1), Tok::Ident(_) | Tok::Quoted(_))
            && matches!(
                expr.kind,
                Kind::Var(_)
                    | Kind::Prop(..)
                    | Kind::Call { .. }
                    | Kind::Index(..)
                    | Kind::Scalar(Scalar::Null)
            )
    }

    fn subscript(&mut self, expr: Expr) -> Parsed<Kind> {
        let expr = Box::new(expr);
        if self.eat("..") {
            let to = if self.is("]") { None } else { Some(Box::new(self.expr()?)) };
            self.need("]")?;
            return Ok(Kind::Slice(expr, None, to));
        }
        let first = Box::new(self.expr()?);
        if self.eat("..") {
            let to = if self.is("]") { None } else { Some(Box::new(self.expr()?)) };
            self.need("]")?;
            return Ok(Kind::Slice(expr, Some(first), to));
        }
        self.need("]")?;
        Ok(Kind::Index(expr, first))
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let at = self.pos();
        let kind = match self.kind().clone() {
            Tok::Int(n) => {
                let Ok(n) = i64::try_from(n) else {
                    let refusal = self.error(format!("{n} does not fit into 64 bits"));
                    return Err(refusal.suggest("give it as a parameter, or as toInteger('...')"));
                };
                self.next();
                Kind::Scalar(Scalar::Int(n))
            }
            Tok::Float(v) => {
                self.next();
                Kind::Scalar(Scalar::Float(v))
            }
            Tok::Str(text) => {
                self.next();
                Kind::Scalar(Scalar::text(text))
            }
            Tok::Param(name) => {
                self.next();
                Kind::Param(name)
            }
            Tok::Sym("(") => return self.parenthesis(),
            Tok::Sym("[") => self.bracket()?,
            Tok::Sym("{") => Kind::Map(self.entries()?),
            Tok::Quoted(name) => {
                self.next();
                self.projection_of(name, at)?
            }
            Tok::Ident(word) => self.word(&word)?,
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, at })
    }

    fn parenthesis(&mut self) -> Parsed<Expr> {
        let at = self.pos();
        if let Some(part) = self.pattern_here()? {
            return Ok(Expr { kind: Kind::Pattern(Box::new(part)), at });
        }
        self.need("(")?;
        let inner = self.expr()?;
        self.need(")")?;
        self.closed_at = Some(self.at);
        Ok(inner)
    }

    /// A pattern with a relationship, when there is one here.
    fn pattern_here(&mut self) -> Parsed<Option<PathPattern>> {
        let start = self.at;
        if self.no_pattern.contains(&start) {
            return Ok(None);
        }
        let found = self.attempt(|p| {
            let part = p.part(false)?;
            if part.rels.is_empty() { Err(p.unexpected("a relationship")) } else { Ok(part) }
        })?;
        if found.is_none() {
            self.no_pattern.insert(start);
        }
        Ok(found)
    }

    fn bracket(&mut self) -> Parsed<Kind> {
        self.need("[")?;
        if self.variable_ahead() && self.is_word_at(1, "IN") {
            return self.list_comprehension();
        }
        let named = self.variable_ahead() && self.is_at(1, "=") && self.is_at(2, "(");
        if self.is("(") || named {
            let start = self.at;
            let comprehension = self.attempt(|p| {
                let name = if named { Some(p.variable()?) } else { None };
                if named {
                    p.next();
                }
                let Some(mut part) = p.pattern_here()? else {
                    return Err(p.unexpected("a pattern"));
                };
                part.name = name;
                if p.is("|") || p.is_word("WHERE") { Ok(part) } else { Err(p.unexpected("|")) }
            })?;
            if let Some(part) = comprehension {
                let filter =
                    if self.eat_word("WHERE") { Some(Box::new(self.expr()?)) } else { None };
                self.need("|")?;
                let body = Box::new(self.expr()?);
                self.need("]")?;
                return Ok(Kind::PatternComp { part: Box::new(part), filter, body });
            }
            self.at = start;
        }
        Ok(Kind::List(self.list_until("]")?))
    }

    fn list_comprehension(&mut self) -> Parsed<Kind> {
        let name = self.variable()?;
        self.need_word("IN")?;
        let list = Box::new(self.expr()?);
        let filter = if self.eat_word("WHERE") { Some(Box::new(self.expr()?)) } else { None };
        let body = if self.eat("|") { Some(Box::new(self.expr()?)) } else { None };
        self.need("]")?;
        Ok(Kind::ListComp { name, list, filter, body })
    }

    /// Expressions separated by commas, and the closing bracket.
    pub(super) fn list_until(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        if self.eat(close) {
            return Ok(list);
        }
        loop {
            list.push(self.expr()?);
            if self.eat(close) {
                return Ok(list);
            }
            self.need(",")?;
        }
    }

    /// `{name: expression, ...}`
    pub(super) fn entries(&mut self) -> Parsed<Vec<(String, Expr)>> {
        self.need("{")?;
        let mut entries = Vec::new();
        if self.eat("}") {
            return Ok(entries);
        }
        loop {
            let key = self.schema_name("a key")?;
            self.need(":")?;
            entries.push((key, self.expr()?));
            if self.eat("}") {
                return Ok(entries);
            }
            self.need(",")?;
        }
    }

    fn word(&mut self, word: &str) -> Parsed<Kind> {
        let at = self.pos();
        let upper = word.to_ascii_uppercase();
        match upper.as_str() {
            "NULL" | "TRUE" | "FALSE" => {
                self.next();
                return Ok(match upper.as_str() {
                    "NULL" => Kind::Scalar(Scalar::Null),
                    truth => Kind::Scalar(Scalar::Bool(truth == "TRUE")),
                });
            }
            "CASE" => return self.case(),
            "EXISTS" if self.is_at(1, "{") => return self.exists(),
            "SHORTESTPATH" | "ALLSHORTESTPATHS" if self.is_at(1, "(") => {
                return Ok(Kind::Pattern(Box::new(self.part(false)?)));
            }
            "COUNT" if self.is_at(1, "(") && self.is_at(2, "*") && self.is_at(3, ")") => {
                (0..4).for_each(|_| self.next());
                return Ok(Kind::CountStar);
            }
            "ANY" | "ALL" | "NONE" | "SINGLE" if self.is_at(1, "(") => {
                let kind = match upper.as_str() {
                    "ANY" => Quantifier::Any,
                    "ALL" => Quantifier::All,
                    "NONE" => Quantifier::None,
                    _ => Quantifier::Single,
                };
                return self.quantified(kind);
            }
            "REDUCE" if self.is_at(1, "(") => return self.reduce(),
            _ => {}
        }
        if let Some(name) = self.function_name() {
            let distinct = self.eat_word("DISTINCT");
            return Ok(Kind::Call { name, args: self.list_until(")")?, distinct });
        }
        let name = self.variable()?;
        self.projection_of(name.text, at)
    }

    /// A dotted name with a parenthesis behind it; consumes both.
    fn function_name(&mut self) -> Option<String> {
        let mut n = 0;
        let mut name = String::new();
        loop {
            match self.ahead(n) {
                Tok::Ident(part) | Tok::Quoted(part) => name.push_str(part),
                _ => return None,
            }
            if self.is_at(n + 1, "(") {
                (0..n + 2).for_each(|_| self.next());
                return Some(name);
            }
            if !self.is_at(n + 1, ".") {
                return None;
            }
            name.push('.');
            n += 2;
        }
    }

    fn projection_of(&mut self, name: String, offset: usize) -> Parsed<Kind> {
        if !self.is("{") {
            return Ok(Kind::Var(name));
        }
        self.need("{")?;
        let mut items = Vec::new();
        while !self.eat("}") {
            if !items.is_empty() {
                self.need(",")?;
            }
            items.push(if self.eat(".") {
                if self.eat("*") {
                    Projected::All
                } else {
                    Projected::Property(self.schema_name("a property name")?)
                }
            } else if self.is_at(1, ":") {
                let key = self.schema_name("a key")?;
                self.next();
                Projected::Entry(key, self.expr()?)
            } else {
                Projected::Variable(self.variable()?)
            });
        }
        Ok(Kind::MapProjection(Box::new(Expr { kind: Kind::Var(name), at: offset }), items))
    }

    fn case(&mut self) -> Parsed<Kind> {
        self.next();
        let subject = if self.is_word("WHEN") { None } else { Some(Box::new(self.expr()?)) };
        let mut arms = Vec::new();
        while self.eat_word("WHEN") {
            let when = self.expr()?;
            self.need_word("THEN")?;
            arms.push((when, self.expr()?));
        }
        if arms.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.eat_word("ELSE") { Some(Box::new(self.expr()?)) } else { None };
        self.need_word("END")?;
        Ok(Kind::Case { subject, arms, otherwise })
    }

    fn exists(&mut self) -> Parsed<Kind> {
        let at = self.pos();
        self.next();
        self.need("{")?;
        let clause_ahead = ["MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "CALL"]
            .iter()
            .any(|w| self.is_word(w) && !self.is_at(1, "="));
        let writes = ["CREATE", "MERGE", "DELETE", "DETACH", "SET", "REMOVE", "FOREACH"];
        let clauses = if clause_ahead || writes.iter().any(|w| self.is_word(w)) {
            let union = self.deeper(|p| p.union(true))?;
            match <[Vec<Clause>; 1]>::try_from(union.parts) {
                Ok([clauses]) => clauses,
                Err(_) => return Err(self.error("UNION is not possible inside of EXISTS")),
            }
        } else {
            let mut parts = vec![self.deeper(|p| p.part(true))?];
            while self.eat(",") {
                parts.push(self.deeper(|p| p.part(true))?);
            }
            let filter = if self.eat_word("WHERE") { Some(self.expr()?) } else { None };
            vec![Clause::Match(Match { optional: false, parts, filter, at })]
        };
        self.need("}")?;
        Ok(Kind::Exists(clauses))
    }

    fn quantified(&mut self, kind: Quantifier) -> Parsed<Kind> {
        self.next();
        self.next();
        let name = self.variable()?;
        self.need_word("IN")?;
        let list = Box::new(self.expr()?);
        let filter = if self.eat_word("WHERE") { Some(Box::new(self.expr()?)) } else { None };
        self.need(")")?;
        Ok(Kind::Quantified { kind, name, list, filter })
    }

    fn reduce(&mut self) -> Parsed<Kind> {
        self.next();
        self.next();
        let acc: Name = self.variable()?;
        self.need("=")?;
        let init = Box::new(self.expr()?);
        self.need(",")?;
        let name = self.variable()?;
        self.need_word("IN")?;
        let list = Box::new(self.expr()?);
        self.need("|")?;
        let body = Box::new(self.expr()?);
        self.need(")")?;
        Ok(Kind::Reduce { acc, init, name, list, body })
    }
}
