//! The layout by name that a page has asked for and that is being found: one at a time, the last one counts.

use std::future::pending;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use graphlume_engine::SessionState;
use graphlume_service::{NamedLayout, Principal, ServiceError, ViewerGrant};

use crate::state::Shell;

type Placed = Result<Arc<SessionState>, ServiceError>;

/// A layout on its way, or none. Dropping it ends it.
#[derive(Default)]
pub(super) struct Laying<'a>(Option<BoxFuture<'a, Placed>>);

impl<'a> Laying<'a> {
    /// Begins a layout, instead of one that is on its way.
    pub(super) fn begin(
        &mut self,
        shell: &'a Shell,
        who: &Principal,
        grant: &ViewerGrant,
        layout: NamedLayout,
    ) {
        let (who, grant) = (who.clone(), grant.clone());
        let laid = async move { shell.service.sessions.lay_out(&who, &grant, &layout).await };
        self.0 = Some(laid.boxed());
    }

    /// Has the forces run, instead of a layout that is on its way.
    pub(super) fn run_forces(
        &mut self,
        shell: &'a Shell,
        who: &Principal,
        grant: &ViewerGrant,
        millis: Option<u64>,
    ) {
        let (who, grant) = (who.clone(), grant.clone());
        let ran = async move { shell.service.sessions.run_forces(&who, &grant, millis).await };
        self.0 = Some(ran.boxed());
    }

    /// Ends a layout that is on its way.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    /// How the layout ended; never, while there is none.
    pub(super) async fn done(&mut self) -> Placed {
        let Some(laid) = &mut self.0 else { return pending().await };
        let placed = laid.await;
        self.0 = None;
        placed
    }
}
