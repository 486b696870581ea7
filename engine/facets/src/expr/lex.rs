//! Words, quotes, numbers and signs of an expression, each with its place.

use graphlume_expr::{Cmp, ErrorCode, QueryError, Scalar};

/// What one token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A word without quotes.
    Word(String),
    /// A text in `'…'`, which is a value.
    Text(String),
    /// A text in `"…"`, which is a name where a name may stand, and else a value.
    Quoted(String),
    /// A text in backticks, which is a name.
    Name(String),
    /// A number.
    Number(Scalar),
    /// A comparison.
    Cmp(Cmp),
    /// One of `( ) , :`.
    Sign(char),
    /// Behind the last character.
    End,
}

/// A token and where it begins, in characters from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
    /// Whether it follows the token before it without a gap.
    pub(super) joined: bool,
}

/// An error of an expression at a character.
pub(super) fn wrong(offset: usize, what: impl std::fmt::Display) -> QueryError {
    QueryError::new(ErrorCode::Syntax, format!("{what} at character {offset}")).field("expr")
}

/// Splits a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { chars: &chars, place: 0 };
    let (mut all, mut end) = (Vec::new(), usize::MAX);
    loop {
        while lexer.peek().is_some_and(char::is_whitespace) {
            lexer.place += 1;
        }
        let (at, joined) = (lexer.place + 1, lexer.place == end);
        let kind = lexer.kind()?;
        let is_end = kind == Kind::End;
        all.push(Token { kind, at, joined });
        if is_end {
            return Ok(all);
        }
        end = lexer.place;
    }
}

struct Lexer<'a> {
    chars: &'a [char],
    place: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.place).copied()
    }

    fn kind(&mut self) -> Result<Kind, QueryError> {
        let at = self.place + 1;
        let Some(c) = self.peek() else { return Ok(Kind::End) };
        let next = self.chars.get(self.place + 1).copied();
        let starts_number = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        Ok(match c {
            '\'' => Kind::Text(self.quoted(c)?),
            '"' => Kind::Quoted(self.quoted(c)?),
            '`' => Kind::Name(self.quoted(c)?),
            '(' | ')' | ',' | ':' => self.sign(1, Kind::Sign(c)),
            '<' if next == Some('=') => self.sign(2, Kind::Cmp(Cmp::Le)),
            '<' if next == Some('>') => self.sign(2, Kind::Cmp(Cmp::Ne)),
            '<' => self.sign(1, Kind::Cmp(Cmp::Lt)),
            '>' if next == Some('=') => self.sign(2, Kind::Cmp(Cmp::Ge)),
            '>' => self.sign(1, Kind::Cmp(Cmp::Gt)),
            '=' if next == Some('=') => self.sign(2, Kind::Cmp(Cmp::Eq)),
            '=' => self.sign(1, Kind::Cmp(Cmp::Eq)),
            '!' if next == Some('=') => self.sign(2, Kind::Cmp(Cmp::Ne)),
            '&' | '|' | '!' => {
                let word = match c {
                    '&' => "and",
                    '|' => "or",
                    _ => "not",
                };
                return Err(wrong(at, format!("the sign {c:?} means nothing"))
                    .suggest(format!("write {word}")));
            }
            '-' | '+' if starts_number(next) || next == Some('.') => self.number()?,
            '.' if starts_number(next) => self.number()?,
            c if c.is_ascii_digit() => self.number()?,
            c if is_word(c) => Kind::Word(self.word()),
            c => {
                return Err(wrong(at, format!("the sign {c:?} means nothing"))
                    .suggest("compare a column with a value: there is no arithmetic, and there are no functions"));
            }
        })
    }

    const fn sign(&mut self, chars: usize, kind: Kind) -> Kind {
        self.place += chars;
        kind
    }

    /// A text between two of `quote`; two of them within are one.
    fn quoted(&mut self, quote: char) -> Result<String, QueryError> {
        let at = self.place + 1;
        let mut text = String::new();
        loop {
            self.place += 1;
            match self.peek() {
                None => {
                    return Err(wrong(
                        at,
                        format!("the quote {quote} is not closed, which begins"),
                    ));
                }
                Some(c) if c == quote => {
                    self.place += 1;
                    if self.peek() != Some(quote) {
                        return Ok(text);
                    }
                    text.push(quote);
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn word(&mut self) -> String {
        let from = self.place;
        while self.peek().is_some_and(is_word) {
            self.place += 1;
        }
        self.chars[from..self.place].iter().collect()
    }

    fn number(&mut self) -> Result<Kind, QueryError> {
        let from = self.place;
        let mut before = None;
        while let Some(c) = self.peek() {
            let signs_exponent = matches!(c, '+' | '-') && matches!(before, Some('e' | 'E'));
            let first = matches!(c, '+' | '-') && before.is_none();
            if !(is_word(c) || signs_exponent || first) {
                break;
            }
            before = Some(c);
            self.place += 1;
        }
        let text: String = self.chars[from..self.place].iter().collect();
        let whole = text.parse::<i128>().ok().and_then(Scalar::of_whole);
        let float = || text.parse::<f64>().ok().filter(|v| v.is_finite()).map(Scalar::Float);
        match whole.or_else(float) {
            Some(number) => Ok(Kind::Number(number)),
            None => Err(wrong(from + 1, format!("{text:?} is no number"))
                .suggest(format!("put a text into quotes: '{text}'"))),
        }
    }
}

/// Whether a character may be in a word: what names of columns are commonly made of.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '#')
}
