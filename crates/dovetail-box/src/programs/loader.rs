//! The thread that compiles programs.
//!
//! It does not watch a folder: a signal or a command tells the box when to load. The loop that forwards packets requests a
//! load with [`Loader::reload`] and checks for the result with [`Loader::poll`]; neither blocks. Until the new library is
//! ready it keeps running the old one, so that a program being replaced stays in use.

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

/// The compiler's stack, which grows with a module's nesting depth of blocks.
const STACK_BYTES: usize = 16 << 20;

/// Compiles programs on a thread beside the loop that runs them.
#[derive(Debug)]
pub struct Loader {
    asks: SyncSender<PathBuf>,
    loads: Receiver<Result<Load, FolderError>>,
    thread: JoinHandle<()>,
}

impl Loader {
    /// Starts the thread. Reloading starts from `library`, so that unchanged programs are not compiled again. With a clock,
    /// new programs are measured.
    ///
    /// The thread inherits the cores of the thread that starts it: start it before that one is bound to a core.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(mut library: Library, mut clock: Option<Box<dyn FnMut() -> Nanos + Send>>) -> io::Result<Self> {
        // One request may be queued while another is processed; one result waits for the loop.
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

    /// Requests a load of the folder. Never blocks. Returns `false` if a reload is queued already: that one will see what
    /// the folder holds when it starts.
    pub fn reload(&self, folder: &Path) -> bool {
        self.asks.try_send(folder.to_owned()).is_ok()
    }

    /// The oldest result of loading a folder that has not been returned yet. Never blocks.
    pub fn poll(&self) -> Option<Result<Load, FolderError>> {
        self.loads.try_recv().ok()
    }

    /// Same as for [`poll`](Self::poll), but blocks: for use before there are packets. `None` once the thread has ended.
    pub fn wait(&self) -> Option<Result<Load, FolderError>> {
        self.loads.recv().ok()
    }

    /// Whether the thread has ended, which happens only if the compiler failed in a way that it could not report. Nothing
    /// will be loaded any more.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}
