//! Sources of settings that no flag gives: the environment (clap reads `GRAPHLUME_<OPTION>`), the
//! unprefixed names of the interface, and the TOML file named by `--config`.
//!
//! A file value or an unprefixed variable becomes the *default* of its option, so that clap's own order
//! (flag, environment, default) gives the promised one: flag, environment, file, default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, FromArgMatches};

use crate::cli::{Cli, Command, ServeArgs};
use crate::given::Given;

/// Options that are also read from a variable without our prefix.
const OWN_NAMES: &[(&str, &str, &str)] = &[
    ("serve", "cookie_secure", "COOKIE_SECURE"),
    ("serve", "cookie_samesite", "COOKIE_SAMESITE"),
    ("serve", "sesame_token_name", "SESAME_TOKEN_NAME"),
    ("serve", "sesame_max_age", "SESAME_MAX_AGE"),
    ("serve", "sesame_one_time", "SESAME_ONE_TIME"),
];

/// What the variables of options begin with.
const PREFIX: &str = "GRAPHLUME_";
/// Variables that are read and belong to no option.
const NOT_OPTIONS: &[&str] = &["GRAPHLUME_ADMIN_PASSWORD", "GRAPHLUME_SUPERVISED"];
/// Variables of the project's own scripts and tests begin with one of these.
const TOOLS: &[&str] = &["GRAPHLUME_TEST_", "GRAPHLUME_BIN", "GRAPHLUME_COMMIT", "GRAPHLUME_EMU_"];

/// A configuration that the program refuses to start with (exit code 78).
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error(
        "configuration file {path}: {source}; name another with --config, or write one with `graphlume print config`"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("configuration file {path}: {source}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A table or key that no command has.
    #[error("configuration file: unknown setting {key:?}{near}; known there: {known}")]
    Unknown {
        /// The setting, as `command.key`.
        key: String,
        /// The known one that it is close to.
        near: String,
        /// What may stand there.
        known: String,
    },
    /// A value of a kind that no option takes.
    #[error("configuration file: {key} must be text, a number or true/false, not {found}")]
    Kind {
        /// The setting.
        key: String,
        /// What stands there.
        found: &'static str,
    },
    /// A setting whose value is refused.
    #[error("{0}")]
    Value(String),
}

/// Texts of options by command and id that stand in the place of their defaults.
type Defaults = BTreeMap<(String, String), String>;

/// Parses the command line with all its sources.
///
/// # Errors
/// The configuration is refused. Wrong *usage* ends the process with code 2, as clap does.
pub fn parse(args: &[OsString]) -> Result<Cli, ConfigError> {
    if !asks_for_help(args) {
        let set = std::env::vars_os().map(|(name, _)| name);
        for strange in strange_variables(&Cli::command(), set) {
            say!("warning: {strange}");
        }
    }
    read(args)?.map_err(|usage| usage.exit())
}

/// The settings of `serve` as they would stand if it were started now with the same command line.
///
/// # Errors
/// The configuration is refused.
pub fn reread(args: &[OsString]) -> Result<ServeArgs, ConfigError> {
    match read(args)? {
        Ok(Cli { command: Command::Serve(args), .. }) => Ok(*args),
        Ok(_) => Err(ConfigError::Value("the command line is not one of a server".to_owned())),
        Err(usage) => Err(ConfigError::Value(from_elsewhere(&usage))),
    }
}

/// Reads all sources; the inner error is wrong usage.
fn read(args: &[OsString]) -> Result<Result<Cli, clap::Error>, ConfigError> {
    let mut command = Cli::command();
    let mut defaults = Defaults::new();
    // Help works with a wrong configuration, too.
    let wants_help = asks_for_help(args);
    let file = config_path(args).filter(|_| !wants_help);
    if let Some(path) = &file {
        read_file(path, &command, &mut defaults)?;
    }
    for (sub, id, variable) in OWN_NAMES {
        // Set to nothing is not set: compose files do that.
        if let Some(value) = std::env::var(variable).ok().filter(|v| !v.is_empty()) {
            defaults.insert(((*sub).to_owned(), (*id).to_owned()), value);
        }
    }
    for ((sub, id), value) in &defaults {
        command = command.mut_subcommand(sub, |c| with_default(c, id, value.clone()));
    }
    let matches = match command.try_get_matches_from_mut(args) {
        Ok(matches) => matches,
        Err(e) if is_configured(&e, args) => return Err(ConfigError::Value(from_elsewhere(&e))),
        Err(e) => return Ok(Err(e)),
    };
    let mut cli = Cli::from_arg_matches(&matches).map_err(|e| ConfigError::Value(e.to_string()))?;
    if let Command::Serve(args) = &mut cli.command
        && let Some((name, matches)) = matches.subcommand()
        && let Some(serve) = command.find_subcommand(name)
    {
        let in_file =
            |id: &str| defaults.contains_key(&(serve.get_name().to_owned(), id.to_owned()));
        args.given = Given::of(serve, matches, in_file, file);
    }
    Ok(Ok(cli))
}

/// Whether the command line asks for help or the version.
fn asks_for_help(args: &[std::ffi::OsString]) -> bool {
    let mut words = args.iter().skip(1).map(|a| a.to_string_lossy()).take_while(|a| a != "--");
    let first = words.next().unwrap_or_default();
    let is_asking = |a: &str| matches!(a, "--help" | "-h" | "--version" | "-V");
    first == "help" || is_asking(&first) || words.any(|a| is_asking(&a))
}

/// Variables with our prefix that no option reads: typing errors mostly, which would otherwise change nothing and say
/// nothing. A sentence each.
fn strange_variables(
    command: &clap::Command,
    set: impl Iterator<Item = std::ffi::OsString>,
) -> Vec<String> {
    let mut known: Vec<String> = NOT_OPTIONS.iter().map(|v| (*v).to_owned()).collect();
    let mut open = vec![command];
    while let Some(next) = open.pop() {
        let variables = next.get_arguments().filter_map(clap::Arg::get_env);
        known.extend(variables.map(|v| v.to_string_lossy().into_owned()));
        open.extend(next.get_subcommands());
    }
    let mut strange: Vec<String> = set
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .filter(|name| !TOOLS.iter().any(|tool| name.starts_with(tool)))
        .collect();
    strange.sort();
    // Without what all of them begin with, which would make strangers look alike.
    let rests: Vec<&str> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let sentence = |name: String| {
        let near = graphlume_algo::did_you_mean(name.trim_start_matches(PREFIX), &rests)
            .replace("mean \"", "mean \"GRAPHLUME_");
        format!("the variable {name} is none that graphlume reads{near}; it changes nothing")
    };
    strange.into_iter().map(sentence).collect()
}

/// Whether the refused value came from the file or the environment: the command line alone is not refused for a value.
fn is_configured(error: &clap::Error, args: &[std::ffi::OsString]) -> bool {
    is_about_a_value(error)
        && !matches!(without_variables(Cli::command()).try_get_matches_from(args), Err(e) if is_about_a_value(&e))
}

fn is_about_a_value(error: &clap::Error) -> bool {
    use clap::error::ErrorKind;
    matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
}

/// The command and its subcommands without what their options read from the environment.
fn without_variables(command: clap::Command) -> clap::Command {
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| arg.env(clap::builder::Resettable::Reset));
    names.into_iter().fold(command, |c, name| c.mut_subcommand(name, without_variables))
}

