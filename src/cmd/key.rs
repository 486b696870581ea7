//! `graphlume key`.

use super::Failure;
use super::user::{open, println_result};
use crate::cli::KeyCommand;

/// Runs a `key` command.
pub fn run(command: KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Create { name, label, data } => {
            let (id, secret) = open(&data.data)?.create_key(&name, &label)?;
            println_result(&format!("{id}:{secret}"));
        }
        KeyCommand::List { name, data } => {
            let keys = open(&data.data)?.list_keys(name.as_deref())?;
            println_result("key id\taccount\tstate\tcreated\tlabel");
            for k in keys {
                let state = if k.revoked { "revoked" } else { "active" };
                println_result(&format!(
                    "{}\t{}\t{state}\t{}\t{}",
                    k.key_id, k.username, k.created_at, k.label
                ));
            }
        }
        KeyCommand::Revoke { key_id, data } => {
            open(&data.data)?.revoke_key(&key_id)?;
            eprintln!("revoked {key_id}");
        }
    }
    Ok(())
}
