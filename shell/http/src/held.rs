//! Bodies that the reply of a handler cannot carry: handlers answer with whole bodies.

use std::sync::Arc;

use http::Response;
use parking_lot::Mutex;

use crate::reply::AnyBody;
use crate::reply::Reply;

/// A body that takes the place of the whole one.
#[derive(Clone)]
struct Held(Arc<Mutex<Option<AnyBody>>>);

/// Holds `body` for a reply, whose own body is not sent.
pub(crate) fn hold(reply: &mut Reply, body: AnyBody) {
    reply.extensions_mut().insert(Held(Arc::new(Mutex::new(Some(body)))));
}

/// Gives a response the body that was held for it, which has no known length.
pub(crate) fn attach(mut response: Response<AnyBody>) -> Response<AnyBody> {
    let held = response.extensions_mut().remove::<Held>();
    match held.and_then(|held| held.0.lock().take()) {
        Some(body) => {
            response.headers_mut().remove(http::header::CONTENT_LENGTH);
            response.map(|_| body)
        }
        None => response,
    }
}
