//! Everything named by packages, the container and logrotate's file exists, and the log is rotated without losing a line.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use support::{dovetail, folder, stdout};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Options of `dovetail gateway`.
fn options() -> String {
    stdout(&["gateway", "--help"])
}

fn manifest() -> toml::Table {
    read("crates/dovetail-cli/Cargo.toml").parse().unwrap()
}

/// Lines that are an instruction of a container file.
fn instructions<'c>(file: &'c str, name: &str) -> Vec<&'c str> {
    file.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).collect()
}

#[test]
fn the_container_file_names_what_there_is() {
    let file = read("packaging/Containerfile");
    let copied: Vec<_> =
        instructions(&file, "COPY").into_iter().filter(|copy| !copy.starts_with("--from=build")).collect();
    assert_eq!(copied.len(), 2, "{copied:?}");
    for copy in copied {
        let from = copy.split(' ').next().unwrap();
        assert!(root().join(from).exists(), "{from}");
    }
    // The toolchain is at least the one that the crates need.
    let rust = file.split("rust:").nth(1).unwrap().split('-').next().unwrap();
    let number = |version: &str| version.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u32>>();
    let needed =
        read("Cargo.toml").lines().find_map(|line| line.strip_prefix("rust-version = ").map(str::to_owned)).unwrap();
    assert!(number(rust) >= number(needed.trim_matches('"')), "{rust} for {needed}");
    // The build has the required features, and its result is what is copied.
    let build = instructions(&file, "RUN");
    assert_eq!(build.len(), 2);
    let feature = build[0].split("--features ").nth(1).unwrap().trim();
    assert!(manifest()["features"].as_table().unwrap().contains_key(feature), "{feature}");
    assert!(build[0].contains("-p dovetail-cli") && manifest()["package"]["name"].as_str() == Some("dovetail-cli"));
    assert!(
        manifest()["bin"][0]["name"].as_str() == Some("dovetail")
            && file.contains("/target/guided/dovetail /usr/bin/dovetail")
            && build[0].starts_with("bin/release ")
            && read("bin/release").contains("/guided/dovetail")
    );
    // Nothing that could be root runs as root.
    let user = instructions(&file, "USER");
    assert!(user.len() == 1 && user[0].split(':').all(|id| id.parse::<u32>().unwrap() > 0), "{user:?}");
    // The folders that the packaged configuration writes to are that user's.
    let (id, group) = user[0].split_once(':').unwrap();
    assert!(build[1].contains(&format!("-o {id} -g {group} ")), "{}", build[1]);
    for folder in written_to() {
        assert!(build[1].split(' ').any(|word| word == folder), "{folder}: {}", build[1]);
    }
    assert_eq!(instructions(&file, "ENTRYPOINT"), ["[\"/usr/bin/dovetail\", \"gateway\"]"]);
    assert!(read(".dockerignore").lines().any(|line| line == "/target"));
}

/// The folders of the log and the store in the packaged configuration, commented out.
fn written_to() -> Vec<String> {
    let packaged = read("packaging/gateway.toml");
    let of = |key: &str| {
        let line = packaged.lines().find_map(|line| line.strip_prefix(&format!("#{key} = \"")));
        let path = line.unwrap_or_else(|| panic!("no {key}")).trim_end_matches('"');
        Path::new(path).parent().unwrap().to_str().unwrap().to_owned()
    };
    vec![of("access"), of("path")]
}

