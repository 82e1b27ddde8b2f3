//! Quotas: how many bytes users may transfer in a day, a week or a month, and what happens beyond that.
//!
//! Bytes count when they are read from a server's connection, header and all, before they are passed on to the client: before
//! each read, a check is made whether the user may transfer more. So all of a user's transfers together exceed a quota by one
//! read at most. In free hours nothing counts, and no user is beyond a quota.
//!
//! A [`Tally`] is the usage of one quota; an [`Account`] is its view for the tasks that serve a user's requests. A [`Store`]
//! keeps the usage across restarts, if there is one.

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
