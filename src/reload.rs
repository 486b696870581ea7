//! Reloading on SIGHUP: the configuration file is read again, and what a running server can change is changed.

use std::ffi::OsString;

use graphlume_http::Running;
use tracing_subscriber::EnvFilter;

use crate::config::{self, ConfigError};
use crate::given::Given;
use crate::serve_settings::{http_config, log_filter};

/// Options of `serve` that a running server takes over: what is read anew for each request, and the filter of the log.
/// All others size or open something when the server starts.
const LIVE: &[&str] = &[
    "allowed-origin",
    "base-path",
    "connections-per-address",
    "cookie-samesite",
    "cookie-secure",
    "frame-ancestors",
    "https-only",
    "log",
    "public-url",
    "sesame-token-name",
    "tool-seconds",
    "trusted-proxy",
];

/// Sets the filter of the log.
pub type SetLog = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send>;

/// Reads the settings of a running server again.
pub struct Reloader {
    /// What the server runs with.
    given: Given,
    set_log: SetLog,
}

impl Reloader {
    pub fn new(given: Given, set_log: SetLog) -> Self {
        Self { given, set_log }
    }

    /// Takes over what the file says now, and says in the log what that was. A file that is refused changes nothing.
    pub fn reload(&mut self, running: &Running) {
        match self.changed(running) {
            Ok(report) => tracing::info!("SIGHUP: {report}"),
            Err(e) => tracing::warn!("SIGHUP: every setting stays as it was: {e}"),
        }
    }

    fn changed(&mut self, running: &Running) -> Result<String, ConfigError> {
        let command_line: Vec<OsString> = std::env::args_os().collect();
        let args = config::reread(&command_line)?;
        let filter = log_filter(&args.log)?;
        let refuse = |e: String| ConfigError::Value(e);
        running.reload(http_config(&args)?).map_err(|e| refuse(e.to_string()))?;
        (self.set_log)(filter).map_err(refuse)?;
        let differing = self.given.differing(&args.given);
        let (live, later): (Vec<String>, Vec<String>) =
            differing.into_iter().partition(|name| LIVE.contains(&name.as_str()));
        self.given.take(&live, &args.given);
        let Some(file) = args.given.file() else {
            return Ok("there is no configuration file to read again; flags and variables stay as they are".to_owned());
        };
        Ok(report(&file.display().to_string(), &live, &later))
    }
}

fn report(file: &str, live: &[String], later: &[String]) -> String {
    let taken = match live {
        [] => format!("{file} changes nothing"),
        names => format!("reloaded from {file}: {}", names.join(", ")),
    };
    match later {
        [] => taken,
        names => format!("{taken}; these need a restart: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn what_is_reloaded_are_options_of_the_server() {
        let command = crate::cli::Cli::command();
        let serve = command.find_subcommand("serve").map(clap::Command::get_arguments);
        let known: Vec<&str> =
            serve.into_iter().flatten().filter_map(clap::Arg::get_long).collect();
        for name in LIVE {
            assert!(known.contains(name), "{name}");
        }
    }

    #[test]
    fn the_line_says_what_was_taken_and_what_needs_a_restart() {
        let names = |list: &[&str]| list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(report("f", &[], &[]), "f changes nothing");
        let both = report("f", &names(&["log"]), &names(&["listen", "memory"]));
        assert_eq!(both, "reloaded from f: log; these need a restart: listen, memory");
        let later = report("f", &[], &names(&["memory"]));
        assert_eq!(later, "f changes nothing; these need a restart: memory");
    }
}
