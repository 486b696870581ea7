//! The process as its system sees it, under the names that every exporter uses.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rustix::process::{Resource, getrlimit};

use super::figures::Writer;

/// The process at one moment; what the system does not tell is left out.
#[derive(Debug, Default)]
pub(super) struct Process {
    stat: Option<Stat>,
    start_secs: Option<f64>,
    open_files: Option<u64>,
    files_max: Option<u64>,
}

/// What `/proc/self/stat` says.
#[derive(Debug, Default, PartialEq)]
struct Stat {
    cpu_secs: f64,
    threads: u64,
    /// Seconds after the start of the machine.
    began_secs: f64,
    virtual_bytes: u64,
    resident_bytes: u64,
}

impl Process {
    /// Reads `/proc`.
    pub(super) fn read() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).ok();
        let ticks = rustix::param::clock_ticks_per_second();
        let page = rustix::param::page_size() as u64;
        let stat = text("/proc/self/stat").and_then(|t| parse_stat(&t, ticks as f64, page));
        let boot = text("/proc/stat").and_then(|t| parse_boot(&t));
        // The folder itself is open while it is read.
        let open =
            std::fs::read_dir("/proc/self/fd").ok().map(|d| d.count().saturating_sub(1) as u64);
        Self {
            start_secs: stat.as_ref().zip(boot).map(|(stat, boot)| boot + stat.began_secs),
            stat,
            open_files: open,
            files_max: getrlimit(Resource::Nofile).current,
        }
    }
}

/// The fields behind the program's name, which may hold spaces and brackets itself.
fn parse_stat(text: &str, ticks_per_sec: f64, page_bytes: u64) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first field here is the third of the file: its state.
    let number = |of_file: usize| fields.get(of_file - 3)?.parse::<u64>().ok();
    let secs = |ticks: u64| ticks as f64 / ticks_per_sec;
    Some(Stat {
        cpu_secs: secs(number(14)? + number(15)?),
        threads: number(20)?,
        began_secs: secs(number(22)?),
        virtual_bytes: number(23)?,
        resident_bytes: number(24)?.saturating_mul(page_bytes),
    })
}

/// Second since 1970 at which the machine started.
fn parse_boot(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|l| l.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut to = Writer(encoder);
        if let Some(stat) = &self.stat {
            to.spent("cpu_seconds", "Processor time that the process has used", stat.cpu_secs)?;
            let help = "Bytes of the process that are in memory";
            to.gauge("resident_memory_bytes", help, stat.resident_bytes)?;
            let help = "Bytes of addresses that the process has";
            to.gauge("virtual_memory_bytes", help, stat.virtual_bytes)?;
            to.gauge("threads", "Threads of the process", stat.threads)?;
        }
        if let Some(secs) = self.start_secs {
            let help = "When the process started, in seconds since 1970";
            to.seconds("start_time_seconds", help, secs)?;
        }
        if let Some(open) = self.open_files {
            to.gauge("open_fds", "Files and connections that the process has open", open)?;
        }
        if let Some(max) = self.files_max {
            to.gauge("max_fds", "Files and connections that it may have open", max)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_counted_behind_the_name() {
        let text = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 2 3 4 5 150 50 0 0 20 0 9 0 4200 8192000 250 1844 1";
        let stat = parse_stat(text, 100.0, 4096).unwrap();
        let expected = Stat {
            cpu_secs: 2.0,
            threads: 9,
            began_secs: 42.0,
            virtual_bytes: 8_192_000,
            resident_bytes: 250 * 4096,
        };
        assert_eq!(stat, expected);
        for broken in
            ["", "1 (x", "1 (x) S 1 2", "1 (x) S a b c d e f g h i j k l m n o p q r s t u v"]
        {
            assert_eq!(parse_stat(broken, 100.0, 4096), None, "{broken}");
        }
        assert_eq!(parse_boot("cpu 1 2\nbtime 1700000000\nprocesses 3\n"), Some(1.7e9));
        assert_eq!(parse_boot("cpu 1 2\n"), None);
    }

    #[test]
    fn this_process_is_found() {
        let now = Process::read();
        let stat = now.stat.unwrap();
        assert!(
            stat.resident_bytes > 1 << 20 && stat.virtual_bytes >= stat.resident_bytes,
            "{stat:?}"
        );
        assert!(stat.threads >= 1 && now.open_files.unwrap() >= 3, "{stat:?}");
        assert!(now.start_secs.unwrap() > 1.6e9, "{:?}", now.start_secs);
    }
}
