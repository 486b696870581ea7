//! Options of `serve` as they were given: by a flag, a variable or the configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;

/// What stands for the options of `serve`, by their names.
#[derive(Debug, Clone, Default)]
pub struct Given {
    values: BTreeMap<String, Vec<OsString>>,
    /// Options that a flag, a variable or the file names.
    named: BTreeSet<String>,
    file: Option<PathBuf>,
}

impl Given {
    /// What clap matched for a command; `in_file` are its options by id that the file sets.
    pub fn of(
        command: &clap::Command,
        matches: &ArgMatches,
        in_file: impl Fn(&str) -> bool,
        file: Option<PathBuf>,
    ) -> Self {
        let mut given = Self { file, ..Self::default() };
        for arg in command.get_arguments() {
            let (Some(long), id) = (arg.get_long(), arg.get_id().as_str()) else { continue };
            if matches!(long, "help" | "version" | "config") {
                continue;
            }
            let values = matches.get_raw(id).into_iter().flatten().map(OsString::from).collect();
            given.values.insert(long.to_owned(), values);
            let source = matches.value_source(id);
            if in_file(id) || source.is_some_and(|s| s != ValueSource::DefaultValue) {
                given.named.insert(long.to_owned());
            }
        }
        given
    }

    /// Whether a flag, a variable or the file names the option.
    pub fn names(&self, option: &str) -> bool {
        self.named.contains(option)
    }

    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The options for which `other` has something else.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let all: BTreeSet<&String> = self.values.keys().chain(other.values.keys()).collect();
        let differs = |name: &&String| self.values.get(*name) != other.values.get(*name);
        all.into_iter().filter(differs).cloned().collect()
    }

    /// Has for these options what `other` has.
    pub fn take(&mut self, options: &[String], other: &Self) {
        for option in options {
            match other.values.get(option) {
                Some(values) => self.values.insert(option.clone(), values.clone()),
                None => self.values.remove(option),
            };
        }
    }
}
