//! A port on a thread of its own, for programs whose main thread has no time for it.

use std::{
    io,
    rc::Rc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{net::TcpListener, runtime, select, sync::oneshot, task::LocalSet, time::sleep};

use crate::{Port, Site, each_second};

/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(20);

/// A site that is served until this is dropped.
#[derive(Debug)]
pub struct Served {
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves the site that `site` creates to clients of `listener`, on a thread of this name.
    ///
    /// # Errors
    /// If the system refuses to start a thread or to wait for connections.
    pub fn start<S: Site>(
        name: &str,
        listener: std::net::TcpListener,
        site: impl FnOnce() -> S + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (ends, ended) = oneshot::channel();
        let serve = move || {
            LocalSet::new().block_on(&runtime, async {
                select! {
                    // An error means that the owner is gone.
                    _ = ended => {}
                    () = accept(&listener, Rc::new(site())) => {}
                }
            });
            // Answers in progress are not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(serve)?;
        Ok(Self { ends: Some(ends), thread: Some(thread) })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ends.take();
        if let Some(thread) = self.thread.take() {
            // A panic there has already been reported.
            let _ = thread.join();
        }
    }
}

async fn accept<S: Site>(listener: &TcpListener, site: Rc<S>) {
    let port = Port::new(Rc::clone(&site));
    let connections = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => port.welcome(stream),
                // Out of descriptors, or the client has already gone: others may connect later.
                Err(_) => sleep(PAUSE).await,
            }
        }
    };
    select! {
        () = connections => {}
        () = each_second(site) => {}
    }
}
