//! The programs of the folder `programs`, and the one in the book, each compared with an oracle that shares no code with it
//! or runs natively.

use std::{
    cell::{Cell, RefCell},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use dovetail_box::{
    functions::{NetworkFunction, Reason, Verdict},
    programs::{MAX_PROGRAMS, MODULE_BYTES, Program, ProgramLimits},
};
use etherparse::{PacketBuilder, SlicedPacket};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::writing::{compile, wasm};

#[path = "../../../../programs/rust/mark/src/mark.rs"]
mod mark;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn from_file(module: &Path) -> Program {
    compile(&fs::read(module).unwrap(), ProgramLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Cargo for a crate that has its own settings, which cargo finds from there: flags for coverage and the like do not apply.
fn cargo(command: &str, target: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([command, "--offline", "--target-dir"]).arg(target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    cargo
}

/// Whether Rust can build for WebAssembly.
fn has_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim());
    let has = sysroot.join("lib/rustlib/wasm32-unknown-unknown").is_dir();
    if !has {
        dovetail_skip::skipped(
            "rustc has no target wasm32-unknown-unknown ('rustup target add wasm32-unknown-unknown')",
        );
    }
    has
}

/// Builds the crate in a folder, if the target is installed.
fn from_rust(folder: &Path, name: &str) -> Option<Program> {
    if !has_target() {
        return None;
    }
    let target = tempfile::tempdir().unwrap();
    let built = cargo("build", target.path()).args(["--release", "--quiet"]).current_dir(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(from_file(&target.path().join("wasm32-unknown-unknown/release").join(name).with_extension("wasm")))
}

/// Builds one C file, if the tools are installed.
fn from_c(source: &Path) -> Option<Program> {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !has("clang") || !has("wasm-ld") {
        dovetail_skip::skipped("clang and wasm-ld (lld) are not both here");
        return None;
    }
    let target = tempfile::tempdir().unwrap();
    let module = target.path().join("built.wasm");
    let built = Command::new("clang")
        .args(["--target=wasm32", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-Werror", "-nostdlib"])
        .args(["-Wl,--no-entry,--strip-all", "-I"])
        .arg(root().join("programs/c"))
        .arg("-o")
        .args([&module, source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(from_file(&module))
}

/// A UDP or TCP packet, possibly in a VLAN, possibly corrupted afterwards.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop::collection::vec(any::<u8>(), 0..1400);
    let damage = prop::collection::vec((0usize..80, any::<u8>()), 0..3);
    (any::<[bool; 3]>(), 0u8..6, any::<u8>(), payload, damage).prop_map(
        |([v6, tcp, tagged], flow, dscp, payload, damage)| {
            let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
            let mut frame = Vec::new();
            let (v4, wide) = ([10, 0, 0, flow], [flow; 16]);
            let link = match (tagged, v6) {
                (false, false) => link.ipv4(v4, [10, 9, 9, 9], 64),
                (false, true) => link.ipv6(wide, [9; 16], 64),
                (true, false) => link.single_vlan(7.try_into().unwrap()).ipv4(v4, [10, 9, 9, 9], 64),
                (true, true) => link.single_vlan(7.try_into().unwrap()).ipv6(wide, [9; 16], 64),
            };
            if tcp {
                link.tcp(1000 + u16::from(flow), 443, 1, 1000).write(&mut frame, &payload).unwrap();
            } else {
                link.udp(1000 + u16::from(flow), 443).write(&mut frame, &payload).unwrap();
            }
            if !v6 && !tagged {
                frame[15] = dscp;
                rewrite_checksum(&mut frame);
            }
            for (at, byte) in damage {
                if let Some(place) = frame.get_mut(at) {
                    *place = byte;
                }
            }
            frame
        },
    )
}

fn rewrite_checksum(frame: &mut [u8]) {
    let sum: u32 =
        (14..34).step_by(2).filter(|&at| at != 24).map(|at| u32::from(frame[at]) << 8 | u32::from(frame[at + 1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn the_rust_program_does_what_its_source_does_natively() {
    let Some(program) = from_rust(&root().join("programs/rust"), "mark") else { return };
    let program = RefCell::new(program);
    let native = RefCell::new(mark::Marker::NEW);
    let mut marked = [0u64; 2];
    TestRunner::default()
        .run(&prop::collection::vec(frame(), 1..40), |frames| {
            for came in frames.iter().filter(|frame| frame.len() >= 14) {
                let (mut frame, mut expected) = (came.clone(), came.clone());
                let verdict =
                    if native.borrow_mut().mark(&mut expected) { Verdict::Forward } else { Verdict::Untouched };
                prop_assert_eq!(program.borrow_mut().process(&mut frame), verdict);
                prop_assert_eq!(frame, expected);
            }
            Ok(())
        })
        .unwrap();
    assert!(program.borrow().counts().handled > 0);
    assert_eq!(program.borrow().counts().trapped, 0);
    // And the source does what it says, according to another library: the class, the checksum, nothing else.
    let mut native = mark::Marker::NEW;
    for packet in 0..2 * mark::FEW {
        let mut frame = Vec::new();
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        link.ipv4([10, 0, 0, 1], [10, 9, 9, 9], 64).udp(5000, 53).write(&mut frame, &[1, 2, 3]).unwrap();
        assert!(native.mark(&mut frame));
        let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4") };
        let header = ip.header().to_header();
        assert_eq!(header.calc_header_checksum(), header.header_checksum);
        let expected = if packet < mark::FEW { mark::FIRST } else { mark::LATER };
        assert_eq!(u8::from(header.dscp), expected);
        marked[usize::from(packet >= mark::FEW)] += 1;
    }
    assert_eq!(marked, [16, 16]);
}

/// The part of the payload that `mask` masks, according to another library's parser.
fn masked_part(frame: &[u8]) -> Option<std::ops::Range<usize>> {
    let is_plain = frame.get(12..14) == Some(&[8, 0]) && frame[14] >> 4 == 4;
    let header = usize::from(frame.get(14)? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*frame.get(16)?, *frame.get(17)?]));
    let fragment = u16::from_be_bytes([*frame.get(20)?, *frame.get(21)?]) & 0x3fff != 0;
    let fits = frame.len() >= 42 && header >= 20 && total >= header + 8 && total + 14 <= frame.len();
    (is_plain && frame[23] == 17 && !fragment && fits).then(|| 14 + header + 8..14 + total)
}

#[test]
fn the_c_program_masks_payloads_and_restores_them() {
    let build = || from_c(&root().join("programs/c/mask.c"));
    let (Some(program), Some(other_end)) = (build(), build()) else { return };
    let (program, other_end) = (RefCell::new(program), RefCell::new(other_end));
    let masked = Cell::new(0);
    TestRunner::default()
        .run(&frame().prop_filter("a frame", |frame| frame.len() >= 14), |came| {
            let mut frame = came.clone();
            let verdict = program.borrow_mut().process(&mut frame);
            let Some(payload) = masked_part(&came) else {
                prop_assert_eq!((verdict, frame), (Verdict::Untouched, came));
                return Ok(());
            };
            masked.set(masked.get() + 1);
            prop_assert_eq!(verdict, Verdict::Forward);
            let mut without = came.clone();
            without[payload.start - 2..payload.start].fill(0);
            prop_assert_eq!(&frame[..payload.start], &without[..payload.start]);
            prop_assert_eq!(&frame[payload.end..], &without[payload.end..]);
            let changed = payload.clone().filter(|&at| frame[at] != came[at]).count();
            prop_assert_eq!(changed, payload.len(), "no byte of the key is 0");
            prop_assert_eq!(other_end.borrow_mut().process(&mut frame), Verdict::Forward);
            prop_assert_eq!(frame, without);
            Ok(())
        })
        .unwrap();
    assert!(masked.get() > 0, "no packet was one to be masked");
}

#[test]
fn the_program_in_webassembly_text_appends_the_check_sequence() {
    let text = fs::read_to_string(root().join("programs/wat/seal.wat")).unwrap();
    let mut program = compile(&wasm(&text), ProgramLimits::default()).unwrap();
    // CRC-32 from its definition, bit by bit.
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
        })
    };
    assert_eq!(crc(b"123456789"), 0xcbf4_3926, "the catalogue's check value");
    for length in [14usize, 15, 60, 1514, 9018] {
        let came: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
        let mut frame = came.clone();
        assert_eq!(program.process(&mut frame), Verdict::Forward);
        assert_eq!(frame, [&came[..], &crc(&came).to_le_bytes()].concat());
    }
    let narrow = ProgramLimits { growth_bytes: 3, ..ProgramLimits::default() };
    assert_eq!(compile(&wasm(&text), narrow).unwrap().process(&mut vec![0; 60]), Verdict::Untouched);
}

/// The code blocks of a language in a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

fn page() -> String {
    fs::read_to_string(root().join("docs/programs.md")).unwrap()
}

/// The only program of a language in the book.
fn of_the_book(language: &str) -> String {
    let mut blocks = blocks(&page(), language);
    assert_eq!(blocks.len(), 1, "one program in {language} was expected");
    blocks.remove(0)
}

/// It removes tags, as the book says.
fn assert_untags(mut program: Program) {
    let frame = |kind: [u8; 2], length: u8| {
        let mut frame: Vec<u8> = (0..length).collect();
        frame[12..14].copy_from_slice(&kind);
        frame
    };
    let mut verdict_on = |mut frame: Vec<u8>| (program.process(&mut frame), frame);
    let tagged = frame([0x81, 0], 64);
    assert_eq!(verdict_on(tagged.clone()), (Verdict::Forward, [&tagged[..12], &tagged[16..]].concat()));
    for untouched in [frame([8, 0], 64), frame([0, 0x81], 64), frame([0x81, 0], 17)] {
        assert_eq!(verdict_on(untouched.clone()), (Verdict::Untouched, untouched));
    }
    let dropped = frame([0x88, 0xa8], 64);
    assert_eq!(verdict_on(dropped.clone()), (Verdict::Drop(Reason::Refused), dropped));
}

#[test]
fn the_book_s_program_in_webassembly_text_runs() {
    assert_untags(compile(&wasm(&of_the_book("wat")), ProgramLimits::default()).unwrap());
}

#[test]
fn the_book_s_program_in_c_runs() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("untag.c");
    fs::write(&source, of_the_book("c")).unwrap();
    let Some(program) = from_c(&source) else { return };
    assert_untags(program);
    // The command as the book has it, in the repository's folder.
    std::os::unix::fs::symlink(root().join("programs"), folder.path().join("programs")).unwrap();
    let page = page();
    let command = page.lines().find_map(|line| line.strip_prefix("$ clang ")).unwrap();
    let built = Command::new("clang").args(command.split(' ')).current_dir(folder.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_untags(from_file(&folder.path().join("untag.wasm")));
}

/// The book's crate beside a link to the repository, made as the book says.
fn crate_of_the_book(folder: &Path) -> PathBuf {
    std::os::unix::fs::symlink(root(), folder.join("dovetail")).unwrap();
    let own = folder.join("untag");
    for part in ["src", ".cargo"] {
        fs::create_dir_all(own.join(part)).unwrap();
    }
    let manifest = blocks(&page(), "toml").into_iter().find(|block| block.starts_with("[package]")).unwrap();
    fs::write(own.join("Cargo.toml"), manifest).unwrap();
    fs::write(own.join("src/lib.rs"), of_the_book("rust")).unwrap();
    fs::copy(root().join("programs/rust/.cargo/config.toml"), own.join(".cargo/config.toml")).unwrap();
    own
}

#[test]
fn the_book_s_program_in_rust_runs() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(program) = from_rust(&crate_of_the_book(folder.path()), "untag") {
        assert_untags(program);
    }
}

#[test]
fn the_tests_of_the_book_s_program_in_rust_run_here_and_compile_for_webassembly() {
    let folder = tempfile::tempdir().unwrap();
    let own = crate_of_the_book(folder.path());
    let host = Command::new("rustc").args(["--print", "host-tuple"]).output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap().trim().to_owned();
    // What runs these tests may collect tests to run them later.
    let runner = format!("CARGO_TARGET_{}_RUNNER", host.to_uppercase().replace('-', "_"));
    let test = |arguments: &[&str]| {
        let mut command = cargo("test", Path::new("target"));
        let output = command.args(arguments).env_remove(&runner).current_dir(&own).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(output.status.success() && !said.contains("warning"), "{said}");
        said
    };
    let said = test(&["--target", &host]);
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
    if has_target() {
        test(&["--no-run"]);
    }
}

#[test]
fn the_book_s_figures_are_the_box_s() {
    let page = page();
    let defaults = ProgramLimits::default();
    for (limit, shown) in [
        ("fuel_per_packet", grouped(defaults.fuel_per_packet)),
        ("memory_bytes", format!("{} MiB", defaults.memory_bytes >> 20)),
        ("frame_bytes", grouped(defaults.frame_bytes as u64)),
        ("growth_bytes", grouped(defaults.growth_bytes as u64)),
        ("traps", grouped(defaults.traps.into())),
        ("packets_to_forget_a_trap", grouped(defaults.packets_to_forget_a_trap.into())),
        ("quarantined", format!("{:?}", defaults.quarantined).to_lowercase()),
    ] {
        assert!(page.contains(&format!("| `{limit}` | {shown} |")), "{limit} is {shown}");
    }
    assert!(page.contains(&format!("modules of {} MiB, {MAX_PROGRAMS} programs", MODULE_BYTES >> 20)));
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
