//! A gateway as a process: its signals, its limit of open files, sockets passed to it, and its successor.
//!
//! Each test runs this test program again, which runs a gateway if `GATEWAY` names a configuration.

#![allow(clippy::unwrap_used)]

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_gateway::{config::Config, run_until_signalled};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

/// Anything that is waited for arrives long before.
const LONG: Duration = Duration::from_secs(20);

#[test]
#[ignore = "it is what the other tests run"]
fn the_gateway() {
    let Some(file) = env::var_os("GATEWAY").map(PathBuf::from) else { return };
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let config = Config::read(&file).unwrap();
    let takes_over = env::var_os("TAKES_OVER").is_some();
    if let Err(error) = run_until_signalled(config, file, takes_over, |_| eprintln!("it listens")) {
        eprintln!("failed: {error}");
        std::process::exit(1);
    }
}

/// A gateway in a process of its own. Killed when dropped.
struct Gateway {
    child: Child,
    said: Arc<Mutex<String>>,
    config: PathBuf,
}

/// How a gateway is started.
#[derive(Default)]
struct Start {
    /// A script that runs its arguments.
    script: Option<String>,
    takes_over: bool,
    stdin: Option<OwnedFd>,
}

impl Start {
    fn with(self, config: &str) -> Gateway {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("dovetail-process-{}-{number}.toml", std::process::id()));
        fs::write(&file, config).unwrap();
        let mut command = Command::new("sh");
        let script = self.script.unwrap_or_else(|| "exec \"$0\" \"$@\"".into());
        command.args(["-c", &script]).arg(env::current_exe().unwrap());
        command.args(["--exact", "the_gateway", "--ignored", "--nocapture"]).env("GATEWAY", &file);
        if self.takes_over {
            command.env("TAKES_OVER", "1");
        }
        command.stdin(self.stdin.map_or(Stdio::null(), Stdio::from)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, heard) = (BufReader::new(child.stderr.take().unwrap()).lines(), Arc::clone(&said));
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        Gateway { child, said, config: file }
    }

    fn listening(self, config: &str) -> Gateway {
        let gateway = self.with(config);
        gateway.says("it listens");
        gateway
    }
}

impl Gateway {
    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until its output contains this.
    fn says(&self, what: &str) {
        until(&format!("it does not say '{what}'"), || self.said().contains(what).then_some(()), || self.said());
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        let said = Arc::clone(&self.said);
        until("it does not end", || self.child.try_wait().unwrap(), || said.lock().unwrap().clone())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = fs::remove_file(&self.config);
        let _ = self.child.wait();
    }
}

/// Waits for something.
fn until<T>(lacking: &str, mut there: impl FnMut() -> Option<T>, more: impl Fn() -> String) -> T {
    let began = Instant::now();
    loop {
        if let Some(there) = there() {
            return there;
        }
        assert!(began.elapsed() < LONG, "{lacking}: {}", more());
        thread::sleep(Duration::from_millis(5));
    }
}

/// An address without a listener, below the kernel's range of ephemeral ports.
fn free() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 600) as u16 * 20;
    loop {
        let address = SocketAddr::from(([127, 0, 0, 1], first + NEXT.fetch_add(1, Ordering::Relaxed)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

fn config(listen: SocketAddr, rest: &str) -> String {
    format!(
        "[proxy]\nlisten = \"{listen}\"\n[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n\
         [access]\nclients = \"127.0.0.0/8\"\ndestinations = {{ allow = [\"127.0.0.0/8\"] }}\n{rest}\n"
    )
}

/// A server whose answers are two bytes. `/held` is reported on arrival and answered when allowed.
fn origin() -> (SocketAddr, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ((told, is_told), (lets, is_let)) = (mpsc::channel(), mpsc::channel());
    let is_let = Arc::new(Mutex::new(is_let));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (told, is_let) = (told.clone(), Arc::clone(&is_let));
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
                let first = lines.next()?.ok()?;
                while !lines.next()?.ok()?.is_empty() {}
                if first.contains("/held") {
                    told.send(()).ok()?;
                    is_let.lock().unwrap().recv().ok()?;
                }
                let mut stream = stream;
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").ok()
            });
        }
    });
    (address, is_told, lets)
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends a request on a new connection. Clients without a seat may be cut off before they have sent theirs: the answer shows
/// it.
fn ask(proxy: SocketAddr, url: &str) -> TcpStream {
    let mut stream = connect(proxy);
    let _ = stream.write_all(format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes());
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if end.is_ok() { text } else { format!("{text}{end:?}") }
}

