//! Single-use login links: an administrator mints one, and its first use signs an external user in for
//! one dataset.

use graphlume_storage::{Batch, DatasetRec, LinkRec, Scope, SecretDigest, StoreError, UserRec};
use graphlume_types::limits::{
    LINK_RECORD_SECS, LINKS_PER_USER_MAX, PAGE_ROWS_MAX, SESAME_MAX_AGE_SECS,
    SESAME_MAX_AGE_SECS_MAX,
};
use graphlume_types::{DatasetId, UserId};

use super::{Identity, Records, login_sessions};
use crate::accounts;
use crate::body;
use crate::error::IdentityError;
use crate::jwt::Subject;
use crate::principal::Principal;
use crate::refusals::Refused;
use crate::secret;

const MICROS: i64 = 1_000_000;

/// Settings of login links: flags of `graphlume serve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct LinkSettings {
    /// Seconds after which a login link is refused (also read from SESAME_MAX_AGE); after 7 days it is
    /// refused in any case
    #[arg(id = "sesame_max_age", long = "sesame-max-age", value_name = "S", env = "GRAPHLUME_SESAME_MAX_AGE",
        default_value_t = SESAME_MAX_AGE_SECS,
        value_parser = clap::value_parser!(i64).range(1..=SESAME_MAX_AGE_SECS_MAX))]
    pub max_age_secs: i64,
    /// Whether a login link works once (also read from SESAME_ONE_TIME)
    #[arg(id = "sesame_one_time", long = "sesame-one-time", value_name = "BOOL", env = "GRAPHLUME_SESAME_ONE_TIME",
        default_value = "true", action = clap::ArgAction::Set,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub one_time: bool,
}

impl Default for LinkSettings {
    fn default() -> Self {
        graphlume_types::settings::defaults()
    }
}

/// What a use of a link gives the browser. It holds secrets and therefore does not print.
pub struct LinkLogin {
    /// The only dataset that the login may see.
    pub dataset: DatasetId,
    /// A token of this login.
    pub token: String,
    /// The secret of the login session, which lives longer than the token.
    pub session: String,
}

/// A link that an administrator has asked for, before the dataset is looked up.
pub struct LinkOrder {
    username: String,
    minted_by: UserId,
}

/// What is to be minted.
struct Mint {
    username: String,
    dataset: DatasetId,
    minted_by: UserId,
    token_sha256: SecretDigest,
}

/// A use that is on the disk.
struct Used {
    user: UserRec,
    link: LinkRec,
    session: String,
}

impl Identity {
    /// Checks that the caller may mint a link that signs `username` in, before anything is said about its dataset.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`] for callers other than staff and superusers; a missing or impossible name.
    pub fn order_link(
        &self,
        who: &Principal,
        username: Option<&str>,
    ) -> Result<LinkOrder, IdentityError> {
        let minted_by = self.require_admin(who, "link-mint-refused", "mint login links")?;
        let username = username
            .ok_or_else(|| body::missing("username", "the name of the person to let in"))?;
        accounts::check_name("username", username)?;
        Ok(LinkOrder { username: username.to_owned(), minted_by })
    }

    /// Mints a link for `dataset`, which the caller may read, and gives its token, which is shown this once.
    /// An unknown name becomes the account of a guest, without a password; an account that exists keeps
    /// everything it has, and the login that the link gives sees none of it but the dataset.
    ///
    /// # Errors
    /// [`IdentityError::Conflict`] for a disabled account and for one with too many links.
    pub async fn mint_link(
        &self,
        order: LinkOrder,
        dataset: DatasetId,
    ) -> Result<String, IdentityError> {
        let LinkOrder { username, minted_by } = order;
        let token = secret::fresh();
        let token_sha256 = secret::digest(&token);
        let mint = Mint { username, dataset, minted_by, token_sha256 };
        let settings = self.link_settings;
        self.blocking(move |records| write_link(records, settings, &mint)).await?;
        Ok(token)
    }

