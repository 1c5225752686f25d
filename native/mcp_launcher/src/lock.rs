//! One server at a time compiles a project: Elixir has no lock of its own for that before 1.18.
//!
//! The lock is a file of the person's, outside the project, so that nothing in the fence can hold
//! or remove it. The kernel lets go of it when this program ends.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it is looked whether the other is done.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until no other server compiles the project, and holds the lock as long as the file is
/// open.
pub async fn take(project: PathBuf) -> io::Result<File> {
    let file = open(&folder()?, &project)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(problem)) => return Err(problem),
        }
    }
}

fn folder() -> io::Result<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "HOME is not set"))?;
    Ok(cache.join("jido_code_tools/locks"))
}

fn open(folder: &Path, project: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let project = project.canonicalize()?;
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(name(&project)))
}

/// The same in every version of this program (FNV-1a). Two projects of one name cost a wait and
/// nothing else.
fn name(project: &Path) -> String {
    let bytes = project.as_os_str().as_encoded_bytes();
    let digest = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{digest:016x}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_holds_it_until_its_file_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (locks, project) = (folder.path().join("locks"), folder.path());
        let first = open(&locks, project).unwrap();
        first.try_lock().unwrap();
        let second = open(&locks, project).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        second.try_lock().unwrap();
    }
}