fn is_ok(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok")
}

fn health(admin: SocketAddr) -> String {
    let mut stream = connect(admin);
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n").unwrap();
    answer(stream)
}

#[test]
fn with_few_open_files_fewer_clients_are_served_and_the_admin_port_answers() {
    let (proxy, admin) = (free(), free());
    let rest = format!("[admin]\nlisten = \"{admin}\"\n[timeouts]\nheader = \"5m\"");
    let gateway = Start { script: Some("ulimit -n 256 && exec \"$0\" \"$@\"".into()), ..Start::default() }
        .listening(&config(proxy, &rest));
    assert!(gateway.said().contains("256 open files allow 64"), "{}", gateway.said());
    let (origin, _told, _lets) = origin();
    let mut held: Vec<_> = (0..64).map(|_| connect(proxy)).collect();
    let refused = answer(ask(proxy, &format!("http://{origin}/")));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    // A client that is still sending when it is refused can finish, and reads the complete refusal.
    let mut slow = connect(proxy);
    for piece in ["GET ", &format!("http://{origin}/ HTTP/1.1\r\n"), "Host: x\r\n", "\r\n"] {
        slow.write_all(piece.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    let refused = answer(slow);
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.ends_with("\n"), "{refused}");
    // At most 64 of these are sent a refusal; the rest are closed.
    let more: Vec<_> = (0..200).map(|_| connect(proxy)).collect();
    assert!(health(admin).ends_with("ok\n"));
    drop(more);
    // Connected clients are served, and one that leaves makes room.
    let mut first = held.remove(0);
    write!(first, "GET http://{origin}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert!(is_ok(&answer(first)));
    drop(held);
    until(
        "nobody is served",
        || is_ok(&answer(ask(proxy, &format!("http://{origin}/")))).then_some(()),
        || gateway.said(),
    );
}

#[test]
fn without_any_descriptor_left_it_says_so_once_counts_it_and_goes_on() {
    let (proxy, admin) = (free(), free());
    let gateway = Start::default().listening(&config(proxy, &format!("[admin]\nlisten = \"{admin}\"")));
    let (origin, _told, _lets) = origin();
    let none = Rlimit { current: Some(3), ..prlimit_of(&gateway) };
    let before = prlimit(Some(gateway.pid()), Resource::Nofile, none).unwrap();
    let waits = ask(proxy, &format!("http://{origin}/"));
    gateway.says("cannot accept a connection");
    thread::sleep(Duration::from_millis(200));
    prlimit(Some(gateway.pid()), Resource::Nofile, before).unwrap();
    assert!(is_ok(&answer(waits)));
    assert_eq!(gateway.said().matches("cannot accept a connection").count(), 1, "{}", gateway.said());
    let mut stream = connect(admin);
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n").unwrap();
    let metrics = answer(stream);
    let failed = metrics.lines().find_map(|line| line.strip_prefix("dovetail_gateway_accepts_failed_total ")).unwrap();
    assert!(failed.parse::<f64>().unwrap() >= 1.0, "{failed}");
}

fn prlimit_of(gateway: &Gateway) -> Rlimit {
    let line = fs::read_to_string(format!("/proc/{}/limits", gateway.child.id())).unwrap();
    let line = line.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap().to_owned();
    let number = |at: usize| line.split_whitespace().nth(at).unwrap().parse().ok();
    Rlimit { current: number(0), maximum: number(1) }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let proxy = free();
    let mut gateway = Start::default().listening(&config(proxy, "[timeouts]\ndrain = \"10m\""));
    let (origin, told, _lets) = origin();
    let _held = ask(proxy, &format!("http://{origin}/held"));
    told.recv_timeout(LONG).unwrap();
    gateway.terminate();
    gateway.says("finishing open requests");
    thread::sleep(Duration::from_millis(300));
    assert!(gateway.child.try_wait().unwrap().is_none(), "it waits for what is under way");
    gateway.terminate();
    assert!(gateway.ended().success());
}

#[test]
fn one_that_has_just_taken_over_can_be_taken_over_from_at_once() {
    let (proxy, admin) = (free(), free());
    let text = config(proxy, &format!("[admin]\nlisten = \"{admin}\""));
    let mut running = Start::default().listening(&text);
    for _ in 0..3 {
        let new = Start { takes_over: true, ..Start::default() }.listening(&text);
        let mut old = std::mem::replace(&mut running, new);
        assert!(old.ended().success(), "{}", old.said());
    }
    assert!(health(admin).ends_with("ok\n"));
}

/// Sends one request after another until stopped; returns their number and what was not an answer.
fn load(proxy: SocketAddr, origin: SocketAddr, goes_on: &Arc<AtomicBool>) -> thread::JoinHandle<(u32, Vec<String>)> {
    let goes_on = Arc::clone(goes_on);
    thread::spawn(move || {
        let (mut asked, mut failed) = (0, Vec::new());
        while goes_on.load(Ordering::Relaxed) {
            let found = answer(ask(proxy, &format!("http://{origin}/")));
            asked += 1;
            if !is_ok(&found) {
                failed.push(found);
            }
        }
        (asked, failed)
    })
}

#[test]
fn another_process_takes_over_and_no_request_fails() {
    let (proxy, admin) = (free(), free());
    let text = config(proxy, &format!("[admin]\nlisten = \"{admin}\""));
    let (origin, told, lets) = origin();
    let mut old = Start::default().listening(&text);
    let goes_on = Arc::new(AtomicBool::new(true));
    let loads: Vec<_> = (0..4).map(|_| load(proxy, origin, &goes_on)).collect();
    let held = ask(proxy, &format!("http://{origin}/held"));
    told.recv_timeout(LONG).unwrap();

    // By mistake: the address is in use, and the running gateway continues.
    let mut twice = Start::default().with(&text);
    assert!(!twice.ended().success());
    twice.says("--take-over");
    // A successor that cannot start changes nothing.
    let broken = format!("{text}[log]\naccess = \"/no/such/folder/log\"");
    let mut broken = Start { takes_over: true, ..Start::default() }.with(&broken);
    assert!(!broken.ended().success());
    broken.says("/no/such/folder/log");
    assert!(!old.said().contains("took over") && health(admin).ends_with("ok\n"));

    let new = Start { takes_over: true, ..Start::default() }.listening(&text);
    old.says("another process took over");
    // A signal sent all the same does not abort requests in flight.
    old.terminate();
    old.says("finishing open requests; the same");
    thread::sleep(Duration::from_millis(300));
    assert!(health(admin).ends_with("ok\n"));
    lets.send(()).unwrap();
    assert!(is_ok(&answer(held)));
    assert!(old.ended().success());
    thread::sleep(Duration::from_millis(300));
    goes_on.store(false, Ordering::Relaxed);
    for load in loads {
        let (asked, failed) = load.join().unwrap();
        assert!(asked > 10 && failed.is_empty(), "of {asked}: {failed:?}\n{}\n{}", old.said(), new.said());
    }
    // And once more: the new one can be taken over in turn.
    let mut old = new;
    // Each address is offered on its own, at most a second after the name is free.
    let are_offered = || [proxy, admin].into_iter().all(is_offered).then_some(());
    until("there is no socket for it", are_offered, String::new);
    let _new = Start { takes_over: true, ..Start::default() }.listening(&text);
    assert!(old.ended().success());
    assert!(is_ok(&answer(ask(proxy, &format!("http://{origin}/")))));
}

#[test]
fn after_a_takeover_what_is_in_flight_has_as_long_as_it_takes_until_a_signal() {
    let proxy = free();
    let text = config(proxy, "[timeouts]\ndrain = \"100ms\"");
    let (origin, told, lets) = origin();
    let ask_held = || {
        let held = ask(proxy, &format!("http://{origin}/held"));
        told.recv_timeout(LONG).unwrap();
        held
    };
    let mut first = Start::default().listening(&text);
    let held = ask_held();
    let mut second = Start { takes_over: true, ..Start::default() }.listening(&text);
    first.says("another process took over");
    // Several times as long as a signal would leave it.
    thread::sleep(Duration::from_millis(600));
    assert!(first.child.try_wait().unwrap().is_none(), "it cut what was in flight");
    lets.send(()).unwrap();
    assert!(is_ok(&answer(held)));
    assert!(first.ended().success(), "{}", first.said());
    // A signal sets the usual bound.
    let held = ask_held();
    until("there is no socket for it", || is_offered(proxy).then_some(()), String::new);
    let _third = Start { takes_over: true, ..Start::default() }.listening(&text);
    second.says("another process took over");
    second.terminate();
    assert!(second.ended().success(), "{}", second.said());
    assert!(!is_ok(&answer(held)));
}

/// Whether a gateway listens for its successor. A connection accepted by one has the same name while it is open; only a
/// listening socket has this flag (`__SO_ACCEPTCON` in proc_net_unix(5)).
fn is_offered(address: SocketAddr) -> bool {
    const LISTENS: &str = "00010000";
    let name = format!("@dovetail-gateway/{address}");
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    sockets.lines().any(|line| line.ends_with(&name) && line.split_whitespace().nth(3) == Some(LISTENS))
}

#[test]
fn sockets_that_are_passed_are_used_and_hold_connections_between_two_lives() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let (origin, _told, _lets) = origin();
    let url = format!("http://{origin}/");
    for _ in 0..2 {
        // Before there is a gateway.
        let early = ask(proxy, &url);
        let start = Start {
            script: Some("exec 3<&0 </dev/null && LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"".into()),
            stdin: Some(listener.try_clone().unwrap().into()),
            ..Start::default()
        };
        let mut gateway = start.listening(&config(proxy, ""));
        assert!(is_ok(&answer(early)));
        gateway.terminate();
        assert!(gateway.ended().success());
    }
    // Passed to another process, they are not used here.
    let start = Start {
        script: Some("exec 3<&0 </dev/null && LISTEN_FDS=1 LISTEN_PID=1 exec \"$0\" \"$@\"".into()),
        stdin: Some(listener.try_clone().unwrap().into()),
        ..Start::default()
    };
    let mut gateway = start.with(&config(proxy, ""));
    assert!(!gateway.ended().success());
    gateway.says("another process listens there");
}

#[test]
fn a_parent_that_fails_is_reported_once_and_so_is_its_return() {
    let (origin, _told, _lets) = origin();
    let (proxy, admin, up) = (free(), free(), free());
    let with = |keys: &str| {
        let parent = format!("[[parent]]\nname = \"up\"\naddress = \"{up}\"\n{keys}");
        config(proxy, &format!("[admin]\nlisten = \"{admin}\"\n{parent}"))
    };
    let is_up = || {
        let mut stream = connect(admin);
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n").unwrap();
        let metrics = answer(stream);
        let value = metrics.lines().find_map(|line| line.strip_prefix("dovetail_gateway_parent_up{parent=\"up\"} "));
        value.unwrap_or_else(|| panic!("{metrics}")).parse::<u8>().unwrap()
    };
    let url = format!("http://{origin}/");
    let gateway = Start::default().listening(&with("direct = true"));
    assert_eq!(is_up(), 1);
    for _ in 0..2 {
        assert!(is_ok(&answer(ask(proxy, &url))));
    }
    gateway.says("parent proxy up: Connection refused");
    gateway.says("its requests go directly to their servers until it is reached again");
    assert_eq!(gateway.said().matches("parent proxy up").count(), 1, "{}", gateway.said());
    until("it counts as reached", || (is_up() == 0).then_some(()), || gateway.said());
    drop(gateway);
    let gateway = Start::default().listening(&with(""));
    for _ in 0..2 {
        assert!(answer(ask(proxy, &url)).starts_with("HTTP/1.1 502 "));
    }
    gateway.says("its requests fail until it is reached again");
    let listener = TcpListener::bind(up).unwrap();
    let asked = ask(proxy, &url);
    let (mut parent, _) = listener.accept().unwrap();
    gateway.says("parent proxy up: it is reached again");
    assert_eq!(gateway.said().matches("its requests fail until").count(), 1, "{}", gateway.said());
    parent.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
    assert!(answer(asked).ends_with("ok"));
    until("it does not count as reached", || (is_up() == 1).then_some(()), || gateway.said());
}

#[test]
fn why_a_helper_cannot_examine_passwords_is_logged_once_in_a_while() {
    let (proxy, script) = (free(), env::temp_dir().join(format!("dovetail-process-helper-{}", std::process::id())));
    fs::write(&script, "while read -r line; do echo 'BH message=\"no \\\"LDAP\\\" here\"'; done").unwrap();
    let helper = format!("helper = [\"/bin/sh\", \"{}\"]\n", script.display());
    let mut gateway =
        Start::default().listening(&config(proxy, "").replace("[access]\n", &format!("[access]\n{helper}")));
    for _ in 0..3 {
        let mut stream = connect(proxy);
        let head =
            "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YTpi\r\nConnection: close";
        write!(stream, "{head}\r\n\r\n").unwrap();
        assert!(answer(stream).starts_with("HTTP/1.1 503 "));
    }
    gateway.says("could not examine a password: (BH) no \\\"LDAP\\\" here: the client gets 503");
    gateway.terminate();
    assert!(gateway.ended().success());
    assert_eq!(gateway.said().matches("(BH)").count(), 1, "{}", gateway.said());
    fs::remove_file(script).unwrap();
}

/// A gateway with TLS and a certificate of its own that SIGHUP reloads.
struct Secure {
    folder: PathBuf,
    at: SocketAddr,
}

impl Secure {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("dovetail-process-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let secure = Self { folder, at: free() };
        secure.renew();
        secure
    }

    fn renew(&self) {
        let made = rcgen::generate_simple_self_signed(["gateway.test".to_owned()]).unwrap();
        fs::write(self.folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(self.folder.join("key.pem"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(self.folder.join("certificate.pem"), made.cert.pem()).unwrap();
    }

    fn section(&self) -> String {
        let folder = self.folder.display();
        let files = format!("certificate = \"{folder}/certificate.pem\"\nkey = \"{folder}/key.pem\"");
        format!("[proxy.tls]\nlisten = \"{}\"\n{files}\n[limits]\nconnections_per_user = 20000\n", self.at)
    }

    /// Trusts the current certificate.
    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.folder.join("certificate.pem")).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    }

    fn connect(&self, client: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
        let name = ServerName::try_from("gateway.test").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(client), name).unwrap(), connect(self.at))
    }

    /// The answer to a request over TLS, or why there is none.
    fn ask(&self, client: &Arc<ClientConfig>, url: &str) -> String {
        let mut stream = self.connect(client);
        let mut text = String::new();
        let asked = write!(stream, "GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        asked.and_then(|()| stream.read_to_string(&mut text)).map_or_else(|error| error.to_string(), |_| text)
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn where_it_speaks_tls_is_taken_over_too_and_a_signal_renews_the_certificate() {
    let secure = Secure::new("renewed");
    let text = config(free(), &secure.section());
    let (origin, _told, _lets) = origin();
    let url = format!("http://{origin}/");
    let mut old = Start::default().listening(&text);
    let client = secure.client();
    assert!(is_ok(&secure.ask(&client, &url)));
    let new = Start { takes_over: true, ..Start::default() }.listening(&text);
    assert!(old.ended().success(), "{}", old.said());
    assert!(is_ok(&secure.ask(&client, &url)));
    // An invalid file changes nothing, and the reason is logged.
    fs::write(secure.folder.join("key.pem"), "no key").unwrap();
    kill_process(new.pid(), Signal::HUP).unwrap();
    new.says("key.pem: there is no private key in it");
    assert!(is_ok(&secure.ask(&client, &url)));
    secure.renew();
    kill_process(new.pid(), Signal::HUP).unwrap();
    let renewed = secure.client();
    until("it has the old certificate", || is_ok(&secure.ask(&renewed, &url)).then_some(()), || new.said());
    assert!(!is_ok(&secure.ask(&client, &url)));
}

/// systemd's own program for this, which does not need a running systemd.
#[test]
fn systemd_starts_it_at_the_first_connection_and_passes_both_sockets() {
    if Command::new("systemd-socket-activate").arg("--version").output().is_err() {
        return dovetail_skip::skipped("systemd-socket-activate is not installed");
    }
    let secure = Secure::new("activated");
    let proxy = free();
    let script = format!("exec systemd-socket-activate -E GATEWAY -l {} -l {proxy} \"$0\" \"$@\"", secure.at);
    let gateway = Start { script: Some(script), ..Start::default() }.with(&config(proxy, &secure.section()));
    gateway.says("Listening on");
    assert!(!gateway.said().contains("it listens"), "{}", gateway.said());
    let (origin, _told, _lets) = origin();
    let url = format!("http://{origin}/");
    // The first connection is over TLS and is not lost.
    assert!(is_ok(&secure.ask(&secure.client(), &url)), "{}", gateway.said());
    assert!(is_ok(&answer(ask(proxy, &url))), "{}", gateway.said());
    gateway.says("it listens");
    assert!(!gateway.said().contains("it is closed"), "both are used: {}", gateway.said());
}

/// Resident memory of a process in kilobytes.
fn resident_kb(gateway: &Gateway) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", gateway.child.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// `cargo test -p dovetail-gateway --test process idle -- --nocapture` prints the memory per idle connection.
#[test]
fn an_idle_connection_by_tls_takes_a_few_tens_of_kilobytes() {
    const COUNT: usize = 400;
    let secure = Secure::new("idle");
    let proxy = free();
    let gateway = Start::default().listening(&config(proxy, &secure.section()));
    let client = secure.client();
    let request = "GET /proxy.pac HTTP/1.1\r\nHost: x\r\n\r\n";
    let one_answer = |stream: &mut dyn Read| {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    };
    let by_tls = || {
        let mut stream = secure.connect(&client);
        stream.write_all(request.as_bytes()).unwrap();
        one_answer(&mut stream);
        stream
    };
    let in_clear = || {
        let mut stream = connect(proxy);
        stream.write_all(request.as_bytes()).unwrap();
        one_answer(&mut stream);
        stream
    };
    // The first ones allocate shared memory too.
    let first = (by_tls(), in_clear());
    let before = resident_kb(&gateway);
    let clear: Vec<_> = (0..COUNT).map(|_| in_clear()).collect();
    let between = resident_kb(&gateway);
    let secured: Vec<_> = (0..COUNT).map(|_| by_tls()).collect();
    let after = resident_kb(&gateway);
    let each = |from: u64, to: u64| to.saturating_sub(from) as f64 / COUNT as f64;
    let (clear_kb, tls_kb) = (each(before, between), each(between, after));
    println!("an idle connection takes {clear_kb:.1} kB in clear and {tls_kb:.1} kB by TLS");
    assert!(tls_kb < 64.0, "{tls_kb} kB");
    drop((first, clear, secured));
}

/// The origin's answer, in bytes.
const ANSWER: u64 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".len() as u64;

/// A store that does not exist yet, and sections for a quota kept in it.
fn store(name: &str) -> (PathBuf, String) {
    let path = env::temp_dir().join(format!("dovetail-process-{name}-{}.db", std::process::id()));
    drop(fs::remove_file(&path));
    let every = "every = \"1s\"";
    let sections =
        format!("[[quota]]\nname = \"q\"\nbytes = \"1GB\"\n[store]\npath = \"{}\"\n{every}\n", path.display());
    (path, sections)
}

fn stored(path: &PathBuf) -> u64 {
    let database = rusqlite::Connection::open(path).unwrap();
    database.busy_timeout(LONG).unwrap();
    let sum: i64 = database.query_row("SELECT coalesce(sum(bytes), 0) FROM used", [], |row| row.get(0)).unwrap();
    sum.unsigned_abs()
}

#[test]
fn of_a_process_that_is_killed_what_was_written_is_kept() {
    let (origin, ..) = origin();
    let (path, sections) = store("killed");
    let (at, mut kept) = (free(), 0);
    for _ in 0..5 {
        let mut gateway = Start::default().listening(&config(at, &sections));
        let ask_all = |count: u64| {
            for _ in 0..count {
                assert!(is_ok(&answer(ask(at, &format!("http://{origin}/")))));
            }
        };
        assert_eq!(stored(&path), kept, "what was kept is there again");
        ask_all(20);
        let written = kept + 20 * ANSWER;
        until("it is not written", || (stored(&path) == written).then_some(()), String::new);
        ask_all(7);
        gateway.child.kill().unwrap();
        gateway.ended();
        kept = stored(&path);
        assert!((written..=written + 7 * ANSWER).contains(&kept), "{kept} {written}");
    }
    fs::remove_file(path).unwrap();
}

/// A file system of two hundred kilobytes, which is filled by something else.
#[test]
fn on_a_full_disk_quotas_are_counted_in_memory_and_written_once_there_is_room() {
    if !rustix::process::geteuid().is_root() {
        return dovetail_skip::skipped("mounting a small file system needs root");
    }
    let folder = env::temp_dir().join(format!("dovetail-process-full-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (proxy, admin) = (free(), free());
    let rest = format!(
        "[admin]\nlisten = \"{admin}\"\n[[quota]]\nname = \"q\"\nbytes = \"{}\"\n\
         [store]\npath = \"{}/used.db\"\nevery = \"1s\"\n",
        40 * ANSWER,
        folder.display()
    );
    // In a mount namespace of its own, which ends with the process.
    let mount = format!("mount -t tmpfs -o size=200k none {} && exec \"$0\" \"$@\"", folder.display());
    let script = format!("exec unshare --mount sh -c '{mount}' \"$0\" \"$@\"");
    let mut gateway = Start { script: Some(script), ..Start::default() }.listening(&config(proxy, &rest));
    let within = PathBuf::from(format!("/proc/{}/root{}", gateway.child.id(), folder.display()));
    let (origin, _told, _lets) = origin();
    let url = format!("http://{origin}/");
    let ask_all = |count: u64| (0..count).filter(|_| is_ok(&answer(ask(proxy, &url)))).count() as u64;
    let metrics = || {
        let mut stream = connect(admin);
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n").unwrap();
        answer(stream)
    };
    // SQLite would follow /proc's link to this namespace's file.
    let copy = folder.with_extension("db");
    let kept = || {
        fs::copy(within.join("used.db"), &copy).unwrap();
        stored(&copy)
    };
    assert_eq!(ask_all(10), 10);
    until("it is not written", || (kept() == 10 * ANSWER).then_some(()), || gateway.said());
    assert!(metrics().contains("dovetail_gateway_store_up 1"));
    // Up to the last byte.
    let mut fill = fs::File::create(within.join("fill")).unwrap();
    let mut left = 64 * 1_024;
    while left > 0 {
        if fill.write_all(&vec![b'x'; left]).is_err() {
            left /= 2;
        }
    }
    assert_eq!(ask_all(20), 20);
    gateway.says("disk is full: quotas are counted in memory until it can be written");
    assert!(metrics().contains("dovetail_gateway_store_up 0"), "{}", metrics());
    // The quota is still enforced, and nothing is logged twice.
    assert_eq!(ask_all(20), 10);
    thread::sleep(Duration::from_millis(2_500));
    assert_eq!(gateway.said().matches("disk is full").count(), 1, "{}", gateway.said());
    drop(fill);
    fs::remove_file(within.join("fill")).unwrap();
    gateway.says("it is written again");
    assert_eq!(kept(), 40 * ANSWER);
    assert!(metrics().contains("dovetail_gateway_store_up 1"));
    gateway.terminate();
    assert!(gateway.ended().success(), "{}", gateway.said());
    fs::remove_dir(folder).unwrap();
    fs::remove_file(copy).unwrap();
}

#[test]
fn when_another_process_takes_over_nothing_is_lost_or_counted_twice() {
    let (origin, ..) = origin();
    let (path, sections) = store("taken");
    let proxy = free();
    let config = config(proxy, &sections);
    let mut gateway = Start::default().listening(&config);
    let goes_on = Arc::new(AtomicBool::new(true));
    let load = load(proxy, origin, &goes_on);
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(1_300));
        let next = Start { takes_over: true, ..Start::default() }.listening(&config);
        assert!(gateway.ended().success(), "{}", gateway.said());
        gateway = next;
    }
    thread::sleep(Duration::from_millis(300));
    goes_on.store(false, Ordering::Relaxed);
    let (served, failed) = load.join().unwrap();
    assert!(failed.is_empty() && served > 0, "{failed:?}");
    gateway.terminate();
    assert!(gateway.ended().success(), "{}", gateway.said());
    assert_eq!(stored(&path), u64::from(served) * ANSWER);
    fs::remove_file(path).unwrap();
}
