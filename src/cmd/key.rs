//! `graphlume key`.

use graphlume_service::command::Command;

use super::user::on_existing;
use crate::cli::KeyCommand;
use crate::failure::Failure;

/// Runs a `key` command.
pub fn run(command: KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Create { name, label, data } => {
            on_existing(&data.data, Command::KeyCreate { username: name, label })
        }
        KeyCommand::List { name, data } => {
            on_existing(&data.data, Command::KeyList { username: name })
        }
        KeyCommand::RotateSigning { at_once, data } => {
            on_existing(&data.data, Command::KeyRotateSigning { at_once })
        }
        KeyCommand::Revoke { key_id, data } => {
            on_existing(&data.data, Command::KeyRevoke { key_id })
        }
    }
}
