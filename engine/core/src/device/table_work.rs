//! Work of a job over the columns of a table on either side: the kernels of `residency/table_run.rs`, counted before they
//! run.

use graphlume_expr::{JobTest, TableJob, places};

use super::cost::{Effort, cpu_cells_us};

/// Bits of a digit that a pass of a sort goes by.
const DIGIT: u32 = 8;
/// Kernels of a pass of a sort, and bytes that it reads and writes of a pair of a key and a row.
const PASS_LAUNCHES: usize = 3;
const PASS_BYTES: usize = 20;
/// Kernels that list the rows of a mask, the one that counts them included.
const LIST_LAUNCHES: usize = 4;
/// Bytes that a cell costs which is read by itself.
const SECTOR: usize = 32;
/// Rows of a part of a reduction, parts at most, and bytes of what comes back of one.
const REDUCED_ROWS: usize = 8_192;
const REDUCED_PARTS: usize = 1_024;
const REDUCED_BYTES: usize = 40;
/// Conditions that a percentile costs the CPU as much as.
const CPU_PLACE_CELLS: usize = 4;

/// Rows at least of a part of a group that is summed by itself; one warp sums a part.
const PART_ROWS_MIN: usize = 4_096;
/// Parts of all groups at most, but for one a group.
const PARTS_MAX: usize = 1 << 16;

/// Rows at most of a part of a group, where so many rows are grouped.
pub(crate) fn part_rows(rows: usize) -> usize {
    PART_ROWS_MIN.max(rows.div_ceil(PARTS_MAX))
}

/// The work of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TableWork {
    /// On a GPU.
    pub(crate) effort: Effort,
    /// Cells that take part in a condition or an aggregate, on the CPU.
    cells: usize,
}

impl TableWork {
    /// For a job, of whose columns so many bytes are not on the device yet.
    pub(crate) fn of(job: &TableJob<'_>, missing_bytes: usize) -> Self {
        let results = job.reduced.len()
            + usize::from(job.grouped_by.is_some())
            + job.distinct.len()
            + CPU_PLACE_CELLS * job.placed.len();
        let leaves = job.test.as_ref().map_or(0, JobTest::leaves);
        let mut effort = Counting { job, effort: Effort { missing_bytes, ..Effort::default() } };
        effort.count();
        Self { effort: effort.effort, cells: job.rows * (leaves + results) }
    }

    /// Microseconds on this many threads.
    pub(crate) fn cpu_us(&self, threads: usize) -> f64 {
        cpu_cells_us(self.cells, threads)
    }
}

struct Counting<'j> {
    job: &'j TableJob<'j>,
    effort: Effort,
}