#[test]
fn the_compose_example_names_what_there_is() {
    let file = read("packaging/compose.yaml");
    let value = |key: &str| {
        let line = file.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    assert!(root().join("packaging").join(value("context")).join(value("dockerfile")).exists());
    for option in value("command").split(['"', ',', ' ', '[', ']']).filter(|word| word.starts_with("--")) {
        assert!(options().contains(option), "{option}");
    }
    // Enough file descriptors for the packaged limits, and time to drain.
    let packaged = read("packaging/gateway.toml");
    let of = |key: &str| packaged.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap().to_owned();
    assert!(value("nofile").parse::<u32>().unwrap() >= 2 * of("connections").parse::<u32>().unwrap() + 128);
    let seconds = |text: &str| text.trim_matches('"').trim_end_matches('s').parse::<u32>().unwrap();
    assert!(seconds(&value("stop_grace_period")) > seconds(&of("drain")));
    // It is read-only, and the writable mounts are the folders of the packaged log and store.
    assert_eq!((value("read_only").as_str(), value("network_mode").as_str()), ("true", "host"));
    for folder in written_to() {
        let is_mounted =
            |line: &str| line.trim().strip_prefix("- ").is_some_and(|it| it.ends_with(&format!(":{folder}")));
        assert!(file.lines().any(is_mounted), "{folder}");
    }
    let volume = file.lines().find_map(|line| line.trim().strip_suffix(":/var/lib/dovetail")).unwrap();
    let declared = file.split("\nvolumes:\n").nth(1).unwrap();
    assert!(declared.contains(&format!("  {}:\n", volume.trim_start_matches("- "))), "{declared}");
    assert!(
        !file.contains('\t') && file.lines().all(|line| line.len() - line.trim_start().len() <= 8),
        "its indentation"
    );
}

#[test]
fn the_debian_package_takes_what_there_is() {
    let manifest = manifest();
    let deb = &manifest["package"]["metadata"]["deb"];
    let built = ["target/release/", "../../target/deb/"];
    let mut to = Vec::new();
    for asset in deb["assets"].as_array().unwrap() {
        let [from, at, mode] = [0, 1, 2].map(|field| asset[field].as_str().unwrap());
        if !built.iter().any(|built| from.starts_with(built)) {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(from).exists(), "{from}");
        }
        assert!(["644", "755"].contains(&mode), "{mode}");
        to.push(format!("/{at}"));
    }
    for file in deb["conf-files"].as_array().unwrap() {
        assert!(to.iter().any(|at| Some(at.as_str()) == file.as_str()), "{file}");
    }
    for unit in deb["systemd-units"].as_array().unwrap() {
        let service = format!("packaging/{}.service", unit["unit-name"].as_str().unwrap());
        let unit = read(&service);
        for line in unit.lines().filter_map(|line| line.strip_prefix("ExecStart").and_then(|line| line.split_once('=')))
        {
            assert!(line.1.starts_with("/usr/bin/dovetail "), "{service}: {line:?}");
        }
    }
    // The same user in all of them.
    let user = read("packaging/dovetail-gateway.service")
        .lines()
        .find_map(|line| line.strip_prefix("User=").map(str::to_owned));
    let user = user.unwrap();
    for file in ["packaging/sysusers.d/dovetail-gateway.conf", "packaging/logrotate"] {
        assert!(read(file).contains(&user), "{file} does not name {user}");
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Responds to all requests, one per connection.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    at
}

/// Requests a path through the gateway.
fn ask(gateway: SocketAddr, origin: SocketAddr, path: &str) {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET http://{origin}/{path} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn the_log_is_rotated_and_no_line_is_lost() {
    if Command::new("logrotate").arg("--version").output().is_err() {
        return dovetail_skip::skipped("there is no logrotate");
    }
    let folder = folder("rotated");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let log = folder.join("access.log");
    let config = folder.join("gateway.toml");
    let text = format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\n[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n[access]\nclients = \"127.0.0.1\"\n\
         destinations = {{ allow = \"127.0.0.1\" }}\n[log]\naccess = \"{}\"\n",
        log.display()
    );
    fs::write(&config, text).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(["gateway", "--config"])
        .arg(&config)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut said = BufReader::new(running.0.stderr.take().unwrap()).lines();
    let at = loop {
        let line = said.next().unwrap().unwrap();
        if let Some(at) = line.strip_prefix("dovetail: listening at ") {
            break at.parse().unwrap();
        }
    };
    thread::spawn(move || said.for_each(drop));

    // The packaged file, for another log, with a signal as sent by the unit's reload.
    let packaged = read("packaging/logrotate");
    let unit = read("packaging/dovetail-gateway.service");
    assert!(unit.contains("ExecReload=/bin/kill -HUP $MAINPID"));
    let (before, after) =
        (packaged.split("    postrotate\n").next().unwrap(), packaged.split("    endscript\n").nth(1).unwrap());
    let su = "    su dovetail-gateway dovetail-gateway\n";
    assert!(before.contains(su));
    let before = before.replace("/var/log/dovetail/access.log", log.to_str().unwrap()).replace(su, "");
    let rotation = format!("{before}    postrotate\n        kill -HUP {}\n    endscript\n{after}", running.0.id());
    let file = folder.join("logrotate");
    fs::write(&file, rotation).unwrap();
    let rotate = || {
        let mut command = Command::new("logrotate");
        command.args(["--force", "--state"]).arg(folder.join("state")).arg(&file);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let all = || -> String {
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.file_name().unwrap().to_str().unwrap().starts_with("access.log"));
        let text = |file: &PathBuf| {
            let mut text = String::new();
            let open = fs::File::open(file).unwrap();
            if file.extension().is_some_and(|end| end == "gz") {
                flate2::read::GzDecoder::new(open).read_to_string(&mut text).unwrap();
            } else {
                BufReader::new(open).read_to_string(&mut text).unwrap();
            }
            text
        };
        files.iter().map(text).collect()
    };
    let origin = origin();
    let mut asked = 0;
    for round in 0..4 {
        // Requests before, during and after a rotation.
        thread::scope(|scope| {
            let asks = scope.spawn(move || (0..50).for_each(|number| ask(at, origin, &format!("r{round}-{number}"))));
            if round > 0 {
                rotate();
            }
            asks.join().unwrap();
        });
        asked += 50;
        let began = Instant::now();
        while all().lines().count() < asked || !log.exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "{} of {asked} lines", all().lines().count());
            thread::sleep(Duration::from_millis(50));
        }
    }
    let said = all();
    assert_eq!(said.lines().count(), asked, "a line twice");
    for round in 0..4 {
        assert!((0..50).all(|number| said.contains(&format!("/r{round}-{number} "))), "round {round}: {said}");
    }
    // The newest is not compressed, the others are.
    for (name, is_there) in [("access.log.1", true), ("access.log.2.gz", true), ("access.log.1.gz", false)] {
        assert_eq!(folder.join(name).exists(), is_there, "{name}");
    }
    let checked = dovetail(&["gateway", "--check", "--config", config.to_str().unwrap()]);
    assert!(checked.status.success());
}
