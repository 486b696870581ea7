//! The CUDA kernels as PTX text. The text is compiled from `cu/` by `scripts/ptx` and committed; the
//! driver compiles it for the card it finds. Nothing here needs a CUDA toolkit.

pub mod lock;
mod modules;

pub use modules::MODULES;

/// The kernels of one source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The family: the name of the source file without its ending.
    pub name: &'static str,
    /// PTX 8.2 for compute capability 7.5 and newer.
    pub ptx: &'static str,
}

impl Module {
    /// The module of a family.
    #[must_use]
    pub fn of(family: &str) -> Option<&'static Self> {
        MODULES.binary_search_by_key(&family, |m| m.name).ok().map(|at| &MODULES[at])
    }

    /// The names of the kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.ptx
            .lines()
            .filter_map(|l| l.strip_prefix(".visible .entry "))
            .map(|l| l.trim_end().trim_end_matches('('))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_module_loads_on_the_oldest_driver_and_card_we_promise() {
        for module in MODULES {
            assert!(module.ptx.contains("\n.version 8.2\n"), "{}", module.name);
            assert!(module.ptx.contains("\n.target sm_75\n"), "{}", module.name);
            assert!(module.kernels().next().is_some(), "{} holds no kernel", module.name);
        }
    }

    #[test]
    fn modules_are_found_by_family_and_kernels_have_one_home() {
        let mut seen = BTreeSet::new();
        for module in MODULES {
            assert_eq!(Module::of(module.name), Some(module));
            for kernel in module.kernels() {
                assert!(seen.insert(kernel), "{kernel} occurs twice");
            }
        }
        assert_eq!(Module::of("no such family"), None);
    }
}
