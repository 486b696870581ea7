//! `graphlume user`.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use graphlume_service::admin::{Admin, NewUser, UserChange};
use graphlume_types::{SystemClock, id, limits};

use super::{Failure, failure};
use crate::cli::{RoleArg, Switch, UserCommand};

/// Opens the data folder for administration; a running server holds it.
pub fn open(data: &Path) -> Result<Admin, Failure> {
    must_exist(data)?;
    Ok(Admin::open(data, Arc::new(SystemClock))?)
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

/// The same, and makes the folder when it is absent or empty, and says so.
fn open_or_make(data: &Path) -> Result<Admin, Failure> {
    let (admin, is_new) = Admin::open_or_make(data, Arc::new(SystemClock))?;
    if is_new {
        eprintln!("made the data folder {}", data.display());
    }
    Ok(admin)
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
    match command {
        UserCommand::Add { name, password_stdin, role, email, org, data } => {
            let (password, generated) = password(password_stdin)?;
            let role = role_name(role).to_owned();
            let new =
                NewUser { username: name.clone(), password: password.clone(), email, role, org };
            open_or_make(&data.data)?.add_user(new)?;
            eprintln!("added {name}");
            if generated {
                println_result(&password);
            }
        }
        UserCommand::List { data } => {
            let users = open(&data.data)?.list_users()?;
            println_result("id\tname\trole\tstate\tgraph language\temail\torganizations");
            for u in users {
                let state = if u.disabled { "disabled" } else { "active" };
                let language = if u.graph_language { "on" } else { "off" };
                println_result(&format!(
                    "{}\t{}\t{}\t{state}\t{language}\t{}\t{}",
                    u.id,
                    u.username,
                    u.role,
                    u.email,
                    u.orgs.join(",")
                ));
            }
        }
        UserCommand::Disable { name, data } => {
            let change = UserChange { disabled: Some(true), ..UserChange::default() };
            open(&data.data)?.set_user(&name, change)?;
            eprintln!("disabled {name}: tokens, keys and sessions of this account no longer work");
        }
        UserCommand::Enable { name, data } => {
            let change = UserChange { disabled: Some(false), ..UserChange::default() };
            open(&data.data)?.set_user(&name, change)?;
            eprintln!("enabled {name}");
        }
        UserCommand::Password { name, password_stdin, data } => {
            let (password, generated) = password(password_stdin)?;
            open(&data.data)?.set_password(&name, &password)?;
            eprintln!("changed the password of {name}");
            if generated {
                println_result(&password);
            }
        }
        UserCommand::Set { name, graph_language, disabled, role, email, data } => {
            if graph_language.is_none() && disabled.is_none() && role.is_none() && email.is_none() {
                return Err(failure(
                    "nothing to change: give --graph-language, --disabled, --role or --email",
                ));
            }
            let change = UserChange {
                email,
                role: role.map(|r| role_name(r).to_owned()),
                disabled: disabled.map(|s| s == Switch::On),
                graph_language: graph_language.map(|s| s == Switch::On),
                ..UserChange::default()
            };
            open(&data.data)?.set_user(&name, change)?;
            eprintln!("changed {name}");
        }
    }
    Ok(())
}

/// One line of the result. A reader such as `head` that has seen enough is no failure.
pub fn println_result(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
