//! A box on a thread of its own.

use std::{
    panic::resume_unwind,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use super::{Control, Live, LiveError};
use crate::config::Config;

/// A box on a thread of its own, in the namespace of its interfaces. Stopped when dropped.
#[derive(Debug)]
pub struct Spawned {
    control: Control,
    thread: Option<JoinHandle<Result<(), LiveError>>>,
}

impl Spawned {
    /// Opens a box, passes it to `prepare`, and runs it. Returns when it is about to receive frames.
    ///
    /// # Errors
    /// Same as for [`Live::open`].
    ///
    /// # Panics
    /// If `prepare` does.
    pub fn start(config: Config, prepare: impl FnOnce(&mut Live) + Send + 'static) -> Result<Self, LiveError> {
        let (told, tells) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (mut live, control) = match Live::open(config) {
                Ok(opened) => opened,
                Err(wrong) => {
                    // The receiver is still waiting, here and below.
                    let _ = told.send(Err(wrong));
                    return Ok(());
                }
            };
            prepare(&mut live);
            let _ = told.send(Ok(control));
            live.run()
        });
        let control = tells.recv().expect("the thread tells of its box unless it panics")?;
        Ok(Self { control, thread: Some(thread) })
    }

    /// Its control handle.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Whether it has ended without being stopped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Makes it send what is queued and hand over to the bridge, and blocks until that is done.
    ///
    /// # Errors
    /// Same as for [`Live::run`].
    pub fn stop(mut self) -> Result<(), LiveError> {
        self.control.stop();
        self.thread.take().map_or(Ok(()), ended)
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            // Its error or panic must not mask the reason for this drop.
            let _ = thread.join();
        }
    }
}

fn ended(thread: JoinHandle<Result<(), LiveError>>) -> Result<(), LiveError> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
