//! The thread on which programs are compiled.
//!
//! It watches no folder: the box is told when to look, by a signal or a command. The loop that forwards
//! packets asks with [`Loader::reload`] and looks with [`Loader::poll`], neither of which waits. Until the new library
//! is there it runs on with the old one, so that a program which is being replaced serves on.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use dovetail_sched::Nanos;

use super::{
    error::FolderError,
    library::{Library, Load},
};

/// The compiler's stack, which grows with how deep a module nests its blocks.
const STACK_BYTES: usize = 16 << 20;

/// Compiles programs beside the loop that runs them.
#[derive(Debug)]
pub struct Loader {
    asks: SyncSender<PathBuf>,
    loads: Receiver<Result<Load, FolderError>>,
    thread: JoinHandle<()>,
}

impl Loader {
    /// Starts the thread. Reloading begins from `library`, so that programs which have not changed are not compiled
    /// again. With a clock, new programs are measured.
    ///
    /// The thread runs on the cores of the thread that starts it: start it before that is kept on one.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(mut library: Library, mut clock: Option<Box<dyn FnMut() -> Nanos + Send>>) -> io::Result<Self> {
        // One ask may be queued while another is worked on; one answer waits for the loop.
        let (asks, asked) = sync_channel::<PathBuf>(1);
        let (answers, loads) = sync_channel(1);
        let work = move || {
            for folder in asked {
                let clock = clock.as_mut().map(|clock| &mut **clock as &mut dyn FnMut() -> Nanos);
                let load = library.reload(&folder, clock);
                if let Ok(load) = &load {
                    library = load.library.clone();
                }
                if answers.send(load).is_err() {
                    return;
                }
            }
        };
        // It ends when the loader is dropped; nothing is lost with it.
        let thread = thread::Builder::new().name("programs".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
        Ok(Self { asks, loads, thread })
    }

    /// Has the folder loaded again. Never waits. `false` where a reload is queued already: that one will see what the
    /// folder holds when it begins.
    pub fn reload(&self, folder: &Path) -> bool {
        self.asks.try_send(folder.to_owned()).is_ok()
    }

    /// A folder that has been loaded since the last call, the oldest first. Never waits.
    pub fn poll(&self) -> Option<Result<Load, FolderError>> {
        self.loads.try_recv().ok()
    }

    /// As [`poll`](Self::poll), but waits: before there are packets. `None` once the thread has ended.
    pub fn wait(&self) -> Option<Result<Load, FolderError>> {
        self.loads.recv().ok()
    }

    /// Whether the thread has ended, which it does only where the compiler failed in a way that it could not say. Nothing
    /// will be loaded any more.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}
