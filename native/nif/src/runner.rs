//! The command runner's program, kept where no command can replace it.
//!
//! Commands are held to the project's folder, and the library may lie inside of it: what lies on
//! the disk when a command is started may not be what was built. So the program is taken into
//! memory once, sealed, and started from there.

use rustler::{Binary, Encoder, Env, Term};

use crate::atoms;

/// Takes the program at `path` into memory. `{:ok, path}` names it there, for as long as this VM
/// lives; `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn command_runner_keep<'a>(env: Env<'a>, path: Binary) -> Term<'a> {
    match keep(path.as_slice()) {
        Ok(kept) => (atoms::ok(), kept).encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

#[cfg(target_os = "linux")]
fn keep(path: &[u8]) -> std::io::Result<String> {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let mut program = File::open(OsStr::from_bytes(path))?;
    let memory = memfd_create(
        "jido_command_runner",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?;
    let mut kept = File::from(memory);
    std::io::copy(&mut program, &mut kept)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&kept, seals)?;
    let name = format!("/proc/{}/fd/{}", std::process::id(), kept.as_raw_fd());
    // Never closed: commands are started from it until the VM ends.
    let _ = kept.into_raw_fd();
    Ok(name)
}

#[cfg(not(target_os = "linux"))]
fn keep(_path: &[u8]) -> std::io::Result<String> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}
