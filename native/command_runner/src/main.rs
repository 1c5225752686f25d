//! `jido_command_runner`: runs one command, pipeline or list of pipelines for the BEAM, and always ends all of it.
//!
//! Started as a port with the path of the command's private temporary folder as its only argument. The spec comes as
//! the first frame on standard input, further frames ask for output kept so far or for the end; answers go to
//! standard output. End of input ends the command. See [`guard`] for who survives whom.

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod spec;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod worker;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(std::path::PathBuf::from);
    match (arguments.next(), arguments.next()) {
        (Some(scratch), None) if scratch.is_absolute() => match guard::run(scratch) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                eprintln!("jido_command_runner: {error}");
                ExitCode::from(worker::FAILED)
            }
        },
        _ => {
            eprintln!(
                "usage: jido_command_runner SCRATCH_FOLDER (started by the BEAM, see JidoCode.Tools.Command)"
            );
            ExitCode::from(64)
        }
    }
}

// The kill loop rests on subreapers and parent death signals; without them its promise would not hold.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!(
        "jido_command_runner: this system has no child subreaper; commands run on Linux only"
    );
    ExitCode::from(69)
}
