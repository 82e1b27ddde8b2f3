//! `dovetail middlebox`: runs a box between two interfaces, or explains its configuration.

use std::io::Write;

use crate::{args::MiddleboxArgs, failure::Failure};

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &MiddleboxArgs, out: &mut dyn Write) -> Result<(), Failure> {
    use dovetail_box::{
        config::Config,
        live::{Files, check, check_programs, in_use, run_until_signalled},
    };

    crate::logging::install()?;
    let config = Config::read(&args.config).map_err(Failure::new)?;
    if args.nftables {
        // The interfaces may be created after the firewall.
        let tables = config.nftables().map_err(Failure::new)?;
        return Ok(dovetail_compare::output::print(out, &tables)?);
    }
    let mut warnings = check(&config).map_err(Failure::new)?;
    if args.check {
        warnings.extend(in_use(&config).map_err(Failure::new)?);
        // A box compiles them itself when it starts, and warns then.
        let programs = check_programs(&config).map_err(Failure::new)?;
        warnings.extend(programs.warnings);
        let warnings: String = warnings.into_iter().map(|warning| format!("warning: {warning}\n")).collect();
        return Ok(dovetail_compare::output::print(
            out,
            &format!("{}{}{warnings}", config.describe(), programs.costs),
        )?);
    }
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let [inside, outside] = config.interfaces.clone();
    let admin = config.admin.as_ref().map_or(String::new(), |admin| format!(", admin at http://{}", admin.listen));
    let files = Files { records: args.records.clone(), capture: args.pcap.clone() };
    run_until_signalled(config, args.config.clone(), &files, |_| {
        tracing::info!("running between {inside} and {outside}{admin}")
    })
    .map_err(Failure::new)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &MiddleboxArgs, _: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::new("the middlebox needs Linux: its packet sockets and the switch that fails open are Linux's"))
}
