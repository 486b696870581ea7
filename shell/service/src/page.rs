//! Lists in pages.

use graphlume_storage::{Record, Scope};
use graphlume_types::limits::{LIST_PAGE_BYTES_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};

use crate::ServiceError;
use crate::body::json_bytes;
use crate::reply::Page;
use crate::service::Core;

/// Which part of a list is wanted, as the address has it.
#[derive(Debug, Clone, Default)]
pub struct PageRequest {
    /// The list's address without the query; the addresses of the other pages begin with it.
    pub address: String,
    /// Entries of a page.
    pub limit: Option<String>,
    /// Entries to skip.
    pub offset: Option<String>,
}

/// The window that a [`PageRequest`] means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub limit: u64,
    pub offset: u64,
}

impl PageRequest {
    pub(crate) fn window(&self) -> Result<Window, ServiceError> {
        let number =
            |field: &'static str, text: &Option<String>, default: u64| match text.as_deref() {
                None | Some("") => Ok(default),
                Some(t) => t.parse::<u64>().map_err(|_| {
                    let shown: String = t.chars().take(40).collect();
                    ServiceError::invalid(
                        field,
                        format!("{field}={shown:?} is not a whole number from 0"),
                    )
                }),
            };
        let limit = number("limit", &self.limit, PAGE_ROWS_DEFAULT)?;
        let offset = number("offset", &self.offset, 0)?;
        if limit == 0 || limit > PAGE_ROWS_MAX {
            return Err(ServiceError::invalid(
                "limit",
                format!("limit={limit} is out of range; use 1 to {PAGE_ROWS_MAX}"),
            ));
        }
        Ok(Window { limit, offset })
    }

    /// The reply around entries of `window`, of which `walked` are used up.
    pub(crate) fn reply<T>(
        &self,
        window: Window,
        count: u64,
        walked: u64,
        results: Vec<T>,
    ) -> Page<T> {
        let Window { limit, offset } = window;
        let address = |offset: u64| format!("{}?limit={limit}&offset={offset}", self.address);
        let after = offset.saturating_add(walked);
        Page {
            count,
            next: (after < count).then(|| address(after)),
            previous: (offset > 0).then(|| address(offset.min(count).saturating_sub(limit))),
            results,
        }
    }
}

/// The records of some lists that may be shown, newest first.
pub(crate) fn visible<R: Record>(
    core: &Core,
    scopes: &[Scope],
    mut may: impl FnMut(&R) -> Result<bool, ServiceError>,
) -> Result<Vec<R>, ServiceError> {
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        let page = core.store.list_within::<R>(scopes, at, PAGE_ROWS_MAX, LIST_PAGE_BYTES_MAX)?;
        for rec in page.items {
            if may(&rec)? {
                out.push(rec);
            }
        }
        at += page.walked;
        if at >= page.total || page.walked == 0 {
            return Ok(out);
        }
    }
}

/// What a page of a list shows.
pub(crate) struct Shown<R> {
    pub items: Vec<R>,
    /// Entries of the list that the page used up.
    pub walked: u64,
    /// Entries of the whole list.
    pub count: u64,
}

/// The part of a list that a page shows, of what the caller may see. It ends early at
/// [`LIST_PAGE_BYTES_MAX`], so that no list costs more memory than that.
pub(crate) fn window_of<R: Record>(
    core: &Core,
    scopes: &[Scope],
    window: Window,
    mut may: impl FnMut(&R) -> Result<bool, ServiceError>,
) -> Result<Shown<R>, ServiceError> {
    if let [Scope::Owner(_)] = scopes {
        // Everybody sees what is their own.
        let (offset, limit) = (window.offset, window.limit);
        let found = core.store.list_within::<R>(scopes, offset, limit, LIST_PAGE_BYTES_MAX)?;
        return Ok(Shown { items: found.items, walked: found.walked, count: found.total });
    }
    let (mut seen, mut bytes) = (0, 0usize);
    let mut shown = window.offset..window.offset.saturating_add(window.limit);
    let mut items = Vec::new();
    visible(core, scopes, |rec: &R| {
        if may(rec)? {
            if shown.contains(&seen) {
                bytes = bytes.saturating_add(json_bytes(rec));
                if items.is_empty() || bytes <= LIST_PAGE_BYTES_MAX {
                    items.push(rec.clone());
                } else {
                    shown.end = seen;
                }
            }
            seen += 1;
        }
        Ok(false)
    })?;
    let walked = items.len() as u64;
    Ok(Shown { items, walked, count: seen })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn request(limit: &str, offset: &str) -> PageRequest {
        let some = |t: &str| (!t.is_empty()).then(|| t.to_owned());
        PageRequest { address: "http://h/l/".to_owned(), limit: some(limit), offset: some(offset) }
    }

    #[test]
    fn windows_keep_to_their_range() {
        assert_eq!(request("", "").window().unwrap(), Window { limit: 50, offset: 0 });
        assert_eq!(request("1000", "7").window().unwrap(), Window { limit: 1000, offset: 7 });
        assert!(request("", "18446744073709551615").window().is_ok());
        for (limit, offset) in
            [("0", ""), ("1001", ""), ("-1", ""), ("x", ""), ("", "-1"), ("1e3", "")]
        {
            assert!(request(limit, offset).window().is_err(), "{limit} {offset}");
        }
        assert!(request("", "99999999999999999999999").window().is_err());
    }

    #[test]
    fn neighbours_are_named_only_where_they_exist() {
        let r = request("10", "10");
        let p = r.reply(r.window().unwrap(), 25, 10, vec![0; 10]);
        assert_eq!(p.next.unwrap(), "http://h/l/?limit=10&offset=20");
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=0");
        let r = request("10", "20");
        assert!(r.reply(r.window().unwrap(), 25, 5, vec![0; 5]).next.is_none());
        let r = request("10", "");
        assert!(r.reply(r.window().unwrap(), 10, 10, vec![0; 10]).next.is_none());
        let r = request("10", "18446744073709551615");
        let p = r.reply(r.window().unwrap(), 25, 0, Vec::<u8>::new());
        assert!(p.next.is_none());
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=15");
        // A page that its bytes ended, with a damaged record among its entries.
        let r = request("10", "10");
        let p = r.reply(r.window().unwrap(), 25, 4, vec![0; 3]);
        assert_eq!(p.next.unwrap(), "http://h/l/?limit=10&offset=14");
    }
}
