//! Commands of the operator. Where no server runs on the data folder, the command line carries them out on it;
//! otherwise it sends them to that server. The same function runs in both places.

use std::path::{Path, PathBuf};

use graphlume_identity::admin::{Admin, NewUser, UserChange};
use graphlume_identity::removal::{self, Estate};
use graphlume_identity::{SteadyClock, damage, rotate_signing_key};
use graphlume_storage::{FileRec, Opened, Scope, Store, UserRec};
use graphlume_types::limits::TOKEN_SECS;
use serde::{Deserialize, Serialize};

use crate::error::ServiceError;
use crate::quotas;

/// What is to be done. As JSON: `{"command": "user-add", "arguments": {...}}`. It may hold a password and therefore
/// does not print.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "command", content = "arguments", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Makes an account.
    UserAdd(NewUser),
    /// Lists the accounts.
    UserList,
    /// Changes an account.
    UserSet {
        /// Whose.
        username: String,
        /// What is to change.
        change: UserChange,
    },
    /// Sets a password and ends every token of the account.
    UserPassword {
        /// Whose.
        username: String,
        /// The new password.
        password: String,
    },
    /// Deletes an account. What becomes of its data must be said where it has any.
    UserDelete {
        /// Whose.
        username: String,
        /// The account that gets its datasets and files.
        give_to: Option<String>,
        /// Whether its datasets and files are deleted.
        with_data: bool,
    },
    /// Makes a personal key.
    KeyCreate {
        /// Whose.
        username: String,
        /// What it is for.
        label: String,
    },
    /// Lists keys, of one account or of all.
    KeyList {
        /// Whose.
        username: Option<String>,
    },
    /// Ends a key.
    KeyRevoke {
        /// Its public half.
        key_id: String,
    },
    /// Makes another key for the tokens.
    KeyRotateSigning {
        /// Whether the tokens of before end now, and not by themselves within an hour.
        at_once: bool,
    },
    /// Writes a logical backup.
    Export {
        /// A folder that is absent or empty, by its whole path.
        to: PathBuf,
    },
    /// Checks the data folder.
    Doctor,
    /// Deletes a record that cannot be read.
    DeleteDamaged {
        /// Its name, as `doctor` says it.
        what: String,
    },
    /// Says that the accounts and keys are right after records were lost.
    ConfirmAccounts,
    /// Says that the machine's clock is right although it showed a later time before.
    AcceptClock,
}

/// What a command gives.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The lines of the result.
    pub lines: Vec<String>,
    /// What is said beside it.
    pub notes: Vec<String>,
    /// What was found to be wrong, and what to do about it.
    pub failure: Option<String>,
}

impl Done {
    fn line(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], ..Self::default() }
    }

    pub(crate) fn note(note: impl Into<String>) -> Self {
        Self { notes: vec![note.into()], ..Self::default() }
    }
}

impl Command {
    /// Whether it changes nothing in the data folder.
    #[must_use]
    pub const fn only_reads(&self) -> bool {
        matches!(self, Self::UserList | Self::KeyList { .. } | Self::Export { .. } | Self::Doctor)
    }

