//! Time that an iteration takes by itself.

use graphlume_device::cuda::{Gpu, kernels};

use super::{Arrays, Plan, Run};
use crate::AlgoError;
use crate::centrality::pagerank::Options;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::one_wave;

/// A change is never below it, so that no iteration is the last.
const NEVER: f64 = -1.0;

impl Plan {
    /// Milliseconds of one iteration by the device's clock, in single and in double precision: the mean over `pairs`
    /// pairs, as [`Plan::run`] records and replays them, without the recording, the looks and the copy of the ranks.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn iteration_ms(
        &self,
        gpu: &Gpu,
        graph: &GpuGraph,
        pairs: u32,
    ) -> Result<[f64; 2], AlgoError> {
        let options = Options { max_iter: 1 << 40, must_converge: false, ..Options::default() };
        gpu.load_family("pagerank")?;
        let mut run = Run::new(gpu, self, graph, options, gpu.upload("personalization", &[])?)?;
        let (n, grid) = (graph.num_nodes(), one_wave(gpu, graph.num_nodes() as usize));

        let Arrays { mut ranks, sent: [mut a, mut b] } = Arrays::<f32>::new(gpu, n as usize)?;
        let (r, s, p) = (ranks.view_mut(), a.view_mut(), run.partials.view_mut());
        kernels::pr_start(gpu, grid, n, self.inverse_f32.view(), r, s, p)?;
        run.close(grid.blocks, false, NEVER)?;
        let narrow = gpu.capture(|| {
            (0..pairs).try_for_each(|_| {
                run.iterate_f32(&mut ranks, &a, &mut b, NEVER)?;
                run.iterate_f32(&mut ranks, &b, &mut a, NEVER)
            })
        })?;

        let Arrays { ranks: mut wide, sent: [mut c, mut d] } = Arrays::<f64>::new(gpu, n as usize)?;
        let (r, s, p) = (wide.view_mut(), c.view_mut(), run.partials.view_mut());
        kernels::pr_widen(gpu, grid, n, self.inverse.view(), ranks.view(), r, s, p)?;
        run.close(grid.blocks, false, NEVER)?;
        let in_double = gpu.capture(|| {
            (0..pairs).try_for_each(|_| {
                run.iterate_f64(&mut wide, &c, &mut d, NEVER)?;
                run.iterate_f64(&mut wide, &d, &mut c, NEVER)
            })
        })?;
        let mut each = [0.0; 2];
        for (ms, replay) in each.iter_mut().zip([narrow, in_double]) {
            replay.launch()?;
            let mut timer = gpu.timer()?;
            replay.launch()?;
            *ms = f64::from(timer.elapsed_ms()?) / f64::from(2 * pairs.max(1));
        }
        Ok(each)
    }
}
