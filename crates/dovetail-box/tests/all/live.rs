//! The box between the namespaces of a lab: everything arrives, once, in order and intact, whatever happens to the box.
//!
//! Needs root and iproute2; skipped, with the reason, if one is missing.

use std::{
    io,
    net::{Ipv4Addr, TcpStream, UdpSocket},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        Control, Live, Spawned, Status,
        lab::{Lab, LabError, LabSpec, Place},
    },
};
use dovetail_netns::NetnsError;

use crate::traffic::{PATIENCE, echo};

pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Makes each of these functions a test for every I/O method: they take the line of `[box]` that selects it.
macro_rules! by_each_io {
    ($($test:ident),+) => {
        mod by_packet_sockets {
            $(#[test]
            fn $test() {
                super::$test("io = \"af-packet\"\n");
            })+
        }
        #[cfg(feature = "af-xdp")]
        mod by_af_xdp {
            $(#[test]
            fn $test() {
                if crate::live::has_af_xdp() {
                    super::$test("io = \"af-xdp\"\n");
                }
            })+
        }
    };
}
pub(crate) use by_each_io;

/// Whether this kernel supports AF_XDP; reports it if not.
#[cfg(feature = "af-xdp")]
pub fn has_af_xdp() -> bool {
    let functions = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let asked = b"bpf_xdp_metadata_rx_vlan_tag";
    let has = functions.windows(asked.len()).any(|name| name == asked);
    if !has {
        dovetail_skip::skipped("AF_XDP needs Linux 6.8 with BTF");
    }
    has
}

