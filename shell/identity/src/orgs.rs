//! Organizations in which tokens act.

use std::collections::HashMap;

use graphlume_storage::{Batch, OrgRec, Role, SettingRec, Store, UserRec};
use graphlume_types::limits::TOKEN_ORGS_MAX;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::IdentityError;
use crate::principal::Principal;
use crate::reply::ActiveOrganization;

/// What the names of the settings begin with that hold the switches; the number of the token follows.
const SETTING: &str = "token-org:";

/// Switches of live tokens, also in the records: a token outlives the process, and so does what it acts in.
pub(crate) struct TokenOrgs(Mutex<HashMap<String, Switched>>);

#[derive(Clone, Serialize, Deserialize)]
struct Switched {
    org: String,
    expires_at: i64,
}

impl TokenOrgs {
    /// The switches that the records hold. Those that cannot be read are none.
    pub(crate) fn of(store: &Store) -> Self {
        let mut map = HashMap::new();
        for setting in store.scan::<SettingRec>().filter_map(Result::ok) {
            if let Some(jti) = setting.name.strip_prefix(SETTING)
                && let Ok(switched) = serde_json::from_value(setting.value)
            {
                map.insert(jti.to_owned(), switched);
            }
        }
        Self(Mutex::new(map))
    }

    pub(crate) fn get(&self, jti: &str) -> Option<String> {
        self.0.lock().get(jti).map(|s| s.org.clone())
    }

    /// Remembers a switch until its token expires. A full table first forgets the expired ones, then
    /// the one that expires next. Blocks on the disk.
    ///
    /// # Errors
    /// The store takes no writes; the token acts where it did then.
    pub(crate) fn set(
        &self,
        store: &Store,
        jti: &str,
        org: &str,
        expires_at: i64,
        now: i64,
    ) -> Result<(), IdentityError> {
        let switched = Switched { org: org.to_owned(), expires_at };
        let mut batch = Batch::new().put(&setting(jti, json!(switched)));
        let mut map = self.0.lock();
        if map.len() >= TOKEN_ORGS_MAX && !map.contains_key(jti) {
            let mut gone: Vec<String> =
                map.iter().filter(|(_, s)| s.expires_at <= now).map(|(k, _)| k.clone()).collect();
            if gone.is_empty() {
                gone.extend(map.iter().min_by_key(|(_, s)| s.expires_at).map(|(k, _)| k.clone()));
            }
            for jti in gone {
                map.remove(&jti);
                batch = batch.delete::<SettingRec>(&setting(&jti, Value::Null).name);
            }
        }
        drop(map);
        store.commit(batch)?;
        self.0.lock().insert(jti.to_owned(), switched);
        Ok(())
    }
}

fn setting(jti: &str, value: Value) -> SettingRec {
    SettingRec { name: format!("{SETTING}{jti}"), value }
}

/// Removes the switches of tokens that are over.
pub(crate) fn forget_old(store: &Store, now: i64) -> Result<(), IdentityError> {
    store.each(|setting: SettingRec| {
        let is_over = setting.name.starts_with(SETTING)
            && setting.value["expires_at"].as_i64().is_none_or(|at| at <= now);
        if is_over {
            store.commit(Batch::new().delete::<SettingRec>(&setting.name))?;
        }
        Ok(())
    })
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
) -> Result<(ActiveOrganization, String), IdentityError> {
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

fn org_exists(store: &Store, slug: &str) -> Result<bool, IdentityError> {
    // Longer texts are no keys.
    Ok(slug.len() <= 255 && !slug.is_empty() && store.exists::<OrgRec>(&slug.to_owned())?)
}

/// The organization that a new object goes to: the one that the request names, else the token's.
///
/// # Errors
/// [`IdentityError::Forbidden`] for an organization that the caller is no member of.
pub fn for_create(
    store: &Store,
    who: &Principal,
    requested: Option<&str>,
) -> Result<String, IdentityError> {
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
) -> Result<(), IdentityError> {
    if who.belongs_to(Some(slug)) || who.role() == Some(Role::Superuser) && org_exists(store, slug)?
    {
        return Ok(());
    }
    let shown: String = slug.chars().take(80).collect();
    Err(IdentityError::Forbidden(format!(
        "you are not a member of organization {shown:?}; name another one in org_name or none"
    )))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_storage::Options;

    use super::*;

    #[test]
    fn switches_are_bounded_and_survive_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let orgs = TokenOrgs::of(&store);
        {
            let mut map = orgs.0.lock();
            for i in 0..TOKEN_ORGS_MAX {
                let switched = Switched { org: "acme".to_owned(), expires_at: 100 + i as i64 };
                map.insert(format!("t{i}"), switched);
            }
        }
        orgs.set(&store, "fresh", "acme", 1_000_000, 150).unwrap();
        assert_eq!(orgs.get("t50"), None, "expired at 150");
        assert!(orgs.get("t51").is_some());
        for i in 0..100 {
            orgs.set(&store, &format!("more{i}"), "other", 2_000_000, 150).unwrap();
        }
        assert!(orgs.0.lock().len() <= TOKEN_ORGS_MAX);
        let again = TokenOrgs::of(&store);
        assert_eq!(again.get("fresh").as_deref(), Some("acme"));
        assert_eq!(again.get("more7").as_deref(), Some("other"));
    }
}
