//! Makes the folder that the page is embedded from.
//!
//! The page is built by Vite into `shell/web/dist`. A machine without Node must still be able to
//! build the server, so a missing page is replaced by one that says so, in the build folder and
//! never in the source tree.

use std::path::Path;
use std::{env, fs, io};

const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<title>Graphlume: page not built</title></head><body><h1>The page is not built</h1>\
<p>This server was compiled without its web page. Run <code>scripts/build-web.sh</code> and build \
the server again. Every other route works.</p></body></html>\n";

fn main() -> io::Result<()> {
    let here = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let dist = Path::new(&here).join("../web/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    let folder = if dist.join("graph.html").is_file() {
        for entry in walk(&dist)? {
            println!("cargo:rerun-if-changed={entry}");
        }
        "../web/dist".to_owned()
    } else {
        println!("cargo:rerun-if-changed={}", dist.join("graph.html").display());
        let fallback = Path::new(&out).join("page-not-built");
        fs::create_dir_all(&fallback)?;
        fs::write(fallback.join("graph.html"), NOT_BUILT)?;
        relative(Path::new(&here), &fallback)
    };
    let source = format!(
        "/// The page's files.\n#[derive(rust_embed::Embed)]\n#[folder = {:?}]\npub(crate) struct Dist;\n",
        folder
    );
    fs::write(Path::new(&out).join("dist.rs"), source)
}

/// `to` as seen from `from`; the embedding macro takes no absolute path. Both are absolute.
fn relative(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Every file below `dir`.
fn walk(dir: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(walk(&path)?);
        } else {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}
