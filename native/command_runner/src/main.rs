//! `jido_command_runner`, started by the BEAM; what it does is in the library of this crate.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(std::path::PathBuf::from);
    match (arguments.next(), arguments.next()) {
        (Some(scratch), None) if scratch.is_absolute() => {
            match command_runner::guard::run(scratch) {
                Ok(code) => ExitCode::from(code),
                Err(error) => {
                    eprintln!("jido_command_runner: {error}");
                    ExitCode::from(command_runner::worker::FAILED)
                }
            }
        }
        // What of a whole fence this machine lacks, a line each; nothing where it lacks nothing.
        (Some(option), Some(aside)) if option.as_os_str() == "--probe" => {
            match command_runner::probe::missing(&aside) {
                Ok(missing) => {
                    missing.iter().for_each(|line| println!("{line}"));
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("jido_command_runner: {error}");
                    ExitCode::from(command_runner::worker::FAILED)
                }
            }
        }
        _ => {
            eprintln!(
                "usage: jido_command_runner SCRATCH_FOLDER (see JidoCode.Tools.Command)\n       \
                 jido_command_runner --probe EMPTY_FOLDER"
            );
            ExitCode::from(64)
        }
    }
}

// The kill loop rests on subreapers and parent death signals; without them its promise would not
// hold.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!(
        "jido_command_runner: this system has no child subreaper; commands run on Linux only"
    );
    ExitCode::from(69)
}
