//! Main memory.

/// Bytes of main memory that this process can count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it: that of the machine, or the limit of the control group when that is lower.
    pub total_bytes: u64,
    /// What is free or can be freed at the moment.
    pub available_bytes: u64,
}

/// Reads the present state; `None` where the operating system does not tell.
#[must_use]
pub fn memory() -> Option<Memory> {
    let mut memory = parse_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let read = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = read("/sys/fs/cgroup/memory.max");
    let used = read("/sys/fs/cgroup/memory.current");
    if let Some(limit) = limit.filter(|l| *l < memory.total_bytes) {
        memory.total_bytes = limit;
        memory.available_bytes =
            memory.available_bytes.min(limit.saturating_sub(used.unwrap_or(0)));
    }
    Some(memory)
}

fn parse_meminfo(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(Memory { total_bytes: field("MemTotal")?, available_bytes: field("MemAvailable")? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let text = "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   12000000 kB\n";
        let m = parse_meminfo(text).unwrap();
        assert_eq!((m.total_bytes, m.available_bytes), (24_000_000 * 1024, 12_000_000 * 1024));
        assert_eq!(parse_meminfo("MemTotal: x kB\n"), None);
        assert_eq!(parse_meminfo(""), None);
    }

    #[test]
    fn this_machine_has_memory() {
        if let Some(m) = memory() {
            assert!(m.total_bytes > 1 << 20 && m.available_bytes <= m.total_bytes);
        }
    }
}
