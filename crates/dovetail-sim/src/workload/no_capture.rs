//! A build that cannot read captures: opening one fails with a message.

use dovetail_sched::FlowId;

use super::{Arrival, CaptureOptions, Notice, Workload, WorkloadError, input::Bytes};

/// A capture as a workload: cannot be created, since reading one requires the feature `pcap`.
#[derive(Debug)]
pub enum Capture {}

impl Capture {
    /// Fails: this build cannot read captures. `file` is its name for messages.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: Bytes, file: &str, _: CaptureOptions) -> Result<Self, WorkloadError> {
        let what = "this build cannot read captures: build it with the feature 'pcap'".into();
        Err(WorkloadError::File { file: file.into(), what })
    }
}

impl Workload for Capture {
    fn resources(&self) -> &[String] {
        match *self {}
    }
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        match *self {}
    }
    fn label(&self, _: FlowId) -> String {
        match *self {}
    }
    fn notices(&self) -> Vec<Notice> {
        match *self {}
    }
}
