//! Occupancy: the blocks of a kernel that a multiprocessor holds at once, by the figures of the assembler.

mod table;

use super::Gpu;
use table::{CAPABILITIES, RESIDENT};

/// Blocks of `kernel`'s greatest size that a multiprocessor of this card holds at once, by registers, shared memory
/// and threads. A card between two that were assembled for counts as the older one. Used by the sorts, which give
/// each block one piece of the input: one block more than this would begin when all others are done.
pub(crate) fn resident(gpu: &Gpu, kernel: &str) -> u32 {
    of(gpu.info().compute_capability, kernel)
}

fn of(capability: (u32, u32), kernel: &str) -> u32 {
    let Ok(row) = RESIDENT.binary_search_by_key(&kernel, |(name, _)| *name) else { return 1 };
    let card = CAPABILITIES.partition_point(|c| *c <= capability).saturating_sub(1);
    u32::from(RESIDENT[row].1[card]).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cuda::kernels::FAMILIES;

    #[test]
    fn every_kernel_has_its_row_and_no_other_has() {
        let rows: Vec<&str> = RESIDENT.iter().map(|(name, _)| *name).collect();
        assert!(rows.is_sorted());
        let kernels = FAMILIES.iter().flat_map(|(_, kernels)| kernels.iter().map(|k| k.name));
        assert_eq!(rows, kernels.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        assert!(RESIDENT.iter().all(|(_, blocks)| blocks.iter().all(|b| *b > 0)));
    }

    /// Registers and shared memory of `sort_scatter_u32` as in kernels-ptx/REPORT.md: 95, 80 and 90 of 65,536 registers
    /// for 256 threads, and 33,920 of 64, 164 and 228 KiB.
    #[test]
    fn a_card_gets_the_number_of_its_own_generation() {
        let sort = |capability| of(capability, "sort_scatter_u32");
        assert_eq!([sort((7, 5)), sort((8, 0)), sort((9, 0))], [1, 3, 2]);
        assert_eq!(sort((8, 9)), sort((8, 0)), "between two, the older");
        assert_eq!(sort((13, 0)), sort((12, 0)), "newer than all, the newest");
        assert_eq!(sort((5, 0)), sort((7, 5)), "older than all, the oldest");
        assert_eq!(of((9, 0), "no such kernel"), 1);
    }
}
