//! The binary interface is as promised: sizes, offsets of fields, numbers and functions.
//!
//! `tests/abi.txt` has them for 64-bit pointers; `DOVETAIL_BLESS=1` rewrites it. Any release may add lines. A line that changes
//! or disappears requires another `DVT_ABI_VERSION`.

use std::{env, fmt::Write as _, fs, mem::offset_of};

use dovetail::structs::*;

use crate::{
    header,
    tools::{Language, crate_folder, run},
};

macro_rules! layout {
    ($lines:ident: $($name:ident { $($field:ident),+ $(,)? })+) => {
        $(
            // No field may be left out.
            let _ = |whole: &$name| { let $name { $($field: _),+ } = whole; };
            writeln!($lines, "struct {} {} {}", stringify!($name), size_of::<$name>(), align_of::<$name>()).unwrap();
            let mut end = 0;
            $(
                let size = |whole: &$name| size_of_val(&whole.$field);
                let at = offset_of!($name, $field);
                assert_eq!(at, end, "there is padding before {}.{}", stringify!($name), stringify!($field));
                end = at + size_of_field(size);
                let (at, long) = (at, end - at);
                writeln!($lines, "field {} {} {at} {long}", stringify!($name), stringify!($field)).unwrap();
            )+
            assert_eq!(end, size_of::<$name>(), "there is padding at the end of {}", stringify!($name));
            assert_eq!(offset_of!($name, size), 0);
        )+
    };
}

fn size_of_field<T>(size: impl FnOnce(&T) -> usize) -> usize {
    let place = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: structs of numbers and pointers, for which zeros are valid.
    #[allow(unsafe_code)]
    size(unsafe { place.assume_init_ref() })
}

fn structs() -> String {
    let mut lines = String::new();
    layout! { lines:
        dvt_program { size, processing, name, cost, expansion }
        dvt_setup {
            size, resources, flags, on_full, flow_packets, packets, flows, program_count, flow_bytes, bytes, programs,
        }
        dvt_packet { size, flow, bytes, resources, arrival_ns, handle, demand_ns }
        dvt_admission { size, refused, evicted, reserved }
        dvt_dispatch { size, flow, bytes, resources, arrival_ns, handle, ticket, demand_ns }
        dvt_event { size, flow, resource, stage, ticket, took_ns }
        dvt_backlog { size, reserved, packets, bytes }
        dvt_figure { size, reserved, value, name }
        dvt_learnt { size, processing, has_cost, reserved, per_byte_ns, per_packet_ns, expansion, name }
        dvt_policy { size, orders, name, cost, summary }
        dvt_request_setup { size, flags, rate, quantum, window, longest_window, overhead, ids, reserved }
        dvt_request { size, id, user, reserved, length }
        dvt_turn { size, request, releases, reserved, units, window }
        dvt_flows_setup { size, most, flags, reserved, timeout_ns, hash_key }
        dvt_five_tuple { size, source_port, destination_port, source, destination, protocol, reserved }
        dvt_lookup { size, flow, is_new, reserved }
        dvt_flow_counts { size, flows, evictions }
    }
    lines
}

/// The header's other promises: constants, numbers of enums and declarations of functions, one per line.
fn declarations(header: &str) -> String {
    let mut lines = String::new();
    let mut declaration = String::new();
    for line in header.lines() {
        if line.trim_start().starts_with(['*', '/']) {
            continue;
        }
        if let Some(constant) = line.strip_prefix("#define DVT_") {
            writeln!(lines, "constant DVT_{constant}").unwrap();
        } else if let Some(number) = line.trim_start().strip_prefix("DVT_") {
            writeln!(lines, "number DVT_{}", number.trim_end_matches(',').replace(" =", "")).unwrap();
        }
        // A function's declaration starts at the line's start, and may go on for some lines.
        if declaration.is_empty() && !(line.contains('(') && line.starts_with(|c: char| c.is_ascii_lowercase())) {
            continue;
        }
        declaration.push_str(line.trim());
        declaration.push(' ');
        if line.ends_with(';') {
            writeln!(lines, "function {}", declaration.trim()).unwrap();
            declaration.clear();
        }
    }
    lines
}

#[cfg(target_pointer_width = "64")]
#[test]
fn the_binary_interface_is_the_promised_one() {
    let now = format!("{}{}", structs(), declarations(&header::made()));
    let snapshot = crate_folder().join("tests/abi.txt");
    if env::var_os("DOVETAIL_BLESS").is_some_and(|value| value == "1") {
        fs::write(&snapshot, &now).unwrap();
    }
    let promised = fs::read_to_string(&snapshot).unwrap_or_default();
    let broken: Vec<&str> = promised.lines().filter(|line| !now.lines().any(|other| other == *line)).collect();
    assert!(broken.is_empty(), "no longer kept: {broken:#?}");
    let added: Vec<&str> = now.lines().filter(|line| !promised.lines().any(|other| other == *line)).collect();
    assert!(added.is_empty(), "not in tests/abi.txt yet (DOVETAIL_BLESS=1 writes it): {added:#?}");
}

/// C's compiler uses the same layout as Rust's.
#[cfg(target_pointer_width = "64")]
#[test]
fn c_has_the_same_layout() {
    if !Language::C11.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let snapshot = fs::read_to_string(crate_folder().join("tests/abi.txt")).unwrap();
    let mut source = String::from("#include \"dovetail.h\"\n#include <stddef.h>\n");
    let mut asserted = 0;
    for line in snapshot.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let claim = match words[..] {
            ["struct", name, size, align] => format!("sizeof({name}) == {size} && _Alignof({name}) == {align}"),
            ["field", name, field, at, size] => {
                format!("offsetof({name}, {field}) == {at} && sizeof((({name} *)0)->{field}) == {size}")
            }
            ["number", name, number] => format!("{name} == {number}"),
            _ => continue,
        };
        asserted += 1;
        writeln!(source, "_Static_assert({claim}, \"{line}\");").unwrap();
    }
    assert!(asserted > 100, "{asserted} lines only");
    for name in ["dvt_status", "dvt_stage", "dvt_drop_policy", "dvt_refusal", "dvt_processing", "dvt_orders"] {
        writeln!(source, "_Static_assert(sizeof({name}) == 4, \"{name}\");").unwrap();
    }
    let file = folder.path().join("layout.c");
    fs::write(&file, source).unwrap();
    run(Language::C11.command().arg("-fsyntax-only").arg(&file));
}
