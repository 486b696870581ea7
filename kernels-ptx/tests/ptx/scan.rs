//! Reads PTX as far as the rules need it: kernels, their instructions, and which parameter an address came from.

use std::collections::{BTreeMap, BTreeSet};

/// One instruction: the operation with its modifiers, and the operands as text.
pub(crate) struct Instruction<'a> {
    pub(crate) op: &'a str,
    pub(crate) operands: &'a str,
    /// Whether a jump backwards can lead here again.
    pub(crate) in_loop: bool,
}

/// A kernel of a module.
pub(crate) struct Kernel<'a> {
    pub(crate) name: &'a str,
    /// Lines between the parameters and the body, `.maxntid` among them.
    pub(crate) head: &'a str,
    pub(crate) body: &'a str,
    pub(crate) instructions: Vec<Instruction<'a>>,
    /// Bytes of the static shared memory that the kernel names.
    pub(crate) shared_bytes: u32,
}

/// Every kernel of a module's text.
pub(crate) fn kernels(ptx: &str) -> Vec<Kernel<'_>> {
    let shared = shared_arrays(ptx);
    let starts = ptx.match_indices(".visible .entry ").map(|(at, word)| &ptx[at + word.len()..]);
    starts.map(|text| kernel(text, &shared)).collect()
}

fn kernel<'a>(text: &'a str, shared: &[(&'a str, u32)]) -> Kernel<'a> {
    let name = text.split('(').next().unwrap_or_default().trim();
    let after = text.split_once("\n)").map_or("", |(_, after)| after);
    let (head, body) = after.split_once("\n{").unwrap_or_default();
    let body = body.split_once("\n}").map_or(body, |(body, _)| body);
    let own = shared.iter().filter(|(array, _)| names(body, array));
    Kernel {
        name,
        head,
        body,
        instructions: instructions(body),
        shared_bytes: own.map(|(_, bytes)| bytes).sum(),
    }
}

/// Whether `text` has `word` as a whole word.
fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    text.match_indices(word).any(|(at, _)| !text[at + word.len()..].starts_with(part))
}

/// Names and bytes of the static shared arrays.
fn shared_arrays(ptx: &str) -> Vec<(&str, u32)> {
    ptx.lines().filter_map(|l| l.trim().strip_prefix(".shared ")).filter_map(shared_array).collect()
}

/// `.align 4 .b8 name[bytes];`
fn shared_array(line: &str) -> Option<(&str, u32)> {
    let (head, size) = line.trim_end_matches(';').rsplit_once('[')?;
    let bytes = size.trim_end_matches(']').parse().ok()?;
    Some((head.rsplit(' ').next()?, bytes))
}

/// The instructions of a body, each with whether it stands in a loop: between a label and a later jump to it.
fn instructions(body: &str) -> Vec<Instruction<'_>> {
    let mut found = Vec::new();
    let (mut labels, mut loops) = (BTreeMap::new(), Vec::new());
    for line in body.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, found.len());
            continue;
        }
        let Some(line) = line.split(';').next().filter(|l| !l.is_empty() && !l.starts_with("//"))
        else {
            continue;
        };
        let line = line.strip_prefix('@').and_then(|l| l.split_once(' ')).map_or(line, |(_, l)| l);
        let (op, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let operands = operands.trim();
        if op.starts_with("bra")
            && let Some(begin) = labels.get(operands)
        {
            loops.push(*begin..found.len() + 1);
        }
        found.push(Instruction { op, operands, in_loop: false });
    }
    for range in loops {
        found[range].iter_mut().for_each(|i| i.in_loop = true);
    }
    found
}

impl<'a> Instruction<'a> {
    /// What the brackets hold, without an offset.
    fn address(&self) -> Option<&'a str> {
        let inside = self.operands.split_once('[')?.1.split_once(']')?.0;
        inside.split('+').next()
    }

    /// The array of the module whose address is taken, such as the table of a mathematical function.
    fn table(&self) -> Option<&'a str> {
        let (_, from) = self.operands.split_once(',').filter(|_| self.op.starts_with("mov."))?;
        let from = from.trim();
        from.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(from)
    }

    /// The registers of an instruction: the one that is written, and those that are read.
    fn registers(&self) -> (Option<&'a str>, Vec<&'a str>) {
        let mut words =
            self.operands.split([',', ' ', '{', '}', '|']).filter(|w| w.starts_with('%'));
        (words.next(), words.collect())
    }

    /// Whether global memory is changed, and where addresses are generic, any memory.
    pub(crate) fn writes_memory(&self) -> bool {
        let kind = self.op.split('.').next().unwrap_or_default();
        let elsewhere = [".shared", ".local", ".param"].iter().any(|space| self.op.contains(space));
        matches!(kind, "st" | "atom" | "red") && !elsewhere
    }

    /// An atomic operation whose memory the compiler does not know.
    pub(crate) fn is_generic_atomic(&self) -> bool {
        let kind = self.op.split('.').next().unwrap_or_default();
        matches!(kind, "atom" | "red")
            && !self.op.contains(".global")
            && !self.op.contains(".shared")
    }
}

/// Where a kernel's accesses of global memory lead, by parameter.
#[derive(Default)]
pub(crate) struct Accesses<'a> {
    /// Read past the caches that writes keep right.
    pub(crate) uncached: BTreeSet<&'a str>,
    pub(crate) written: BTreeSet<&'a str>,
    /// Addresses that no parameter leads to, which the other two could therefore miss.
    pub(crate) unknown: Vec<&'a str>,
}

impl<'a> Kernel<'a> {
    pub(crate) fn accesses(&self) -> Accesses<'a> {
        let origins = self.origins();
        let mut accesses = Accesses::default();
        for instruction in &self.instructions {
            let uncached = instruction.op.starts_with("ld.global.nc");
            let Some(address) =
                instruction.address().filter(|_| uncached || instruction.writes_memory())
            else {
                continue;
            };
            let from = origins.get(address).cloned().unwrap_or_default();
            if from.is_empty() {
                accesses.unknown.push(address);
            }
            if uncached { accesses.uncached.extend(from) } else { accesses.written.extend(from) }
        }
        accesses
    }

    /// The parameters, or tables, that each 64-bit register's value may come from. What is loaded from memory comes from none.
    fn origins(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut origins: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
        loop {
            let before: usize = origins.values().map(BTreeSet::len).sum();
            for instruction in &self.instructions {
                let (Some(to), from) = instruction.registers() else { continue };
                if !to.starts_with("%rd") {
                    continue;
                }
                let mut new = BTreeSet::new();
                if instruction.op.starts_with("ld.param") {
                    new.extend(instruction.address());
                } else if let Some(table) = instruction.table() {
                    new.insert(table);
                } else if ["mov", "add", "sub", "mad", "selp", "cvta"]
                    .iter()
                    .any(|o| instruction.op.starts_with(o))
                {
                    new.extend(from.iter().filter_map(|r| origins.get(r)).flatten());
                }
                origins.entry(to).or_default().extend(new);
            }
            if origins.values().map(BTreeSet::len).sum::<usize>() == before {
                return origins;
            }
        }
    }
}