    /// Carries the command out on a data folder. Blocks.
    ///
    /// # Errors
    /// Those of the methods that it calls.
    pub fn carry_out(self, folder: &Admin) -> Result<Done, ServiceError> {
        match self {
            Self::UserAdd(new) => {
                Ok(Done::note(format!("added {}", folder.add_user(new)?.username)))
            }
            Self::UserList => users(folder),
            Self::UserSet { username, change } => {
                let disabled = change.disabled;
                folder.set_user(&username, change)?;
                Ok(Done::note(match disabled {
                    Some(true) => format!(
                        "disabled {username}: tokens, keys and sessions of this account no longer work"
                    ),
                    Some(false) => format!("enabled {username}"),
                    None => format!("changed {username}"),
                }))
            }
            Self::UserPassword { username, password } => {
                folder.set_password(&username, &password)?;
                Ok(Done::note(format!("changed the password of {username}")))
            }
            Self::UserDelete { username, give_to, with_data } => {
                let estate = estate(give_to, with_data)?;
                Ok(Done::note(removal::remove(folder.store(), &username, &estate)?.note))
            }
            Self::KeyCreate { username, label } => {
                let (id, secret) = folder.create_key(&username, &label)?;
                Ok(Done::line(format!("{id}:{secret}")))
            }
            Self::KeyList { username } => keys(folder, username.as_deref()),
            Self::KeyRevoke { key_id } => {
                folder.revoke_key(&key_id)?;
                Ok(Done::note(format!("revoked {key_id}")))
            }
            Self::KeyRotateSigning { at_once } => rotate(folder, at_once),
            Self::Export { to } => export(folder, &to),
            Self::Doctor => check(folder),
            Self::DeleteDamaged { what } => {
                folder.store().delete_damaged(&what)?;
                tracing::warn!(target: "audit", event = "damaged-record-deleted", record = what);
                Ok(Done::note(format!("deleted the damaged {what}")))
            }
            Self::AcceptClock => {
                SteadyClock::forget(folder.store())?;
                Ok(Done::note(
                    "times go on from the machine's clock; what was signed in under the later time lives until then: \
                     change passwords or disable accounts to end it",
                ))
            }
            Self::ConfirmAccounts => Ok(Done::note(match damage::confirm(folder.store())?.len() {
                0 => "no damage waits for a confirmation".to_owned(),
                _ => "the accounts are confirmed: people may sign in again".to_owned(),
            })),
        }
    }
}

fn rotate(folder: &Admin, at_once: bool) -> Result<Done, ServiceError> {
    let until = folder.store().clock().unix_secs().saturating_add(TOKEN_SECS);
    rotate_signing_key(folder.store().dir(), (!at_once).then_some(until))?;
    tracing::warn!(target: "audit", event = "signing-key-rotated", at_once);
    Ok(Done::note(if at_once {
        "tokens are signed with a new key; every token of before has ended"
    } else {
        "tokens are signed with a new key; those of before end by themselves within an hour"
    }))
}

fn export(folder: &Admin, to: &Path) -> Result<Done, ServiceError> {
    // The server works in another folder than the command `graphlume export`, so a relative path would lead
    // elsewhere.
    if !to.is_absolute() {
        let text = format!("{} is no whole path; send one that begins with /", to.display());
        return Err(ServiceError::invalid("to", text));
    }
    let report = folder.store().export_to(to)?;
    let mut done = Done::note(format!(
        "{} records and {} files in {}",
        report.records,
        report.blobs,
        to.display()
    ));
    if !report.damaged.is_empty() {
        let names = report.damaged.join(", ");
        done.failure = Some(format!("damaged records were left out: {names}"));
    }
    Ok(done)
}

fn users(folder: &Admin) -> Result<Done, ServiceError> {
    let mut done =
        Done::line("id\tname\trole\tstate\tnatural language\temail\torganizations\tshown as");
    for u in folder.list_users()? {
        let state = if u.disabled { "disabled" } else { "active" };
        let language = if u.graph_language { "on" } else { "off" };
        let orgs = u.orgs.join(",");
        done.lines.push(format!(
            "{}\t{}\t{}\t{state}\t{language}\t{}\t{orgs}\t{}",
            u.id, u.username, u.role, u.email, u.name
        ));
    }
    Ok(done)
}

fn keys(folder: &Admin, username: Option<&str>) -> Result<Done, ServiceError> {
    let mut done = Done::line("key id\taccount\tstate\tcreated\tlabel");
    for k in folder.list_keys(username)? {
        let state = if k.revoked { "revoked" } else { "active" };
        done.lines
            .push(format!("{}\t{}\t{state}\t{}\t{}", k.key_id, k.username, k.created_at, k.label));
    }
    Ok(done)
}

