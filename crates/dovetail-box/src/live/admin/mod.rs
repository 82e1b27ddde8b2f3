//! The box's admin port: a page of current activity, the same as JSON, metrics, and a policy that can be retuned.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page (`page.html`) |
//! | `/status.json` | `status`, of which `recent` is over the last seconds |
//! | `/history.json` | `sample`: the last ten minutes |
//! | `/metrics` | `metrics`: for Prometheus |
//! | `/healthz` | `ok` while the loop runs |
//! | `POST /retune`, `POST /reload` | `changes`: the policy's knobs, the configuration; with the token |
//!
//! Everything runs on a separate thread, which sees the box through the [status](super::Control::status) that it publishes
//! every 200 ms: `looks` keeps one per second, and rates are their differences.

mod changes;
mod looks;
mod metrics;
mod recent;
mod sample;
mod site;
mod status;

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use dovetail_admin::Served;
use dovetail_toml::Token;

use super::Control;
pub use changes::Reload;

/// An admin port, served until this is dropped.
///
/// ```no_run
/// use dovetail_box::{config::Config, live::{Live, admin}};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::read("box.toml".as_ref())?;
/// // In the namespace in which the box is started: opening it enters that of the interfaces.
/// let listener = config.admin.as_ref().map(|admin| admin::listen(admin.listen)).transpose()?;
/// let token = config.admin.as_ref().and_then(|admin| admin.token.clone());
/// let (live, control) = Live::open(config)?;
/// // Before the box runs: its thread may be bound to a core, and threads that it starts then are too.
/// let admin = listener.map(|listener| admin::Admin::serve(listener, control, token, None)).transpose()?;
/// live.run()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Admin {
    _served: Served,
}

/// Listens in the network namespace of this thread; the socket stays there whatever namespace the thread enters later.
///
/// # Errors
/// The system's error: an address that is in use or not assigned to this machine.
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(at)
}

impl Admin {
    /// Serves the listener on a thread of its own. Without `token` nothing can be changed; without `reload` the
    /// configuration cannot be read again.
    ///
    /// # Errors
    /// The system's error.
    pub fn serve(
        listener: TcpListener,
        control: Control,
        token: Option<Token>,
        reload: Option<Reload>,
    ) -> io::Result<Self> {
        Served::start("admin", listener, move || site::BoxSite::new(control, token, reload))
            .map(|served| Self { _served: served })
    }
}
