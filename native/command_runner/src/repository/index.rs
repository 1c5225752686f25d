//! Of git's index the entries that are commits of other repositories: the submodules.
//!
//! Git looks into each of them from the folder around, and runs what its configuration names,
//! whatever `.gitmodules` says.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use super::config::Config;
use crate::paths;

/// The kind of such an entry, in the bits of its mode that tell kinds.
const COMMIT: u32 = 0o160_000;
const KIND: u32 = 0o170_000;

/// Paths of submodules, from the top of the working tree. A split index keeps most entries in a
/// file beside it. What can't be read as an index git can't read either.
pub fn submodules(git: &Path) -> Vec<PathBuf> {
    let shared = std::fs::read_dir(git).into_iter().flatten().flatten();
    let shared = shared
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"sharedindex.")
        })
        .map(|entry| entry.path());
    let mut settings = Config::default();
    settings.add(&git.join("config"));
    let digest = match settings.value("extensions.objectformat").as_deref() {
        Some("sha256") => 32,
        _ => 20,
    };
    let mut found = Vec::new();
    for file in std::iter::once(git.join("index")).chain(shared) {
        let file = paths::open(&file, OFlags::RDONLY).map(File::from).ok();
        let file = file.filter(|file| file.metadata().is_ok_and(|file| file.is_file()));
        if let Some(file) = file {
            // What was read before the end, or before what is none, counts.
            let _ = read(BufReader::new(file), digest, &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

fn read(mut file: impl BufRead, digest: usize, found: &mut Vec<PathBuf>) -> Option<()> {
    let [signature, version, entries] = [word(&mut file)?, word(&mut file)?, word(&mut file)?];
    if signature != u32::from_be_bytes(*b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut name = Vec::new();
    for _ in 0..entries {
        skip(&mut file, 24)?;
        let mode = word(&mut file)?;
        skip(&mut file, 12 + digest)?;
        let flags = half(&mut file)?;
        let extended = version >= 3 && flags & 0x4000 != 0;
        if extended {
            half(&mut file)?;
        }
        if version == 4 {
            let dropped = number(&mut file)?;
            name.truncate(name.len().checked_sub(dropped)?);
            text(&mut file, &mut name)?;
        } else {
            name.clear();
            text(&mut file, &mut name)?;
            let length = 40 + digest + 2 + if extended { 2 } else { 0 } + name.len();
            // Of one to eight zeros the first has been read.
            skip(&mut file, 7 - length % 8)?;
        }
        if mode & KIND == COMMIT {
            let path = PathBuf::from(OsString::from_vec(name.clone()));
            let plain = |part| matches!(part, Component::Normal(_));
            found.extend(path.components().all(plain).then_some(path));
        }
    }
    Some(())
}

fn bytes<const N: usize>(file: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn word(file: &mut impl Read) -> Option<u32> {
    bytes(file).map(u32::from_be_bytes)
}

fn half(file: &mut impl Read) -> Option<u16> {
    bytes(file).map(u16::from_be_bytes)
}

fn skip(file: &mut impl BufRead, mut count: usize) -> Option<()> {
    while count > 0 {
        let there = file.fill_buf().ok()?.len().min(count);
        if there == 0 {
            return None;
        }
        file.consume(there);
        count -= there;
    }
    Some(())
}

/// Up to a zero, added to what is there.
fn text(file: &mut impl BufRead, text: &mut Vec<u8>) -> Option<()> {
    const LONGEST: u64 = 1 << 16;
    file.take(LONGEST).read_until(0, text).ok()?;
    // Names that shrink to nothing and grow again stay as short.
    (text.pop() == Some(0) && text.len() as u64 <= LONGEST).then_some(())
}

/// Seven bits a byte, the highest first; each byte but the last adds one.
fn number(file: &mut impl Read) -> Option<usize> {
    let [mut byte] = bytes(file)?;
    let mut number = usize::from(byte & 127);
    while byte & 128 != 0 {
        [byte] = bytes(file)?;
        number = number.checked_add(1)?.checked_mul(128)? + usize::from(byte & 127);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    fn git(tree: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let run = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(tree)
            .output();
        let run = run.unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }

    #[test]
    fn submodules_are_read_from_each_kind_of_index_that_git_writes() {
        for (number, format) in ["sha1", "sha256"].into_iter().enumerate() {
            let tree = std::env::temp_dir().join(format!("index-{}-{number}", std::process::id()));
            let _ = std::fs::remove_dir_all(&tree);
            std::fs::create_dir_all(&tree).unwrap();
            git(&tree, &["init", "-q", "--object-format", format]);
            let commit = "1".repeat(if number == 0 { 40 } else { 64 });
            // Names of many lengths, for the zeros behind them.
            for length in 1..20 {
                std::fs::write(tree.join("a".repeat(length)), "x").unwrap();
            }
            git(&tree, &["add", "."]);
            let mut expected: Vec<PathBuf> = (1..20)
                .map(|length| PathBuf::from(format!("modules/{}", "m".repeat(length))))
                .collect();
            for path in &expected {
                let entry = format!("160000,{commit},{}", path.display());
                git(&tree, &["update-index", "--add", "--cacheinfo", &entry]);
            }
            expected.sort();
            // The same name with a note makes an entry of the third version.
            std::fs::write(tree.join("noted"), "x").unwrap();
            let folder = tree.join(".git");
            assert_eq!(submodules(&folder), expected);
            git(&tree, &["add", "--intent-to-add", "noted"]);
            assert_eq!(submodules(&folder), expected);
            git(&tree, &["update-index", "--index-version", "4"]);
            assert_eq!(submodules(&folder), expected);
            git(&tree, &["update-index", "--split-index"]);
            assert_eq!(submodules(&folder), expected);
            std::fs::remove_dir_all(&tree).unwrap();
        }
    }

    #[test]
    fn what_is_no_index_has_none() {
        let mut found = Vec::new();
        for text in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x02\xff\xff\xff\xff",
            b"text",
        ] {
            assert_eq!(read(text, 20, &mut found), None);
        }
        assert_eq!(found, Vec::<PathBuf>::new());
        // A name that is dropped before it was there.
        let mut broken = b"DIRC\0\0\0\x04\0\0\0\x01".to_vec();
        broken.extend([0; 62]);
        broken.extend([0xff; 12]);
        assert_eq!(read(&broken[..], 20, &mut found), None);
    }
}
