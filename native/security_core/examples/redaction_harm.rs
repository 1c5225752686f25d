//! What the sanitizer changes in a tree of source files, line by line: in sources without secrets
//! every such line is harm.
//!
//! ```text
//! cargo run --release -p security_core --example redaction_harm -- folder [extension ...]
//! ```

use security_core::sanitizer::{KnownSecrets, Sanitizer};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let root = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let extensions: Vec<_> = arguments.collect();
    let (mut files, mut bytes, mut lines) = (0, 0, 0);
    for path in sources(&root)? {
        let wanted = |extension: &OsStr| extensions.iter().any(|e| e == extension);
        if !extensions.is_empty() && !path.extension().is_some_and(wanted) {
            continue;
        }
        let text = std::fs::read(&path)?;
        if std::str::from_utf8(&text).is_err() {
            continue;
        }
        files += 1;
        bytes += text.len();
        lines += changed(&path, &text);
    }
    println!(
        "{files} files, {:.1} MB, {lines} lines changed",
        bytes as f64 / 1e6
    );
    Ok(())
}

fn sources(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Prints the lines that change, and counts them.
fn changed(path: &Path, text: &[u8]) -> usize {
    let findings = Sanitizer::built_in().scan(text, &KnownSecrets::empty());
    let mut last = usize::MAX;
    let mut count = 0;
    for span in &findings.spans {
        let start = text[..span.start].iter().rposition(|&b| b == b'\n');
        let start = start.map_or(0, |newline| newline + 1);
        if start == last {
            continue;
        }
        last = start;
        count += 1;
        let end = text[span.end..].iter().position(|&b| b == b'\n');
        let end = end.map_or(text.len(), |offset| span.end + offset);
        let before = String::from_utf8_lossy(&text[start..span.start]);
        let value = String::from_utf8_lossy(&text[span.start..span.end]);
        let after = String::from_utf8_lossy(&text[span.end..end]);
        println!(
            "{} [{}]: {before}«{value}»{after}",
            path.display(),
            span.rule
        );
    }
    count
}
