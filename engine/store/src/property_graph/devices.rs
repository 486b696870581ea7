//! The GPU as a graph knows it.

use std::sync::Arc;

use graphlume_algo::Accelerator;
use graphlume_expr::TableDevice;
use graphlume_graph::canon::Column;

use super::PropertyGraph;
use crate::chain_job::ChainDevice;
use crate::tally_job::TallyDevice;

impl PropertyGraph {
    /// The graph, with the GPU on which algorithms over it may run. Only for a graph that is not shared yet.
    #[must_use]
    pub fn with_accelerator(mut self, accelerator: Option<Arc<dyn Accelerator>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.accelerator = accelerator;
        }
        self
    }

    /// The GPU on which algorithms may run.
    #[must_use]
    pub fn accelerator(&self) -> Option<&dyn Accelerator> {
        self.inner.accelerator.as_deref()
    }

    /// The graph, with the GPU that keeps copies of its tables. Only for a graph that is not shared yet; graphs made of it
    /// have other tables, and so do not take it over.
    #[must_use]
    pub fn with_table_device(mut self, device: Option<Arc<dyn TableDevice>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.table_device = device;
        }
        self
    }

    /// The GPU that keeps copies of the tables.
    #[must_use]
    pub fn table_device(&self) -> Option<&dyn TableDevice> {
        self.inner.table_device.as_deref()
    }

    /// The graph, with the GPU that keeps a copy of its adjacency and its columns. Only for a graph that is not shared yet,
    /// and not taken over either.
    #[must_use]
    pub fn with_chain_device(mut self, device: Option<Arc<dyn ChainDevice>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.chain_device = device;
        }
        self
    }

    /// The GPU that keeps a copy of the graph.
    #[must_use]
    pub fn chain_device(&self) -> Option<&dyn ChainDevice> {
        self.inner.chain_device.as_deref()
    }

    /// The graph, with the GPU that counts its paths. Only for a graph that is not shared yet, and not taken over either.
    #[must_use]
    pub fn with_tally_device(mut self, device: Option<Arc<dyn TallyDevice>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.tally_device = device;
        }
        self
    }

    /// The GPU that counts paths.
    #[must_use]
    pub fn tally_device(&self) -> Option<&dyn TallyDevice> {
        self.inner.tally_device.as_deref()
    }

    /// The name under which [`PropertyGraph::column`] gave a column of one of the tables.
    pub fn name_of(&self, edges: bool, column: &Arc<Column>) -> Option<String> {
        let columns = self.inner.columns.lock().ok()?;
        let is_it = |(key, known): &(&(bool, String), &Arc<Column>)| {
            key.0 == edges && Arc::ptr_eq(known, column)
        };
        columns.iter().find(is_it).map(|((_, name), _)| name.clone())
    }
}
