//! Quotas: how many bytes users may have in a day, a week or a month, and what happens beyond.
//!
//! Bytes count when they are read from a server's connection, header and all, before they go on to the client: whatever is
//! in flight is asked before each read whether its user may have more. So all transfers of a user together exceed a quota by
//! one read at most. In the hours that are free nothing counts, and no user is beyond a quota.
//!
//! A [`Tally`] is what is used of one quota; an [`Account`] is what those who serve a user's requests have of it. What is
//! used is kept in a [`Store`] over restarts, if there is one.

mod account;
mod book;
mod counter;
mod keeping;
mod quotas;
mod store;
mod tally;

pub(crate) use self::{
    account::Account,
    quotas::{Quotas, Shown},
    store::{Store, check},
    tally::Use,
};
