//! Lists in pages.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::EngineError;
use graphlume_identity::{IdentityError, Principal};
use graphlume_storage::{Headed, OrgRec, Role, Scope};
use graphlume_types::Counted;
use graphlume_types::limits::{
    LIST_MEMORY_BYTES, LIST_PAGE_BYTES_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX,
};
use serde::Serialize;

use crate::context::Context;
use crate::data::DataStore;
use crate::error::ServiceError;
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

    /// What stands around the entries of `window`, of which `walked` are used up.
    fn frame(&self, window: Window, count: u64, walked: u64) -> Frame {
        let Window { limit, offset } = window;
        let address = |offset: u64| format!("{}?limit={limit}&offset={offset}", self.address);
        let after = offset.saturating_add(walked);
        Frame {
            count,
            next: (after < count).then(|| address(after)),
            previous: (offset > 0).then(|| address(offset.min(count).saturating_sub(limit))),
        }
    }
}

/// What stands around the entries of a page.
#[derive(Debug, Serialize)]
struct Frame {
    count: u64,
    next: Option<String>,
    previous: Option<String>,
}

/// A page of a list, written out. This is the one place that lists pass: a few at once, which count against the
/// memory of the server until their last byte is sent, and as unread answers of the caller's.
pub(crate) async fn page_of<R: Headed>(
    ctx: &Context,
    who: &Principal,
    page: PageRequest,
    may: impl Fn(&DataStore, &R::Head) -> Result<bool, ServiceError> + Send + 'static,
    show: fn(&[u8]) -> serde_json::Result<String>,
) -> Result<Page, ServiceError> {
    let user = who.user().ok_or(IdentityError::Unauthenticated)?;
    let window = page.window()?;
    let (memory, limit) = (ctx.engine.memory(), ctx.engine.query_memory_max());
    ctx.answer_budget.check(Some(user), limit)?;
    let place = Arc::clone(&ctx.lists).acquire_owned().await;
    let who = who.clone();
    let mut listed = ctx
        .blocking(move |data| {
            let _place = place;
            memory.take(LIST_MEMORY_BYTES).map_err(EngineError::from)?;
            let scopes = own_scopes(data, &who)?;
            let shown = window_of::<R>(data, &scopes, window, |head| may(data, head), show)?;
            let frame = page.frame(window, shown.count, shown.walked);
            let mut out = Counted::new(memory.clone());
            write_page(&frame, &shown.items, &mut out).map_err(|e| match out.refused() {
                Some(refused) => EngineError::from(refused).into(),
                None => ServiceError::Internal(e.to_string()),
            })?;
            Ok(Page { count: shown.count, body: Bytes::from_owner(out.done()) })
        })
        .await?;
    listed.body = ctx.answer_budget.hold(Some(user), listed.body, limit)?;
    Ok(listed)
}

/// What a caller's lists show: the own objects and those of the own organizations, to superusers of every
/// organization. Blocks for the latter.
fn own_scopes(data: &DataStore, who: &Principal) -> Result<Vec<Scope>, ServiceError> {
    let user = who.user().ok_or(IdentityError::Unauthenticated)?;
    if who.scope().is_some() {
        return Ok(Vec::new());
    }
    let mut scopes = vec![Scope::Owner(user)];
    scopes.extend(who.orgs().iter().cloned().map(Scope::Org));
    if who.role() == Some(Role::Superuser) {
        for org in data.store.scan::<OrgRec>() {
            match org {
                Ok(org) => scopes.push(Scope::Org(org.slug)),
                Err(e) if e.is_corrupt() => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
    Ok(scopes)
}

fn write_page(frame: &Frame, items: &[String], out: &mut Counted) -> std::io::Result<()> {
    let frame = serde_json::to_string(frame)?;
    out.write_all(frame.trim_end_matches('}').as_bytes())?;
    out.write_all(br#","results":["#)?;
    for (i, item) in items.iter().enumerate() {
        out.write_all(if i == 0 { b"" } else { b"," })?;
        out.write_all(item.as_bytes())?;
    }
    out.write_all(b"]}")
}

/// What a page of a list shows.
struct Shown {
    items: Vec<String>,
    /// Entries of the list that the page used up.
    walked: u64,
    /// Entries of the whole list.
    count: u64,
}

/// The part of a list that a page shows, of what the caller may see. Rights are asked of heads: no record is read but
/// those that are shown. A page ends early at [`LIST_PAGE_BYTES_MAX`], so that no list costs more memory than that.
fn window_of<R: Headed>(
    data: &DataStore,
    scopes: &[Scope],
    window: Window,
    may: impl Fn(&R::Head) -> Result<bool, ServiceError>,
    show: fn(&[u8]) -> serde_json::Result<String>,
) -> Result<Shown, ServiceError> {
    // Every account sees what is its own.
    let is_own = matches!(scopes, [Scope::Owner(_)]);
    let end = window.offset.saturating_add(window.limit);
    let (mut at, mut bytes, mut is_full) = (0_u64, 0_usize, false);
    let (mut items, mut walked) = (Vec::new(), 0);
    data.store.walk::<R, ServiceError>(scopes, |entry| {
        if is_own && (is_full || at >= end) {
            return Ok(ControlFlow::Break(()));
        }
        if !is_own {
            match entry.head() {
                Ok(Some(head)) if may(&head)? => {}
                Err(e) if !e.is_corrupt() => return Err(e.into()),
                _ => return Ok(ControlFlow::Continue(())),
            }
        }
        let is_shown = (window.offset..end).contains(&at) && !is_full;
        at += 1;
        if is_shown {
            // Absent when it was deleted since; when it is damaged, `doctor` names it.
            let text = match entry.json() {
                Err(e) if !e.is_corrupt() => return Err(e.into()),
                found => found.ok().flatten().and_then(|json| show(&json).ok()),
            };
            let size = text.as_ref().map_or(0, String::len);
            is_full = !items.is_empty() && bytes.saturating_add(size) > LIST_PAGE_BYTES_MAX;
            if !is_full {
                bytes = bytes.saturating_add(size);
                items.extend(text);
                walked += 1;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let count = if is_own { data.store.count::<R>(scopes)? } else { at };
    Ok(Shown { items, walked, count })
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
        let p = r.frame(r.window().unwrap(), 25, 10);
        assert_eq!(p.next.unwrap(), "http://h/l/?limit=10&offset=20");
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=0");
        let r = request("10", "20");
        assert!(r.frame(r.window().unwrap(), 25, 5).next.is_none());
        let r = request("10", "");
        assert!(r.frame(r.window().unwrap(), 10, 10).next.is_none());
        let r = request("10", "18446744073709551615");
        let p = r.frame(r.window().unwrap(), 25, 0);
        assert!(p.next.is_none());
        assert_eq!(p.previous.unwrap(), "http://h/l/?limit=10&offset=15");
        // A page that its bytes ended, with a damaged record among its entries.
        let r = request("10", "10");
        let p = r.frame(r.window().unwrap(), 25, 4);
        assert_eq!(p.next.unwrap(), "http://h/l/?limit=10&offset=14");
    }
}
