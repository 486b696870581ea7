//! Tests of texts. A column whose values are numbered is tested by number: once for each distinct value.

use arrow_array::{Array, UInt32Array};
use graphlume_table::TextColumn;

use crate::vector::{Rows, truth};

type Passes<'c> = Box<dyn Fn(&str) -> bool + Send + Sync + 'c>;

/// A test of the texts of a column; of a null it is unknown.
pub struct TextTest<'c> {
    column: &'c TextColumn,
    passes: Passes<'c>,
    /// What the test says where the text does not pass: unknown for a list in which there is a null.
    otherwise: u8,
    /// The answers for the values of a dictionary.
    answers: Option<Vec<u8>>,
}

impl std::fmt::Debug for TextTest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextTest")
            .field("by_number", &self.answers.is_some())
            .finish_non_exhaustive()
    }
}

impl<'c> TextTest<'c> {
    /// A test by a function; `otherwise` is the answer where it gives false.
    #[must_use]
    pub fn new(
        column: &'c TextColumn,
        otherwise: u8,
        passes: impl Fn(&str) -> bool + Send + Sync + 'c,
    ) -> Self {
        let answer = |text: Option<&str>| match text {
            None => truth::UNKNOWN,
            Some(text) if passes(text) => truth::TRUE,
            Some(_) => otherwise,
        };
        let answers = column.dictionary().map(|(_, values)| values.iter().map(answer).collect());
        Self { column, passes: Box::new(passes), otherwise, answers }
    }

    /// Whether the text of each row is read.
    pub(crate) const fn reads_texts(&self) -> bool {
        self.answers.is_none()
    }

    /// The keys of the dictionary, and the answer for each of its values.
    pub(crate) fn by_key(&self) -> Option<(&'c UInt32Array, &[u8])> {
        let (keys, _) = self.column.dictionary()?;
        Some((keys, self.answers.as_deref()?))
    }

    pub(crate) fn eval(&self, rows: Rows<'_>) -> Vec<u8> {
        let dictionary = self.column.dictionary().zip(self.answers.as_deref());
        if let Some(((keys, _), answers)) = dictionary {
            let found = rows.of(keys.values());
            let valid = crate::number::valid(keys.nulls(), rows);
            let of = |key: &u32| answers.get(*key as usize).copied().unwrap_or(truth::UNKNOWN);
            return match valid {
                None => found.iter().map(of).collect(),
                Some(valid) => {
                    let cells = found.iter().zip(valid);
                    cells.map(|(key, valid)| if valid { of(key) } else { truth::UNKNOWN }).collect()
                }
            };
        }
        let cells = (0..rows.len()).map(|i| match self.column.get(rows.at(i)) {
            None => truth::UNKNOWN,
            Some(text) if (self.passes)(text) => truth::TRUE,
            Some(_) => self.otherwise,
        });
        cells.collect()
    }
}