impl Counting<'_> {
    fn count(&mut self) {
        let job = self.job;
        if job.test.is_some() {
            let width: usize = job.columns.iter().map(|c| c.cells.width()).sum();
            self.launch(1, job.rows * width + self.mask_bytes());
            if job.marks {
                return self.result(self.mask_bytes());
            }
            self.launch(1, self.mask_bytes());
            self.result(8);
        }
        match job.grouped_by {
            None => job.reduced.iter().for_each(|place| self.reduction(*place, self.has_mask())),
            Some((place, keys)) => {
                self.histogram(place, keys, self.has_mask());
                if !job.reduced.is_empty() {
                    self.groups(place, keys);
                }
            }
        }
        job.distinct
            .iter()
            .for_each(|(place, keys)| self.histogram(*place, *keys, self.has_mask()));
        job.placed.iter().for_each(|(place, share)| self.place(*place, *share));
    }

    fn launch(&mut self, launches: usize, bytes: usize) {
        self.effort.launches += launches;
        self.effort.memory_bytes += bytes;
    }

    fn result(&mut self, bytes: usize) {
        self.effort.results += 1;
        self.effort.result_bytes += bytes;
    }

    const fn has_mask(&self) -> bool {
        self.job.test.is_some()
    }

    const fn mask_bytes(&self) -> usize {
        self.job.rows.div_ceil(32) * 4
    }

    fn has_nulls(&self, place: usize) -> bool {
        self.job.columns[place].cells.has_nulls()
    }

    fn cell_bytes(&self, place: usize) -> usize {
        self.job.rows * self.job.columns[place].cells.width()
    }

    /// Both masks as one, where there are two.
    fn combine(&mut self, if_both: bool) {
        self.launch(usize::from(if_both), if if_both { 3 * self.mask_bytes() } else { 0 });
    }

    fn reduction(&mut self, place: usize, has_mask: bool) {
        self.combine(has_mask && self.has_nulls(place));
        self.launch(1, self.cell_bytes(place));
        self.result(REDUCED_BYTES * self.job.rows.div_ceil(REDUCED_ROWS).clamp(1, REDUCED_PARTS));
    }

    fn histogram(&mut self, place: usize, keys: usize, has_mask: bool) {
        self.combine(has_mask && self.has_nulls(place));
        self.launch(1, self.cell_bytes(place));
        self.result(4 * keys);
    }

    /// The rows with a value, or those without one, that pass.
    fn within(&mut self, place: usize, has_mask: bool) {
        self.launch(1, self.cell_bytes(place));
        self.combine(has_mask);
    }

    fn list(&mut self) {
        self.launch(LIST_LAUNCHES, 2 * self.mask_bytes() + 4 * self.job.rows);
        self.result(8);
    }

    fn gather(&mut self, place: usize, rows: usize) {
        self.launch(1 + usize::from(self.has_nulls(place)), rows * (4 + SECTOR));
    }

    fn sort(&mut self, bits: u32) {
        let passes = bits.div_ceil(DIGIT) as usize;
        self.launch(PASS_LAUNCHES * passes, PASS_BYTES * passes * self.job.rows);
    }

    fn groups(&mut self, by: usize, keys: usize) {
        let (rows, has_mask, some_null) = (self.job.rows, self.has_mask(), self.has_nulls(by));
        if has_mask || some_null {
            self.within(by, has_mask);
            self.list();
        } else {
            self.launch(1, 4 * rows);
        }
        if some_null {
            self.within(by, has_mask);
        }
        self.gather(by, rows);
        self.sort((keys.max(2) - 1).ilog2() + 1);
        let parts = keys + rows / part_rows(rows);
        for place in &self.job.reduced {
            self.gather(*place, rows);
            // Ends, which of them there are, and sums; a copy of which there are.
            let is_int = self.job.columns[*place].cells.is_int();
            self.launch(if is_int { 4 } else { 2 }, 2 * self.cell_bytes(*place));
            // The ends of integers come with a bit for each part that has any.
            let valid = if is_int { parts.div_ceil(32) * 4 } else { 0 };
            for bytes in [8 * parts + valid, 8 * parts + valid, 8 * parts] {
                self.result(bytes);
            }
            self.within(*place, has_mask);
            self.histogram(by, keys, true);
            if some_null {
                self.reduction(*place, true);
            }
        }
    }

    fn place(&mut self, place: usize, share: f64) {
        let (has_mask, some_null) = (self.has_mask(), self.has_nulls(place));
        self.reduction(place, has_mask);
        self.combine(has_mask || some_null);
        self.within(place, has_mask || some_null);
        self.list();
        self.within(place, has_mask);
        self.list();
        self.launch(1, self.job.rows * SECTOR);
        self.sort(u64::BITS);
        let wanted = places(share, self.job.rows).count();
        self.launch(1, wanted * SECTOR);
        self.gather(place, wanted);
        self.result(8 * wanted + if some_null { 4 } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array, UInt32Array};
    use graphlume_expr::{Cmp, Constant, NamedColumn, Side, TableArray};

    use super::*;

    const H200: u32 = 132;

    /// Which of a few jobs over so many rows go to the card.
    fn chosen(rows: usize, missing_bytes: usize, threads: usize) -> Vec<bool> {
        let (ints, floats) = (Int64Array::from(vec![1, 2]), Float64Array::from(vec![1.0, 2.0]));
        let codes = UInt32Array::from(vec![Some(0), None]);
        let column = |name, cells| NamedColumn { side: Side::Edges, name, cells };
        let job = |leaves: usize| TableJob {
            rows,
            columns: vec![
                column("i", TableArray::Ints(&ints)),
                column("f", TableArray::Floats(&floats)),
                column("c", TableArray::Codes(&codes)),
            ],
            test: (leaves > 0).then(|| {
                let leaf = |i| JobTest::Compare(i % 2, Cmp::Gt, Constant::Int(i as i64));
                JobTest::And((0..leaves).map(leaf).collect())
            }),
            ..TableJob::default()
        };
        let jobs = [
            job(1),
            job(2),
            job(5),
            TableJob { marks: true, ..job(1) },
            TableJob { marks: true, ..job(4) },
            TableJob { reduced: vec![0], ..job(1) },
            TableJob { reduced: vec![0, 1], ..job(3) },
            TableJob { grouped_by: Some((2, 12)), ..job(1) },
            TableJob { grouped_by: Some((2, 300)), reduced: vec![0], ..job(2) },
            TableJob { distinct: vec![(2, 40)], ..job(1) },
            TableJob { placed: vec![(1, 0.9)], ..job(0) },
            TableJob { placed: vec![(0, 0.5), (1, 0.5)], ..job(2) },
        ];
        let is_faster = |job: &TableJob<'_>| {
            let work = TableWork::of(job, missing_bytes);
            work.effort.gpu_us(H200) < work.cpu_us(threads)
        };
        jobs.iter().map(is_faster).collect()
    }

    #[test]
    fn large_tables_go_to_the_gpu_and_small_ones_to_the_cpu() {
        let count = |rows, threads| chosen(rows, 0, threads).into_iter().filter(|c| *c).count();
        // Twelve jobs over three sizes.
        for threads in [2, 16] {
            assert_eq!([1_000, 10_000_000, 100_000_000].map(|n| count(n, threads)), [0, 12, 12]);
        }
        assert_eq!([10_000, 300_000, 3_000_000].map(|n| count(n, 16)), [0, 9, 12]);
        // Columns that are not there yet are worth their way for two threads, and for sixteen they are not.
        assert!(chosen(10_000_000, 200_000_000, 2).into_iter().all(|c| c));
        assert_eq!(chosen(1_000_000, 20_000_000, 16)[..2], [false; 2]);
    }
}
