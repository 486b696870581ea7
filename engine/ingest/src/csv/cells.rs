//! Meaning of a single cell: missing, boolean, number or text.

use std::collections::HashSet;

use super::token::Quote;
use crate::number::{Int, Style, float, integer};

/// A cell by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    Null,
    /// A number that stands for a missing value, in a column of numbers.
    NullNumber,
    Bool(bool),
    Int(Int),
    Float(f64),
    Text,
}

/// The rules by which cells are read.
#[derive(Debug, Clone)]
pub struct Cells {
    pub quote: Quote,
    pub style: Style,
    /// False: no cell is missing.
    pub na_filter: bool,
    pub default_na: bool,
    pub na: HashSet<Vec<u8>>,
    /// The numbers among `na`, which also mean the same number in other digits among fractions.
    pub na_numbers: Vec<f64>,
    pub trues: HashSet<Vec<u8>>,
    pub falses: HashSet<Vec<u8>>,
}

impl Cells {
    /// Whether plain digits are always a number, so that numbers need no other look.
    pub fn digits_are_numbers(&self) -> bool {
        // A plain decimal is not plain when the mark is a comma.
        self.style == Style::PLAIN
            && self.na_numbers.is_empty()
            && self.trues.is_empty()
            && self.falses.is_empty()
    }

    /// Whether `text` stands for a missing value. Asked of every cell of text, most of which are none by their first byte.
    #[inline(always)]
    pub fn is_na(&self, text: &[u8]) -> bool {
        self.na_filter && self.is_na_word(text)
    }

    /// Whether text that begins with this byte may stand for a missing value.
    #[inline(always)]
    pub fn may_be_na(&self, first: u8) -> bool {
        self.na_filter && ((self.default_na && begins_na(first)) || !self.na.is_empty())
    }

    /// Whether `text` is a word for a missing value, even where none is missing.
    #[inline(always)]
    pub fn is_na_word(&self, text: &[u8]) -> bool {
        (self.default_na && is_default_na(text)) || (!self.na.is_empty() && self.is_named_na(text))
    }

    #[inline(never)]
    fn is_named_na(&self, text: &[u8]) -> bool {
        self.na.contains(text)
    }

    /// The boolean that `text` stands for.
    pub fn boolean(&self, text: &[u8]) -> Option<bool> {
        match text {
            _ if self.trues.contains(text) => Some(true),
            _ if self.falses.contains(text) => Some(false),
            b"True" | b"TRUE" | b"true" => Some(true),
            b"False" | b"FALSE" | b"false" => Some(false),
            _ => None,
        }
    }

    /// Whether `v` stands for a missing value among fractions.
    pub fn is_na_number(&self, v: f64) -> bool {
        self.na_filter && self.na_numbers.contains(&v)
    }

    /// A number that is also a word for a boolean is a number.
    pub fn classify(&self, text: &[u8]) -> Cell {
        if self.is_na(text) {
            return Cell::Null;
        }
        if let Some(i) = integer(text, self.style) {
            return Cell::Int(i);
        }
        match float(text, self.style) {
            Some(f) if self.is_na_number(f) => Cell::NullNumber,
            Some(f) => Cell::Float(f),
            None => self.boolean(text).map_or(Cell::Text, Cell::Bool),
        }
    }
}

/// Whether `text` is a word for a missing value that pandas knows. Most cells are none by their first
/// byte.
#[inline(always)]
pub fn is_default_na(text: &[u8]) -> bool {
    match text.first() {
        None => true,
        Some(first) => begins_na(*first) && text.len() <= 8 && is_na_spelling(text),
    }
}

#[inline(always)]
fn begins_na(first: u8) -> bool {
    matches!(first, b'#' | b'-' | b'1' | b'<' | b'N' | b'n')
}

#[inline(never)]
fn is_na_spelling(text: &[u8]) -> bool {
    matches!(
        text,
        b"#N/A"
            | b"#N/A N/A"
            | b"#NA"
            | b"-1.#IND"
            | b"-1.#QNAN"
            | b"-NaN"
            | b"-nan"
            | b"1.#IND"
            | b"1.#QNAN"
            | b"<NA>"
            | b"N/A"
            | b"NA"
            | b"NULL"
            | b"NaN"
            | b"None"
            | b"n/a"
            | b"nan"
            | b"null"
    )
}
