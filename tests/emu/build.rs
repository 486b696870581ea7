//! Compiles the kernel sources for the host into a stand-in for the CUDA driver library: once plainly, and
//! with `GRAPHLUME_EMU_ASAN=1` a second time under AddressSanitizer and UndefinedBehaviorSanitizer.
//! `GRAPHLUME_EMU_ONLY=family,family` leaves the other families out, for work on one of them.

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Compilers at work at once.
const JOBS: usize = 2;
const COMMON: &[&str] = &[
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wno-unused-function",
    "-Wno-unknown-pragmas",
];

struct Variant {
    name: &'static str,
    flags: &'static [&'static str],
}

const PLAIN: Variant = Variant { name: "plain", flags: &["-O2"] };
const ASAN: Variant = Variant {
    name: "asan",
    flags: &[
        "-O1",
        "-g1",
        "-fno-omit-frame-pointer",
        "-fsanitize=address,undefined",
        "-fsanitize-sections=gl_shared_*",
        "-fno-sanitize-recover=all",
    ],
};

/// A C++ file to compile, and everything that it is made of.
struct Unit {
    name: String,
    source: PathBuf,
    inputs: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let here = PathBuf::from(var("CARGO_MANIFEST_DIR")?);
    let cpp = here.join("cpp");
    let cu = here.join("../../kernels-ptx/cu").canonicalize()?;
    let out = PathBuf::from(var("OUT_DIR")?);
    for path in [&cpp, &cu] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for name in ["GRAPHLUME_EMU_ONLY", "GRAPHLUME_EMU_ASAN", "CXX"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rustc-check-cfg=cfg(graphlume_emu_asan)");
    let units = units(&cpp, &cu, &out)?;
    let compiler = compiler()?;
    let plain = library(&PLAIN, &compiler, &units, &[&cpp, &cu], &out)?;
    println!("cargo::rustc-env=GRAPHLUME_EMU_PLAIN_LIBRARY={}", plain.display());
    if env::var("GRAPHLUME_EMU_ASAN").is_ok_and(|v| v == "1") {
        let asan = library(&ASAN, &compiler, &units, &[&cpp, &cu], &out)?;
        println!("cargo::rustc-env=GRAPHLUME_EMU_ASAN_LIBRARY={}", asan.display());
        println!("cargo::rustc-cfg=graphlume_emu_asan");
    }
    Ok(())
}

fn var(name: &str) -> Result<String> {
    env::var(name).map_err(|e| Error::other(format!("{name}: {e}")))
}

/// The C++ compiler: the one that `CXX` names, else g++, else c++.
fn compiler() -> Result<String> {
    let named = env::var("CXX").ok();
    let known = named.iter().map(String::as_str).chain(["g++", "c++"]);
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    known.filter(|n| !n.is_empty()).find(works).map(str::to_owned).ok_or_else(|| {
        Error::other(
            "no C++ compiler found: install g++, or name one in CXX; the kernel tests need it",
        )
    })
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

fn units(cpp: &Path, cu: &Path, out: &Path) -> Result<Vec<Unit>> {
    let headers: Vec<PathBuf> = [files(cpp, "hpp")?, files(cu, "cuh")?].concat();
    let mut units = Vec::new();
    let mut add = |name: String, source: PathBuf, own: Option<PathBuf>| {
        let inputs = headers.iter().cloned().chain(own).chain([source.clone()]).collect();
        units.push(Unit { name, source, inputs });
    };
    for source in files(cpp, "cpp")? {
        add(stem(&source), source, None);
    }
    let only = env::var("GRAPHLUME_EMU_ONLY").unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only.split(',').any(|o| o.trim() == name);
    let families = files(cu, "cu")?.into_iter().filter(|p| wanted(&stem(p)));
    for path in families.chain(files(cpp, "cu")?) {
        let name = format!("family_{}", stem(&path));
        let wrapper = out.join(format!("{name}.cpp"));
        fs::write(&wrapper, wrapper_of(&path)?)?;
        add(name, wrapper, Some(path));
    }
    Ok(units)
}

/// The C++ file that takes in one family and makes its kernels known.
fn wrapper_of(path: &Path) -> Result<String> {
    let family = stem(path);
    let mut kernels = String::new();
    for (name, threads) in kernels_of(&fs::read_to_string(path)?) {
        kernels += &format!(
            "    emu::Registered(emu::describe(\"{family}\", \"{name}\", {threads}, \
             __start_gl_shared_{family}, __stop_gl_shared_{family}, {name})),\n"
        );
    }
    Ok(format!(
        "#define GL_HOST 1\n#define GL_SHARED_SECTION gl_shared_{family}\n#include \"kernel.hpp\"\n\
         extern \"C\" __attribute__((weak, visibility(\"hidden\"))) char __start_gl_shared_{family}[], \
         __stop_gl_shared_{family}[];\n#include \"{}\"\n\
         static const emu::Registered registered[] = {{\n{kernels}}};\n",
        path.display()
    ))
}

/// Names of the kernels of a source, and the most threads that their blocks may have.
fn kernels_of(text: &str) -> Vec<(String, String)> {
    let lines = text.split("\nGL_KERNEL").skip(1);
    let read = |rest: &str| {
        let head = rest.trim_start().strip_prefix("void")?.trim_start();
        let (threads, head) = match head.strip_prefix("GL_BOUNDS(") {
            Some(bounded) => bounded.split_once(')')?,
            None => ("1024", head),
        };
        let (name, _) = head.split_once('(')?;
        Some((name.trim().to_owned(), threads.trim().to_owned()))
    };
    lines.filter_map(read).collect()
}

/// Compiles what has changed, links, and gives the library. Its name is that of the driver library, so
/// that whoever asks for that one afterwards gets this one.
fn library(
    variant: &Variant,
    compiler: &str,
    units: &[Unit],
    folders: &[&PathBuf],
    out: &Path,
) -> Result<PathBuf> {
    let folder = out.join(variant.name);
    fs::create_dir_all(&folder)?;
    let mut objects = Vec::new();
    let mut running: VecDeque<(Child, PathBuf, String)> = VecDeque::new();
    let mut changed = false;
    for unit in units {
        let object = folder.join(format!("{}.o", unit.name));
        let stamp = object.with_extension("stamp");
        let want = digest(unit, variant, compiler)?;
        objects.push(object.clone());
        if object.is_file() && fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
            continue;
        }
        changed = true;
        if running.len() >= JOBS {
            finish(&mut running)?;
        }
        let mut command = Command::new(compiler);
        command
            .args(COMMON)
            .args(variant.flags)
            .args(folders.iter().map(|f| format!("-I{}", f.display())));
        let child = command.arg("-c").arg(&unit.source).arg("-o").arg(&object).spawn()?;
        running.push_back((child, stamp, want));
    }
    while !running.is_empty() {
        finish(&mut running)?;
    }
    let linked = folder.join("libcuda.so");
    let list = folder.join("objects.txt");
    let names: Vec<String> = objects.iter().map(|o| o.display().to_string()).collect();
    let names = names.join("\n");
    if changed || !linked.is_file() || fs::read_to_string(&list).ok().as_deref() != Some(&names) {
        let mut command = Command::new(compiler);
        command.args(variant.flags).args([
            "-shared",
            "-Wl,-soname,libcuda.so",
            "-Wl,-z,defs",
            "-pthread",
        ]);
        command.args(&objects).arg("-o").arg(&linked);
        if !command.status()?.success() {
            return Err(Error::other("the emulated CUDA driver could not be linked"));
        }
        fs::write(&list, names)?;
    }
    Ok(linked)
}

fn finish(running: &mut VecDeque<(Child, PathBuf, String)>) -> Result<()> {
    let Some((mut child, stamp, digest)) = running.pop_front() else { return Ok(()) };
    if child.wait()?.success() {
        return fs::write(stamp, digest);
    }
    for (mut other, ..) in running.drain(..) {
        other.wait()?;
    }
    Err(Error::other(format!("{} does not compile for the host, see above", stem(&stamp))))
}

fn digest(unit: &Unit, variant: &Variant, compiler: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (COMMON, variant.flags, compiler).hash(&mut hasher);
    for input in &unit.inputs {
        (input, fs::read(input)?).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}
