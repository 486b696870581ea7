//! Regular expressions of queries: compiled within a budget, shared by their text, and never kept for long.
//!
//! A short text may stand for a large program (`\w{60}` takes megabytes), and a query or the address of a page may hold
//! many of them. So what is compiled while one query is read shares one [`Budget`], a query keeps the text alone, and
//! the programs live in a cache of a few entries: one that fell out of it is compiled again when it is needed.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use graphlume_types::limits::{PATTERN_BYTES_MAX, PATTERNS_CACHED_MAX, QUERY_PATTERNS_MAX};
use parking_lot::Mutex;
use regex::{Regex, RegexBuilder};

/// Why an expression is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// More expressions than a query may have.
    #[error("the query has more than {QUERY_PATTERNS_MAX} patterns")]
    TooMany,
    /// The programs of the query's expressions are too large together.
    #[error("the patterns of the query take more than {PATTERN_BYTES_MAX} bytes when compiled")]
    TooLarge,
    /// The text is no expression.
    #[error("{0}")]
    Syntax(String),
}

thread_local! {
    /// Patterns and bytes that are left to what is being read on this thread; `None` outside of [`within_budget`].
    static LEFT: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Runs `read`, whose patterns share one budget of [`QUERY_PATTERNS_MAX`] patterns and [`PATTERN_BYTES_MAX`] bytes.
/// Within another call the outer budget goes on.
pub fn within_budget<T>(read: impl FnOnce() -> T) -> T {
    /// Puts back what was, also when `read` panics.
    struct Restore(Option<(usize, usize)>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    if LEFT.get().is_some() {
        return read();
    }
    let _restore = Restore(LEFT.replace(Some((QUERY_PATTERNS_MAX, PATTERN_BYTES_MAX))));
    read()
}

/// An expression whose text was found to compile. It keeps no program alive.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Arc<str>,
    program: Arc<Mutex<Weak<Regex>>>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Checks `text` by compiling it, within the budget of what is being read.
    ///
    /// # Errors
    /// [`PatternError`]: the count or the size is over the limit, or the text is no expression.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let (count, bytes) = LEFT.get().unwrap_or((QUERY_PATTERNS_MAX, PATTERN_BYTES_MAX));
        let count = count.checked_sub(1).ok_or(PatternError::TooMany)?;
        let (program, size) = compiled(text, bytes).inspect_err(|e| {
            // A failed compilation was paid for: nothing else of this query is compiled.
            if *e == PatternError::TooLarge && LEFT.get().is_some() {
                LEFT.set(Some((count, 0)));
            }
        })?;
        if LEFT.get().is_some() {
            LEFT.set(Some((count, bytes - size)));
        }
        Ok(Self { text: text.into(), program: Arc::new(Mutex::new(Arc::downgrade(&program))) })
    }

    /// The text, flags included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the expression is found in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        match self.hold() {
            Some(program) => program.is_match(text),
            None => false, // It compiled before with the same limit.
        }
    }

    /// The compiled program, which is not compiled again while the answer lives. Filters and expressions keep it while
    /// they test a column: the cache is shared, and patterns of other queries would push it out between two rows.
    pub fn hold(&self) -> Option<Arc<Regex>> {
        let program = self.program.lock().upgrade();
        program.or_else(|| self.again())
    }

    fn again(&self) -> Option<Arc<Regex>> {
        let (program, _) = compiled(&self.text, PATTERN_BYTES_MAX).ok()?;
        *self.program.lock() = Arc::downgrade(&program);
        Some(program)
    }
}

struct Entry {
    text: Arc<str>,
    program: Arc<Regex>,
    size: usize,
}

/// The programs that were used last, the newest at the back.
static CACHE: Mutex<VecDeque<Entry>> = Mutex::new(VecDeque::new());

/// What is said of a pattern that cannot be read, since most of these look around or refer back.
pub const NO_LOOK_AROUND: &str = "look-around and back references are not available, so that no pattern takes longer than a text is \
    long: ask in two conditions, for what must match and for what must not";

/// Sizes that are tried: the first that suffices is what a pattern is charged, since a program does not tell its size.
const SIZES: [usize; 4] =
    [PATTERN_BYTES_MAX / 32, PATTERN_BYTES_MAX / 8, PATTERN_BYTES_MAX / 2, PATTERN_BYTES_MAX];

