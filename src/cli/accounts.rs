//! `graphlume user` and `graphlume key`.

use clap::{Subcommand, ValueEnum};

use super::DataDir;

/// Roles as the command line names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Sees and changes what is theirs
    User,
    /// May also mint links for external users
    Staff,
    /// May do everything (also written admin)
    #[value(name = "superuser", alias = "admin")]
    Admin,
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// `graphlume user ...`
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Works on the data folder, also while a server runs on it; what changes is in force there at once.\n\nExample:\n  \
    echo 's3cret words' | graphlume user add alice --password-stdin --role staff --org acme"
)]
pub enum UserCommand {
    /// Add an account; without --password-stdin a password is generated and printed
    Add {
        /// Account name: letters, digits, `.`, `_`, `-`
        name: String,
        /// Name shown to people; that of the account when absent
        #[arg(long = "name", value_name = "TEXT")]
        shown_name: Option<String>,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// What the account may do
        #[arg(long, value_enum, default_value = "user")]
        role: RoleArg,
        /// Email address
        #[arg(long, value_name = "E", default_value = "")]
        email: String,
        /// Also make the account a member of this organization, which is made when missing
        #[arg(long, value_name = "SLUG")]
        org: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// List accounts
    List {
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Let a disabled account sign in again
    Enable {
        /// Account name
        name: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Disable an account: its tokens, keys and sessions stop working
    Disable {
        /// Account name
        name: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Delete an account for good, with its keys, links and logins
    Delete {
        /// Account name
        name: String,
        /// Hand its datasets and files to this account
        #[arg(long, value_name = "NAME", conflicts_with = "with_data")]
        give_to: Option<String>,
        /// Delete its datasets and files, too
        #[arg(long)]
        with_data: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Set a new password; without --password-stdin one is generated and printed
    Password {
        /// Account name
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Change an account
    Set {
        /// Account name
        name: String,
        /// Name shown to people; an empty one is that of the account again
        #[arg(long = "name", value_name = "TEXT")]
        shown_name: Option<String>,
        /// The natural-language graph feature of the tool endpoint
        #[arg(long, value_enum, value_name = "on|off")]
        graph_language: Option<Switch>,
        /// Whether the account is disabled
        #[arg(long, value_enum, value_name = "on|off")]
        disabled: Option<Switch>,
        /// What the account may do
        #[arg(long, value_enum)]
        role: Option<RoleArg>,
        /// Email address
        #[arg(long, value_name = "E")]
        email: Option<String>,
        /// An organization to join, besides those that the account belongs to; made when there is none of that name
        #[arg(long, value_name = "O")]
        org: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
}

/// `graphlume key ...`
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Works on the data folder, also while a server runs on it; what changes is in force there at once.\n\nExample:\n  graphlume key create alice"
)]
pub enum KeyCommand {
    /// Make a personal key and print one line KEY_ID:KEY_SECRET; the secret is shown this once
    Create {
        /// Account name
        name: String,
        /// What the key is for
        #[arg(long, default_value = "")]
        label: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// List keys without their secrets
    List {
        /// Only this account's
        name: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Sign tokens with a new key from now on; those of before live on until they end, an hour at most
    RotateSigning {
        /// End them at once, as after the old key became known: every account signs in again
        #[arg(long)]
        at_once: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Revoke a key
    Revoke {
        /// The part before the colon
        key_id: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
}