    /// Signs the holder of a link's token in. With [`LinkSettings::one_time`] it does so once, however
    /// many try at the same moment: the use is on the disk before this returns.
    ///
    /// # Errors
    /// [`IdentityError::LinkUsed`]; [`IdentityError::LinkInvalid`] whatever else is wrong with the link; a
    /// disk that does not take the use, which leaves the link unused.
    pub async fn use_link(&self, token: &str) -> Result<LinkLogin, IdentityError> {
        let digest = secret::digest(token);
        let link = secret::log_name(&digest);
        let settings = self.link_settings;
        self.require_certain_accounts()?;
        let used = if secret::has_form(token) {
            self.blocking(move |records| consume(records, settings, &digest)).await
        } else {
            Err(IdentityError::LinkInvalid)
        };
        let Used { user, link: rec, session } = match used {
            Ok(used) => used,
            Err(e) => {
                tracing::info!(target: "audit", event = "link-refused", link, reason = %e);
                self.refusals.count_error(&e, Refused::Link);
                return Err(e);
            }
        };
        let dataset = rec.dataset_id;
        tracing::info!(
            target: "audit", event = "link-used", user = user.id.0, %dataset, link, uses = rec.uses
        );
        let subject = Subject {
            user: user.id,
            username: user.username,
            // The holder of the link need not learn the address of the account.
            email: String::new(),
            epoch: user.token_epoch,
            org: None,
            scope: Some(dataset.to_string()),
            key: None,
            login: Some(secret::name_of(&secret::digest(&session))),
        };
        let now = self.records.clock.unix_secs();
        let (token, _) = self.tokens.issue(&subject, now, now)?;
        Ok(LinkLogin { dataset, token, session })
    }

    /// The caller's account, when it is staff or a superuser.
    pub(super) fn require_admin(
        &self,
        who: &Principal,
        event: &'static str,
        what: &str,
    ) -> Result<UserId, IdentityError> {
        let user = who.user().ok_or(IdentityError::Unauthenticated)?;
        if who.is_admin() {
            return Ok(user);
        }
        tracing::info!(target: "audit", event, user = user.0, reason = "not an administrator");
        Err(IdentityError::Forbidden(format!(
            "only staff and superusers may {what}; ask one of them to do it"
        )))
    }
}

