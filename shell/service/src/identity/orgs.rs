//! Which organization a token acts in.

use std::collections::HashMap;

use graphlume_storage::{OrgRec, Role, Store, UserRec};
use graphlume_types::limits::TOKEN_ORGS_MAX;
use parking_lot::Mutex;

use crate::ServiceError;
use crate::principal::Principal;
use crate::reply::ActiveOrganization;

/// Switches of live tokens. They are kept in memory only: a refreshed token carries its organization
/// in its claims, and clients name the organization again in every create.
pub(crate) struct TokenOrgs(Mutex<HashMap<String, Switched>>);

struct Switched {
    org: String,
    expires_at: i64,
}

impl TokenOrgs {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    pub(crate) fn get(&self, jti: &str) -> Option<String> {
        self.0.lock().get(jti).map(|s| s.org.clone())
    }

    /// Remembers a switch until its token expires. A full table first forgets the expired ones, then
    /// the one that expires next.
    pub(crate) fn set(&self, jti: &str, org: &str, expires_at: i64, now: i64) {
        let mut map = self.0.lock();
        if map.len() >= TOKEN_ORGS_MAX && !map.contains_key(jti) {
            map.retain(|_, s| s.expires_at > now);
            if map.len() >= TOKEN_ORGS_MAX {
                let next = map.iter().min_by_key(|(_, s)| s.expires_at).map(|(k, _)| k.clone());
                next.and_then(|k| map.remove(&k));
            }
        }
        map.insert(jti.to_owned(), Switched { org: org.to_owned(), expires_at });
    }
}

/// The organization that the account acts in by default: the personal one unless set.
pub(crate) fn default_org(user: &UserRec) -> &str {
    match &user.active_org {
        Some(org) if user.orgs.contains(org) => org,
        _ => &user.username,
    }
}

/// What a login replies about the organization that it asked for, and the one that the token gets.
pub(crate) fn at_login(
    store: &Store,
    user: &UserRec,
    requested: Option<&str>,
) -> Result<(ActiveOrganization, String), ServiceError> {
    let reply = |slug: &str, is_found, is_member| ActiveOrganization {
        slug: slug.to_owned(),
        is_found,
        is_member,
    };
    let Some(slug) = requested.filter(|s| !s.is_empty()) else {
        let slug = default_org(user);
        return Ok((reply(slug, true, true), slug.to_owned()));
    };
    if slug == user.username || user.orgs.iter().any(|o| o == slug) {
        return Ok((reply(slug, true, true), slug.to_owned()));
    }
    let is_found = org_exists(store, slug)?;
    Ok((reply(slug, is_found, false), default_org(user).to_owned()))
}

fn org_exists(store: &Store, slug: &str) -> Result<bool, ServiceError> {
    // Longer texts are no keys.
    Ok(slug.len() <= 255 && !slug.is_empty() && store.exists::<OrgRec>(&slug.to_owned())?)
}

/// The organization that a new object goes to: the one that the request names, else the token's.
pub(crate) fn for_create(
    store: &Store,
    who: &Principal,
    requested: Option<&str>,
) -> Result<String, ServiceError> {
    let active = || who.active_org().unwrap_or_default().to_owned();
    let Some(slug) = requested.filter(|s| !s.is_empty()) else { return Ok(active()) };
    require_member(store, who, slug)?;
    Ok(slug.to_owned())
}

/// Members may act in an organization, superusers in every one that exists.
pub(crate) fn require_member(
    store: &Store,
    who: &Principal,
    slug: &str,
) -> Result<(), ServiceError> {
    if who.belongs_to(Some(slug)) || who.role() == Some(Role::Superuser) && org_exists(store, slug)?
    {
        return Ok(());
    }
    let shown: String = slug.chars().take(80).collect();
    Err(ServiceError::Forbidden(format!(
        "you are not a member of organization {shown:?}; name another one in org_name or none"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_bounded_and_expired_ones_go_first() {
        let orgs = TokenOrgs::new();
        for i in 0..TOKEN_ORGS_MAX {
            orgs.set(&format!("t{i}"), "acme", 100 + i as i64, 0);
        }
        orgs.set("fresh", "acme", 1_000_000, 150);
        assert_eq!(orgs.get("t50"), None, "expired at 150");
        assert!(orgs.get("t51").is_some());
        assert_eq!(orgs.get("fresh").as_deref(), Some("acme"));
        for i in 0..100 {
            orgs.set(&format!("more{i}"), "acme", 2_000_000, 150);
        }
        assert!(orgs.0.lock().len() <= TOKEN_ORGS_MAX);
    }
}
