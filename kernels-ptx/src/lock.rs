//! Check that the PTX of a checkout was made from its sources, by the record in `ptx.lock`. For build scripts
//! and tests: it needs no CUDA compiler. The caller brings SHA-256, because this crate has no dependencies.

use std::collections::BTreeMap;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// What a person does about any of [`problems`].
pub const REMEDY: &str = "run scripts/ptx and commit what it writes";

/// What is wrong with the PTX below `folder`, the place of this crate: a line for each file.
///
/// # Errors
/// When a folder or a file cannot be read.
pub fn problems(folder: &Path, sha256: impl Fn(&[u8]) -> String) -> Result<Vec<String>> {
    let lock = fs::read_to_string(folder.join("ptx.lock"))?;
    let recipe: String = lock
        .lines()
        .filter(|l| l.starts_with("compiler ") || l.starts_with("flags "))
        .flat_map(|l| [l, "\n"])
        .collect();
    let mut recorded: BTreeMap<&str, (&str, &str)> = lock.lines().filter_map(record).collect();
    let mut found = Vec::new();
    for source in files(&folder.join("cu"), "cu")? {
        let family = stem(&source);
        let Some((made_from, made)) = recorded.remove(family.as_str()) else {
            found.push(format!("kernels-ptx/cu/{family}.cu was never compiled"));
            continue;
        };
        if sha256(&whole_source(&recipe, &source)?) != made_from {
            found.push(format!(
                "kernels-ptx/cu/{family}.cu or a header of it has changed since it was compiled"
            ));
        }
        let ptx = folder.join("ptx").join(&family).with_extension("ptx");
        if !ptx.is_file() || sha256(&fs::read(ptx)?) != made {
            found.push(format!("kernels-ptx/ptx/{family}.ptx is not what the compiler wrote"));
        }
    }
    let gone =
        recorded.keys().map(|f| format!("kernels-ptx/ptx.lock records {f}, which has no source"));
    found.extend(gone);
    Ok(found)
}

/// `family source=... ptx=...`
fn record(line: &str) -> Option<(&str, (&str, &str))> {
    let mut words = line.split(' ');
    let family = words.next()?;
    let source = words.next()?.strip_prefix("source=")?;
    Some((family, (source, words.next()?.strip_prefix("ptx=")?)))
}

/// The recipe, the source and the headers that it includes, each once, in order of appearance.
fn whole_source(recipe: &str, source: &Path) -> Result<Vec<u8>> {
    let mut bytes = recipe.as_bytes().to_vec();
    let mut files = vec![source.to_owned()];
    let mut at = 0;
    while let Some(file) = files.get(at) {
        let text = fs::read_to_string(file)?;
        bytes.extend_from_slice(text.as_bytes());
        for name in text.lines().filter_map(included) {
            let header = source.with_file_name(name);
            if !files.contains(&header) {
                files.push(header);
            }
        }
        at += 1;
    }
    Ok(bytes)
}

/// The header of ours that a line includes.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let name = directive.strip_prefix("include")?.trim_start().strip_prefix('"')?;
    name.split('"').next().filter(|n| n.ends_with(".cuh"))
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// Long enough to tell the texts of these tests apart.
    fn digest(bytes: &[u8]) -> String {
        bytes.iter().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(*b))).to_string()
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let at =
                std::env::temp_dir().join(format!("graphlume-lock-{name}-{}", std::process::id()));
            for part in ["cu", "ptx"] {
                fs::create_dir_all(at.join(part)).unwrap();
            }
            let folder = Self(at);
            folder.write("cu/common.cuh", "shared\n");
            folder.write("cu/sum.cu", "#include \"common.cuh\"\nsum\n");
            folder.write("ptx/sum.ptx", "text");
            let source = digest(b"compiler c\nflags f\n#include \"common.cuh\"\nsum\nshared\n");
            let line = format!("sum source={source} ptx={}", digest(b"text"));
            folder.write("ptx.lock", &format!("# words\ncompiler c\nflags f\n{line}\n"));
            folder
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.0.join(path), text).unwrap();
        }

        fn problems(&self) -> Vec<String> {
            problems(&self.0, digest).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_belongs_together_is_accepted() {
        assert_eq!(Folder::new("good").problems(), [""; 0]);
    }

    #[test]
    fn a_change_of_source_header_or_text_is_noticed() {
        for (path, wanted) in [
            ("cu/sum.cu", "sum.cu or a header"),
            ("cu/common.cuh", "sum.cu or a header"),
            ("ptx/sum.ptx", "sum.ptx is not"),
            ("cu/new.cu", "new.cu was never compiled"),
        ] {
            let folder = Folder::new(&path.replace('/', "-"));
            folder.write(path, "#include \"common.cuh\"\nother\n");
            let found = folder.problems();
            assert!(found.len() == 1 && found[0].contains(wanted), "{path}: {found:?}");
        }
    }

    #[test]
    fn a_lost_source_and_a_lost_text_are_noticed() {
        let folder = Folder::new("lost");
        fs::remove_file(folder.0.join("ptx/sum.ptx")).unwrap();
        assert!(folder.problems()[0].contains("sum.ptx is not"));
        fs::remove_file(folder.0.join("cu/sum.cu")).unwrap();
        assert_eq!(folder.problems().len(), 1);
        assert!(folder.problems()[0].contains("has no source"));
    }
}
