//! Regular expressions of `=~`: those that stay the same during a query are compiled once, for all threads.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use graphlume_expr::QueryError;
use graphlume_store::filter::NO_LOOK_AROUND;
use graphlume_types::CancelToken;
use graphlume_types::limits::PATTERN_BYTES_MAX;
use regex::{Regex, RegexBuilder};

use crate::ast::Binary;
use crate::error::{Res, value_error};
use crate::plan::Ex;

/// Expressions that rows bring along and that a thread keeps. One more pushes out the one not used for longest.
const RECENT_MAX: usize = 8;

/// Whether an expression is the same for every row: it is written in the query, a parameter, or put together of such.
pub(super) fn stays(e: &Ex) -> bool {
    match e {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Binary(Binary::Add, a, b) => stays(a) && stays(b),
        _ => false,
    }
}

/// The expressions of one run whose text is written in the query or in a parameter, by that text.
#[derive(Debug, Default)]
pub(super) struct Fixed(Mutex<HashMap<Arc<str>, Regex>>);

/// What one thread has of them, and what its rows brought along.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    fixed: HashMap<Arc<str>, Rc<Regex>>,
    /// The one used last at the back.
    recent: VecDeque<(Arc<str>, Rc<Regex>)>,
    /// Places of `recent` whose bytes were taken from the query's memory.
    charged: usize,
}

impl Patterns {
    /// The expression whose text is the same for every row.
    ///
    /// # Errors
    /// The text is no expression, the query was stopped, or it has no memory left.
    pub(super) fn fixed(
        &mut self,
        text: &Arc<str>,
        all: &Fixed,
        cancel: &CancelToken,
    ) -> Res<Rc<Regex>> {
        if let Some(found) = self.fixed.get(text) {
            return Ok(Rc::clone(found));
        }
        // Each thread pays for the memory that it matches in, the first one for the program too.
        take(cancel, 1)?;
        let mut all = all.0.lock().unwrap_or_else(PoisonError::into_inner);
        let regex = match all.get(text) {
            // A copy shares the program and has memory of its own.
            Some(known) => known.clone(),
            None => {
                take(cancel, 1)?;
                let regex = compile(text, cancel)?;
                all.insert(Arc::clone(text), regex.clone());
                regex
            }
        };
        let regex = Rc::new(regex);
        self.fixed.insert(Arc::clone(text), Rc::clone(&regex));
        Ok(regex)
    }

    /// The expression that a row has brought.
    ///
    /// # Errors
    /// As of [`Self::fixed`].
    pub(super) fn of_row(&mut self, text: &Arc<str>, cancel: &CancelToken) -> Res<Rc<Regex>> {
        if let Some(at) = self.recent.iter().position(|(known, _)| known == text)
            && let Some(entry) = self.recent.remove(at)
        {
            let found = Rc::clone(&entry.1);
            self.recent.push_back(entry);
            return Ok(found);
        }
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.charged {
            // A place is paid for once, however often it is filled.
            take(cancel, 2)?;
            self.charged = self.recent.len() + 1;
        }
        let regex = Rc::new(compile(text, cancel)?);
        self.recent.push_back((Arc::clone(text), Rc::clone(&regex)));
        Ok(regex)
    }
}

/// Takes the most that so many programs, or memories to match in, may need.
fn take(cancel: &CancelToken, parts: u64) -> Res<()> {
    cancel.take(parts * PATTERN_BYTES_MAX as u64).map_err(|e| Box::new(QueryError::from(e)))
}

/// An expression that must match the whole text.
fn compile(text: &str, cancel: &CancelToken) -> Res<Regex> {
    // A large one takes long, and a query may have many.
    cancel.check().map_err(|e| Box::new(QueryError::from(e)))?;
    #[cfg(test)]
    COMPILED.set(COMPILED.get() + 1);
    RegexBuilder::new(&format!("^(?s:{text})$"))
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|e| {
            let error = value_error(format!("the regular expression cannot be used: {e}"));
            Box::new(error.suggest(NO_LOOK_AROUND))
        })
}

#[cfg(test)]
thread_local! {
    /// How often an expression was compiled on this thread.
    static COMPILED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn compilations(f: impl FnOnce()) -> usize {
        let before = COMPILED.get();
        f();
        COMPILED.get() - before
    }

    #[test]
    fn expressions_of_the_query_are_compiled_once_however_many_there_are() {
        let cancel = CancelToken::default();
        let texts: Vec<Arc<str>> = (0..40).map(|i| format!("(text|other{i}) .*").into()).collect();
        let all = Fixed::default();
        let (mut one, mut other) = (Patterns::default(), Patterns::default());
        let compiled = compilations(|| {
            for _ in 0..100 {
                for text in &texts {
                    assert!(one.fixed(text, &all, &cancel).unwrap().is_match("text 1"));
                    assert!(!other.fixed(text, &all, &cancel).unwrap().is_match("text"));
                }
            }
        });
        assert_eq!(compiled, texts.len());
    }

    #[test]
    fn of_those_that_rows_bring_the_one_not_used_for_longest_is_forgotten() {
        let cancel = CancelToken::default();
        let mut patterns = Patterns::default();
        let texts: Vec<Arc<str>> = (0..=RECENT_MAX).map(|i| format!("a{i}").into()).collect();
        let mut ask = |i: usize| {
            compilations(|| {
                patterns.of_row(&texts[i], &cancel).unwrap();
            })
        };
        let first: usize = (0..RECENT_MAX).map(&mut ask).sum();
        assert_eq!((first, ask(0)), (RECENT_MAX, 0));
        // The new one takes the place of the second, and not of all.
        assert_eq!((ask(RECENT_MAX), ask(0), ask(2), ask(1)), (1, 0, 0, 1));
    }
}
