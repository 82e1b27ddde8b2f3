//! A box on a thread of its own.

use std::{
    panic::resume_unwind,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use super::{Control, Live, LiveError};
use crate::config::Config;

/// A box that runs on a thread of its own, in the namespace of its interfaces. It stops with this value.
#[derive(Debug)]
pub struct Spawned {
    control: Control,
    thread: Option<JoinHandle<Result<(), LiveError>>>,
}

impl Spawned {
    /// Opens a box, has `prepare` look at it, and runs it. Returns when it is about to take frames.
    ///
    /// # Errors
    /// As [`Live::open`].
    ///
    /// # Panics
    /// If `prepare` does.
    pub fn start(config: Config, prepare: impl FnOnce(&mut Live) + Send + 'static) -> Result<Self, LiveError> {
        let (told, tells) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (mut live, control) = match Live::open(config) {
                Ok(opened) => opened,
                Err(wrong) => {
                    // The one who started it waits for it, here and below.
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

    /// What steers it.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Whether it has ended without being told to.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Has it send what is queued and hand over to the bridge, and waits for that.
    ///
    /// # Errors
    /// As [`Live::run`].
    pub fn stop(mut self) -> Result<(), LiveError> {
        self.control.stop();
        self.thread.take().map_or(Ok(()), ended)
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            // Neither its error nor its panic is to hide why this value goes.
            let _ = thread.join();
        }
    }
}

fn ended(thread: JoinHandle<Result<(), LiveError>>) -> Result<(), LiveError> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
