//! Close codes and reasons of the page protocol.

use graphlume_engine::ClosedReason;
use graphlume_types::Code;

use super::codec::close;
use crate::status::Problem;

/// Close codes of the page protocol.
pub(super) mod ended {
    /// A credential is needed, or the one given does not verify.
    pub(crate) const AUTH: u16 = 4401;
    /// No such visualization, or not for this viewer.
    pub(crate) const MISSING: u16 = 4404;
    /// It has ended.
    pub(crate) const ENDED: u16 = 4410;
}

/// A reason to say goodbye.
#[derive(Debug)]
pub(super) struct Goodbye {
    pub(super) code: u16,
    pub(super) reason: String,
}

impl Goodbye {
    pub(super) fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// The page connects again, with the cookie that it has by then.
pub(super) fn expired() -> Goodbye {
    Goodbye::new(ended::AUTH, "the sign-in has ended; sign in again")
}

/// The close code for a refusal.
pub(super) const fn close_code(problem: Problem) -> u16 {
    match problem {
        Problem::Coded(code) => match code {
            Code::Unauthenticated => ended::AUTH,
            Code::NotFound | Code::Forbidden | Code::InvalidArgument => ended::MISSING,
            Code::Gone | Code::Conflict => ended::ENDED,
            Code::Internal | Code::Corrupt => close::INTERNAL,
            Code::TooLarge
            | Code::Unsupported
            | Code::Exhausted
            | Code::DeviceMemory
            | Code::StorageFull
            | Code::DeadlineExceeded
            | Code::Unavailable
            | Code::Cancelled => close::TRY_LATER,
        },
        _ => close::PROTOCOL,
    }
}

/// Why the engine closed the session, for its viewers.
pub(super) fn goodbye_for(reason: ClosedReason) -> Goodbye {
    let code = match reason {
        ClosedReason::Shutdown => close::RESTART,
        ClosedReason::Closed
        | ClosedReason::DatasetGone
        | ClosedReason::Replaced
        | ClosedReason::Idle => ended::ENDED,
    };
    Goodbye::new(code, reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_close_code_that_a_browser_accepts() {
        for code in Code::ALL {
            let close = close_code(code.into());
            assert!((1000..=1015).contains(&close) || (4000..5000).contains(&close), "{code:?}");
        }
        assert_eq!(close_code(Code::NotFound.into()), 4404);
        assert_eq!(close_code(Code::Unauthenticated.into()), 4401);
        assert_eq!(close_code(Code::Gone.into()), 4410);
    }
}
