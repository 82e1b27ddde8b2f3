//! The pages' view of the link, which is at most half a second old, so that frequent reloads of pages cost the gateway no more.

use std::{cell::RefCell, rc::Rc};

use dovetail_tower::dispatcher::View;
use tokio::time::{Duration, Instant};

use crate::{state::Link, who::Who};

const OLDEST: Duration = Duration::from_millis(500);

/// The link as shown on pages.
#[derive(Debug)]
pub(crate) struct Seen {
    link: Rc<Link>,
    last: RefCell<Option<(Instant, Rc<View<Who>>)>>,
}

impl Seen {
    pub(crate) fn new(link: &Rc<Link>) -> Self {
        Self { link: Rc::clone(link), last: RefCell::default() }
    }

    /// Users and their requests. O(users and requests), twice a second at most.
    pub(super) fn view(&self) -> Rc<View<Who>> {
        let mut last = self.last.borrow_mut();
        if let Some((_, view)) = last.as_ref().filter(|(at, _)| at.elapsed() < OLDEST) {
            return Rc::clone(view);
        }
        let view = Rc::new(self.link.dispatcher().view());
        *last = Some((Instant::now(), Rc::clone(&view)));
        view
    }
}

/// The rate at which the link carries responses, in bytes per second: as learnt, or as configured.
pub(super) fn capacity(view: &View<Who>, goodput_bytes_per_s: f64) -> f64 {
    let learnt = view.totals.figures.iter().find(|(name, _)| *name == "capacity").map(|(_, value)| *value);
    learnt.filter(|&rate| rate > 0.0).unwrap_or(goodput_bytes_per_s)
}
