//! The two text formats that scrapers read, and which one a scraper asks for.

use http::HeaderValue;

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The text format of Prometheus.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// What the header `Accept` asks for. A scraper that does not name OpenMetrics gets the older format, which all read.
    pub(crate) fn asked(accept: Option<&str>) -> Self {
        let accept = accept.unwrap_or_default().to_ascii_lowercase();
        let mut best = (0.0, Self::Text);
        for entry in accept.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let (mut quality, mut version) = (1.0, None);
            for (name, value) in parts.filter_map(|p| p.split_once('=')) {
                match name.trim_end() {
                    "q" => quality = value.trim().parse().unwrap_or(0.0),
                    "version" => version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            let format = match (kind, version) {
                ("application/openmetrics-text", None | Some("1.0.0" | "0.0.1")) => {
                    Self::OpenMetrics
                }
                ("text/plain", None | Some("0.0.4")) => Self::Text,
                _ => continue,
            };
            // Of two that are asked for alike the first counts.
            if quality > best.0 {
                best = (quality, format);
            }
        }
        best.1
    }

    /// The media type.
    pub(crate) const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        })
    }
}

/// OpenMetrics as the older format: there a counter is called what its sample is called, and neither units nor the end
/// are written down.
pub(super) fn to_text(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        if line.starts_with("# HELP ") {
            // How the family is called is known with its type.
            help = Some(line);
            continue;
        }
        let renamed = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter"));
        let suffix = if renamed.is_some() { "_total" } else { "" };
        if let Some(line) = help.take() {
            match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
                [hash, word, name, text] => {
                    out.push_str(&format!("{hash} {word} {name}{suffix} {text}\n"));
                }
                _ => out.push_str(&format!("{line}\n")),
            }
        }
        match renamed {
            Some(name) => out.push_str(&format!("# TYPE {name}_total counter\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scraper_gets_the_format_that_it_names() {
        use Format::{OpenMetrics, Text};
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            (None, Text),
            (Some("*/*"), Text),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), Text),
            (Some("text/plain"), Text),
            (Some("text/plain; version=0.0.4"), Text),
            (Some("application/openmetrics-text"), OpenMetrics),
            (Some("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8"), OpenMetrics),
            (Some("application/openmetrics-text; version=2.0.0"), Text),
            (Some(prometheus), OpenMetrics),
            (Some("application/openmetrics-text;q=0.1, text/plain;q=0.9"), Text),
            (Some("text/plain;q=0.1, application/openmetrics-text;q=0.9"), OpenMetrics),
            (Some("application/openmetrics-text;q=0, */*"), Text),
            (Some(";;q=,,/"), Text),
        ] {
            assert_eq!(Format::asked(accept), format, "{accept:?}");
        }
    }

    #[test]
    fn counters_are_called_like_their_samples_in_the_older_format() {
        let text = to_text(
            "# HELP a_b What is counted.\n# TYPE a_b counter\na_b_total{x=\"1\"} 2\n\
             # HELP g Bytes.\n# TYPE g gauge\n# UNIT g bytes\ng 3\n# HELP bare \n# TYPE bare gauge\n# EOF\n",
        );
        assert_eq!(
            text,
            "# HELP a_b_total What is counted.\n# TYPE a_b_total counter\na_b_total{x=\"1\"} 2\n\
             # HELP g Bytes.\n# TYPE g gauge\ng 3\n# HELP bare \n# TYPE bare gauge\n"
        );
    }
}
