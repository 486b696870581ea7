//! The live stream of a visualization.
//!
//! The websocket protocol is spoken here and not by a library because a library copies every frame
//! into its own buffer per connection; with fifty viewers of one graph that is fifty copies. Ours
//! writes a few header bytes and then the bytes that all viewers share.

mod admission;
mod codec;
mod credit;
mod document;
mod first_picture;
mod goodbye;
mod handshake;
mod hello;
mod laying;
mod rate;
mod viewer;

pub(crate) use document::answer_of_step;
pub(crate) use handshake::{check_origin, is_own_page};
pub(crate) use hello::greeting;
pub(crate) use viewer::open;
