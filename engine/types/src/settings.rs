//! Settings that crates read from the command line: each crate's configuration derives [`clap::Args`], a field a flag,
//! and `graphlume serve` takes the structure whole. Parsers that several of them use stand here.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::builder::Resettable;

use crate::limits::THREADS_MAX;

/// The settings of `T` when none is given: what the flags have as defaults, whatever the environment says.
#[must_use]
pub fn defaults<T: clap::Args>() -> T {
    let command = T::augment_args(clap::Command::new("defaults"));
    // Only a default value that its own parser refuses can fail, and tests of each configuration make one.
    let matches = command.mut_args(|a| a.env(Resettable::Reset)).try_get_matches_from(["defaults"]);
    matches.and_then(|m| T::from_arg_matches(&m)).unwrap_or_else(|e| e.exit())
}

/// A number of threads; a typing error must not ask the system for a hundred thousand.
///
/// # Errors
/// The text is not a number within the limit; the message says which there is.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n <= THREADS_MAX => Ok(n),
        _ => Err(format!("write a whole number from 0 (all cores) to {THREADS_MAX}")),
    }
}

/// An address to listen on: `127.0.0.1:8000`, `[::1]:8000`, `localhost:8000`, or a port of 127.0.0.1.
///
/// # Errors
/// The text is neither, or a name that has no address.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port)));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let named = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !named {
        return Err(
            "write an address and a port such as 127.0.0.1:8000 or localhost:8000, or a port \
            such as 8000"
                .to_owned(),
        );
    }
    let found: Vec<_> =
        text.to_socket_addrs().map_err(|e| format!("the name has no address: {e}"))?.collect();
    let first = found.iter().find(|a| a.is_ipv4()).or_else(|| found.first());
    first.copied().ok_or_else(|| "the name has no address".to_owned())
}

/// Bytes of a size such as `8GiB`, `512MB` or `1073741824`.
///
/// # Errors
/// The text is not a size; the message says how one is written.
pub fn bytes(text: &str) -> Result<u64, String> {
    if text.trim().ends_with('%') {
        return Err(
            "a share, and there is no whole to take it of: write bytes, or a unit such as 8GiB"
                .to_owned(),
        );
    }
    read_size(text, 0)
        .ok_or_else(|| "not a size: write bytes, a unit such as 8GiB or 512MB".to_owned())
}

/// Bytes of a size such as `8GiB`, `512MB`, `1073741824` or, of `total` bytes, `50%`.
///
/// # Errors
/// The text is not a size; the message says how one is written, to be put behind "... is".
pub fn size(text: &str, total: u64) -> Result<u64, String> {
    let how = "not a size: write bytes, a unit such as 8GiB or 512MB, or a share such as 50%";
    read_size(text, total).ok_or_else(|| how.to_owned())
}

fn read_size(text: &str, total: u64) -> Option<u64> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.parse().ok()?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1_048_576.0,
        "mb" => 1e6,
        "g" | "gib" => 1_073_741_824.0,
        "gb" => 1e9,
        "t" | "tib" => 1_099_511_627_776.0,
        "tb" => 1e12,
        "%" if number <= 100.0 => total as f64 / 100.0,
        _ => return None,
    };
    let bytes = number * factor;
    (1.0..1e18).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Args)]
    struct Example {
        #[arg(long, env = "PATH", default_value_t = 7, value_parser = threads)]
        number: usize,
        #[arg(skip = 3_u8)]
        set_by_tests: u8,
    }

    #[test]
    fn defaults_are_those_of_the_flags_whatever_the_environment_says() {
        let example: Example = defaults();
        assert_eq!((example.number, example.set_by_tests), (7, 3));
    }

    #[test]
    fn sizes_have_units_and_shares_need_a_whole() {
        assert_eq!(bytes("100GiB"), Ok(100 << 30));
        assert_eq!(bytes(" 1.5 kB "), Ok(1500));
        assert_eq!(size("25%", 4000), Ok(1000));
        for bad in ["", "0", "-1", "12 parsecs", "nan", "1e30"] {
            let why = bytes(bad).unwrap_err();
            assert!(why.starts_with("not a size") && !why.contains('%'), "{bad}: {why}");
        }
        assert!(bytes("50%").unwrap_err().contains("no whole"));
        assert!(size("101%", 10).is_err());
    }

    #[test]
    fn an_address_may_be_a_port_alone_or_a_name() {
        assert_eq!(address("9000").unwrap().to_string(), "127.0.0.1:9000");
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        assert!(address("localhost:80").unwrap().ip().is_loopback());
        assert!(address("localhost").unwrap_err().contains("and a port"));
        assert!(threads("4097").is_err() == (THREADS_MAX < 4097));
        assert_eq!(threads("0"), Ok(0));
    }
}
