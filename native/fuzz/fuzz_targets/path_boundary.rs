//! Paths judged by their text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use security_core::path_boundary::lexical::{check_relative, check_within, strip_root};

const ROOT: &str = "/srv/project";

/// Where a naive reader ends up: the parts of `path` from `cwd` (or the file system's root) with `..` carried out. None
/// when it climbs above the root of the file system or leaves the project on its way.
fn stays_inside(path: &str, cwd: &str) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    let start = if path.starts_with('/') {
        String::new()
    } else {
        format!("{ROOT}/{cwd}/")
    };
    let whole = format!("{start}{path}");
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
        let inside = parts.len() >= 2 && parts[0] == "srv" && parts[1] == "project";
        if part == ".." && !inside {
            return false;
        }
    }
    parts.len() >= 2 && parts[0] == "srv" && parts[1] == "project"
}

fuzz_target!(|text: &str| {
    let (path, cwd) = text.split_once('\n').unwrap_or((text, ""));
    if check_relative(path).is_ok() {
        assert!(!path.starts_with('/') && !path.contains('\0'));
        assert!(stays_inside(path, ""), "{path:?}");
    }
    // The working directory is the project's own, already checked.
    let cwd = if check_relative(cwd).is_ok() { cwd } else { "" };
    if check_within(path, cwd, Some(ROOT)).is_ok() {
        assert!(stays_inside(path, cwd), "{path:?} in {cwd:?}");
    }
    if let Some(rest) = strip_root(path, ROOT) {
        assert!(path.len() >= ROOT.len() && !rest.starts_with('/'));
    }
});
