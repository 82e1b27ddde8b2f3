//! The gateway's own pages for its users, by path.
//!
//! They are only for permitted clients; if users have names, a page requires authentication, unless it is the same for all.
//! Browsers do not cache pages, and no page loads external resources or changes anything. They need no turn, since they do not
//! cross the link.
//!
//! A page is a function of a [visit] with an entry in the [routes](router).

mod answer;
mod errors;
mod index;
mod me;
mod pac;
mod router;
mod seen;
mod visit;

pub(crate) use self::{
    router::{answer, is_for_all},
    seen::Seen,
    visit::Visit,
};
