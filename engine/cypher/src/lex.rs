//! Text to tokens.

use graphlume_expr::QueryError;

use crate::error::syntax;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    /// A name or a keyword.
    Ident(String),
    /// A name between backticks: never a keyword.
    Quoted(String),
    /// A whole number; the sign is an operator, so 2^63 is possible here.
    Int(u64),
    /// A number.
    Float(f64),
    /// Text.
    Str(String),
    /// `$name`.
    Param(String),
    /// An operator or a bracket.
    Sym(&'static str),
    /// The end.
    Eof,
}

/// A token and the bytes that it covers.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: Tok,
    pub start: usize,
    pub end: usize,
}

/// Longer ones first.
const SYMBOLS: &[&str] = &[
    "<>", "<=", ">=", "=~", "..", "+=", "(", ")", "[", "]", "{", "}", ",", ":", ";", "|", ".", "+",
    "-", "*", "/", "%", "^", "=", "<", ">", "&", "!",
];

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// Reads the whole text.
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, QueryError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        let kind = lexer.token()?;
        let done = kind == Tok::Eof;
        tokens.push(Token { kind, start, end: lexer.at });
        if done {
            return Ok(tokens);
        }
    }
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !test(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn skip_blank(&mut self) -> Result<(), QueryError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n' && c != '\r');
            } else if self.rest().starts_with("/*") {
                let start = self.at;
                match self.rest().find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return Err(syntax(self.text, start, "the comment does not end")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Tok, QueryError> {
        let Some(c) = self.peek() else { return Ok(Tok::Eof) };
        let mut ahead = self.rest().chars().skip(1);
        match c {
            '\'' | '"' => self.string(c).map(Tok::Str),
            '`' => self.quoted().map(Tok::Quoted),
            '$' => {
                self.at += 1;
                if self.peek() == Some('`') {
                    return self.quoted().map(Tok::Param);
                }
                match self.take_while(in_name) {
                    "" => Err(syntax(self.text, self.at, "a parameter has no name")),
                    name => Ok(Tok::Param(name.to_owned())),
                }
            }
            _ if c.is_ascii_digit() => self.number(),
            '.' if ahead.next().is_some_and(|d| d.is_ascii_digit()) => self.number(),
            _ if starts_name(c) => Ok(Tok::Ident(self.take_while(in_name).to_owned())),
            _ => match SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    Ok(Tok::Sym(symbol))
                }
                None => Err(syntax(self.text, self.at, format!("unexpected character {c:?}"))),
            },
        }
    }

    fn quoted(&mut self) -> Result<String, QueryError> {
        let start = self.at;
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((i, c)) = chars.next() {
            if c != '`' {
                name.push(c);
            } else if chars.peek().is_some_and(|(_, c)| *c == '`') {
                chars.next();
                name.push('`');
            } else {
                self.at += i + 1;
                return Ok(name);
            }
        }
        Err(syntax(self.text, start, "the quoted name does not end"))
    }

    fn string(&mut self, quote: char) -> Result<String, QueryError> {
        let start = self.at;
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            if c == quote {
                self.at += i + 1;
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            let Some((_, escape)) = chars.next() else { break };
            out.push(match escape {
                'n' | 'N' => '\n',
                't' | 'T' => '\t',
                'r' | 'R' => '\r',
                'b' | 'B' => '\u{8}',
                'f' | 'F' => '\u{c}',
                '\\' | '\'' | '"' | '`' => escape,
                'u' | 'U' => {
                    let digits = if escape == 'u' { 4 } else { 8 };
                    let code: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    let full = code.len() == digits;
                    let value = u32::from_str_radix(&code, 16).ok().filter(|_| full);
                    value.and_then(char::from_u32).ok_or_else(|| {
                        syntax(self.text, start + i, "the unicode escape has no character")
                    })?
                }
                _ => {
                    let text = format!("unknown escape \\{escape} in a text");
                    return Err(syntax(self.text, start + i, text));
                }
            });
        }
        Err(syntax(self.text, start, "the text does not end"))
    }

    fn number(&mut self) -> Result<Tok, QueryError> {
        let start = self.at;
        let bad = |l: &Self| {
            let end = l.at;
            let text = l.text.get(start..end).unwrap_or_default();
            syntax(l.text, start, format!("{text:?} is no number"))
        };
        let rest = self.rest();
        let prefix = rest.get(..2).unwrap_or_default().to_ascii_lowercase();
        if prefix == "0x" || prefix == "0o" {
            self.at += 2;
            let digits = self.take_while(in_name);
            let radix = if prefix == "0x" { 16 } else { 8 };
            if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
                return Err(bad(self));
            }
            let value = u64::from_str_radix(digits, radix).ok().filter(|v| *v <= 1 << 63);
            return value.map(Tok::Int).ok_or_else(|| self.too_big(start));
        }
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut float = false;
        let mut ahead = self.rest().chars();
        let dot = ahead.next() == Some('.');
        if dot && ahead.next().is_some_and(|d| d.is_ascii_digit()) {
            float = true;
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.peek().is_some_and(|c| c == 'e' || c == 'E') {
            let mark = self.at;
            self.at += 1;
            if self.peek().is_some_and(|c| c == '-' || c == '+') {
                self.at += 1;
            }
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                self.at = mark;
            } else {
                float = true;
            }
        }
        if self.peek().is_some_and(in_name) {
            self.take_while(in_name);
            return Err(bad(self));
        }
        if !float {
            if whole.len() > 1 && whole.starts_with('0') {
                // Old octal notation is no number of this language.
                return if whole.chars().all(|c| c == '0') {
                    Ok(Tok::Int(0))
                } else {
                    Err(bad(self))
                };
            }
            let value = whole.parse::<u64>().ok().filter(|v| *v <= 1 << 63);
            return value.map(Tok::Int).ok_or_else(|| self.too_big(start));
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Tok::Float(v)),
            Ok(_) => Err(syntax(self.text, start, format!("{text} is too large for a float"))),
            Err(_) => Err(bad(self)),
        }
    }

    fn too_big(&self, start: usize) -> QueryError {
        let text = self.text.get(start..self.at).unwrap_or_default();
        syntax(self.text, start, format!("{text} does not fit into 64 bits")).suggest(
            "give a whole number above 9223372036854775807 as a parameter, or as toInteger('...')",
        )
    }
}
