//! Figures of request policies.

use dovetail_sched::request::RequestScheduler;

/// The policy's figure of this name.
pub fn figure(scheduler: &dyn RequestScheduler, name: &str) -> f64 {
    let mut found = None;
    scheduler.figures(&mut |other, value| {
        if other == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("there is no figure {name}"))
}
