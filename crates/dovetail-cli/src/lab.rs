//! `dovetail lab up`: a running box between namespaces of this machine.

use std::io::Write;

use crate::{args::LabArgs, failure::Failure};

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &LabArgs, out: &mut dyn Write) -> Result<(), Failure> {
    use dovetail_box::live::lab::{Show, ShowError, show};
    use dovetail_sched::units::parse_time;

    use crate::args::LabCommand;

    let LabCommand::Up(args) = &args.command;
    crate::logging::install()?;
    let time = args.duration.as_deref().map(parse_time).transpose();
    let time = time.map_err(|wrong| Failure::misuse(format!("--duration: {wrong}")))?;
    let what = Show { policy: args.policy.clone(), link: args.link.clone(), time, is_idle: args.idle };
    show(&what, &mut |text| dovetail_compare::output::print(out, text)).map_err(|wrong| match wrong {
        ShowError::Print(wrong) => wrong.into(),
        wrong => Failure::new(wrong),
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &LabArgs, _: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::new("the lab needs Linux: it is made of network namespaces"))
}
