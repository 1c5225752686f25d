//! The same searches by the `rg` program, compared line by line. Nothing is compared where it is
//! not installed.
#![allow(clippy::unwrap_used)]

mod tree;

use code_search::{CancelToken, Options, OutputMode, Search};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const COMMON: [&str; 6] = [
    "--no-config",
    "--no-ignore-global",
    "--no-messages",
    "--sort=path",
    "--heading",
    "-n",
];

fn rg(root: &Path, pattern: &str, flags: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("rg")
        .current_dir(root)
        .args(COMMON)
        .args(flags)
        .args(["--", pattern, "./"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let clean = |line: &str| {
        line.strip_prefix("./")
            .unwrap_or(line)
            .trim_end_matches('\r')
            .to_string()
    };
    Some(
        text.lines()
            .filter(|line| !line.starts_with("WARNING: stopped searching binary"))
            .map(clean)
            .collect(),
    )
}

fn compare(root: &Path) {
    let content = Options {
        budget: usize::MAX,
        line_limit: usize::MAX,
        ..Options::default()
    };
    let mode = |output_mode| Options {
        output_mode,
        ..content.clone()
    };
    let context = |before, after| Options {
        context_before: before,
        context_after: after,
        ..content.clone()
    };
    let multi = |options: Options| Options {
        multiline: true,
        ..options
    };
    const MULTI: &str = "-U";
    const DOTALL: &str = "--multiline-dotall";
    let cases: Vec<(&str, Vec<&str>, Options)> = vec![
        ("fn ", vec![], content.clone()),
        (r"\bpub fn \w+_\w+\(", vec![], content.clone()),
        ("(?i)todo|fixme", vec![], content.clone()),
        (
            "ERROR",
            vec!["-i"],
            Options {
                case_insensitive: true,
                ..content.clone()
            },
        ),
        ("Result<", vec!["-B2"], context(2, 0)),
        ("Result<", vec!["-A3"], context(0, 3)),
        ("unsafe", vec!["-C2"], context(2, 2)),
        ("impl", vec!["-l"], mode(OutputMode::FilesWithMatches)),
        ("let", vec!["-c"], mode(OutputMode::Count)),
        (
            "use ",
            vec!["-trust"],
            Options {
                file_type: Some("rust".into()),
                ..content.clone()
            },
        ),
        (
            "version",
            vec!["-ttoml", "-c"],
            Options {
                file_type: Some("toml".into()),
                ..mode(OutputMode::Count)
            },
        ),
        (r"\{\n\s+let", vec![MULTI, DOTALL], multi(content.clone())),
        (
            r"where\n.{0,40}\{",
            vec![MULTI, DOTALL, "-C1"],
            multi(context(1, 1)),
        ),
        (
            r"\n\n\n",
            vec![MULTI, DOTALL, "-c"],
            multi(mode(OutputMode::Count)),
        ),
        ("^$", vec!["-c"], mode(OutputMode::Count)),
        (r"[^\x00-\x7F]", vec![], content.clone()),
        (r"\t$", vec!["-l"], mode(OutputMode::FilesWithMatches)),
        (
            "no such words in any file, surely not",
            vec![],
            content.clone(),
        ),
    ];
    for (pattern, flags, options) in cases {
        let Some(expected) = rg(root, pattern, &flags) else {
            return;
        };
        let search = Search {
            root: root.into(),
            path: ".".into(),
            pattern: pattern.into(),
            options,
        };
        let report = search
            .run(&CancelToken::new(), Duration::from_secs(120))
            .unwrap();
        let ours: Vec<&str> = report.text.lines().collect();
        for (n, (a, b)) in expected.iter().zip(&ours).enumerate() {
            assert_eq!(
                a,
                b,
                "line {n} of {pattern} {flags:?} in {}",
                root.display()
            );
        }
        assert_eq!(
            expected.len(),
            ours.len(),
            "{pattern} {flags:?} in {}",
            root.display()
        );
    }
}

#[test]
fn this_repository() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    compare(&repository.join("native"));
}

#[test]
fn the_sources_of_the_dependencies() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .unwrap();
    let Ok(registries) = std::fs::read_dir(home.join("registry/src")) else {
        return;
    };
    for registry in registries {
        for package in ["grep-", "ignore-", "regex-", "serde", "rustler"] {
            let Ok(packages) = std::fs::read_dir(registry.as_ref().unwrap().path()) else {
                continue;
            };
            for found in packages.map(Result::unwrap) {
                if found.file_name().to_string_lossy().starts_with(package) {
                    compare(&found.path());
                }
            }
        }
    }
}
