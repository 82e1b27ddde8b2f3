//! What the operator's signals mean.

use std::{io, path::PathBuf};

use tokio::{
    select,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::spawn_local,
};

use crate::{config::Config, gateway::Control};

/// Turns signals into what they mean: SIGHUP reads the file again, SIGTERM and SIGINT drain.
pub(crate) fn listen(file: PathBuf, config: &Config) -> io::Result<mpsc::Receiver<Control>> {
    let [mut hangup, mut terminate, mut interrupt] =
        [signal(SignalKind::hangup())?, signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let (sender, receiver) = mpsc::channel(1);
    let mut current = config.clone();
    spawn_local(async move {
        loop {
            select! {
                _ = hangup.recv() => match Config::read(&file) {
                    Ok(config) => {
                        for what in current.what_a_reload_cannot_change(&config) {
                            eprintln!("dovetail: {what}");
                        }
                        eprintln!("dovetail: {} was read again", file.display());
                        current = config.clone();
                        if sender.send(Control::Reload(Box::new(config))).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => eprintln!("dovetail: {error}: everything stays as it was"),
                },
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        eprintln!("dovetail: finishing what is under way");
        // Gone already is as good.
        drop(sender.send(Control::Drain).await);
    });
    Ok(receiver)
}
