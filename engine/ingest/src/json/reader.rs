//! The words of JSON: strings, numbers and values, read where they stand. Beyond the standard it takes
//! `NaN`, `Infinity` and `-Infinity`, numbers such as `01` and `1.`, and control characters in strings,
//! as pandas does.

use std::borrow::Cow;

use graphlume_types::limits::JSON_DEPTH_MAX;
use memchr::memchr2;

use super::builder::Scalar;
use super::quick::{self, Key};
use crate::number::{Int, Style, fast_int, float, integer};

/// Why a document cannot be read, and at which byte.
#[derive(Debug)]
pub struct Bad {
    pub at: usize,
    pub message: Cow<'static, str>,
    /// Whether a limit was met.
    pub limit: bool,
}

/// Reads a text from front to back.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the byte `offset` of `text`.
    pub fn new(text: &'a str, offset: usize) -> Self {
        Self { text, at: offset }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// What was read from the byte `start` on.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes()[start..self.at]
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub fn bad(&self, message: impl Into<Cow<'static, str>>) -> Bad {
        Bad { at: self.at, message: message.into(), limit: false }
    }

    pub fn limit(&self, message: impl Into<Cow<'static, str>>) -> Bad {
        Bad { at: self.at, message: message.into(), limit: true }
    }

    /// The next byte that is no white space.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let b = *self.bytes().get(self.at)?;
            if !matches!(b, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(b);
            }
            self.at += 1;
        }
    }

    fn unexpected(&mut self, wanted: &str) -> Bad {
        let found = match self.peek() {
            None => "the text ends".to_owned(),
            Some(_) => {
                let found = self.text.get(self.at..).and_then(|t| t.chars().next());
                format!("{:?} stands", found.unwrap_or('\u{fffd}'))
            }
        };
        self.bad(format!("{found} where {wanted} is expected"))
    }

    /// Steps over `mark`, when it is next.
    #[inline]
    pub fn take(&mut self, mark: u8) -> bool {
        let found = self.peek() == Some(mark);
        self.at += usize::from(found);
        found
    }

    /// Steps over `mark`.
    pub fn expect(&mut self, mark: u8, wanted: &str) -> Result<(), Bad> {
        if self.take(mark) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    /// Refuses anything that follows.
    pub fn end(&mut self) -> Result<(), Bad> {
        if self.peek().is_some() { Err(self.unexpected("the end")) } else { Ok(()) }
    }

    /// Steps to the next item of an array whose `[` was taken; false at its end.
    #[inline]
    pub fn item(&mut self, first: &mut bool) -> Result<bool, Bad> {
        self.next(first, b']', "a comma or ]")
    }

    #[inline]
    fn next(&mut self, first: &mut bool, close: u8, wanted: &str) -> Result<bool, Bad> {
        let was_first = std::mem::replace(first, false);
        if self.take(close) {
            return Ok(false);
        }
        if !was_first {
            self.expect(b',', wanted)?;
            if self.peek() == Some(close) {
                return Err(self.unexpected("a value"));
            }
        }
        Ok(true)
    }

    /// The name of the next member of an object whose `{` was taken, with its colon; `None` at the end.
    #[inline]
    pub fn member(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, Bad> {
        if !self.next(first, b'}', "a comma or }")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("the name of a member, in quotes,"));
        }
        let name = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(Some(name))
    }

    /// Steps over the name and the colon of the next member, when they are `key` as most writers have it.
    #[inline]
    pub fn known_member(&mut self, first: &mut bool, key: Option<Key>) -> bool {
        let (bytes, mut at) = (self.bytes(), self.at);
        if !*first {
            if bytes.get(at) != Some(&b',') {
                return false;
            }
            at += 1;
            at += usize::from(bytes.get(at) == Some(&b' '));
        }
        let Some(len) = key.and_then(|key| key.length_at(bytes, at)) else { return false };
        (self.at, *first) = (at + len, false);
        true
    }

    /// The string whose opening quote is next.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, Bad> {
        let start = self.at + 1;
        if let Some(len) = quick::string(self.bytes(), start) {
            self.at = start + len + 1;
            return Ok(Cow::Borrowed(&self.text[start..start + len]));
        }
        let found = memchr2(b'"', b'\\', self.bytes().get(start..).unwrap_or_default());
        let end = start + found.ok_or_else(|| self.bad("a string is never closed"))?;
        if self.bytes()[end] == b'"' {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        self.escaped(start, end).map(Cow::Owned)
    }

    #[cold]
    fn escaped(&mut self, start: usize, first: usize) -> Result<String, Bad> {
        let mut out = self.text[start..first].to_owned();
        let open = start - 1;
        self.at = first;
        loop {
            if self.bytes()[self.at] == b'"' {
                self.at += 1;
                return Ok(out);
            }
            let code = self.bytes().get(self.at + 1);
            let plain = match code {
                Some(b'u') => None,
                Some(b @ (b'"' | b'\\' | b'/')) => Some(char::from(*b)),
                Some(b'b') => Some('\u{8}'),
                Some(b'f') => Some('\u{c}'),
                Some(b'n') => Some('\n'),
                Some(b'r') => Some('\r'),
                Some(b't') => Some('\t'),
                _ => return Err(self.bad("a string has an unknown escape behind its backslash")),
            };
            self.at += 2;
            out.push(match plain {
                Some(c) => c,
                None => self.unicode()?,
            });
            let rest = self.bytes().get(self.at..).unwrap_or_default();
            let Some(len) = memchr2(b'"', b'\\', rest) else {
                self.at = open;
                return Err(self.bad("a string is never closed"));
            };
            out.push_str(&self.text[self.at..self.at + len]);
            self.at += len;
        }
    }

    /// The character of an escape behind its `u`. Half of a pair stands for no character.
    fn unicode(&mut self) -> Result<char, Bad> {
        let high = self.hex4()?;
        if (0xD800..0xDC00).contains(&high) && self.bytes()[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, Bad> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let value = value.ok_or_else(|| self.bad("four digits must follow \\u"))?;
        self.at += 4;
        Ok(value)
    }

    /// The number or word that is next, and how it is written.
    #[inline]
    pub fn scalar(&mut self) -> Result<(Scalar<'a>, &'a str), Bad> {
        let (start, bytes) = (self.at, self.bytes());
        if let Some((scalar, len)) = quick::number(bytes, start) {
            self.at += len;
            return Ok((scalar, &self.text[start..self.at]));
        }
        let tail = bytes.get(start..).unwrap_or_default();
        let numeric = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let len = tail.iter().position(|b| !numeric(b)).unwrap_or(tail.len());
        let raw = &self.text[start..start + len];
        if let Some(v) = fast_int(bytes, start, len) {
            self.at += len;
            return Ok((Scalar::Int(v), raw));
        }
        self.other_scalar(raw)
    }

    fn other_scalar(&mut self, raw: &'a str) -> Result<(Scalar<'a>, &'a str), Bad> {
        const WORDS: [(&str, Scalar<'static>); 6] = [
            ("null", Scalar::Null),
            ("true", Scalar::Bool(true)),
            ("false", Scalar::Bool(false)),
            ("NaN", Scalar::Null),
            ("Infinity", Scalar::Float(f64::INFINITY)),
            ("-Infinity", Scalar::Float(f64::NEG_INFINITY)),
        ];
        let digits = raw.strip_prefix('-').unwrap_or(raw).as_bytes();
        if digits.first().is_some_and(u8::is_ascii_digit) {
            let scalar = match integer(raw.as_bytes(), Style::PLAIN) {
                Some(Int::Signed(v)) => Some(Scalar::Int(v)),
                Some(Int::Unsigned(v)) => Some(Scalar::UInt(v)),
                // Text keeps all of its digits.
                Some(Int::Big(_)) => Some(Scalar::Text(raw)),
                None => float(raw.as_bytes(), Style::PLAIN).map(Scalar::Float),
            };
            let scalar = scalar.ok_or_else(|| self.bad(format!("{raw:?} is not a number")))?;
            self.at += raw.len();
            return Ok((scalar, raw));
        }
        let rest = &self.text[self.at..];
        for (word, scalar) in WORDS {
            let follows = || rest.as_bytes().get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
            if rest.starts_with(word) && !follows() {
                self.at += word.len();
                return Ok((scalar, word));
            }
        }
        Err(self.unexpected("a value"))
    }

    /// Steps over a value, and returns how it is written.
    pub fn value(&mut self) -> Result<&'a str, Bad> {
        self.peek();
        let start = self.at;
        self.skip(0)?;
        Ok(&self.text[start..self.at])
    }

    fn skip(&mut self, depth: usize) -> Result<(), Bad> {
        if depth > JSON_DEPTH_MAX {
            let message = format!("values may be nested {JSON_DEPTH_MAX} levels deep, not more");
            return Err(self.limit(message));
        }
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'[') => {
                self.at += 1;
                let mut first = true;
                while self.item(&mut first)? {
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
            Some(b'{') => {
                self.at += 1;
                let mut first = true;
                while self.member(&mut first)?.is_some() {
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
            _ => self.scalar().map(drop),
        }
    }
}

/// A value without the white space between its words.
pub fn compact(raw: &str) -> Cow<'_, str> {
    let space = |c: char| matches!(c, ' ' | '\n' | '\r' | '\t');
    if !raw.contains(space) {
        return Cow::Borrowed(raw);
    }
    let (mut out, mut quoted, mut escaped) = (String::with_capacity(raw.len()), false, false);
    for c in raw.chars() {
        if quoted || !space(c) {
            out.push(c);
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn scalar(text: &str) -> Result<Scalar<'_>, Bad> {
        let mut reader = Reader::new(text, 0);
        reader.peek();
        let (scalar, _) = reader.scalar()?;
        reader.end().map(|()| scalar)
    }

    #[test]
    fn numbers_and_words() {
        for (text, want) in [
            ("7", Scalar::Int(7)),
            ("-12", Scalar::Int(-12)),
            ("-9223372036854775808", Scalar::Int(i64::MIN)),
            ("18446744073709551615", Scalar::UInt(u64::MAX)),
            ("18446744073709551616", Scalar::Text("18446744073709551616")),
            ("1.5e3", Scalar::Float(1500.0)),
            ("01", Scalar::Int(1)),
            ("1.", Scalar::Float(1.0)),
            (" true ", Scalar::Bool(true)),
            ("null", Scalar::Null),
            ("NaN", Scalar::Null),
            ("-Infinity", Scalar::Float(f64::NEG_INFINITY)),
        ] {
            assert_eq!(scalar(text).unwrap(), want, "{text}");
        }
        for bad in ["", "+1", ".5", "-", "1e", "1-2", "nan", "nulll", "-NaN", "tru", "1x", "\u{e9}"]
        {
            assert!(scalar(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn strings_with_escapes() {
        let string = |text: &str| Reader::new(text, 0).string().map(Cow::into_owned);
        assert_eq!(
            string(r#""a\"\\\/\n\u00e9\ud83d\ude00z" x"#).unwrap(),
            "a\"\\/\n\u{e9}\u{1f600}z"
        );
        assert_eq!(string(r#""\ud83d!""#).unwrap(), "\u{fffd}!");
        assert_eq!(string("\"line\nbreak\"").unwrap(), "line\nbreak");
        for bad in [r#"""#, r#""a\"#, r#""a\""#, r#""\x""#, r#""\u12""#, r#""\u+123""#] {
            assert!(string(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_stepped_over_and_stripped_of_white_space() {
        let mut reader = Reader::new(" {\"a b\": [1, 2.5 ,null], \"\\\" \": {}} ,", 0);
        let raw = reader.value().unwrap();
        assert_eq!(compact(raw), "{\"a b\":[1,2.5,null],\"\\\" \":{}}");
        assert!(reader.take(b','));
        for bad in ["[1,]", "[1 2]", "{\"a\"}", "{a:1}", "[", "{\"a\":1,}", "[,1]"] {
            assert!(Reader::new(bad, 0).value().is_err(), "{bad}");
        }
        let deep = "[".repeat(10_000);
        assert!(Reader::new(&deep, 0).value().unwrap_err().limit);
    }
}
