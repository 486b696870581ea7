//! Vocabulary shared by every crate of Graphlume: ids, error codes, limits, clocks, the calendar,
//! cancellation and memory budgets.
//!
//! This crate does no I/O, knows no async runtime and no device, so that anything may depend on it.

pub mod address;
pub mod budget;
pub mod calendar;
pub mod caller;
pub mod cancel;
pub mod clock;
pub mod code;
pub mod counted;
pub mod foreground;
pub mod hash;
pub mod id;
pub mod iso_time;
pub mod limits;
pub mod nearest;
pub mod notice;
pub mod number;
pub mod settings;
pub mod stage;
pub mod tuning;

pub use budget::{
    Budget, MakeRoom, MemoryConsumer, MemoryReservation, Reservation, ResourcesExhausted,
};
pub use caller::Caller;
pub use cancel::{CancelReason, CancelToken, Cancelled};
pub use clock::{Clock, SystemClock, TestClock};
pub use code::{Code, Coded};
pub use counted::{Counted, Finished};
pub use foreground::Foreground;
pub use id::{DatasetId, FileId, IdError, KeyId, SessionId, UserId};
pub use nearest::nearest;
pub use notice::{Notice, note};