fn check(folder: &Admin) -> Result<Done, ServiceError> {
    let report = folder.store().fsck(true)?;
    let mut done = Done::line(format!(
        "data folder  {}: {} records, {} files, {} derived tables to be made again",
        folder.store().dir().display(),
        report.records,
        report.blobs,
        report.derived_missing
    ));
    for held in largest(folder.store(), ACCOUNTS_SHOWN)? {
        done.lines.push(format!("account      {held}"));
    }
    for problem in &report.problems {
        done.lines.push(format!("problem      {}: {}", problem.what, problem.detail));
    }
    let disk = folder.store().disk()?;
    done.lines.push(format!("disk         {disk}"));
    if !report.problems.is_empty() {
        done.failure = Some(
            "the data folder needs attention: restore the named objects from a backup, or delete a damaged record with \
             `graphlume doctor --delete NAME`"
                .to_owned(),
        );
    } else if let Some(want) = disk.want() {
        done.failure = Some(want);
    }
    if let Opened::Truncated { groups_lost, .. } = folder.store().opened() {
        done.lines.push(format!(
            "damage       the end of the record store is damaged: its last {groups_lost} groups of commits are gone"
        ));
        done.failure = Some(
            "`graphlume serve` goes on without them and says so; to have them back, restore the data folder from a \
             backup first"
                .to_owned(),
        );
    }
    let damage = damage::unconfirmed(folder.store())?;
    if !damage.is_empty() {
        done.lines.push(format!("damage       records were lost: {}", damage.join(", ")));
        done.failure = Some(
            "nobody signs in until the accounts are confirmed: look at `graphlume user list` and `graphlume key \
             list`, end what had been ended, and run `graphlume doctor --confirm-accounts`"
                .to_owned(),
        );
    }
    Ok(done)
}

/// The accounts that hold most on the disk, a line each. Damaged records are passed over.
fn largest(store: &Store, accounts: usize) -> Result<Vec<String>, ServiceError> {
    let mut held = Vec::new();
    for user in store.scan::<UserRec>().filter_map(Result::ok) {
        let files = store.count::<FileRec>(&[Scope::Owner(user.id)])?;
        held.push((store.held_bytes(user.id)?, files, user.username));
    }
    held.sort_unstable_by(|a, b| b.cmp(a));
    let line = |(bytes, files, name)| format!("{name}: {files} files, {}", quotas::size(bytes));
    Ok(held.into_iter().filter(|h| h.0 > 0).take(accounts).map(line).collect())
}

/// Accounts that `doctor` names.
const ACCOUNTS_SHOWN: usize = 5;

/// What becomes of the data, as the arguments of a command say.
pub(crate) fn estate(give_to: Option<String>, with_data: bool) -> Result<Estate, ServiceError> {
    match (give_to, with_data) {
        (None, false) => Ok(Estate::Absent),
        (None, true) => Ok(Estate::Deleted),
        (Some(name), false) => Ok(Estate::GivenTo(name)),
        (Some(_), true) => Err(ServiceError::invalid(
            "with-data",
            "--with-data and --give-to exclude each other; give one of them",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_command_is_its_name_and_its_arguments() {
        let command = Command::KeyCreate { username: "alice".into(), label: "ci".into() };
        let text = serde_json::to_string(&command).unwrap();
        assert_eq!(
            text,
            r#"{"command":"key-create","arguments":{"username":"alice","label":"ci"}}"#
        );
        assert!(matches!(
            serde_json::from_str(r#"{"command":"user-list"}"#).unwrap(),
            Command::UserList
        ));
        for wrong in [
            r#"{"command":"user-lists"}"#,
            r#"{"command":"key-revoke"}"#,
            r#"{"command":"key-revoke","arguments":{"key_id":"a","also":1}}"#,
            r#"{"command":"user-set","arguments":{"username":"a","change":{"rank":"b"}}}"#,
        ] {
            assert!(serde_json::from_str::<Command>(wrong).is_err(), "{wrong}");
        }
    }
}
