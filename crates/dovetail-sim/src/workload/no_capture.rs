//! A build that reads no captures: it says so where one is opened.

use dovetail_sched::FlowId;

use super::{Arrival, CaptureOptions, Notice, Workload, WorkloadError, input::Bytes};

/// A capture as a workload: never made, as reading one needs the feature `pcap`.
#[derive(Debug)]
pub enum Capture {}

impl Capture {
    /// Refuses to read a capture. `file` is its name for messages.
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