/// Clap's sentence without its advice, which is about flags.
fn from_elsewhere(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|l| !l.is_empty()).map(str::trim);
    let text = lines.collect::<Vec<_>>().join(" ");
    let sentence = text.strip_prefix("error: ").unwrap_or(&text);
    format!("{sentence} (set by the environment or the configuration file)")
}

fn with_default(command: clap::Command, id: &str, value: String) -> clap::Command {
    command.mut_arg(id, |arg| arg.default_value(clap::builder::OsStr::from(value)))
}

/// The file named by `--config FILE`, `--config=FILE` or `GRAPHLUME_CONFIG`, else the usual one.
fn config_path(args: &[std::ffi::OsString]) -> Option<PathBuf> {
    let mut rest = args.iter().skip(1);
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        if text == "--config" {
            return rest.next().map(PathBuf::from);
        }
        if let Some(path) = text.strip_prefix("--config=") {
            return Some(PathBuf::from(path));
        }
    }
    std::env::var_os("GRAPHLUME_CONFIG").map(PathBuf::from).or_else(usual_path)
}

/// The file that is read when none is named: the account's, else the machine's.
fn usual_path() -> Option<PathBuf> {
    let of_account = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    let folders = of_account.into_iter().chain([PathBuf::from("/etc")]);
    folders.map(|f| f.join("graphlume/graphlume.toml")).find(|path| path.is_file())
}

