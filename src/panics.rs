//! Reports of panics: one line in the log, and one sentence on the command line. The default, a
//! stack trace on standard error, would show up for every damaged upload that trips a decoder's check.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// The last panic of the process.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Replaces the default report. A panic that is caught on purpose is a line in the log and no more.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let text = describe(info);
        tracing::error!(target: "panic", panic = ?text, "a check failed");
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }));
}

/// Runs `work`; a panic in it is the sentence to end with.
///
/// # Errors
/// `work` panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        format!("this is a defect of graphlume; please report it: {last}")
    })
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is not text");
    let at = info.location().map_or_else(String::new, |l| {
        let file = l.file().rsplit_once("/src/").map_or(l.file(), |(_, file)| file);
        format!(" at {file}:{}", l.line())
    });
    format!("{text}{at}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn a_panic_is_one_sentence_that_says_where() {
        install();
        let told = caught(|| -> u8 { panic!("odd number {}", 7) });
        let _ = std::panic::take_hook();
        assert!(told.is_err_and(|t| t.contains("odd number 7 at src/panics.rs:")));
        assert_eq!(caught(|| 3), Ok(3));
    }
}
