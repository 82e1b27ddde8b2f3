//! A box that only forwards: a minimal user of the switch that follows its documentation. It runs as a separate process, so
//! that it can be killed and stopped, and reports its actions line by line.

use std::{
    env,
    io::{self, BufRead, BufReader, Read},
    iter,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::{
    lab::{Lab, PORTS, Place},
    switch::{
        Switch,
        ports::{OnFailure, Port, check},
    },
};
use dovetail_sched::Nanos;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
        sockopt::set_socket_recv_buffer_size_force,
    },
    process::{Pid, Signal, kill_process},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
    time::{ClockId, clock_gettime},
};

/// Environment variables: how far ahead deadlines are, and what happens on failure.
const AHEAD_MS: &str = "DOVETAIL_FORWARDER_AHEAD_MS";
const CLOSED: &str = "DOVETAIL_FORWARDER_CLOSED";
/// The test that is run as the program.
const PROGRAM: &str = "forwarder::forwarder_as_a_program";

/// Timeout for anything that has to happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A forwarder in a lab, as a process. It is killed when dropped.
pub struct Forwarder {
    child: Child,
    /// The forwarder hands over when this is closed.
    stdin: Option<ChildStdin>,
    said: Receiver<String>,
}

impl Forwarder {
    /// Starts a forwarder with deadlines this far ahead; it is in charge when this returns.
    pub fn start(lab: &Lab, ahead: Duration, on_failure: OnFailure) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", PROGRAM, "--nocapture"]).env(AHEAD_MS, ahead.as_millis().to_string());
        if on_failure == OnFailure::Closed {
            command.env(CLOSED, "1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = lab.namespace(Place::Box).within(|| command.spawn()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (say, said) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| say.send(line)));
        let stdin = child.stdin.take();
        let forwarder = Self { child, stdin, said };
        forwarder.hear("takes over");
        forwarder
    }

    /// Waits for this message; returns the number that follows, if there is one.
    pub fn hear(&self, words: &str) -> Option<u64> {
        let asked = Instant::now();
        loop {
            let line = self.said.recv_timeout(PATIENCE.saturating_sub(asked.elapsed()));
            let line = line.unwrap_or_else(|_| panic!("the forwarder never said '{words}'"));
            if let Some((_, rest)) = line.split_once(words) {
                return rest.trim().parse().ok();
            }
        }
    }

    /// Makes it hand over, send what it holds, and end; returns how many frames it forwarded.
    pub fn stop(mut self) -> u64 {
        drop(self.stdin.take());
        let forwarded = self.hear("forwarded").unwrap();
        assert!(self.child.wait().unwrap().success());
        forwarded
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test in itself: what [`Forwarder::start`] runs.
#[test]
fn forwarder_as_a_program() {
    let Ok(ahead) = env::var(AHEAD_MS) else { return };
    let on_failure = if env::var_os(CLOSED).is_some() { OnFailure::Closed } else { OnFailure::Open };
    run(Nanos::from_millis(ahead.parse().unwrap()), on_failure);
}

fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn run(ahead: Nanos, on_failure: OnFailure) {
    let ports = PORTS.map(|name| Port::find(name).unwrap());
    check([&ports[0], &ports[1]], on_failure).unwrap_or_else(|error| panic!("{error}"));
    let mut switch = Switch::open().unwrap_or_else(|error| panic!("{error}"));
    switch.silence(&ports.each_ref().map(|port| port.index)).unwrap_or_else(|error| panic!("{error}"));
    let sockets = ports.each_ref().map(|port| packet_socket(&switch, port.index));
    // None of what follows needs any capabilities.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let _ = io::stdin().read(&mut [0]);
            stop.store(true, Relaxed);
        }
    });

    let mut frame = vec![0; 80 << 10];
    // Forwards what is in the sockets as long as permitted, and reports how much that was.
    let mut forward = |may: &dyn Fn() -> bool| {
        let mut frames = 0_u64;
        for [from, to] in [[&sockets[0], &sockets[1]], [&sockets[1], &sockets[0]]] {
            while let Some(bytes) = receive(from, &mut frame).filter(|_| may()) {
                transmit(to, &frame[..bytes]);
                frames += 1;
            }
        }
        frames
    };
    let mut forwarded = 0;
    let mut is_in_charge = false;
    loop {
        if !switch.renew(now(), ahead) {
            // Older than what the bridge has forwarded meanwhile.
            let discarded: usize = sockets.iter().map(discard).sum();
            if is_in_charge {
                println!("lapsed {discarded}");
            }
            is_in_charge = false;
            switch.take_over(now(), ahead);
        }
        let frames = forward(&|| switch.renew(now(), ahead));
        forwarded += frames;
        if frames > 0 && !is_in_charge {
            is_in_charge = true;
            println!("takes over");
        }
        if frames == 0 {
            // With nothing held there is nothing that the bridge could overtake.
            if stop.load(Relaxed) {
                break;
            }
            let mut polled = sockets.each_ref().map(|socket| PollFd::new(socket, PollFlags::IN));
            poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 1_000_000 })).unwrap();
        }
    }
    switch.hand_over();
    forwarded += forward(&|| true);
    println!("forwarded {forwarded}");
}

fn discard(socket: &OwnedFd) -> usize {
    let mut beginning = [0; 64];
    iter::from_fn(|| receive(socket, &mut beginning)).count()
}

fn receive(socket: &OwnedFd, frame: &mut [u8]) -> Option<usize> {
    match recv(socket, frame, RecvFlags::DONTWAIT) {
        Ok((bytes, _)) => Some(bytes),
        Err(Errno::AGAIN) => None,
        Err(error) => panic!("{error}"),
    }
}

fn transmit(socket: &OwnedFd, frame: &[u8]) {
    let sent = send(socket, frame, SendFlags::empty()).unwrap();
    assert_eq!(sent, frame.len());
}

/// A socket that receives what the switch takes at an interface, with room for everything that a test sends.
fn packet_socket(switch: &Switch, interface: u32) -> OwnedFd {
    const PACKET_VNET_HDR: i32 = 15;
    const PACKET_IGNORE_OUTGOING: i32 = 23;
    // With protocol 0 it receives nothing until it is bound.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None).unwrap();
    switch.attach_filter(socket.as_fd()).unwrap_or_else(|error| panic!("{error}"));
    set_socket_recv_buffer_size_force(&socket, 64 << 20).unwrap();
    // Checksums between namespaces are only complete together with the header that this enables.
    set_packet_option(&socket, PACKET_VNET_HDR);
    set_packet_option(&socket, PACKET_IGNORE_OUTGOING);
    bind(&socket, interface);
    socket
}

#[allow(unsafe_code)]
fn set_packet_option(socket: &OwnedFd, option: i32) {
    let one = 1_i32;
    // SAFETY: these options read an `int` at the given address, of the given length.
    let answer = unsafe {
        let address = std::ptr::from_ref(&one).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, address, size_of::<i32>() as u32)
    };
    assert_eq!(answer, 0, "{}", io::Error::last_os_error());
}

#[allow(unsafe_code)]
fn bind(socket: &OwnedFd, interface: u32) {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: interface as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: bind reads an address of the given length; a packet socket's is a `sockaddr_ll`.
    let answer = unsafe {
        let at = std::ptr::from_ref(&address).cast();
        libc::bind(socket.as_raw_fd(), at, size_of::<libc::sockaddr_ll>() as u32)
    };
    assert_eq!(answer, 0, "{}", io::Error::last_os_error());
}