fn read_file(
    path: &Path,
    command: &clap::Command,
    defaults: &mut Defaults,
) -> Result<(), ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    let table: toml::Table = text
        .parse()
        .map_err(|e| ConfigError::Syntax { path: path.to_owned(), source: Box::new(e) })?;
    let subs: Vec<&clap::Command> = command.get_subcommands().collect();
    for (name, value) in &table {
        if let toml::Value::Table(options) = value {
            let Some(sub) = subs.iter().find(|c| c.get_name() == name) else {
                let names: Vec<&str> = subs.iter().map(|c| c.get_name()).collect();
                let near = graphlume_algo::did_you_mean(name, &names);
                return Err(ConfigError::Unknown {
                    key: name.clone(),
                    near,
                    known: names.join(", "),
                });
            };
            for (key, value) in options {
                let id = option_id(sub, key)
                    .ok_or_else(|| unknown(&format!("{name}.{key}"), std::slice::from_ref(sub)))?;
                let text = scalar(&format!("{name}.{key}"), value)?;
                defaults.insert((name.clone(), id), text);
            }
        } else {
            // A key outside of any table holds for every command that has it, such as `data`.
            let homes: Vec<_> =
                subs.iter().filter_map(|c| Some((c.get_name(), option_id(c, name)?))).collect();
            if homes.is_empty() {
                return Err(unknown(name, &subs));
            }
            for (sub, id) in homes {
                defaults.entry((sub.to_owned(), id)).or_insert(scalar(name, value)?);
            }
        }
    }
    Ok(())
}

fn unknown(key: &str, subs: &[&clap::Command]) -> ConfigError {
    let mut names: Vec<&str> =
        subs.iter().flat_map(|c| c.get_arguments()).filter_map(clap::Arg::get_long).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|n| !matches!(*n, "help" | "version" | "config"));
    let last = key.rsplit('.').next().unwrap_or(key).replace('_', "-");
    let near = graphlume_algo::did_you_mean(&last, &names);
    ConfigError::Unknown { key: key.to_owned(), near, known: names.join(", ") }
}

/// The id of the option that `key` names, in kebab or snake case.
fn option_id(command: &clap::Command, key: &str) -> Option<String> {
    let long = key.replace('_', "-");
    let arg = command.get_arguments().find(|a| a.get_long() == Some(long.as_str()))?;
    Some(arg.get_id().to_string())
}

fn scalar(key: &str, value: &toml::Value) -> Result<String, ConfigError> {
    match value {
        toml::Value::String(s) => Ok(s.clone()),
        toml::Value::Integer(i) => Ok(i.to_string()),
        toml::Value::Float(f) => Ok(f.to_string()),
        toml::Value::Boolean(b) => Ok(b.to_string()),
        other => Err(ConfigError::Kind { key: key.to_owned(), found: other.type_str() }),
    }
}

