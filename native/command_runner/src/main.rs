//! `jido_command_runner`, started by the BEAM; what it does is in the library of this crate.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(|word| word.to_str()).collect();
    let done = match arguments.as_slice() {
        [Some(scratch)] if scratch.starts_with('/') => command_runner::guard::run(scratch.into()),
        [Some("--hold"), Some(folder), Some(bytes)] if folder.starts_with('/') => {
            command_runner::fence::hold::run(folder.into(), bytes.parse().ok())
        }
        // What of a whole fence this machine lacks, a line each; nothing where it lacks nothing.
        [Some("--probe"), Some(aside)] => {
            command_runner::probe::missing(aside.as_ref()).map(|missing| {
                missing.iter().for_each(|line| println!("{line}"));
                0
            })
        }
        _ => {
            eprintln!(
                "usage: jido_command_runner SCRATCH_FOLDER (see JidoCode.Tools.Command)\n       \
                 jido_command_runner --hold FOLDER BYTES_OR_NONE\n       \
                 jido_command_runner --probe EMPTY_FOLDER"
            );
            return ExitCode::from(64);
        }
    };
    done.map_or_else(
        |error| {
            eprintln!("jido_command_runner: {error}");
            ExitCode::from(command_runner::worker::FAILED)
        },
        ExitCode::from,
    )
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
