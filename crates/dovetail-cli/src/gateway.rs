//! `dovetail gateway`: runs the HTTP gateway, explains its configuration, or measures the link in front of it.

use std::io::Write;

use crate::{args::GatewayArgs, bars::Bars, failure::Failure};

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &GatewayArgs, bars: &Bars, out: &mut dyn Write) -> Result<(), Failure> {
    use dovetail_gateway::{check, config::Config, run_until_signalled};

    use crate::args::GatewayCommand;

    if let Some(GatewayCommand::Doctor(args)) = &args.command {
        return crate::doctor::run(args, bars, out);
    }
    let Some(file) = &args.config else { return Err(Failure::misuse("--config: give a file")) };
    crate::logging::install()?;
    let config = Config::read(file).map_err(Failure::new)?;
    if args.check {
        let warnings = check(&config).map_err(Failure::new)?;
        let warnings: String = warnings.into_iter().map(|warning| format!("warning: {warning}\n")).collect();
        return Ok(dovetail_compare::output::print(out, &format!("{}{warnings}", config.describe()))?);
    }
    run_until_signalled(config, file.clone(), args.take_over, |addresses| {
        let places: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        tracing::info!("listening at {}", places.join(", "));
    })
    .map_err(Failure::new)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &GatewayArgs, _: &Bars, _: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::new("the gateway needs Linux: it sets how connections are read by its socket options"))
}