/// Bytes of a size such as `8GiB`, `512MB`, `1073741824` or, of `total`, `50%`.
///
/// # Errors
/// The text is not a size.
pub fn size(option: &str, text: &str, total: u64) -> Result<u64, ConfigError> {
    graphlume_types::settings::size(text, total)
        .map_err(|why| ConfigError::Value(format!("--{option} {text:?} is {why}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn os(args: &[&str]) -> Vec<std::ffi::OsString> {
        args.iter().map(std::ffi::OsString::from).collect()
    }

    fn with_file(text: &str, args: &[&str]) -> Result<Cli, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graphlume.toml");
        std::fs::write(&path, text).unwrap();
        let mut all = vec!["graphlume".to_owned(), format!("--config={}", path.display())];
        all.extend(args.iter().map(|s| (*s).to_owned()));
        parse(&os(&all.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    fn serve(cli: Cli) -> Box<crate::cli::ServeArgs> {
        match cli.command {
            crate::cli::Command::Serve(args) => args,
            other => panic!("not serve: {other:?}"),
        }
    }

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_refused_value_of_the_file_is_no_usage_whatever_the_command_line_ends_in() {
        let text = "[serve]\nsesame_max_age = 0\n";
        let refused = with_file(text, &["serve", "--listen", "127.0.0.1:43210"]).unwrap_err();
        assert!(refused.to_string().contains("sesame-max-age"), "{refused}");
    }

    #[test]
    fn a_refused_value_of_the_command_line_is_not_taken_for_one_of_the_file() {
        for args in [&["serve", "--sesame-max-age", "0"][..], &["serve", "--threads=many"]] {
            let all = os(&[&["graphlume"], args].concat());
            let error = Cli::command().try_get_matches_from(&all).unwrap_err();
            assert!(!is_configured(&error, &all), "{error}");
        }
    }

    #[test]
    fn a_file_sets_defaults_and_a_flag_wins_over_it() {
        let text =
            "data = '/srv/a'\n[serve]\nlisten = '127.0.0.1:9000'\nthreads = 3\ndemo = true\n";
        let args = serve(with_file(text, &["serve"]).unwrap());
        assert_eq!(args.http.listen.to_string(), "127.0.0.1:9000");
        assert_eq!((args.engine.threads, args.demo), (3, true));
        assert_eq!(args.data.data, PathBuf::from("/srv/a"));
        let args = serve(with_file(text, &["serve", "--listen", "127.0.0.1:9001"]).unwrap());
        assert_eq!(args.http.listen.to_string(), "127.0.0.1:9001");
    }

    #[test]
    fn what_a_file_changes_is_told_from_what_it_names() {
        let of = |text: &str, args: &[&str]| serve(with_file(text, args).unwrap()).given;
        let first = of("[serve]\nlog = 'warn'\nmemory = '1GiB'\n", &["serve"]);
        let usual = "[serve]\ninternal-listen = '127.0.0.1:8001'\n";
        assert!(first.names("log") && !first.names("internal-listen"));
        assert!(of(usual, &["serve"]).names("internal-listen"));
        assert!(of("", &["serve", "--internal-listen=8001"]).names("internal-listen"));
        let text = "[serve]\nmemory = '2GiB'\ndemo = true\n";
        let mut second = of(text, &["serve"]);
        assert_eq!(first.differing(&second), ["demo", "log", "memory"]);
        second.take(&["demo".to_owned(), "log".to_owned()], &first);
        assert_eq!(first.differing(&second), ["memory"]);
        // A flag wins over the file, before and after.
        let flag = ["serve", "--log", "debug"];
        assert!(of("", &flag).differing(&of("[serve]\nlog = 'warn'\n", &flag)).is_empty());
    }

    #[test]
    fn queries_and_tool_calls_have_a_minute_at_most() {
        let args = serve(with_file("", &["serve"]).unwrap());
        assert_eq!((args.engine.call_time.as_secs(), args.http.tool_time.as_secs()), (60, 60));
        let text = "[serve]\nquery-seconds = 5\ntool-seconds = 2\n";
        let args = serve(with_file(text, &["serve"]).unwrap());
        assert_eq!((args.engine.call_time.as_secs(), args.http.tool_time.as_secs()), (5, 2));
        for bad in
            ["query-seconds = 0", "query-seconds = 61", "tool-seconds = 0", "tool-seconds = 61"]
        {
            let err = with_file(&format!("[serve]\n{bad}\n"), &["serve"]).unwrap_err().to_string();
            assert!(err.contains("1..=60"), "{err}");
        }
    }

    #[test]
    fn an_unknown_setting_is_named_with_the_known_ones() {
        let err = with_file("[serve]\nlisen = 'x'\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("serve.lisen") && err.contains("did you mean \"listen\"?"), "{err}");
        let err = with_file("[serve]\nthreadz = 1\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("did you mean \"threads\"?"), "{err}");
        let err = with_file("[sreve]\nlisten = 'x'\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("sreve") && err.contains("serve"), "{err}");
        let err = with_file("[serve]\nlisten = ['x']\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("array"), "{err}");
    }

    #[test]
    fn a_refused_value_of_the_file_is_configuration_and_not_usage() {
        let err = with_file("[serve]\nlisten = 'nowhere'\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("nowhere") && err.contains("--listen"), "{err}");
        assert!(err.contains("configuration file") && !err.contains('\n'), "{err}");
        let err = with_file("[serve]\nbackend = 'abacus'\n", &["serve"]).unwrap_err().to_string();
        assert!(err.contains("abacus") && err.contains("cpu"), "{err}");
    }

    #[test]
    fn a_variable_that_no_option_reads_is_named_with_the_nearest_one() {
        let names = [
            "GRAPHLUME_LISTENN",
            "GRAPHLUME_LISTEN",
            "GRAPHLUME_ADMIN_PASSWORD",
            "HOME",
            "GRAPHLUME_ZEBRA_CROSSING",
        ];
        let set = names.iter().map(std::ffi::OsString::from);
        let said = strange_variables(&Cli::command(), set);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].contains("GRAPHLUME_LISTENN")
                && said[0].contains("did you mean \"GRAPHLUME_LISTEN\"?")
        );
        assert!(said[1].contains("GRAPHLUME_ZEBRA_CROSSING") && !said[1].contains("did you mean"));
    }

    #[test]
    fn help_needs_no_configuration() {
        for args in
            [&["graphlume", "serve", "--help"][..], &["graphlume", "help"], &["graphlume", "-V"]]
        {
            assert!(asks_for_help(&os(args)), "{args:?}");
        }
        assert!(!asks_for_help(&os(&["graphlume", "serve", "--listen", "1"])));
        assert!(!asks_for_help(&os(&["graphlume", "user", "add", "help"])));
    }

    #[test]
    fn sizes_have_units_and_shares() {
        assert_eq!(size("memory", "8GiB", 0).unwrap(), 8 << 30);
        assert_eq!(size("memory", "1.5 kb", 0).unwrap(), 1_500);
        assert_eq!(size("memory", "50%", 1000).unwrap(), 500);
        for bad in ["", "x", "10 parsecs", "120%", "-1", "0"] {
            assert!(size("memory", bad, 1000).is_err(), "{bad}");
        }
    }
}
