//! Clauses.

use graphlume_expr::ErrorCode;
use graphlume_types::limits::CYPHER_CLAUSES_MAX;

use super::{Parsed, Parser};
use crate::ast::{Call, Clause, Item, Match, Name, Projection, Union};
use crate::error::placed;
use crate::lex::Tok;

/// Words that begin a clause which changes the graph or the catalogue.
const WRITES: &[&str] = &[
    "CREATE", "MERGE", "DELETE", "DETACH", "SET", "REMOVE", "FOREACH", "LOAD", "DROP", "ALTER",
    "GRANT", "REVOKE", "DENY",
];

impl Parser<'_> {
    /// Queries joined by UNION, up to the end or to a closing brace.
    pub(super) fn union(&mut self, nested: bool) -> Parsed<Union> {
        let mut parts = vec![self.single(nested)?];
        let mut all = Vec::new();
        while self.is_word("UNION") {
            let at = self.pos();
            self.next();
            all.push((self.eat_word("ALL"), at));
            parts.push(self.single(nested)?);
        }
        Ok(Union { parts, all })
    }

    fn single(&mut self, nested: bool) -> Parsed<Vec<Clause>> {
        let mut clauses = Vec::new();
        loop {
            let done = *self.kind() == Tok::Eof
                || self.is(";")
                || self.is_word("UNION")
                || nested && self.is("}");
            if done {
                break;
            }
            if matches!(clauses.last(), Some(Clause::Return(_))) {
                return Err(self.unexpected("the end of the query after RETURN"));
            }
            self.count_clause()?;
            let clause = self.clause()?;
            clauses.push(clause);
        }
        match clauses.last() {
            None => Err(self.unexpected("a clause such as MATCH or RETURN")),
            Some(Clause::Return(_)) => Ok(clauses),
            Some(Clause::Call(_)) if clauses.len() == 1 => Ok(clauses),
            Some(Clause::Match(_)) if nested => Ok(clauses),
            Some(_) => Err(self.error("a query must end with RETURN").suggest("add RETURN")),
        }
    }

    /// Counts a clause of the text.
    pub(super) fn count_clause(&mut self) -> Parsed<()> {
        self.clauses += 1;
        if self.clauses > CYPHER_CLAUSES_MAX {
            let what = format!("the query has more than {CYPHER_CLAUSES_MAX} clauses");
            return Err(placed(ErrorCode::Limit, self.text, self.pos(), what));
        }
        Ok(())
    }

    fn clause(&mut self) -> Parsed<Clause> {
        let at = self.pos();
        if self.eat_word("MATCH") {
            return self.match_clause(false, at).map(Clause::Match);
        }
        if self.eat_word("OPTIONAL") {
            self.need_word("MATCH")?;
            return self.match_clause(true, at).map(Clause::Match);
        }
        if self.eat_word("UNWIND") {
            let list = self.expr()?;
            self.need_word("AS")?;
            let name = self.variable()?;
            return Ok(Clause::Unwind { list, name });
        }
        if self.eat_word("WITH") {
            let body = self.projection(at)?;
            let filter = if self.eat_word("WHERE") { Some(self.expr()?) } else { None };
            return Ok(Clause::With { body, filter });
        }
        if self.eat_word("RETURN") {
            return self.projection(at).map(Clause::Return);
        }
        if self.eat_word("CALL") {
            return self.call().map(Clause::Call);
        }
        if let Some(word) = WRITES.iter().find(|w| self.is_word(w)) {
            return Err(self
                .error(format!("{word} is no clause here: queries only read"))
                .suggest("use MATCH, OPTIONAL MATCH, UNWIND, WITH, CALL and RETURN"));
        }
        Err(self.unexpected("a clause such as MATCH, WITH or RETURN"))
    }

    pub(super) fn match_clause(&mut self, optional: bool, offset: usize) -> Parsed<Match> {
        let mut parts = vec![self.part(true)?];
        while self.eat(",") {
            parts.push(self.part(true)?);
        }
        let filter = if self.eat_word("WHERE") { Some(self.expr()?) } else { None };
        Ok(Match { optional, parts, filter, at: offset })
    }

    fn projection(&mut self, offset: usize) -> Parsed<Projection> {
        let distinct = self.eat_word("DISTINCT");
        let star = self.eat("*");
        let mut items = Vec::new();
        if !star || self.eat(",") {
            items.push(self.item()?);
            while self.eat(",") {
                items.push(self.item()?);
            }
        }
        let mut order = Vec::new();
        if self.eat_word("ORDER") {
            self.need_word("BY")?;
            loop {
                let key = self.expr()?;
                let down = self.eat_word("DESC") || self.eat_word("DESCENDING");
                if !down && !self.eat_word("ASC") {
                    self.eat_word("ASCENDING");
                }
                order.push((key, down));
                if !self.eat(",") {
                    break;
                }
            }
        }
        let skip = if self.eat_word("SKIP") { Some(self.expr()?) } else { None };
        let limit = if self.eat_word("LIMIT") { Some(self.expr()?) } else { None };
        Ok(Projection { distinct, star, items, order, skip, limit, at: offset })
    }

    fn item(&mut self) -> Parsed<Item> {
        let at = self.pos();
        let expr = self.expr()?;
        let written = self.text.get(at..self.last_end()).unwrap_or_default().to_owned();
        if self.eat_word("AS") {
            let name = self.variable()?;
            return Ok(Item { expr, name, aliased: true });
        }
        let text = match &expr.kind {
            crate::ast::Kind::Var(name) => name.clone(),
            _ => written,
        };
        Ok(Item { expr, name: Name { text, at }, aliased: false })
    }

    pub(super) fn call(&mut self) -> Parsed<Call> {
        let at = self.pos();
        let mut text = self.schema_name("the name of a procedure")?;
        while self.eat(".") {
            text.push('.');
            text.push_str(&self.schema_name("the name of a procedure")?);
        }
        let name = Name { text, at };
        let mut args = None;
        if self.eat("(") {
            args = Some(self.list_until(")")?);
        }
        let (mut yields, mut star, mut filter) = (None, false, None);
        if self.eat_word("YIELD") {
            let mut list = Vec::new();
            if self.eat("*") {
                star = true;
            } else if !self.eat("-") {
                loop {
                    let at = self.pos();
                    let from = Name { text: self.schema_name("a result column")?, at };
                    let to = if self.eat_word("AS") { self.variable()? } else { from.clone() };
                    list.push((from, to));
                    if !self.eat(",") {
                        break;
                    }
                }
            }
            yields = Some(list);
            if self.eat_word("WHERE") {
                filter = Some(self.expr()?);
            }
        }
        Ok(Call { name, args, yields, star, filter })
    }
}

impl Parser<'_> {
    /// Reading clauses and the patterns of the CREATE clauses behind them; for set-ups of tests only.
    pub(crate) fn creating(&mut self) -> Parsed<(Vec<Clause>, Vec<crate::ast::PathPattern>)> {
        let mut clauses = Vec::new();
        while *self.kind() != Tok::Eof && !self.is_word("CREATE") {
            clauses.push(self.clause()?);
        }
        let mut parts = Vec::new();
        while self.eat_word("CREATE") {
            parts.push(self.part(true)?);
            while self.eat(",") {
                parts.push(self.part(true)?);
            }
        }
        self.eat(";");
        self.end()?;
        Ok((clauses, parts))
    }
}
