//! Checks on a module before it is compiled.
//!
//! A compiler's time and memory are not linear in a module's length: they grow with a function's blocks times the values
//! that live through them, and again with the nesting depth of its loops. A function of 8 KiB with a thousand nested loops
//! takes half a minute to compile. So the loops are bounded, and so is the sum over all functions of bytes times branches,
//! far above what programs need; what remains takes seconds at worst. The other checks are counts.

use wasmtime::wasmparser::{BinaryReaderError, Encoding, FunctionBody, Operator, Parser, Payload};

use super::{
    error::{Flaw, printable},
    limits::{MODULE_BYTES, ProgramLimits},
};

/// Maximum length of a function, in bytes.
const FUNCTION_BYTES: u64 = 64 << 10;
/// Maximum depth of nested loops.
const NESTED_LOOPS: u64 = 16;
/// Maximum work of a module: the sum over its functions of bytes times branches.
const WORK: u64 = 1 << 27;
/// Maximum number of locals of a function, without its parameters.
const LOCALS: u64 = 512;
/// Maximum number of parameters and results of a function or a block together.
const PARAMETERS: u64 = 32;
/// Maximum number of tables.
pub(super) const TABLES: usize = 16;
/// Maximum number of initial elements of all tables, and of elements of each table later.
pub(super) const TABLE_ELEMENTS: usize = 10_000;
/// Maximum number of any other declarations of a module.
const DECLARATIONS: u64 = 10_000;
/// Size of a memory page.
const PAGE_BYTES: u64 = 64 << 10;

/// Rejects modules that can be rejected without compiling them.
pub(super) fn inspect(module: &[u8], limits: &ProgramLimits) -> Result<(), Flaw> {
    if module.len() as u64 > MODULE_BYTES {
        return Err(Flaw::TooLong);
    }
    if !module.starts_with(b"\0asm") {
        return Err(Flaw::NotWebAssembly);
    }
    let (mut functions, mut work) = (0, 0u64);
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(invalid)? {
            Payload::Version { encoding: Encoding::Component, .. } => {
                return Err(Flaw::Invalid("it is a component; build a core module".to_owned()));
            }
            Payload::TypeSection(types) => {
                count("types", types.count().into(), DECLARATIONS)?;
                for ty in types.into_iter_err_on_gc_types() {
                    let ty = ty.map_err(invalid)?;
                    let values = ty.params().len() + ty.results().len();
                    count("parameters and results of one type", values as u64, PARAMETERS)?;
                }
            }
            Payload::ImportSection(imports) => {
                if let Some(import) = imports.into_imports().next() {
                    let import = import.map_err(invalid)?;
                    return Err(Flaw::Import(printable(format_args!("{}.{}", import.module, import.name))));
                }
            }
            Payload::FunctionSection(section) => count("functions", section.count().into(), DECLARATIONS)?,
            Payload::TableSection(tables) => {
                count("tables", tables.count().into(), TABLES as u64)?;
                let mut elements = 0u64;
                for table in tables {
                    elements = elements.saturating_add(table.map_err(invalid)?.ty.initial);
                }
                count("table elements", elements, TABLE_ELEMENTS as u64)?;
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let bytes = memory.map_err(invalid)?.initial.saturating_mul(PAGE_BYTES);
                    let most = limits.memory_bytes as u64;
                    if bytes > most {
                        return Err(Flaw::Memory { bytes, most });
                    }
                }
            }
            Payload::GlobalSection(section) => count("globals", section.count().into(), DECLARATIONS)?,
            Payload::ExportSection(section) => count("exports", section.count().into(), DECLARATIONS)?,
            Payload::ElementSection(section) => {
                count("element segments", section.count().into(), DECLARATIONS)?;
            }
            Payload::DataSection(section) => count("data segments", section.count().into(), DECLARATIONS)?,
            Payload::CodeSectionEntry(body) => {
                work = work.saturating_add(function(&body, functions)?);
                count("bytes times branches in its functions", work, WORK)?;
                functions += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

fn count(what: &'static str, count: u64, most: u64) -> Result<(), Flaw> {
    if count > most { Err(Flaw::TooMany { what, count, most }) } else { Ok(()) }
}

/// A function's contribution to the module's work.
fn function(body: &FunctionBody<'_>, index: usize) -> Result<u64, Flaw> {
    let bounded = |what, count, most| {
        if count > most { Err(Flaw::LargeFunction { index, what, count, most }) } else { Ok(()) }
    };
    let bytes = body.range().len() as u64;
    bounded("bytes", bytes, FUNCTION_BYTES)?;
    let mut locals = 0u64;
    for local in body.get_locals_reader().map_err(invalid)? {
        let (many, _) = local.map_err(invalid)?;
        locals += u64::from(many);
    }
    bounded("locals", locals, LOCALS)?;
    let mut branches = 1;
    // For each open block, whether it is a loop.
    let mut open = Vec::new();
    let mut loops = 0;
    for operator in body.get_operators_reader().map_err(invalid)? {
        let operator = operator.map_err(invalid)?;
        match operator {
            Operator::Loop { .. } => {
                open.push(true);
                loops += 1;
                bounded("nested loops", loops, NESTED_LOOPS)?;
            }
            Operator::Block { .. } | Operator::If { .. } => open.push(false),
            Operator::End if open.pop() == Some(true) => loops -= 1,
            _ => {}
        }
        branches += compiled_branches(&operator);
    }
    Ok(bytes.saturating_mul(branches))
}

/// Number of branches in the machine code of an instruction.
fn compiled_branches(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::BrTable { targets } => 1 + u64::from(targets.len()),
        Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::If { .. }
        | Operator::Else
        | Operator::Br { .. }
        | Operator::BrIf { .. }
        | Operator::Return
        | Operator::Unreachable
        | Operator::CallIndirect { .. }
        | Operator::TableGet { .. }
        | Operator::TableSet { .. }
        | Operator::MemoryCopy { .. }
        | Operator::MemoryFill { .. }
        | Operator::MemoryInit { .. } => 1,
        // Loops over elements, and calls into the host that loop there.
        Operator::TableCopy { .. }
        | Operator::TableFill { .. }
        | Operator::TableInit { .. }
        | Operator::TableGrow { .. }
        | Operator::MemoryGrow { .. } => 4,
        _ => 0,
    }
}

fn invalid(error: BinaryReaderError) -> Flaw {
    Flaw::Invalid(printable(error))
}
