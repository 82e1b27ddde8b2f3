//! `dovetail gateway`: runs the HTTP gateway, or says what its configuration means.

use std::io::Write;

use crate::{args::GatewayArgs, failure::Failure};

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &GatewayArgs, out: &mut dyn Write) -> Result<(), Failure> {
    use dovetail_gateway::{check, config::Config, run_until_signalled};

    crate::logging::install()?;
    let config = Config::read(&args.config).map_err(Failure::new)?;
    if args.check {
        let warnings = check(&config).map_err(Failure::new)?;
        let warnings: String = warnings.into_iter().map(|warning| format!("warning: {warning}\n")).collect();
        return Ok(dovetail_compare::output::print(out, &format!("{}{warnings}", config.describe()))?);
    }
    run_until_signalled(config, args.config.clone(), args.take_over, |addresses| {
        let places: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        tracing::info!("listening at {}", places.join(", "));
    })
    .map_err(Failure::new)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &GatewayArgs, _: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::new("the gateway needs Linux: it sets how connections are read by its socket options"))
}
