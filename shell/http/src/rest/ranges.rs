//! Answers of many bytes that browsers keep, ask for again and fetch in pieces (RFC 9110, sections 13 and 14).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use bytes::Bytes;
use graphlume_types::id;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, ETAG, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{Response, StatusCode};

use super::viz::binary;
use crate::reply::Reply;
use crate::request::Req;
use crate::status::{ApiError, Problem};

/// An answer that can be asked for in pieces; all pieces share the same bytes.
pub(super) fn ranged(req: &Req, bytes: Bytes, name: &str) -> Result<Reply, ApiError> {
    let etag = etag(&bytes, name);
    let quoted = |value: &HeaderValue| value.to_str().is_ok_and(|v| v.contains(&etag));
    let total = bytes.len() as u64;
    let mut reply = if req.headers.get(IF_NONE_MATCH).is_some_and(quoted) {
        let mut reply = Response::new(Bytes::new());
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        reply
    } else {
        let same = req.headers.get(IF_RANGE).is_none_or(quoted);
        match req.header(&RANGE).filter(|_| same).map_or(Range::All, |r| parse_range(r, total)) {
            Range::All => binary(bytes),
            Range::Outside => {
                return Err(ApiError::new(
                    Problem::RangeNotSatisfiable,
                    "range",
                    format!("the range lies outside of the {total} bytes that there are"),
                )
                .with_header(CONTENT_RANGE, format!("bytes */{total}")));
            }
            Range::Part { first, last } => {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "both are below a slice's length"
                )]
                let mut reply = binary(bytes.slice(first as usize..=last as usize));
                *reply.status_mut() = StatusCode::PARTIAL_CONTENT;
                if let Ok(v) = HeaderValue::from_str(&format!("bytes {first}-{last}/{total}")) {
                    reply.headers_mut().insert(CONTENT_RANGE, v);
                }
                reply
            }
        }
    };
    let headers = reply.headers_mut();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Sessions are named by clients, so an address may mean another graph tomorrow: a browser keeps
    // the bytes and asks whether they still hold.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, etag);
    }
    Ok(reply)
}

/// A name for these bytes. It holds for the life of the process and costs a few thousand bytes of
/// reading, however large they are.
fn etag(bytes: &Bytes, name: &str) -> String {
    static PROCESS: OnceLock<[u8; 8]> = OnceLock::new();
    let mut hasher = DefaultHasher::new();
    PROCESS.get_or_init(id::random_bytes::<8>).hash(&mut hasher);
    name.hash(&mut hasher);
    bytes.len().hash(&mut hasher);
    let step = (bytes.len() / 64).max(64);
    for at in (0..bytes.len()).step_by(step) {
        bytes[at..bytes.len().min(at + 64)].hash(&mut hasher);
    }
    format!("\"{:016x}\"", hasher.finish())
}

/// What a `Range` header asks for.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    All,
    Part { first: u64, last: u64 },
    Outside,
}

/// One range of bytes. Anything else that the header may say is answered with everything, as the
/// standard allows.
fn parse_range(header: &str, total: u64) -> Range {
    let Some((first, last)) = header
        .trim()
        .strip_prefix("bytes=")
        .filter(|spec| !spec.contains(','))
        .and_then(|spec| spec.trim().split_once('-'))
    else {
        return Range::All;
    };
    let number = |text: &str| {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), _) if first >= total && (last.is_empty() || number(last) >= Some(first)) => {
            Range::Outside
        }
        (Some(first), None) if last.is_empty() => Range::Part { first, last: total - 1 },
        (Some(first), Some(last)) if last >= first => {
            Range::Part { first, last: last.min(total - 1) }
        }
        (None, Some(0)) if first.is_empty() => Range::Outside,
        (None, Some(_)) if first.is_empty() && total == 0 => Range::Outside,
        (None, Some(suffix)) if first.is_empty() => {
            Range::Part { first: total.saturating_sub(suffix), last: total - 1 }
        }
        _ => Range::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let part = |first, last| Range::Part { first, last };
        for (header, expected) in [
            ("bytes=0-9", part(0, 9)),
            ("bytes=5-5", part(5, 5)),
            ("bytes=90-", part(90, 99)),
            ("bytes=90-1000", part(90, 99)),
            ("bytes=-10", part(90, 99)),
            ("bytes=-1000", part(0, 99)),
            ("bytes=0-99999999999999999999999", part(0, 99)),
            ("bytes=100-", Range::Outside),
            ("bytes=100-200", Range::Outside),
            ("bytes=-0", Range::Outside),
            ("bytes=9-5", Range::All),
            ("bytes=200-100", Range::All),
            ("bytes=0-1,5-6", Range::All),
            ("bytes=a-b", Range::All),
            ("bytes=-", Range::All),
            ("bytes=+1-2", Range::All),
            ("items=0-1", Range::All),
        ] {
            assert_eq!(parse_range(header, 100), expected, "{header}");
        }
        for header in ["bytes=0-", "bytes=0-0", "bytes=-5"] {
            assert_eq!(parse_range(header, 0), Range::Outside, "{header} of nothing");
        }
    }

    #[test]
    fn other_bytes_and_other_names_have_other_tags() {
        let a = Bytes::from(vec![1; 1 << 20]);
        let mut b = a.to_vec();
        b[0] = 2;
        assert_eq!(etag(&a, "x"), etag(&a.clone(), "x"));
        assert_ne!(etag(&a, "x"), etag(&b.into(), "x"));
        assert_ne!(etag(&a, "x"), etag(&a, "y"));
        assert_ne!(etag(&a, "x"), etag(&a.slice(1..), "x"));
    }
}
