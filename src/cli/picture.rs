//! Options of `picture`.

use std::path::PathBuf;

use clap::Args;

/// Options of `picture`.
#[derive(Debug, Args)]
#[command(
    after_help = "The extension of the file tells the format: .png, .svg or .pdf (the latter two up to 20,000\n\
    nodes and edges). Without --key, what everybody may see is drawn. For a server behind TLS run it\n\
    beside the server, or fetch /viz/SESSION/picture.png yourself.\n\nExample:\n  \
    graphlume picture 3f1c... -o graph.png --width 1920 --height 1080 --legend"
)]
pub struct PictureArgs {
    /// Dataset, or session of a visualization, by its id
    #[arg(value_name = "DATASET_OR_SESSION")]
    pub what: String,
    /// Picture to write: .png, .svg or .pdf
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: PathBuf,
    /// Address of the server
    #[arg(
        long,
        value_name = "URL",
        env = "GRAPHLUME_SERVER",
        default_value = "http://127.0.0.1:8000"
    )]
    pub server: String,
    /// Personal key, as `graphlume key create` prints it
    #[arg(long, value_name = "ID:SECRET", env = "GRAPHLUME_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// Pixels of a row of the page that shows the same, 16 to 8192
    #[arg(long, value_name = "PIXELS", default_value_t = 1440)]
    pub width: u32,
    /// Its rows, 16 to 8192
    #[arg(long, value_name = "PIXELS", default_value_t = 900)]
    pub height: u32,
    /// Pixels of the picture for each of these, 0.25 to 8
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub scale: f64,
    /// Palette: dark or light; that of the visualization when absent
    #[arg(long, value_name = "THEME")]
    pub theme: Option<String>,
    /// Background: a colour as in CSS, or none
    #[arg(long, value_name = "COLOR")]
    pub background: Option<String>,
    /// Title above the graph
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Say what the colours mean
    #[arg(long)]
    pub legend: bool,
    /// Let edges between communities run together
    #[arg(long)]
    pub bundle: bool,
    /// Show all nodes where these are too many to be told apart, and no communities in their place
    #[arg(long)]
    pub no_communities: bool,
    /// Leave the names out
    #[arg(long)]
    pub no_names: bool,
    /// Seconds to wait for a layout that runs, 0 to 60
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub wait: u32,
}
