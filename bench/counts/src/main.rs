//! Prints instruction counts per packet, beside the committed ones.

use std::{
    collections::BTreeMap,
    env, fs, mem,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use clap::{Parser, Subcommand};
use comfy_table::{CellAlignment, Table, presets};
use dovetail_bench_counts::{
    digest,
    reference::{Reference, TOLERANCE, Verdict},
    valgrind::{self, Count},
    work::Work,
};

/// Prints how many instructions a packet takes, beside the committed counts.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Count only rows whose names have this in them
    #[arg(long, value_name = "TEXT")]
    row: Vec<String>,
    /// Flows, where a row does not fix them
    #[arg(long, default_value_t = FLOWS)]
    flows: u32,
    /// Count misses of simulated caches as well
    #[arg(long)]
    misses: bool,
    /// The committed counts
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// The compiler that made this program
    #[arg(long, value_name = "TEXT", default_value = "")]
    compiler: String,
    /// Fail where a count is more than 3 % over the committed one
    #[arg(long, requires = "reference")]
    check: bool,
    /// Commit these counts
    #[arg(long, requires = "reference", conflicts_with_all = ["check", "row", "flows"])]
    write: bool,
}

/// The number of flows of the committed counts.
const FLOWS: u32 = 1_000;

#[derive(Subcommand)]
enum Command {
    /// Does a row's work, and says nothing
    Work {
        /// The row
        name: String,
        /// Flows, where it does not fix them
        flows: u32,
        /// How long to go on
        packets: u64,
    },
    /// Prints what runs come to: equal before and after a change of speed only
    Digests,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Work { name, flows, packets }) => work(name, *flows, *packets).map(|()| true),
        Some(Command::Digests) => digest::lines(|line| println!("{line}")).map(|()| true),
        None => print(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(name: &str, flows: u32, packets: u64) -> Result<(), String> {
    let all = Work::all(flows)?;
    let work = all.iter().find(|work| work.name == name).ok_or_else(|| format!("no row '{name}'"))?;
    work.run(packets)
}

/// Counts, prints and compares; returns whether all is well.
fn print(args: &Args) -> Result<bool, String> {
    let version = match valgrind::version() {
        Ok(version) => version,
        Err(error) => {
            println!("skipped: nothing was counted, as valgrind could not be started: {error}");
            return Ok(true);
        }
    };
    let mut all = Work::all(args.flows)?;
    all.retain(|work| args.row.is_empty() || args.row.iter().any(|text| work.name.contains(text)));
    let counts = count(&all, args)?;
    let reference = args.reference.as_ref().filter(|_| !args.write).map(|file| {
        let text = fs::read_to_string(file).map_err(|error| error.to_string());
        let read = text.and_then(|text| toml::from_str::<Reference>(&text).map_err(|error| error.to_string()));
        read.map_err(|error| format!("{}: {error}", file.display()))
    });
    let mut reference = reference.transpose()?;
    let other = reference.take_if(|reference| reference.compiler != args.compiler);
    println!("instructions a packet, {version}, {}\n", args.compiler);
    println!("{}", table(&all, &counts, reference.as_ref()));
    if let Some(other) = other {
        println!("\nnot compared: the committed counts are of {}", other.compiler);
    }
    if let (true, Some(file)) = (args.write, &args.reference) {
        return write(file, args, &all, &counts).map(|()| true);
    }
    let over: Vec<String> = all
        .iter()
        .zip(&counts)
        .filter_map(|(work, count)| match reference.as_ref()?.verdict(&work.name, count.instructions) {
            Verdict::More(by) => Some(format!("{}: {:+.1} %", work.name, by * 100.0)),
            _ => None,
        })
        .collect();
    if args.check && !over.is_empty() {
        let most = TOLERANCE * 100.0;
        println!("\nmore than {most} % over the committed counts (to commit these: bench/counts/run.sh --write):");
        over.iter().for_each(|line| println!("  {line}"));
        return Ok(false);
    }
    Ok(true)
}

/// Counts each row, on all cores.
fn count(all: &[Work], args: &Args) -> Result<Vec<Count>, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let flows = args.flows.to_string();
    let (next, counted) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let one = |work: &Work| {
        let run = |packets: u64| {
            let arguments = ["work", &work.name, &flows, &packets.to_string()];
            valgrind::count(&program, &arguments, args.misses).map_err(|error| format!("{}: {error}", work.name))
        };
        let [short, long] = work.lengths();
        Ok::<_, String>(run(long)?.beyond(run(short)?, (long - short) as f64))
    };
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(work) = all.get(at) else { return };
                    let count = one(work);
                    if let Ok(mut counted) = counted.lock() {
                        counted.insert(at, count);
                    }
                }
            });
        }
    });
    let mut counted = counted.lock().map_err(|error| error.to_string())?;
    mem::take(&mut *counted).into_values().collect()
}

fn table(all: &[Work], counts: &[Count], reference: Option<&Reference>) -> Table {
    let misses = counts.iter().any(|count| count.misses.is_some());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["row", "instructions"];
    if misses {
        header.extend(["misses of 32 KiB", "of 8 MiB"]);
    }
    if reference.is_some() {
        header.extend(["committed", "change"]);
    }
    table.set_header(header);
    for (work, count) in all.iter().zip(counts) {
        let mut row = vec![work.name.clone(), format!("{:.1}", count.instructions)];
        row.extend(count.misses.into_iter().flatten().map(|misses| format!("{misses:.2}")));
        if let Some(reference) = reference {
            let committed = reference.instructions.get(&work.name);
            row.push(committed.map_or(String::new(), |committed| format!("{committed:.1}")));
            row.push(reference.verdict(&work.name, count.instructions).to_string());
        }
        table.add_row(row);
    }
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn write(file: &PathBuf, args: &Args, all: &[Work], counts: &[Count]) -> Result<(), String> {
    let instructions = all.iter().zip(counts);
    let instructions =
        instructions.map(|(work, count)| (work.name.clone(), (count.instructions * 10.0).round() / 10.0)).collect();
    let reference = Reference { compiler: args.compiler.clone(), instructions };
    let text = toml::to_string(&reference).map_err(|error| error.to_string())?;
    let head = "# Instructions a packet. Written by bench/counts/run.sh --write, and what .ci/run compares with.\n";
    fs::write(file, format!("{head}{text}")).map_err(|error| format!("{}: {error}", file.display()))
}
