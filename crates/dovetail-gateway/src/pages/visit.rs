//! A visitor, and the data that pages are made from.

use dovetail_sched::request::ClassId;

use super::seen::Seen;
use crate::{config::Config, language::Language, own_request::Addressed, quota::Account, wanted::Met, who::Who};

/// A user's request for a page.
#[derive(Debug)]
pub(crate) struct Visit<'v> {
    pub(crate) config: &'v Config,
    pub(crate) who: &'v Who,
    pub(crate) class: ClassId,
    pub(crate) how: Addressed,
    pub(crate) met: Met,
    pub(crate) language: Language,
    pub(crate) account: &'v Account,
    pub(crate) seen: &'v Seen,
}

impl Visit<'_> {
    /// The name of the visitor's class.
    pub(super) fn class_name(&self) -> &str {
        self.config.classes.get(self.class.0 as usize).map_or("", |class| &class.name)
    }
}
