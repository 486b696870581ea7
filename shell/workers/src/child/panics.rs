//! Panics of this process, for the server's log: a panic of a library that a format or a query needs is caught
//! where it is called, and becomes an error that cannot say why.

use std::panic::PanicHookInfo;

use parking_lot::Mutex;

/// Characters of one report that are kept.
const CHARS_MAX: usize = 500;

/// The first panic since the last look; those after it are mostly its consequences.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// From now on panics of every thread are remembered, and written to standard error, which the server reads when the
/// process ends.
pub(super) fn remember() {
    std::panic::set_hook(Box::new(|info| {
        let said = report(info);
        eprintln!("{said}");
        FIRST.lock().get_or_insert(said);
    }));
}

/// The first panic since the last call.
pub(super) fn take() -> Option<String> {
    FIRST.lock().take()
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("no text");
    let place =
        info.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
    let line: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.chars().take(CHARS_MAX).collect::<String>() + &place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_panics_is_told_once_with_its_place() {
        remember();
        for text in ["first\nreason", "second"] {
            let fall = move || std::panic::panic_any(text.to_owned());
            let thread = std::thread::Builder::new().name("falls".to_owned()).spawn(fall);
            let _ = thread.map(std::thread::JoinHandle::join);
        }
        let _ = std::panic::take_hook();
        let told = take().unwrap_or_default();
        assert!(told.starts_with("first reason at ") && told.contains("panics.rs:"), "{told}");
        assert_eq!(take(), None);
    }
}
