//! Commands of the operator in a server that runs.

use graphlume_identity::admin::Admin;
use graphlume_identity::removal::{self, Estate};

use super::Service;
use crate::command::{Command, Done, estate};
use crate::error::ServiceError;

impl Service {
    /// Carries out a command of the operator. Open streams and calls are checked against the changed rights at once.
    ///
    /// # Errors
    /// As [`Command::carry_out`].
    pub async fn carry_out(&self, command: Command) -> Result<Done, ServiceError> {
        if let Command::UserDelete { username, give_to, with_data } = command {
            return self.delete_account(username, estate(give_to, with_data)?).await;
        }
        let rotates = matches!(command, Command::KeyRotateSigning { .. });
        let accepts_clock = matches!(command, Command::AcceptClock);
        // Passwords of the command line take turns with those of logins.
        let permit = match &command {
            Command::UserAdd(_) | Command::UserPassword { .. } => {
                Some(self.identity.password_turn().await?)
            }
            _ => None,
        };
        let done = self
            .ctx
            .blocking(move |data| {
                let _permit = permit;
                command.carry_out(&Admin::of(&data.store))
            })
            .await;
        self.identity.look_at_damage()?;
        if rotates && done.is_ok() {
            self.identity.use_rotated_key()?;
        }
        if accepts_clock && done.is_ok() {
            self.steady.accept();
        }
        // Also after an error: a change that was not confirmed may be on the disk all the same.
        self.identity.access_changed();
        done
    }

    /// [`removal::remove`], and tells the engine and open pages.
    async fn delete_account(&self, username: String, estate: Estate) -> Result<Done, ServiceError> {
        let removed = self
            .ctx
            .blocking(move |data| Ok(removal::remove(&data.store, &username, &estate)?))
            .await;
        self.identity.access_changed();
        let removed = removed?;
        for dataset in &removed.datasets {
            self.datasets.forget(*dataset).await;
            self.sessions.forget_dataset(*dataset);
        }
        self.sessions.forget_owner(removed.user);
        Ok(Done::note(removed.note))
    }
}
