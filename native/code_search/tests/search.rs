//! Searches of real trees.
#![allow(clippy::unwrap_used)]

mod tree;

use code_search::{CancelToken, Cut, Error, FILE_MEMORY, Options, OutputMode, Search};
use std::fs;
use std::time::{Duration, Instant};
use tree::Tree;

fn files() -> Options {
    Options {
        output_mode: OutputMode::FilesWithMatches,
        ..Options::default()
    }
}

fn counts() -> Options {
    Options {
        output_mode: OutputMode::Count,
        ..Options::default()
    }
}

#[test]
fn matches_are_listed_under_their_file_with_line_numbers() {
    let tree = Tree::with(&[
        ("lib/b.ex", "one\ntwo foo\n"),
        ("lib/a.ex", "foo\nbar\nfoo again"),
        ("c.md", "nothing"),
    ]);
    let report = tree.search(".", "foo", Options::default()).unwrap();
    assert_eq!(
        report.text,
        "lib/a.ex\n1:foo\n3:foo again\n\nlib/b.ex\n2:two foo"
    );
    assert_eq!(
        (
            report.shown,
            report.total,
            report.files_matched,
            report.files_searched
        ),
        (3, 3, 2, 3)
    );
    assert_eq!(report.cut, None);
}

#[test]
fn the_other_modes_name_files_and_count_lines() {
    let tree = Tree::with(&[("b", "x\n"), ("a", "x x\ny\nx\n"), ("c", "y\n")]);
    assert_eq!(tree.text("x", files()), "a\nb");
    assert_eq!(tree.text("x", counts()), "a:2\nb:1");
}

#[test]
fn nothing_found_is_an_empty_report() {
    let tree = Tree::with(&[("a", "x\n")]);
    let report = tree.search(".", "nothing", Options::default()).unwrap();
    assert_eq!(
        (report.text.as_str(), report.total, report.files_searched),
        ("", 0, 1)
    );
}

#[test]
fn context_lines_are_marked_and_gaps_shown() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let tree = Tree::with(&[("a", &text)]);
    let options = Options {
        context_before: 1,
        context_after: 2,
        ..Options::default()
    };
    assert_eq!(
        tree.text("line (3|5|12)$", options),
        "a\n2-line 2\n3:line 3\n4-line 4\n5:line 5\n6-line 6\n7-line 7\n--\n11-line 11\n12:line 12\n13-line 13\n14-line 14"
    );
}

#[test]
fn a_limit_keeps_the_context_of_the_last_match_only() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let tree = Tree::with(&[("a", &text), ("b", &text)]);
    let options = Options {
        context_before: 2,
        context_after: 1,
        head_limit: Some(2),
        ..Options::default()
    };
    let report = tree.search(".", "line (3|9|14)$", options).unwrap();
    assert_eq!(
        report.text,
        "a\n1-line 1\n2-line 2\n3:line 3\n4-line 4\n--\n7-line 7\n8-line 8\n9:line 9\n10-line 10"
    );
    assert_eq!(
        (report.shown, report.total, report.cut),
        (2, 6, Some(Cut::HeadLimit))
    );
}

#[test]
fn a_limit_met_exactly_leaves_nothing_out() {
    let tree = Tree::with(&[("a", "x\n"), ("b", "x\n")]);
    for mut options in [Options::default(), files(), counts()] {
        options.head_limit = Some(2);
        assert_eq!(tree.search(".", "x", options).unwrap().cut, None);
    }
}

#[test]
fn the_first_results_in_path_order_whatever_the_threads() {
    let tree = Tree::new();
    for n in 0..300 {
        tree.write(
            &format!("d{}/e{}/f{n}.ex", n % 7, n % 3),
            format!("needle {n}\nneedle again\n"),
        );
    }
    let all = tree.text(
        "needle",
        Options {
            budget: usize::MAX,
            ..Options::default()
        },
    );
    for limit in [1, 2, 3, 17, 599, 600] {
        for budget in [50, 500, 3_000, 30_000] {
            let one = |threads| {
                let options = Options {
                    head_limit: Some(limit),
                    budget,
                    threads: Some(threads),
                    ..Options::default()
                };
                tree.search(".", "needle", options).unwrap()
            };
            let expected = one(1);
            assert!(all.starts_with(&expected.text));
            assert!(expected.text.chars().count() <= budget);
            assert_eq!(expected.total, 600);
            for _ in 0..5 {
                assert_eq!(one(8), expected, "limit {limit} budget {budget}");
            }
        }
    }
}

