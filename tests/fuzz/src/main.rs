//! The fuzzer: `GRAPHLUME_FUZZ` names the target. `scripts/fuzz.sh` builds and runs it.

#![no_main]

mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

use crate::targets::{TARGETS, is_finding};

fn target() -> fn(&[u8]) {
    static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("GRAPHLUME_FUZZ").unwrap_or_default();
        let names: Vec<_> = TARGETS.iter().map(|(n, _)| *n).collect();
        match TARGETS.iter().find(|(n, _)| *n == name) {
            Some((_, run)) => {
                std::panic::set_hook(Box::new(|info| {
                    if is_finding(info) {
                        eprintln!("{info}");
                        std::process::abort();
                    }
                }));
                *run
            }
            None => {
                eprintln!("GRAPHLUME_FUZZ is {name:?}; set it to one of {}", names.join(", "));
                std::process::exit(2)
            }
        }
    })
}

fuzz_target!(|data: &[u8]| target()(data));
