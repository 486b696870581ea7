//! Feature files: scenarios with their steps, outlines expanded.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct Step {
    pub text: String,
    pub doc: Option<String>,
    pub table: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub feature: String,
    pub area: String,
    pub name: String,
    pub steps: Vec<Step>,
}

fn files(dir: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "feature") {
            into.push(path);
        }
    }
}

/// Rows of cells, the first of them the names.
type Examples = Vec<Vec<String>>;

/// All scenarios below a folder.
pub fn read(root: &Path) -> Vec<Scenario> {
    let mut paths = Vec::new();
    files(root, &mut paths);
    paths.iter().flat_map(|p| feature(root, p)).collect()
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut escaped = false;
    for c in line.trim().chars().skip(1) {
        // A backslash escapes the bar and itself.
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '|' if !escaped => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            '|' | '\\' => cell.push(c),
            _ if escaped => cell.extend(['\\', c]),
            _ => cell.push(c),
        }
        escaped = false;
    }
    cells
}

fn feature(root: &Path, path: &Path) -> Vec<Scenario> {
    let text = std::fs::read_to_string(path).unwrap();
    let relative = path.strip_prefix(root).unwrap();
    let name = relative.with_extension("").display().to_string();
    let area = relative.parent().unwrap().display().to_string();
    let lines: Vec<&str> = text.lines().collect();
    let mut scenarios: Vec<(Scenario, Vec<Examples>, bool)> = Vec::new();
    let mut background: Vec<Step> = Vec::new();
    let mut in_background = false;
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i].trim();
        i += 1;
        if line.starts_with("Background:") {
            in_background = true;
        } else if let Some((head, title)) =
            line.split_once(':').filter(|(h, _)| *h == "Scenario" || *h == "Scenario Outline")
        {
            in_background = false;
            let steps = background.clone();
            let (feature, area, name) = (name.clone(), area.clone(), title.trim().to_owned());
            let outline = head == "Scenario Outline";
            scenarios.push((Scenario { feature, area, name, steps }, Vec::new(), outline));
        } else if line.starts_with("Examples:") {
            let mut rows = Vec::new();
            while i < lines.len()
                && (lines[i].trim().is_empty() || lines[i].trim().starts_with('|'))
            {
                if lines[i].trim().starts_with('|') {
                    rows.push(cells(lines[i]));
                }
                i += 1;
            }
            scenarios.last_mut().unwrap().1.push(rows);
        } else if let Some((word, rest)) = line.split_once(' ')
            && ["Given", "When", "Then", "And", "But"].contains(&word)
        {
            let mut step = Step { text: rest.trim().to_owned(), ..Step::default() };
            while i < lines.len() && lines[i].trim().is_empty() {
                i += 1;
            }
            if i < lines.len() && lines[i].trim().starts_with("\"\"\"") {
                let indent = lines[i].len() - lines[i].trim_start().len();
                i += 1;
                let mut doc = Vec::new();
                while !lines[i].trim().starts_with("\"\"\"") {
                    doc.push(lines[i].get(indent..).unwrap_or(lines[i].trim_start()));
                    i += 1;
                }
                i += 1;
                step.doc = Some(doc.join("\n"));
            }
            while i < lines.len() && lines[i].trim().starts_with('|') {
                step.table.push(cells(lines[i]));
                i += 1;
            }
            if in_background {
                background.push(step);
            } else {
                scenarios.last_mut().unwrap().0.steps.push(step);
            }
        }
    }
    scenarios.into_iter().flat_map(|(s, examples, outline)| expand(s, &examples, outline)).collect()
}

fn expand(scenario: Scenario, examples: &[Examples], outline: bool) -> Vec<Scenario> {
    if !outline {
        return vec![scenario];
    }
    let mut out = Vec::new();
    for table in examples {
        for row in &table[1..] {
            let fill = |text: &str| {
                let pairs = table[0].iter().zip(row);
                pairs.fold(text.to_owned(), |t, (k, v)| t.replace(&format!("<{k}>"), v))
            };
            let step = |s: &Step| Step {
                text: fill(&s.text),
                doc: s.doc.as_deref().map(fill),
                table: s.table.iter().map(|r| r.iter().map(|c| fill(c)).collect()).collect(),
            };
            let steps = scenario.steps.iter().map(step).collect();
            let name = format!("{} #{}", scenario.name, out.len() + 1);
            out.push(Scenario { name, steps, ..scenario.clone() });
        }
    }
    out
}
