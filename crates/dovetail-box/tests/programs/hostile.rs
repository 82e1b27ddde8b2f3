//! Modules that are rejected, each with its error.

use std::fmt::Write;

use dovetail_box::programs::{MODULE_BYTES, ProgramLimits};

use crate::writing::{compile, handling, wasm, with};

/// The error of a module.
#[track_caller]
fn refusal(module: &[u8]) -> String {
    match compile(module, ProgramLimits::default()) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn assert_refused(text: &str, because: &str) {
    let said = refusal(&wasm(text));
    assert!(said.starts_with("tested: ") && said.contains(because), "'{said}' does not say '{because}'");
}

#[test]
fn what_is_no_module() {
    let invalid = "tested: not a valid WebAssembly module";
    for module in [&b""[..], b"MZ", &[0; 4096], b"(module)", b"\x7fELF\x02\x01\x01"] {
        assert_eq!(refusal(module), "tested: not a WebAssembly file");
    }
    // The rest is the compiler's, on one line.
    for module in [&b"\0asm"[..], b"\0asm\x09\0\0\0"] {
        let said = refusal(module);
        assert!(said.starts_with(invalid) && !said.contains(['\n', '\\']), "{said}");
    }
    let good = wasm(&handling("(i64.const 0)"));
    // Its code is followed by the names of its parameters, which are not needed.
    let names = good.windows(4).position(|bytes| bytes == b"name").unwrap() - 3;
    for length in 8..names {
        // Some prefixes are modules, but never with all exports.
        let said = refusal(&good[..length]);
        assert!(said.starts_with(invalid) || said.contains("does not export"), "{length} bytes: {said}");
    }
    let component = [b"\0asm", &[0x0d, 0, 1, 0][..]].concat();
    assert!(refusal(&component).contains("it is a component"));
    assert_refused(&handling("(i32.const 0)"), "not a valid WebAssembly module: ");
}

#[test]
fn a_module_that_is_too_long() {
    let said = refusal(&vec![0; MODULE_BYTES as usize + 1]);
    assert_eq!(said, "tested: longer than 4 MiB, the most for a program");
    // One of maximum length, by a section that is not read.
    let mut module = wasm(&handling("(i64.const 0)"));
    let left = MODULE_BYTES as usize - module.len() - 1 - 4;
    module.push(0);
    // In LEB128, always four bytes here.
    module.extend((0..4).map(|part| (left >> (7 * part)) as u8 & 0x7f | if part < 3 { 0x80 } else { 0 }));
    module.resize(MODULE_BYTES as usize, 1);
    assert!(compile(&module, ProgramLimits::default()).is_ok());
}

#[test]
fn imports() {
    let import = |import: &str| format!("(module (import {import}) (memory (export \"memory\") 1))");
    for (what, named) in [
        (
            r#""wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))"#,
            "wasi_snapshot_preview1.fd_write",
        ),
        (r#""env" "memory" (memory 1)"#, "env.memory"),
        (r#""env" "global" (global i32)"#, "env.global"),
        (r#""env" "\1b[2J" (func)"#, "env.\\u{1b}[2J"),
    ] {
        let text = if what.contains("(memory 1)") { format!("(module (import {what}))") } else { import(what) };
        assert_refused(&text, &format!("imports {named}: a program may import nothing"));
    }
}

#[test]
fn exports_that_are_missing_or_others() {
    let good = handling("(i64.const 0)");
    for (from, to, lacks) in [
        ("(memory (export \"memory\") 2)", "(memory 2)", "a memory called 'memory'"),
        (
            "(memory (export \"memory\") 2)",
            "(memory 2) (global (export \"memory\") i32 (i32.const 0))",
            "a memory called",
        ),
        ("\"dv_abi\"", "\"dv_ab\"", "dv_abi: () -> i32"),
        ("\"dv_abi\") (result i32) (i32.const 1)", "\"dv_abi\") (result i64) (i64.const 1)", "dv_abi: () -> i32"),
        ("\"dv_buffer\"", "\"dv_bufer\"", "dv_buffer: (i32) -> i32"),
        ("\"dv_buffer\") (param i32)", "\"dv_buffer\")", "dv_buffer: (i32) -> i32"),
        ("\"dv_process\"", "\"process\"", "dv_process: (i32, i32, i32) -> i64"),
        ("(param $most i32)", "(param $most i64)", "dv_process: (i32, i32, i32) -> i64"),
        ("(result i64) (i64.const 0)", "(result i32) (i32.const 0)", "dv_process: (i32, i32, i32) -> i64"),
    ] {
        assert_ne!(good.replace(from, to), good, "{from}");
        assert_refused(&good.replace(from, to), &format!("does not export {lacks}"));
    }
}

#[test]
fn another_version_of_the_interface() {
    let text = handling("(i64.const 0)").replace("(i32.const 1))", "(i32.const 2))");
    assert_refused(&text, "is for version 2 of the interface (dv_abi); this box has version 1");
}

#[test]
fn what_fails_before_the_first_packet() {
    let endless = "(func $init (loop $again (br $again)))";
    let start = |function: &str| with(&format!("{function} (start $init)"), "(i64.const 0)");
    assert_refused(&start(endless), "initialization (start function and data segments) runs out of fuel");
    assert_refused(
        &start("(func $init unreachable)"),
        "data segments) traps (wasm trap: wasm `unreachable` instruction executed)",
    );
    assert!(compile(&wasm(&start("(func $init)")), ProgramLimits::default()).is_ok());
    let good = handling("(i64.const 0)");
    let abi = good.replace("(result i32) (i32.const 1)", "(result i32) (loop $again (br $again)) (i32.const 1)");
    assert_refused(&abi, "tested: dv_abi runs out of fuel");
    let buffer = |answer: &str| good.replace("(i32.const 1024)", answer);
    assert_refused(
        &buffer("unreachable"),
        "tested: dv_buffer traps (wasm trap: wasm `unreachable` instruction executed)",
    );
    assert_refused(&buffer("(loop $again (br $again)) unreachable"), "tested: dv_buffer runs out of fuel");
    for (answer, shown) in [
        ("(i32.const 0)", "0"),
        ("(i32.const 131072)", "131072"),
        ("(i32.const 65300)", "65300"),
        ("(i32.const -1)", "4294967295"),
        ("(i32.const 0x80000000)", "2147483648"),
    ] {
        let said = format!("no room for a frame: dv_buffer(65813) returns {shown}, and its memory has 131072 bytes");
        assert_refused(&buffer(answer), &said);
    }
}

#[test]
fn memories_tables_and_data_beyond_the_limits() {
    let memory = |pages: &str| handling("(i64.const 0)").replace("\"memory\") 2", &format!("\"memory\") {pages}"));
    assert_refused(&memory("17"), "begins with 1114112 bytes of memory; the most is 1048576");
    assert_refused(&memory("65536"), "begins with 4294967296 bytes of memory");
    assert!(compile(&wasm(&memory("16 65536")), ProgramLimits::default()).is_ok(), "it just cannot grow so far");
    let module = |more: &str| with(more, "(i64.const 0)");
    assert_refused(&module("(table 10001 funcref)"), "has 10001 table elements; the most is 10000");
    assert_refused(&module("(table 4294967295 funcref) (table 4294967295 funcref)"), "table elements");
    assert_refused(&module(&"(table 1 funcref)".repeat(17)), "has 17 tables; the most is 16");
    assert_refused(
        &module("(data (i32.const 131072) \"x\")"),
        "data segments) traps (wasm trap: out of bounds memory access)",
    );
    assert_refused(&module("(data (i32.const -1) \"x\")"), "data segments) traps");
    assert_refused(&module("(table 1 funcref) (elem (i32.const 1) 0)"), "data segments) traps");
    assert_refused(&module("(memory 1)"), "not a valid WebAssembly module");
    let wide = handling("(i64.const 0)").replace("\"memory\") 2", "\"memory\") i64 2");
    assert_refused(&wide, "not a valid WebAssembly module");
}

#[test]
fn too_many_declarations() {
    let many = |what: fn(usize) -> String| with(&(0..10_001).map(what).collect::<String>(), "(i64.const 0)");
    assert_refused(&many(|n| format!("(export \"e{n}\" (func 0))")), "has 10005 exports; the most is 10000");
    assert_refused(&many(|_| "(func)".to_owned()), "has 10004 functions; the most is 10000");
    assert_refused(&many(|_| "(global i32 (i32.const 0))".to_owned()), "has 10001 globals");
    assert_refused(&many(|_| "(data \"\")".to_owned()), "has 10001 data segments");
    assert_refused(&many(|_| "(elem func)".to_owned()), "has 10001 element segments");
    let parameters = format!("(func (param {}))", "i32 ".repeat(33));
    assert_refused(&with(&parameters, "(i64.const 0)"), "has 33 parameters and results of one type");
}

/// `body` in a function with this many locals.
fn function(locals: usize, body: &str) -> String {
    with(&format!("(func (param i32) (local {}) {body})", "i32 ".repeat(locals)), "(i64.const 0)")
}

#[test]
fn functions_that_would_take_the_compiler_too_long() {
    assert_refused(
        &function(513, ""),
        "function 3 has 513 locals; the most is 512, since compiling more takes too long",
    );
    let long = "(local.set 0 (i32.const 1))".repeat(20_000);
    assert_refused(&function(1, &long), "function 3 has 80004 bytes; the most is 65536");
    let nested = |loops: usize| format!("{} {}", "loop ".repeat(loops), "local.get 0 br_if 0 end ".repeat(loops));
    assert_refused(&function(1, &nested(17)), "function 3 has 17 nested loops; the most is 16");
    assert!(compile(&wasm(&function(1, &nested(16).repeat(10))), ProgramLimits::default()).is_ok());
    let branching = "block local.get 0 br_if 0 end ".repeat(5000);
    assert_refused(&function(1, &branching), "bytes times branches in its functions; the most is 134217728");
    let mut table = String::from("block local.get 0 br_table ");
    for _ in 0..60_000 {
        write!(table, "0 ").unwrap();
    }
    assert_refused(&function(1, &format!("{table} end")), "bytes times branches in its functions");
    let growing = "(table.copy (local.get 0) (local.get 0) (local.get 0)) ".repeat(3000);
    let growing = function(1, &growing).replace("(memory (export", "(table 1 funcref) (memory (export");
    assert_refused(&growing, "bytes times branches in its functions");
}

/// Nested blocks exhaust neither the compiler's stack nor its time.
#[test]
fn blocks_within_blocks_are_no_harm() {
    let blocks = 1500;
    let body = format!("{} {}", "block ".repeat(blocks), "local.get 0 br_if 0 end ".repeat(blocks));
    assert!(compile(&wasm(&function(8, &body)), ProgramLimits::default()).is_ok());
}
