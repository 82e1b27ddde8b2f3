//! Two packet sockets and a loop in the place of box and bridge: a bound for any box with packet sockets.

use std::{
    error::Error,
    hint,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use dovetail_box::live::lab::{Lab, PORTS, Place, Raw};

use crate::{cores::stay_on, off_bridge::OffBridge};

/// A thread that spins on two packet sockets and does nothing but forward from one to the other, until dropped.
pub struct Alone {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
    _ports: OffBridge,
}

impl Alone {
    pub const LABEL: &str = "two sockets, no box";

    /// Starts it on a core of its own.
    pub fn start(lab: &Lab, core: usize) -> Result<Self, Box<dyn Error>> {
        let ports = OffBridge::take(lab)?;
        let open = |port| lab.namespace(Place::Box).within(|| Raw::open(port));
        let (inside, outside) = (open(PORTS[0])?, open(PORTS[1])?);
        let ends = Arc::new(AtomicBool::new(false));
        let is_told = ends.clone();
        let thread = thread::spawn(move || {
            let _ = stay_on(core);
            forward(inside, &outside, &is_told);
        });
        Ok(Self { ends, thread: Some(thread), _ports: ports })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Sends on what has come, as many frames at once as have, up to one call's worth.
fn forward(mut inside: Raw, outside: &Raw, ends: &AtomicBool) {
    let mut frames = vec![Vec::new(); Raw::BATCH];
    while !ends.load(Ordering::Relaxed) {
        let count = frames.iter_mut().map_while(|frame| inside.receive_into(frame).then_some(())).count();
        if count == 0 {
            hint::spin_loop();
        }
        let mut rest = &frames[..count];
        while !rest.is_empty() {
            match outside.send(rest.iter().map(Vec::as_slice)) {
                Ok(sent) => rest = &rest[sent.max(1)..],
                // Like a bridge, it drops what the interface refuses.
                Err(_) => rest = &rest[1..],
            }
        }
    }
}