#[test]
fn case_file_type_and_multiline() {
    let tree = Tree::with(&[
        ("a.ex", "Foo\nbar\n"),
        ("b.rs", "foo\nbar\n"),
        ("c.exs", "foo\n"),
    ]);
    assert_eq!(tree.text("foo", files()), "b.rs\nc.exs");
    assert_eq!(
        tree.text(
            "foo",
            Options {
                case_insensitive: true,
                ..files()
            }
        ),
        "a.ex\nb.rs\nc.exs"
    );
    assert_eq!(
        tree.text(
            "foo",
            Options {
                file_type: Some("elixir".into()),
                ..files()
            }
        ),
        "c.exs"
    );
    let ex = Options {
        file_type: Some("ex".into()),
        case_insensitive: true,
        ..files()
    };
    assert_eq!(tree.text("foo", ex), "a.ex");
    let spanning = Options {
        multiline: true,
        ..Options::default()
    };
    assert_eq!(
        tree.text("oo.bar", spanning),
        "a.ex\n1:Foo\n2:bar\n\nb.rs\n1:foo\n2:bar"
    );
    let unknown = tree.search(
        ".",
        "x",
        Options {
            file_type: Some("elixr".into()),
            ..files()
        },
    );
    assert!(matches!(unknown, Err(Error::UnknownFileType { near }) if near[0] == "elixir"));
}

#[test]
fn a_glob_narrows_the_search_and_brings_nothing_back() {
    let tree = Tree::with(&[
        (".gitignore", "built\n"),
        (".ignore", "built\n"),
        (".hidden/a.ex", "x\n"),
        ("built/a.ex", "x\n"),
        ("lib/a.ex", "x\n"),
        ("lib/a.exs", "x\n"),
        ("test/a.ex", "x\n"),
    ]);
    for (glob, expected) in [
        ("*.ex", "lib/a.ex\ntest/a.ex"),
        ("**", "lib/a.ex\nlib/a.exs\ntest/a.ex"),
        ("lib/**", "lib/a.ex\nlib/a.exs"),
        ("!test", "lib/a.ex\nlib/a.exs"),
        ("!*.exs", "lib/a.ex\ntest/a.ex"),
        ("built/**", ""),
    ] {
        let options = Options {
            glob: Some(glob.into()),
            ..files()
        };
        assert_eq!(tree.text("x", options), expected, "{glob}");
    }
    let options = |glob: &str| Options {
        glob: Some(glob.into()),
        ..files()
    };
    assert!(matches!(
        tree.search(".", "x", options("{a")),
        Err(Error::Glob { .. })
    ));
    // A file that is named is searched, whatever the glob says.
    let named = tree.search("lib/a.exs", "x", options("*.ex")).unwrap();
    assert_eq!(named.text, "lib/a.exs");
}

#[test]
fn a_count_in_multiline_mode_counts_matches() {
    let tree = Tree::with(&[("a", "x x\nx\n\nb\nb\nb\nb\n")]);
    assert_eq!(
        tree.text(
            "x",
            Options {
                multiline: true,
                ..counts()
            }
        ),
        "a:3"
    );
    assert_eq!(
        tree.text(
            r"b\nb",
            Options {
                multiline: true,
                ..counts()
            }
        ),
        "a:2"
    );
}

#[test]
fn ignore_rules_hold_as_in_ripgrep() {
    let tree = Tree::with(&[
        (".gitignore", "/deps\n*.log\n!keep.log\n"),
        (".ignore", "generated\n"),
        (".rgignore", "*.min.js\n"),
        (".git/info/exclude", "private\n"),
        (".git/HEAD", "needle"),
        (".hidden/a", "needle"),
        ("deps/x/a.ex", "needle"),
        ("a.log", "needle"),
        ("keep.log", "needle"),
        ("generated/a", "needle"),
        ("private/a", "needle"),
        ("app.min.js", "needle"),
        ("lib/deps/a", "needle"),
        ("lib/.ignore", "sub\n"),
        ("lib/sub/a", "needle"),
    ]);
    assert_eq!(tree.text("needle", files()), "keep.log\nlib/deps/a");
    // Rules from above hold below; what is named outright is searched.
    assert_eq!(
        tree.search("lib", "needle", files()).unwrap().text,
        "lib/deps/a"
    );
    assert_eq!(
        tree.search("deps", "needle", files()).unwrap().text,
        "deps/x/a.ex"
    );
    assert_eq!(
        tree.search("a.log", "needle", files()).unwrap().text,
        "a.log"
    );
    assert_eq!(
        tree.search(".hidden", "needle", files()).unwrap().text,
        ".hidden/a"
    );
    // Without a repository a .gitignore has no meaning, the others do.
    fs::remove_dir_all(tree.root.join(".git")).unwrap();
    assert_eq!(
        tree.text("needle", files()),
        "a.log\ndeps/x/a.ex\nkeep.log\nlib/deps/a\nprivate/a"
    );
}

