//! The memory of a search, in a process of its own because only the process's peak can be read.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod tree;

use code_search::{Options, OutputMode};
use tree::Tree;

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_thousand_long_matches_cost_little() {
    let tree = Tree::new();
    let line = format!("{}needle{}\n", "x".repeat(1_000), "y".repeat(1_000));
    for n in 0..6 {
        tree.write(&format!("d{n}/many"), line.repeat(10_000));
    }
    for n in 0..2_000 {
        tree.write(&format!("small/f{n}"), "needle\n".repeat(20));
    }
    let before = peak_kb();
    for output_mode in [
        OutputMode::Content,
        OutputMode::Count,
        OutputMode::FilesWithMatches,
    ] {
        for multiline in [false, true] {
            let options = Options {
                output_mode,
                multiline,
                context_before: 100,
                context_after: 100,
                threads: Some(4),
                ..Options::default()
            };
            // The class could match a line's end, without which multi-line mode reads line by line
            // too.
            let pattern = if multiline { "needle[^z]" } else { "needle" };
            let report = tree.search(".", pattern, options).unwrap();
            assert!(report.text.chars().count() <= 30_000);
            let skipped = if multiline { 6 } else { 0 };
            assert_eq!(report.skipped.too_large, skipped);
            if output_mode == OutputMode::Content && !multiline {
                assert_eq!(report.total, 100_000);
            }
        }
    }
    // Four threads, each with a multi-line file's buffer of 4 MiB at most, and what the allocator
    // keeps.
    let grown = peak_kb() - before;
    assert!(grown < 64 << 10, "{grown} kB");
    println!("grown by {grown} kB");
}
