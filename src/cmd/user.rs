//! `graphlume user`.

use std::io::{BufRead, Write};
use std::path::Path;

use graphlume_service::admin::{NewUser, UserChange};
use graphlume_service::command::{Command, Done};
use graphlume_types::{id, limits};

use crate::cli::{RoleArg, Switch, UserCommand};
use crate::control::{self, Folder};
use crate::failure::{Failure, failure};

/// Carries out a command on a data folder that is there, and prints what it gives.
pub fn on_existing(data: &Path, command: Command) -> Result<(), Failure> {
    must_exist(data)?;
    tell(control::carry_out(data, Folder::Existing, command)?)
}

/// Prints what a command gives: notes on standard error, the result on standard output.
fn tell(done: Done) -> Result<(), Failure> {
    for note in &done.notes {
        say!("{note}");
    }
    for line in &done.lines {
        println_result(line);
    }
    done.failure.map_or(Ok(()), |why| Err(failure(why)))
}

/// Refuses a folder that is not there: a mistyped name would otherwise look like an empty one.
pub fn must_exist(data: &Path) -> Result<(), Failure> {
    if data.is_dir() {
        return Ok(());
    }
    let shown = data.display();
    Err(failure(format!(
        "--data {shown}: there is no such data folder; `graphlume serve` makes it"
    )))
}

const fn role_name(role: RoleArg) -> &'static str {
    match role {
        RoleArg::User => "user",
        RoleArg::Staff => "staff",
        RoleArg::Admin => "superuser",
    }
}

/// The password from standard input, or a generated one; true when it was generated.
fn password(from_stdin: bool) -> Result<(String, bool), Failure> {
    if !from_stdin {
        return Ok((id::hex(&id::random_bytes::<12>()), true));
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let text = line.trim_end_matches(['\r', '\n']).to_owned();
    match text.len() {
        0 => Err(failure(
            "--password-stdin: standard input is empty; write the password on its first line",
        )),
        n if n > limits::PASSWORD_BYTES_MAX => Err(failure(format!(
            "--password-stdin: the password has {n} bytes, the limit is {}",
            limits::PASSWORD_BYTES_MAX
        ))),
        _ => Ok((text, false)),
    }
}

/// Runs a `user` command.
pub fn run(command: UserCommand) -> Result<(), Failure> {
    let set = |username, change| Command::UserSet { username, change };
    match command {
        UserCommand::Add { name, shown_name, password_stdin, role, email, org, data } => {
            let (password, generated) = password(password_stdin)?;
            let role = role_name(role).to_owned();
            let new = NewUser {
                username: name,
                name: shown_name,
                password: password.clone(),
                email,
                role,
                org,
            };
            let added = Command::UserAdd(new);
            tell(control::carry_out(&data.data, Folder::MayBeMade, added)?)?;
            show_generated(&password, generated);
            Ok(())
        }
        UserCommand::List { data } => on_existing(&data.data, Command::UserList),
        UserCommand::Disable { name, data } => {
            let change = UserChange { disabled: Some(true), ..UserChange::default() };
            on_existing(&data.data, set(name, change))
        }
        UserCommand::Enable { name, data } => {
            let change = UserChange { disabled: Some(false), ..UserChange::default() };
            on_existing(&data.data, set(name, change))
        }
        UserCommand::Delete { name, give_to, with_data, data } => {
            let command = Command::UserDelete { username: name, give_to, with_data };
            on_existing(&data.data, command)
        }
        UserCommand::Password { name, password_stdin, data } => {
            let (password, generated) = password(password_stdin)?;
            let command = Command::UserPassword { username: name, password: password.clone() };
            on_existing(&data.data, command)?;
            show_generated(&password, generated);
            Ok(())
        }
        UserCommand::Set { name, shown_name, graph_language, disabled, role, email, org, data } => {
            let says_rights = graph_language.is_some() || disabled.is_some() || role.is_some();
            if !says_rights && email.is_none() && org.is_none() && shown_name.is_none() {
                return Err(failure(
                    "nothing to change: give --name, --graph-language, --disabled, --role, --email or --org",
                ));
            }
            let change = UserChange {
                name: shown_name,
                email,
                org,
                role: role.map(|r| role_name(r).to_owned()),
                disabled: disabled.map(|s| s == Switch::On),
                graph_language: graph_language.map(|s| s == Switch::On),
            };
            on_existing(&data.data, set(name, change))
        }
    }
}

/// A generated password.
fn show_generated(password: &str, generated: bool) {
    if generated {
        println_result(password);
    }
}

/// One line of the result. A reader such as `head` that has seen enough is no failure.
pub fn println_result(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
