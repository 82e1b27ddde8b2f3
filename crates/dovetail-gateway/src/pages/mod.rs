//! What the gateway answers itself: pages for its users, by path.
//!
//! They are for those who may use the proxy, and for no others; where users have names, a page is for those who prove one,
//! but for pages that say the same to all. No page is kept by browsers, none loads anything from elsewhere, and none changes
//! anything. They need no turn: they do not cross the link.
//!
//! A page is a function of a [visit] with one line among the [routes](router).

mod answer;
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
