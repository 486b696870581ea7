//! Text to tokens.

use graphlume_expr::{ErrorCode, QueryError, Scalar};

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A whole number.
    Whole(Scalar),
    Float(f64),
    Text(String),
    /// A name, or a keyword.
    Name(String),
    /// A name in backticks, which is never a keyword.
    Quoted(String),
    Symbol(&'static str),
    End,
}

/// Longest first, so that none is read as the beginning of another.
const SYMBOLS: &[&str] = &[
    "<>", "<=", ">=", "==", "!=", "=~", "..", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")",
    "[", "]", "{", "}", ",", ":", ".", "|", "&", "~",
];

/// The tokens of `text`, each with the byte where it starts.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, QueryError> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let rest = &text[at..];
        let token = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c == '\'' || c == '"' {
            Token::Text(quoted(text, &mut at, c)?)
        } else if c == '`' {
            let end =
                rest[1..].find('`').ok_or_else(|| broken(text, start, "a backtick is open"))?;
            at += end + 2;
            Token::Quoted(rest[1..=end].to_owned())
        } else if c.is_ascii_digit() {
            number(text, &mut at)?
        } else if c.is_alphabetic() || c == '_' {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            at += len;
            Token::Name(rest[..len].to_owned())
        } else {
            let symbol = SYMBOLS.iter().find(|s| rest.starts_with(**s));
            let symbol = symbol.ok_or_else(|| broken(text, start, "unexpected character"))?;
            at += symbol.len();
            Token::Symbol(symbol)
        };
        out.push((token, start));
    }
    out.push((Token::End, text.len()));
    Ok(out)
}

/// A text that cannot be read from byte `offset` on.
pub(super) fn broken(text: &str, offset: usize, what: &str) -> QueryError {
    let near: String = text.get(offset..).unwrap_or("").chars().take(20).collect();
    QueryError::new(ErrorCode::Syntax, format!("{what} at character {offset} near {near:?}"))
        .value(text)
        .suggest("write an expression such as score >= 2 AND name STARTS WITH 'a'")
}

fn quoted(text: &str, offset: &mut usize, quote: char) -> Result<String, QueryError> {
    let start = *offset;
    let mut out = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((i, c)) = chars.next() {
        if c == quote {
            *offset = start + 1 + i + 1;
            return Ok(out);
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => out.push('\n'),
            Some((_, 't')) => out.push('\t'),
            Some((_, 'r')) => out.push('\r'),
            Some((_, c @ ('\\' | '\'' | '"'))) => out.push(c),
            // A pattern such as '\d' keeps its backslash.
            Some((_, c)) => out.extend(['\\', c]),
            None => break,
        }
    }
    Err(broken(text, start, "a text is not closed"))
}

fn number(text: &str, offset: &mut usize) -> Result<Token, QueryError> {
    let start = *offset;
    let rest = &text[start..];
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
            *offset = start + 2 + len;
            let value = u64::from_str_radix(&digits[..len], radix);
            let value = value.map(|v| Token::Whole(Scalar::uint(v)));
            return value.map_err(|_| broken(text, start, "a bad number"));
        }
    }
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut len = digits(0);
    let mut whole = true;
    if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        len += 1 + digits(len + 1);
        whole = false;
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits((len + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            len += 1 + sign + exponent;
            whole = false;
        }
    }
    *offset = start + len;
    let piece = &rest[..len];
    if whole {
        let value = piece.parse().ok().and_then(Scalar::of_whole).map(Token::Whole);
        let large = "a whole number beyond 64 bits: write it with a point, as 1e20, for a float";
        return value.ok_or_else(|| broken(text, start, large));
    }
    let parsed = piece.parse::<f64>().ok().filter(|v| v.is_finite()).map(Token::Float);
    parsed.ok_or_else(|| broken(text, start, "a bad number"))
}