fn write_link(
    records: &Records,
    settings: LinkSettings,
    order: &Mint,
) -> Result<(), IdentityError> {
    loop {
        let (guest, batch) = guest_of(records, order)?;
        let now = records.clock.unix_micros();
        let link = LinkRec {
            token_sha256: order.token_sha256.clone(),
            guest: guest.id,
            username: guest.username,
            dataset_id: order.dataset,
            minted_by: order.minted_by,
            minted_at: now,
            epoch: guest.token_epoch,
            uses: 0,
            used_at: None,
        };
        let batch = make_room(records, settings, &link, batch)?;
        match records.store.commit(batch.insert(&link)) {
            Ok(()) => {
                tracing::info!(
                    target: "audit", event = "link-minted", user = guest.id.0,
                    by = order.minted_by.0, dataset = %order.dataset,
                    link = secret::log_name(&order.token_sha256),
                );
                return Ok(());
            }
            // The account was made or changed meanwhile: once more.
            Err(
                StoreError::Changed { .. } | StoreError::Exists { .. } | StoreError::Taken { .. },
            ) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// The account of the name, and a batch that requires it as it is, or makes it.
fn guest_of(records: &Records, order: &Mint) -> Result<(UserRec, Batch), IdentityError> {
    let known = match accounts::by_name(&records.store, &order.username)? {
        Some(user) => records.store.get_tagged::<UserRec>(&user.id)?,
        None => None,
    };
    match known {
        Some((user, _)) if user.disabled => Err(IdentityError::Conflict(format!(
            "username {:?} is a disabled account, which no link can let in; enable it or choose another \
             name",
            user.username
        ))),
        Some((user, tag)) => {
            let batch = Batch::new().require::<UserRec>(&user.id, Some(tag));
            Ok((user, batch))
        }
        None => {
            let user = accounts::guest(&records.store, &order.username, order.dataset)?;
            let batch = Batch::new().insert(&user);
            Ok((user, batch))
        }
    }
}

/// An account with as many links as there may be gives up those that are used up or over.
fn make_room(
    records: &Records,
    settings: LinkSettings,
    link: &LinkRec,
    mut batch: Batch,
) -> Result<Batch, IdentityError> {
    let scope = [Scope::Owner(link.guest)];
    if records.store.count::<LinkRec>(&scope)? < LINKS_PER_USER_MAX {
        return Ok(batch);
    }
    let all = records.store.list::<LinkRec>(&scope, 0, PAGE_ROWS_MAX)?.items;
    let dead =
        all.iter().filter(|l| l.epoch != link.epoch || settings.check(l, link.minted_at).is_err());
    let mut freed = false;
    for old in dead {
        freed = true;
        batch = batch.delete::<LinkRec>(&old.token_sha256);
    }
    if freed {
        return Ok(batch);
    }
    Err(IdentityError::Conflict(format!(
        "username {:?} has {LINKS_PER_USER_MAX} links that nobody has used; end them with logout-user, \
         or wait until they expire",
        link.username
    )))
}

impl LinkSettings {
    /// Whether a link may still be used at `now` (microseconds since 1970).
    fn check(self, link: &LinkRec, now: i64) -> Result<(), IdentityError> {
        let age = now.saturating_sub(link.minted_at);
        if age >= self.max_age_secs.saturating_mul(MICROS) || is_over(link, now) {
            return Err(IdentityError::LinkInvalid);
        }
        if self.one_time && link.uses > 0 {
            return Err(IdentityError::LinkUsed);
        }
        Ok(())
    }
}

/// Whether the record's own life is over, which no setting prolongs.
fn is_over(link: &LinkRec, now: i64) -> bool {
    now.saturating_sub(link.minted_at) >= LINK_RECORD_SECS * MICROS
}

/// Uses a link. The link must be as it was read, and so must the account: of two uses at once one finds
/// the record changed and reads it again, and a link is never used after its guest was logged out.
fn consume(
    records: &Records,
    settings: LinkSettings,
    digest: &SecretDigest,
) -> Result<Used, IdentityError> {
    loop {
        let found = records.store.get_tagged::<LinkRec>(digest)?;
        let (mut link, tag) = found.ok_or(IdentityError::LinkInvalid)?;
        let now = records.clock.unix_micros();
        if is_over(&link, now)
            && let Err(e) = records.store.commit(Batch::new().delete::<LinkRec>(digest))
        {
            tracing::warn!(error = %e, "the record of a dead link stays until the next sweep");
        }
        settings.check(&link, now)?;
        let found = records.store.get_tagged::<UserRec>(&link.guest)?;
        let (user, user_tag) = found.ok_or(IdentityError::LinkInvalid)?;
        let in_force = !user.disabled && user.token_epoch == link.epoch;
        if !in_force || !records.store.exists::<DatasetRec>(&link.dataset_id)? {
            return Err(IdentityError::LinkInvalid);
        }
        link.uses = link.uses.saturating_add(1);
        link.used_at = Some(now);
        let (session, login) = login_sessions::fresh(&user, Some(link.dataset_id), now);
        let batch = Batch::new().replace(&link, tag).require::<UserRec>(&user.id, Some(user_tag));
        let batch = login_sessions::make_room(records, user.id, batch)?.insert(&login);
        match records.store.commit(batch) {
            Ok(()) => return Ok(Used { user, link, session }),
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Removes the links whose time on record is over.
pub(super) fn forget_old(records: &Records) -> Result<(), IdentityError> {
    let now = records.clock.unix_micros();
    records.store.each(|link: LinkRec| {
        if is_over(&link, now) {
            records.store.commit(Batch::new().delete::<LinkRec>(&link.token_sha256))?;
        }
        Ok(())
    })
}
