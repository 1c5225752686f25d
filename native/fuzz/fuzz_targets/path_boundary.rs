//! Paths judged by their text.
#![no_main]

mod naive;

use libfuzzer_sys::fuzz_target;
use naive::{ROOT, stays_inside};
use security_core::path_boundary::lexical::{check_relative, check_within, strip_root};

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
