//! Tokens to syntax tree, by recursive descent with precedences. Depth and work are bounded.

mod atom;
mod clause;
mod expr;
mod pattern;
mod stage;

use std::collections::HashSet;

use graphlume_expr::{ErrorCode, QueryError, nearest};
use graphlume_types::limits::{CYPHER_DEPTH_MAX, CYPHER_TEXT_CHARS_MAX};

use crate::ast::Name;
use crate::error::{placed, syntax};
use crate::lex::{Tok, Token, lex};

type Parsed<T> = Result<T, QueryError>;

/// How often a token may be looked at on average while readings are tried.
const LOOKS_PER_TOKEN: usize = 64;

/// Words that cannot name a variable without backticks.
const RESERVED: &[&str] = &[
    "MATCH", "OPTIONAL", "WHERE", "WITH", "RETURN", "UNWIND", "UNION", "ORDER", "SKIP", "LIMIT",
    "AND", "OR", "XOR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE",
    "END", "AS", "DISTINCT", "STARTS", "ENDS", "CONTAINS", "CREATE", "MERGE", "DELETE", "DETACH",
    "SET", "REMOVE", "CALL", "YIELD", "FOREACH",
];

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    looks: usize,
    clauses: usize,
    /// Places where a pattern was tried and is none.
    no_pattern: HashSet<usize>,
    /// Token behind the last expression in parentheses.
    closed_at: Option<usize>,
}

pub(crate) use stage::parse;

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Parsed<Self> {
        let chars = text.chars().count();
        if chars > CYPHER_TEXT_CHARS_MAX {
            let what = format!("the query has {chars} characters, {CYPHER_TEXT_CHARS_MAX} may be");
            return Err(QueryError::new(ErrorCode::Limit, what).field("query"));
        }
        let tokens = lex(text)?;
        let looks = 10_000 + tokens.len() * LOOKS_PER_TOKEN;
        let no_pattern = HashSet::new();
        Ok(Self { text, tokens, at: 0, depth: 0, looks, clauses: 0, no_pattern, closed_at: None })
    }

    fn kind(&self) -> &Tok {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Tok {
        self.tokens.get(self.at + n).map_or(&Tok::Eof, |t| &t.kind)
    }

    /// Byte where the next token starts.
    fn pos(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |t| t.start)
    }

    /// Byte where the last token ended.
    fn last_end(&self) -> usize {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.end)
    }

    fn next(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len());
        self.looks = self.looks.saturating_sub(1);
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.kind(), Tok::Sym(s) if *s == symbol)
    }

    fn is_at(&self, n: usize, symbol: &str) -> bool {
        matches!(self.ahead(n), Tok::Sym(s) if *s == symbol)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.next();
        }
        found
    }

    fn need(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.unexpected(&format!("{symbol:?}"))) }
    }

    fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    fn is_word_at(&self, n: usize, word: &str) -> bool {
        matches!(self.ahead(n), Tok::Ident(name) if name.eq_ignore_ascii_case(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn need_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    fn end(&self) -> Parsed<()> {
        if *self.kind() == Tok::Eof { Ok(()) } else { Err(self.unexpected("the end of the query")) }
    }

    fn error(&self, what: impl Into<String>) -> QueryError {
        syntax(self.text, self.pos(), what)
    }

    fn unexpected(&self, wanted: &str) -> QueryError {
        let found = match self.kind() {
            Tok::Eof => "the end of the query".to_owned(),
            _ => {
                let token = self.tokens.get(self.at);
                let text = token.and_then(|t| self.text.get(t.start..t.end)).unwrap_or_default();
                format!("{:?}", text.chars().take(30).collect::<String>())
            }
        };
        let error = self.error(format!("expected {wanted}, found {found}"));
        match self.kind() {
            Tok::Ident(word) => match nearest(word, RESERVED) {
                Some(near) if !near.eq_ignore_ascii_case(word) => {
                    error.suggest(format!("did you mean {near}?"))
                }
                _ => error,
            },
            _ => error,
        }
    }

    /// Runs one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.check_depth(1)?;
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Refuses when `more` levels would be too many, or too many readings were tried.
    fn check_depth(&self, more: usize) -> Parsed<()> {
        if self.depth + more > CYPHER_DEPTH_MAX || self.looks == 0 {
            let what = format!("the query nests deeper than {CYPHER_DEPTH_MAX} levels");
            return Err(placed(ErrorCode::Limit, self.text, self.pos(), what)
                .suggest("write long sums as a list, or use WITH for intermediate results"));
        }
        Ok(())
    }

    /// Tries a reading and takes it back when it fails, unless a limit was met.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        let (at, depth) = (self.at, self.depth);
        match read(self) {
            Ok(found) => Ok(Some(found)),
            Err(e) if e.error_code() == ErrorCode::Limit => Err(e),
            Err(_) => {
                (self.at, self.depth) = (at, depth);
                Ok(None)
            }
        }
    }

    /// A name where keywords may stand too: labels, types, properties.
    fn schema_name(&mut self, what: &str) -> Parsed<String> {
        match self.kind() {
            Tok::Ident(name) | Tok::Quoted(name) => {
                let name = name.clone();
                self.next();
                Ok(name)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// A name for a variable.
    fn variable(&mut self) -> Parsed<Name> {
        let at = self.pos();
        match self.kind() {
            Tok::Ident(name) if is_reserved(name) => Err(self.unexpected("a variable")),
            Tok::Ident(name) | Tok::Quoted(name) => {
                let text = name.clone();
                self.next();
                Ok(Name { text, at })
            }
            _ => Err(self.unexpected("a variable")),
        }
    }

    fn variable_ahead(&self) -> bool {
        match self.kind() {
            Tok::Ident(name) => !is_reserved(name),
            Tok::Quoted(_) => true,
            _ => false,
        }
    }
}

fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|r| r.eq_ignore_ascii_case(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[test]
    fn deep_nesting_is_refused_and_never_overflows() {
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{a: ", "}"), ("NOT ", ""), ("-", ""), ("f(", ")")]
        {
            let text = format!("RETURN {}1{}", open.repeat(20_000), close.repeat(20_000));
            let text = text.chars().take(90_000).collect::<String>();
            assert!(parse(&text).is_err());
        }
        assert!(parse(&format!("RETURN 1{}", "+1".repeat(20_000))).is_err());
        assert!(parse(&format!("RETURN a{}", ".b".repeat(20_000))).is_err());
        assert!(parse(&format!("RETURN true{}", " AND true".repeat(5_000))).is_ok());
    }

    #[test]
    fn errors_say_where_and_what_instead() {
        let e = parse("MATCH (n)\nRETRUN n").unwrap_err().to_string();
        assert!(e.contains("line 2, column 1") && e.contains("did you mean RETURN?"), "{e}");
        let e = parse("MATCH (n) SET n.x = 1 RETURN n").unwrap_err().to_string();
        assert!(e.starts_with("[invalid-cypher-syntax]") && e.contains("SET"), "{e}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_words_are_read_or_refused(words in proptest::collection::vec(
            proptest::sample::select(vec![
                "MATCH", "(a)", "(", ")", "[", "]", "{", "}", "-", "->", "<-", "RETURN", "WITH", "a",
                "b", ".", "..", "*", "1", "2.5", "'x'", ":", "|", ",", "IN", "all", "reduce", "CASE",
                "WHEN", "THEN", "END", "EXISTS", "count", "$p", "=", "<", "NOT", "AND", "UNION", "AS",
                "WHERE", "UNWIND", "shortestPath", "ORDER BY", "null",
            ]), 0..40)) {
            let _ = parse(&words.join(" "));
        }
    }
}
