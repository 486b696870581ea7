//! `graphlume print`: what is made from the definition of the command line, so that it never says something else.

use std::collections::VecDeque;
use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::user::println_result;
use crate::cli::{Cli, PrintArgs, PrintKind, VERSION};
use crate::failure::Failure;

/// Prints the text.
pub fn run(args: &PrintArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let text = match args.what {
        PrintKind::Config => config(&command),
        PrintKind::Algorithms => graphlume_algo::reference::markdown(),
        PrintKind::Man => man(&mut command),
        PrintKind::Bash => bash(&command),
        PrintKind::Zsh => {
            format!("autoload -U +X bashcompinit && bashcompinit\n{}", bash(&command))
        }
        PrintKind::Fish => fish(&command),
    };
    println_result(text.trim_end());
    Ok(())
}

/// The options that may stand in a configuration file, each as a comment with its default.
fn config(command: &Command) -> String {
    let mut out = String::from(
        "# Settings of graphlume. Every line that is commented out shows a default.\n\
         # Read from --config FILE or GRAPHLUME_CONFIG, else from ~/.config/graphlume/graphlume.toml, else from\n\
         # /etc/graphlume/graphlume.toml. A flag wins over a variable, and a variable over this file.\n",
    );
    let Some(serve) = command.find_subcommand("serve") else { return out };
    out.push_str("\n[serve]\n");
    for arg in options(serve) {
        let Some(long) = arg.get_long() else { continue };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let default: Vec<_> =
            arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
        let value = match default.join(",") {
            _ if !arg.get_action().takes_values() => "false".to_owned(),
            text if text.parse::<f64>().is_ok() || text == "true" || text == "false" => text,
            text => format!("{text:?}"),
        };
        let _ = write!(out, "\n# {}\n# {long} = {value}\n", help.replace('\n', "\n# "));
    }
    out
}

/// A manual page: the help texts of all commands.
fn man(command: &mut Command) -> String {
    let mut out = format!(".TH GRAPHLUME 1 \"\" \"graphlume {}\"\n", roff(VERSION));
    section(&mut out, "NAME", "graphlume - self-hosted graph visualization and query server");
    let whole = command.render_long_help().to_string();
    section(&mut out, "COMMANDS", &whole);
    let mut open: VecDeque<Command> = command.get_subcommands().cloned().collect();
    while let Some(mut next) = open.pop_front() {
        if next.is_hide_set() || next.get_name() == "help" {
            continue;
        }
        let title = next.get_bin_name().unwrap_or_else(|| next.get_name()).to_uppercase();
        let text = next.render_long_help().to_string();
        section(&mut out, &title, &text);
        for (at, sub) in next.get_subcommands().enumerate() {
            open.insert(at, sub.clone());
        }
    }
    out
}

fn section(out: &mut String, title: &str, text: &str) {
    let _ = write!(out, ".SH \"{}\"\n.nf\n", roff(title));
    for line in text.lines() {
        // A line that begins with a point or an apostrophe would be a request.
        let _ = writeln!(out, "\\&{}", roff(line));
    }
    out.push_str(".fi\n");
}

fn roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Every command with the words that lead to it.
fn paths(command: &Command) -> Vec<(Vec<String>, &Command)> {
    let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), command)]);
    while let Some((path, next)) = open.pop() {
        for sub in next.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
            let mut longer = path.clone();
            longer.push(sub.get_name().to_owned());
            open.push((longer, sub));
        }
        found.push((path, next));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let named = command.get_arguments().filter(|a| a.get_long().is_some() && !a.is_hide_set());
    named.filter(|a| !matches!(a.get_long(), Some("help" | "version" | "config")))
}

fn bash(command: &Command) -> String {
    let mut cases = String::new();
    for (path, next) in paths(command) {
        let mut words: Vec<String> = visible(next).map(|s| s.get_name().to_owned()).collect();
        words.extend(options(next).filter_map(Arg::get_long).map(|long| format!("--{long}")));
        words.extend(["--help".to_owned(), "--config".to_owned()]);
        let _ = writeln!(cases, "    \"{}\") words=\"{}\" ;;", path.join(" "), words.join(" "));
    }
    format!(
        "_graphlume() {{\n  local path=\"\" word words=\"\" longer\n  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n    \
         longer=\"${{path:+$path }}$word\"\n    case \"$longer\" in\n      {known}) path=$longer ;;\n    esac\n  done\n  \
         case \"$path\" in\n{cases}  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n  \
         [[ ${{COMP_WORDS[COMP_CWORD]}} == -* ]] || COMPREPLY+=($(compgen -f -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n\
         complete -o filenames -F _graphlume graphlume\n",
        known = known(command),
    )
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help")
}

/// The words of every command, as patterns of a `case`.
fn known(command: &Command) -> String {
    let all = paths(command);
    let quoted =
        all.iter().filter(|(p, _)| !p.is_empty()).map(|(p, _)| format!("\"{}\"", p.join(" ")));
    quoted.collect::<Vec<_>>().join("|")
}

fn fish(command: &Command) -> String {
    let mut out = String::new();
    for (path, next) in paths(command) {
        let seen = path.iter().map(|p| format!("__fish_seen_subcommand_from {p}"));
        let seen = seen.collect::<Vec<_>>().join("; and ");
        let when = if path.is_empty() { "__fish_use_subcommand" } else { &seen };
        for sub in visible(next) {
            let about = quoted(&sub.get_about().map(ToString::to_string).unwrap_or_default());
            let _ = writeln!(
                out,
                "complete -c graphlume -n '{when}' -f -a {} -d {about}",
                sub.get_name()
            );
        }
        for arg in options(next) {
            let about = quoted(&arg.get_help().map(ToString::to_string).unwrap_or_default());
            let long = arg.get_long().unwrap_or_default();
            let takes = if arg.get_action().takes_values() { " -r" } else { "" };
            let _ = writeln!(out, "complete -c graphlume -n '{when}' -l {long}{takes} -d {about}");
        }
    }
    out
}

/// In quotation marks of the shell.
fn quoted(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    format!("'{}'", first.replace('\\', "\\\\").replace('\'', "\\'"))
}