/// The program of `text` and the bytes that it is charged, at most `limit`.
fn compiled(text: &str, limit: usize) -> Result<(Arc<Regex>, usize), PatternError> {
    let mut cache = CACHE.lock();
    let at = cache.iter().position(|e| &*e.text == text);
    if let Some(entry) = at.and_then(|at| cache.remove(at)) {
        let found = (Arc::clone(&entry.program), entry.size);
        cache.push_back(entry);
        return if found.1 <= limit { Ok(found) } else { Err(PatternError::TooLarge) };
    }
    drop(cache);
    for size in SIZES.into_iter().filter(|s| *s <= limit) {
        match RegexBuilder::new(text).size_limit(size).dfa_size_limit(PATTERN_BYTES_MAX).build() {
            Ok(program) => {
                let program = Arc::new(program);
                let entry = Entry { text: text.into(), program: Arc::clone(&program), size };
                let mut cache = CACHE.lock();
                cache.push_back(entry);
                if cache.len() > PATTERNS_CACHED_MAX {
                    cache.pop_front();
                }
                return Ok((program, size));
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(e) => {
                let reason = e.to_string();
                let last = reason.lines().last().unwrap_or_default();
                return Err(PatternError::Syntax(last.trim_start_matches("error: ").to_owned()));
            }
        }
    }
    Err(PatternError::TooLarge)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn patterns_of_one_query_share_a_count() {
        within_budget(|| {
            for i in 0..QUERY_PATTERNS_MAX {
                Pattern::new(&format!("count{i}")).unwrap();
            }
            assert_eq!(Pattern::new("one more"), Err(PatternError::TooMany));
        });
        within_budget(|| Pattern::new("the next query has its own").unwrap());
    }

    #[test]
    fn patterns_of_one_query_share_their_bytes() {
        within_budget(|| {
            Pattern::new("first").unwrap();
            assert_eq!(Pattern::new(r"\w{60}"), Err(PatternError::TooLarge));
            // After one that is too large nothing is compiled any more, not even what is small.
            assert_eq!(Pattern::new("second"), Err(PatternError::TooLarge));
        });
        // Each is fine alone, and not several of them together.
        let large = |i: u32| format!(r"{i}\w{{3}}");
        within_budget(|| Pattern::new(&large(0)).unwrap());
        within_budget(|| {
            let taken =
                (0..QUERY_PATTERNS_MAX as u32).take_while(|i| Pattern::new(&large(*i)).is_ok());
            assert!(taken.count() < QUERY_PATTERNS_MAX);
        });
    }

    #[test]
    fn a_budget_within_another_is_the_same_one_and_ends_with_it() {
        within_budget(|| {
            within_budget(|| assert!(Pattern::new(r"\w{61}").is_err()));
            assert_eq!(Pattern::new("inner"), Err(PatternError::TooLarge));
        });
        assert!(Pattern::new("inner").is_ok());
    }

    #[test]
    fn a_pattern_that_fell_out_of_the_cache_still_matches() {
        let pattern = Pattern::new(r"\Akept\z").unwrap();
        for i in 0..2 * PATTERNS_CACHED_MAX {
            Pattern::new(&format!("other{i}")).unwrap();
        }
        assert!(pattern.is_match("kept") && !pattern.is_match("kept?"));
        assert!(CACHE.lock().len() <= PATTERNS_CACHED_MAX);
    }

    #[test]
    fn what_is_held_is_not_compiled_again() {
        let pattern = Pattern::new("held").unwrap();
        let held = pattern.hold().unwrap();
        for i in 0..2 * PATTERNS_CACHED_MAX {
            Pattern::new(&format!("pushes{i}")).unwrap();
        }
        assert!(Arc::ptr_eq(&held, &pattern.hold().unwrap()));
        drop(held);
        assert!(pattern.program.lock().upgrade().is_none(), "nobody keeps it");
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let e = Pattern::new("(").unwrap_err();
        assert!(matches!(&e, PatternError::Syntax(why) if why.contains("unclosed")), "{e}");
    }
}
