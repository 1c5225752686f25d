//! Paths that a command may have changed: resolved, and read, without trust in what it left there.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Where a path leads, if no link in a writable place has a part in it: a command could have made
/// that link, or swap one in while this looks. `writable` has no links itself.
///
/// Who opens the answer later must do it without following links.
pub fn settled(path: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let plain = !path.components().any(|part| part == Component::ParentDir);
    match open(path, OFlags::PATH) {
        // Most paths: one call instead of one for each part.
        Ok(_) if plain => return Some(path.components().collect()),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return None,
        _ => {}
    }
    let mut prefix = PathBuf::new();
    let mut components = path.components();
    for component in components.by_ref() {
        prefix.push(component);
        let real = prefix.canonicalize().ok()?;
        if writable.iter().any(|place| real.starts_with(place)) {
            let wanted = match components.as_path() {
                rest if rest.as_os_str().is_empty() => real,
                rest => real.join(rest),
            };
            return (path.canonicalize().ok()? == wanted).then_some(wanted);
        }
    }
    prefix.canonicalize().ok()
}

/// Places as they are without links; one that is not there is left out.
pub fn without_links(places: &[PathBuf]) -> Vec<PathBuf> {
    let real = places.iter().filter_map(|place| place.canonicalize().ok());
    real.collect()
}

/// Opens what lies at a path, without a link at any place of it and without waiting for one that
/// isn't plain.
pub fn open(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut flags = flags | OFlags::CLOEXEC;
    // The two exclude each other: opening by name alone never waits.
    flags.set(OFlags::NONBLOCK, !flags.contains(OFlags::PATH));
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The text of a plain file of at most this many bytes.
pub fn text(file: impl Into<File>, largest: u64) -> Option<String> {
    let file: File = file.into();
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > largest {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(largest).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_on_unless_they_lie_where_commands_write() {
        let base = std::env::temp_dir().join(format!("paths-{}", std::process::id()));
        fs::create_dir_all(base.join("project/lib")).unwrap();
        fs::create_dir_all(base.join("secret")).unwrap();
        let base = base.canonicalize().unwrap();
        let writable = [base.join("project")];
        symlink("project", base.join("by-link")).unwrap();
        symlink("../secret", base.join("project/evil")).unwrap();

        let settled = |path: &str| settled(&base.join(path), &writable);
        assert_eq!(settled("secret"), Some(base.join("secret")));
        assert_eq!(settled("project"), Some(base.join("project")));
        assert_eq!(settled("by-link/lib"), Some(base.join("project/lib")));
        for refused in [
            "project/evil",
            "by-link/evil",
            "project/evil/..",
            "gone",
            "project/gone",
        ] {
            assert_eq!(settled(refused), None, "{refused}");
        }
        fs::remove_dir_all(&base).unwrap();
    }
}
