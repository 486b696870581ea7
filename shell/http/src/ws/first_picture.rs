//! The first positions of a page: of many nodes in stripes, the first of which is drawn with its colours while the others are
//! still on the way.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::PositionFrame;

/// What of the first key frame a page still waits for.
#[derive(Debug, Default)]
pub(super) struct FirstPicture {
    /// Whether the page puts stripes together.
    takes_stripes: bool,
    /// Whether the page has a graph and no positions of it.
    expected: bool,
    rest: Vec<Bytes>,
}

impl FirstPicture {
    pub(super) fn of(takes_stripes: bool) -> Self {
        Self { takes_stripes, ..Self::default() }
    }

    /// The page has been told of a graph of which it shows nothing.
    pub(super) fn begin_anew(&mut self) {
        self.expected = true;
        self.rest.clear();
    }

    /// What is sent in place of `frame`, its first stripe; `None` where the frame is sent whole. The others are the
    /// [`Self::rest`].
    pub(super) async fn begin(&mut self, frame: &Arc<PositionFrame>) -> Option<Bytes> {
        if !std::mem::take(&mut self.expected) || !self.takes_stripes {
            return None;
        }
        let frame = Arc::clone(frame);
        // Cutting takes a while; a worker that fails leaves the whole frame.
        let stripes =
            tokio::task::spawn_blocking(move || frame.stripes()).await.unwrap_or_default();
        let (first, rest) = stripes.split_first()?;
        self.rest = rest.to_vec();
        Some(first.clone())
    }

    /// The stripes that are still to be sent.
    pub(super) fn rest(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.rest)
    }
}
