//! Handles the operator's signals.

use std::{io, path::PathBuf};

use tokio::{
    select,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::spawn_local,
};
use tracing::{info, warn};

use super::control::Control;
use crate::config::Config;

/// Converts signals into commands: SIGHUP reloads the file; SIGTERM and SIGINT drain, and stop at once when repeated.
pub(crate) fn listen(file: PathBuf) -> io::Result<mpsc::Receiver<Control>> {
    let [mut hangup, mut terminate, mut interrupt] =
        [signal(SignalKind::hangup())?, signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let (sender, receiver) = mpsc::channel(1);
    spawn_local(async move {
        let mut is_draining = false;
        loop {
            let asked = select! {
                _ = hangup.recv() => match Config::read(&file) {
                    Ok(config) => {
                        info!("{} was reloaded", file.display());
                        Control::Reload(Box::new(config))
                    }
                    Err(error) => {
                        warn!("{error}: nothing is changed");
                        continue;
                    }
                },
                _ = terminate.recv() => end(&mut is_draining),
                _ = interrupt.recv() => end(&mut is_draining),
            };
            if sender.send(asked).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// The first time lets requests in flight finish, the second does not.
fn end(is_draining: &mut bool) -> Control {
    if std::mem::replace(is_draining, true) {
        info!("ending at once");
        return Control::Stop;
    }
    info!("finishing open requests; the same signal again ends at once");
    Control::Drain
}
