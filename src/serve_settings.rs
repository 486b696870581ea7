//! Settings that follow from the options of `serve`, at its start and when they are read again.

use graphlume_http::{CookieConfig, HttpConfig};
use tracing_subscriber::EnvFilter;

use crate::cli::{ServeArgs, VERSION};
use crate::config::ConfigError;

/// The settings of the shell: those of the command line, and what follows from them.
pub fn http_config(args: &ServeArgs) -> Result<HttpConfig, ConfigError> {
    let given = &args.http;
    let internal_may_move = !args.given.names("internal-listen");
    let is_same = given.internal_listen == Some(given.listen) && given.listen.port() != 0;
    if is_same && !internal_may_move {
        return Err(ConfigError::Value(format!(
            "--listen and --internal-listen are both {}; give each its own port",
            given.listen
        )));
    }
    let refuse = |e: graphlume_http::HttpError| ConfigError::Value(e.to_string());
    let cookie = CookieConfig::from_settings(
        args.cookie_secure,
        args.cookie_samesite.as_deref(),
        given.https_only,
    )
    .map_err(refuse)?
    .below(&given.base_path);
    let config = HttpConfig {
        cookie,
        internal_may_move,
        picture_hosts: args.service.picture_hosts.clone(),
        build: VERSION.to_owned(),
        commit: env!("GRAPHLUME_COMMIT").to_owned(),
        ..given.clone()
    };
    graphlume_http::validate(&config).map_err(refuse)?;
    Ok(config)
}

/// The filter that a text of `--log` describes.
pub fn log_filter(text: &str) -> Result<EnvFilter, ConfigError> {
    EnvFilter::try_new(text).map_err(|e| {
        ConfigError::Value(format!("--log {text:?} is not a filter: {e}; use info, or debug"))
    })
}