#[test]
fn nothing_outside_the_project_is_searched() {
    let tree = Tree::with(&[("a", "needle"), ("sub/b", "needle")]);
    let outside = tree.parent.join("project-evil");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "needle").unwrap();
    tree.link(&outside, "out");
    tree.link(outside.join("secret"), "file");
    tree.link("../../project-evil", "sub/out");
    assert_eq!(tree.text("needle", files()), "a\nsub/b");
    let absolute = outside.to_str().unwrap();
    for path in [
        "..",
        "../",
        "sub/../..",
        "../project-evil",
        "out",
        "out/secret",
        "file",
        "sub/out",
        absolute,
        "/etc",
        "/",
    ] {
        assert_eq!(
            tree.search(path, "needle", files()),
            Err(Error::Outside),
            "{path}"
        );
    }
    // What exists outside is not told apart from what doesn't.
    for path in ["../nothing", "out/nothing", "/nothing/there"] {
        assert_eq!(
            tree.search(path, "needle", files()),
            Err(Error::Outside),
            "{path}"
        );
    }
    for path in ["nothing", "a/b", "a\0", "sub/nothing/there"] {
        assert_eq!(
            tree.search(path, "needle", files()),
            Err(Error::NotFound),
            "{path}"
        );
    }
}

#[test]
fn links_inside_the_project_are_searched_when_named() {
    let tree = Tree::with(&[("lib/a", "needle")]);
    tree.link("lib", "alias");
    tree.link(&tree.root, "lib/up");
    assert_eq!(tree.text("needle", files()), "lib/a");
    assert_eq!(
        tree.search("alias", "needle", files()).unwrap().text,
        "lib/a"
    );
    assert_eq!(
        tree.search("lib/up/lib/../lib", "needle", files())
            .unwrap()
            .text,
        "lib/a"
    );
    let absolute = tree.root.join("lib");
    assert_eq!(
        tree.search(absolute.to_str().unwrap(), "needle", files())
            .unwrap()
            .text,
        "lib/a"
    );
    // A root that is itself reached through a link.
    let through = tree.parent.join("link");
    std::os::unix::fs::symlink(&tree.root, &through).unwrap();
    let search = Search {
        root: through.clone(),
        path: through.join("lib"),
        pattern: "needle".into(),
        options: files(),
    };
    assert_eq!(
        search
            .run(&CancelToken::new(), Duration::from_secs(5))
            .unwrap()
            .text,
        "lib/a"
    );
}

#[test]
fn a_root_that_is_no_directory_is_an_error() {
    let tree = Tree::with(&[("a", "x")]);
    for root in [tree.root.join("nothing"), tree.root.join("a")] {
        let search = Search {
            root,
            path: ".".into(),
            pattern: "x".into(),
            options: files(),
        };
        assert_eq!(
            search.run(&CancelToken::new(), Duration::from_secs(5)),
            Err(Error::Root)
        );
    }
}

#[test]
fn binary_files_end_at_their_first_nul() {
    let tree = Tree::new();
    let mut late = b"needle\n".to_vec();
    late.extend("filler\n".repeat(20_000).bytes());
    late.extend(b"\0\nneedle\n");
    tree.write("late", late);
    tree.write("start", b"needle\n\0needle\n");
    let report = tree.search(".", "needle", Options::default()).unwrap();
    assert_eq!(report.text, "late\n1:needle");
    assert_eq!(report.skipped.binary, 2);
    assert_eq!(tree.text("needle", counts()), "");
    // The first match is enough for a name, and the file was not known to be binary by then.
    assert_eq!(tree.text("needle", files()), "late");
}