/// A lab of this process and test, whose hosts know each other's addresses, or `None` if there cannot be one.
pub fn lab(test: &str) -> Option<Lab> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("dvb{}n{}{test}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    match Lab::up(&LabSpec { name, ..LabSpec::default() }) {
        Ok(lab) => {
            introduce(&lab);
            Some(lab)
        }
        Err(error @ (LabError::NotRoot | LabError::Namespace(NetnsError::NoProgram { .. }))) => {
            dovetail_skip::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// While it resolves an address, Linux queues only a few packets for it, and later sends them among newer ones: even
/// without a box some are lost or late.
fn introduce(lab: &Lab) {
    let discard = (FAR, 9).into();
    let refused = lab.namespace(Place::Inside).within(|| TcpStream::connect_timeout(&discard, PATIENCE));
    assert_eq!(refused.map(drop).map_err(|wrong| wrong.kind()), Err(io::ErrorKind::ConnectionRefused));
}

/// A running box in a lab.
pub(super) struct Running {
    pub control: Control,
    spawned: Spawned,
}

impl Running {
    pub fn start(lab: &Lab, settings: &str) -> Self {
        Self::prepared(lab, settings, |_| {})
    }

    pub fn prepared(lab: &Lab, settings: &str, prepare: impl FnOnce(&mut Live) + Send + 'static) -> Self {
        let spawned = Spawned::start(config(lab, settings), prepare).unwrap();
        let running = Self { control: spawned.control().clone(), spawned };
        running.until(|status| status.at.0 > 0);
        running
    }

    /// Waits for a status; a busy machine may take its time.
    pub fn until(&self, is_so: impl Fn(&Status) -> bool) -> Status {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.control.status();
            if is_so(&status) {
                return status;
            }
            assert!(Instant::now() < until && !self.spawned.has_ended(), "{status:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn stop(self) -> Status {
        self.spawned.stop().unwrap();
        self.control.status()
    }
}

/// A configuration's text: `more` behind the interfaces of a lab.
pub fn settings(lab: &Lab, more: &str) -> String {
    lab.spec().box_section() + more
}

pub fn config(lab: &Lab, text: &str) -> Config {
    Config::parse(&settings(lab, text)).unwrap()
}

/// Numbered datagrams from the inside to the outside until dropped, one every 100 µs.
pub(crate) struct Stream {
    is_over: Arc<AtomicBool>,
    sender: JoinHandle<io::Result<u64>>,
    receiver: JoinHandle<io::Result<Vec<u64>>>,
}

impl Stream {
    fn start(lab: &Lab, bytes: usize) -> Self {
        Self::to_port(lab, 4500, bytes)
    }

    pub(crate) fn to_port(lab: &Lab, port: u16, bytes: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let to = lab.namespace(Place::Outside).within(|| UdpSocket::bind((FAR, port))).unwrap();
        to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        // A receiver that is kept from running must not lose packets itself.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&to, 1 << 24).unwrap();
        let receiver = thread::spawn({
            let is_over = is_over.clone();
            move || {
                let (mut numbers, mut datagram) = (Vec::new(), [0; 2048]);
                loop {
                    match to.recv(&mut datagram) {
                        Ok(_) => numbers.push(u64::from_be_bytes(*datagram.first_chunk().unwrap())),
                        Err(_) if is_over.load(Ordering::Relaxed) => return Ok(numbers),
                        Err(wrong)
                            if matches!(wrong.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                        Err(wrong) => return Err(wrong),
                    }
                }
            }
        });
        let from = lab.namespace(Place::Inside).within(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
        from.connect((FAR, port)).unwrap();
        let sender = thread::spawn({
            let is_over = is_over.clone();
            move || {
                let mut number = 0u64;
                let mut datagram = vec![0; bytes];
                while !is_over.load(Ordering::Relaxed) {
                    datagram[..8].copy_from_slice(&number.to_be_bytes());
                    from.send(&datagram).inspect_err(|wrong| eprintln!("after {number} datagrams: {wrong}"))?;
                    number += 1;
                    thread::sleep(Duration::from_micros(100));
                }
                Ok(number)
            }
        });
        Self { is_over, sender, receiver }
    }

    /// The number sent, and the numbers that arrived.
    pub(crate) fn end(self) -> (u64, Vec<u64>) {
        self.is_over.store(true, Ordering::Relaxed);
        (self.sender.join().unwrap().unwrap(), self.receiver.join().unwrap().unwrap())
    }
}

/// Why a run cannot be judged: the machine kept the box from running for so long that the bridge had to take over.
pub fn is_judged(status: &Status) -> bool {
    if status.oddities.lapses > 0 {
        eprintln!("the bridge took over {} times: another try", status.oddities.lapses);
    }
    status.oddities.lapses == 0
}

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"100Mbps\"\n[[class]]\nname = \"vpn\"\nports = [4500]\n\
                        functions = [\"ipsec\", \"monitoring\"]\neffect = \"discard\"\n";

fn start_reload_retune_and_stop_cost_no_packet(io: &str) {
    let Some(lab) = lab("plan") else { return };
    for _ in 0..5 {
        let stream = Stream::start(&lab, 600);
        thread::sleep(Duration::from_millis(100));
        let settings = io.to_owned() + SETTINGS;
        let running = Running::start(&lab, &settings);
        running.until(|status| status.classes[0].1.sent > 500);
        let other =
            settings.replace("drfq", "tradeoff:alpha=0.9").replace("100Mbps", "90Mbps").replace("\"ipsec\", ", "");
        running.control.reload(config(&lab, &other)).unwrap();
        running.control.retune("tradeoff:alpha=0.8").unwrap();
        let sent = running.control.status().classes[0].1.sent;
        running.until(|status| status.classes[0].1.sent > sent + 500 && status.policy.contains("alpha=0.8"));
        let status = running.stop();
        thread::sleep(Duration::from_millis(100));
        let (sent, arrived) = stream.end();
        let passed = status.classes[0].1.sent;
        eprintln!("{sent} sent, {} arrived, {passed} through the box", arrived.len());
        if is_judged(&status) {
            assert_eq!(arrived, (0..sent).collect::<Vec<_>>());
            assert!(passed > 1000 && status.classes[0].1.cpu.0 > 0, "{status:#?}");
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}

/// Work of a nominal millisecond per packet, for two workers: twice as much as there is time for.
fn two_workers_work_at_once(io: &str) {
    let Some(lab) = lab("two") else { return };
    let settings = "policy = \"drfq\"\n[cpu]\nworkers = 2\n[link]\nrate = \"1Gbps\"\n[[class]]\nname = \"slow\"\n\
                    ports = [4500, 4501, 4502]\nfunctions = [\"monitoring\"]\ntime = \"1ms\"\n";
    for _ in 0..5 {
        let running = Running::start(&lab, &(io.to_owned() + settings));
        let streams = [4500, 4501, 4502].map(|port| Stream::to_port(&lab, port, 200));
        let from = running.until(|status| status.backlog.packets > 300);
        let to = running.until(|status| status.at > from.at + dovetail_sched::Nanos::from_secs(1));
        drop(streams.map(Stream::end));
        let status = running.stop();
        let time = (to.at - from.at).as_f64();
        let parts = [0, 1].map(|at| (to.workers[at].cpu - from.workers[at].cpu).as_f64() / time);
        let late = (to.figures.late - from.figures.late).as_f64() / time;
        eprintln!("workers were busy for {parts:.3?} of the time; {late:.3} was lost");
        if is_judged(&status) && late == 0.0 && to.backlog.packets > 100 {
            assert!(parts.iter().all(|part| (0.9..1.1).contains(part)), "{parts:?}");
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box came too late five times");
}

fn tcp_passes_intact_with_all_offloads_on(io: &str) {
    let Some(lab) = lab("tcp") else { return };
    let running = Running::start(&lab, &format!("{io}policy = \"drr\"\n[link]\nrate = \"2Gbps\"\n"));
    echo(&lab, 8_000_000);
    let status = running.stop();
    let [inside, outside] = status.ports;
    // What came in long left as packets, but for what the bridge forwarded; by AF_XDP nothing comes in long.
    let is_whole = !is_judged(&status) || outside.sent > 5_000;
    assert!(is_whole && (inside.received < outside.sent || io.contains("xdp")), "{status:#?}");
    assert_eq!(status.oddities.malformed, 0);
}

by_each_io!(
    start_reload_retune_and_stop_cost_no_packet,
    two_workers_work_at_once,
    tcp_passes_intact_with_all_offloads_on
);
