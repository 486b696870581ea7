//! Lists in pages.

use graphlume_types::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};

use crate::ServiceError;
use crate::reply::Page;

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

    /// The reply around the entries of `window`.
    pub(crate) fn reply<T>(&self, window: Window, count: u64, results: Vec<T>) -> Page<T> {
        let Window { limit, offset } = window;
        let address = |offset: u64| format!("{}?limit={limit}&offset={offset}", self.address);
        let after = offset.saturating_add(limit);
        Page {
            count,
            next: (after < count).then(|| address(after)),
            previous: (offset > 0).then(|| address(offset.min(count).saturating_sub(limit))),
            results,
        }
    }
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
        let p = r.reply(r.window().unwrap(), 25, vec![0; 10]);
        assert_eq!(p.next.unwrap(), "http://h/l/?limit=10&offset=20");
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=0");
        let r = request("10", "20");
        assert!(r.reply(r.window().unwrap(), 25, vec![0; 5]).next.is_none());
        let r = request("10", "");
        assert!(r.reply(r.window().unwrap(), 10, vec![0; 10]).next.is_none());
        let r = request("10", "18446744073709551615");
        let p = r.reply(r.window().unwrap(), 25, Vec::<u8>::new());
        assert!(p.next.is_none());
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=15");
    }
}