#[test]
fn odd_bytes_are_shown_safely() {
    let tree = Tree::new();
    tree.write("latin", b"caf\xE9 needle \x1B[31m\n");
    tree.write("crlf", b"needle\r\nother\r\n");
    tree.write("bom", b"\xEF\xBB\xBFneedle\n");
    let utf16: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("ä needle\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    tree.write("utf16", utf16);
    tree.write("new\nline", "needle\n");
    assert_eq!(
        tree.text("needle", Options::default()),
        "bom\n1:needle\n\ncrlf\n1:needle\n\nlatin\n1:caf\\xE9 needle \\x1B[31m\n\nnew\\x0Aline\n1:needle\n\nutf16\n1:ä needle"
    );
    assert_eq!(
        tree.text(
            "^needle$",
            Options {
                multiline: true,
                ..files()
            }
        ),
        "bom\nnew\\x0Aline"
    );
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let tree = Tree::with(&[(
        "a",
        &format!("{}needle{}\n", "x".repeat(50_000), "y".repeat(50_000)),
    )]);
    let report = tree.search(".", "needle", Options::default()).unwrap();
    assert!(report.text.contains("needle"));
    assert!(report.text.len() < 600, "{}", report.text.len());
    assert_eq!(report.lines_cut, 1);
}

#[test]
fn what_needs_too_much_memory_is_skipped_and_counted() {
    let tree = Tree::with(&[("small", "needle\n")]);
    let mut line = vec![b'x'; FILE_MEMORY + 100];
    line.extend_from_slice(b"\nneedle\n");
    tree.write("long_line", &line);
    tree.write("many_lines", "needle no\n".repeat(FILE_MEMORY / 10 + 1));
    let report = tree.search(".", "needle$", files()).unwrap();
    assert_eq!(
        (report.text.as_str(), report.skipped.too_large),
        ("small", 1)
    );
    let report = tree
        .search(
            ".",
            "needle$",
            Options {
                multiline: true,
                ..files()
            },
        )
        .unwrap();
    assert_eq!(
        (report.text.as_str(), report.skipped.too_large),
        ("small", 2)
    );
}

#[test]
fn unreadable_and_special_files_do_not_stop_a_search() {
    let tree = Tree::with(&[("a", "needle\n"), ("pipes/.ignore", "x"), ("z", "needle\n")]);
    tree.fifo("b");
    tree.fifo("rules/.gitignore");
    tree.write("rules/c", "needle\n");
    tree.dir("zero");
    tree.link("/dev/zero", "zero/.ignore");
    tree.write("huge/.rgignore", "x\n".repeat(100_000));
    let report = tree.search(".", "needle", files()).unwrap();
    assert_eq!(report.text, "a\nz");
    assert_eq!(report.skipped.unsafe_rules, 3);
    assert_eq!(
        tree.search("b", "needle", files()),
        Err(Error::NotSearchable)
    );
    assert_eq!(
        tree.search("zero", "needle", files()),
        Err(Error::UnsafeRules)
    );
}

/// `.git/info/exclude` is opened by the walk without a look at what it is, so a pipe there holds a
/// worker until somebody writes into it.
fn stuck_tree() -> Tree {
    let tree = Tree::with(&[("a", "needle\n"), ("sub/a", "needle\n")]);
    tree.fifo("sub/.git/info/exclude");
    tree
}

/// Lets the worker go, if there is one; opening for writing would wait for a reader otherwise.
fn release(tree: &Tree) {
    use rustix::fs::{Mode, OFlags, open};
    let _ = open(
        tree.root.join("sub/.git/info/exclude"),
        OFlags::WRONLY | OFlags::NONBLOCK,
        Mode::empty(),
    );
}

#[test]
fn a_worker_that_is_stuck_does_not_hold_the_answer() {
    let tree = stuck_tree();
    let start = Instant::now();
    let run = |pattern: &str| {
        let search = Search {
            root: tree.root.clone(),
            path: ".".into(),
            pattern: pattern.into(),
            options: files(),
        };
        search.run(&CancelToken::new(), Duration::from_millis(1_500))
    };
    let report = run("needle").unwrap();
    assert!(report.timed_out);
    assert_eq!(report.text, "a");
    release(&tree);
    assert_eq!(run("absent"), Err(Error::TimedOut { files_searched: 1 }));
    release(&tree);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_token_ends_the_search_at_once() {
    let tree = stuck_tree();
    let token = CancelToken::new();
    let search = Search {
        root: tree.root.clone(),
        path: ".".into(),
        pattern: "x".into(),
        options: files(),
    };
    let running = {
        let token = token.clone();
        std::thread::spawn(move || search.run(&token, Duration::from_secs(60)))
    };
    let start = Instant::now();
    token.cancel();
    assert_eq!(running.join().unwrap(), Err(Error::Cancelled));
    assert!(start.elapsed() < Duration::from_secs(20));
    release(&tree);
}

#[test]
fn big_files_are_left_when_time_is_up() {
    let tree = Tree::new();
    // 320 MB in all: far more than fits into the time given.
    let text = "abcdefghi\n".repeat(4_000_000);
    for n in 0..8 {
        tree.write(&format!("big{n}"), &text);
    }
    let search = Search {
        root: tree.root.clone(),
        path: ".".into(),
        pattern: r"(?i)[a-z]+\s*zz|\bj".into(),
        options: Options::default(),
    };
    let result = search.run(&CancelToken::new(), Duration::from_millis(1));
    assert!(matches!(result, Err(Error::TimedOut { .. })), "{result:?}");
}

#[test]
fn more_searches_than_may_run_at_once_take_turns() {
    let tree = Tree::with(&[("a", "needle\n")]);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..4 * code_search::MAX_RUNNING)
            .map(|_| scope.spawn(|| tree.text("needle", files())))
            .collect();
        for search in searches {
            assert_eq!(search.join().unwrap(), "a");
        }
    });
}
