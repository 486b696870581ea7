//! Runs the known-answer job.

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::event::Event;
use crate::health::{Canary as Found, run_canary};
use crate::lane::Lane;
use crate::workers::Job;

/// Answers when the job has run; any number of callers share one run.
pub(crate) struct Canary;

impl Apply for Canary {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        if !core.canary_runs {
            if let Err(e) = core.crews.queries.check_room() {
                return call.reply.send(Err(e));
            }
            let (pool, shared) = (core.pool.clone(), core.shared.clone());
            let run = move || {
                let result = pool.install(|| run_canary(shared.clock.as_ref()));
                if let Some(card) = shared.card() {
                    let _step = shared.steps.begin("the canary", shared.clock.monotonic());
                    card.run_canary(shared.clock.as_ref());
                }
                Some(Event::Canary { result })
            };
            let lost = || Event::Canary {
                result: Found {
                    ok: false,
                    detail: "the canary panicked".to_owned(),
                    took: std::time::Duration::ZERO,
                },
            };
            let job = Job { what: "canary", run: Box::new(run), lost: Some(Box::new(lost)) };
            core.canary_runs = core.crews.queries.submit(job).is_ok();
        }
        core.canary_waiters.push(call.reply);
    }
}
