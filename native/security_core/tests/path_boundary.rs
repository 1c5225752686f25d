//! The path boundary on real folders, files and links, both ways of opening.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use security_core::path_boundary::{Boundary, BoundaryError};
use tempfile::TempDir;

/// A folder with a project in it, a sibling whose name starts like the project's, and a secret
/// beside them.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["proj/lib/deep", "proj/test", "proj-evil", "outside"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for (file, text) in [
            ("proj/lib/a.ex", "inside a"),
            ("proj/lib/deep/b.ex", "inside b"),
            ("proj-evil/x", "evil"),
            ("outside/secret", "secret"),
        ] {
            fs::write(dir.path().join(file), text).unwrap();
        }
        World { dir }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    fn link(&self, target: impl AsRef<Path>, at: &str) {
        symlink(target, self.path("proj").join(at)).unwrap();
    }

    /// The boundary with the kernel's own guard, and the one for kernels without it.
    fn boundaries(&self) -> [Boundary; 2] {
        let open = || Boundary::open(self.path("proj")).unwrap();
        [open(), open().without_openat2()]
    }
}

fn read(boundary: &Boundary, path: impl AsRef<Path>) -> Result<String, &'static str> {
    let mut text = String::new();
    let mut file = boundary.open_file(path).map_err(|e| e.kind())?;
    file.read_to_string(&mut text).unwrap();
    Ok(text)
}

fn kind(boundary: &Boundary, path: impl AsRef<Path>) -> &'static str {
    boundary.resolve(path).unwrap_err().kind()
}

#[test]
fn plain_paths_resolve() {
    let world = World::new();
    for boundary in world.boundaries() {
        for (path, relative, exists) in [
            ("", "", true),
            (".", "", true),
            ("./", "", true),
            ("lib", "lib", true),
            ("lib/", "lib", true),
            ("lib//a.ex", "lib/a.ex", true),
            ("lib/./a.ex", "lib/a.ex", true),
            ("lib/deep/../a.ex", "lib/a.ex", true),
            ("lib/..", "", true),
            ("new", "new", false),
            ("new/folder/file.ex", "new/folder/file.ex", false),
            ("lib/new/", "lib/new", false),
        ] {
            let resolved = boundary.resolve(path).unwrap();
            assert_eq!(resolved.relative, Path::new(relative), "{path}");
            assert_eq!(
                resolved.absolute,
                world.path("proj").join(relative),
                "{path}"
            );
            assert_eq!(resolved.exists, exists, "{path}");
        }
        let absolute = world.path("proj/lib/a.ex");
        assert_eq!(
            boundary.resolve(absolute).unwrap().relative,
            Path::new("lib/a.ex")
        );
        assert_eq!(
            boundary.resolve(world.path("proj")).unwrap().relative,
            Path::new("")
        );
        assert_eq!(read(&boundary, "lib/a.ex").unwrap(), "inside a");
        assert!(boundary.open_dir("").is_ok());
        assert!(boundary.open_dir("lib/deep").is_ok());
    }
}

#[test]
fn what_leaves_by_its_text_is_refused() {
    let world = World::new();
    for boundary in world.boundaries() {
        for path in [
            "..",
            "../",
            "../proj/lib/a.ex",
            "lib/../..",
            "lib/../../proj",
            "../proj-evil/x",
            "/",
            "/etc/passwd",
        ] {
            assert_eq!(kind(&boundary, path), "outside", "{path}");
            assert_eq!(read(&boundary, path), Err("outside"), "{path}");
        }
        assert_eq!(kind(&boundary, world.path("proj-evil/x")), "outside");
        assert_eq!(
            kind(&boundary, world.path("proj/../outside/secret")),
            "outside"
        );
        assert_eq!(kind(&boundary, "lib/a.ex\0/../.."), "nul_byte");
        assert_eq!(kind(&boundary, "x".repeat(300)), "too_long");
        assert_eq!(kind(&boundary, "x/".repeat(3000)), "too_long");
        assert_eq!(
            kind(&boundary, "missing/../lib"),
            "not_found",
            "the kernel would not find it either"
        );
        assert_eq!(kind(&boundary, "lib/a.ex/"), "not_a_directory");
        assert_eq!(kind(&boundary, "lib/a.ex/.."), "not_a_directory");
        assert_eq!(kind(&boundary, "lib/a.ex/b"), "not_a_directory");
    }
}

#[test]
fn links_inside_are_followed() {
    let world = World::new();
    world.link("lib", "l");
    world.link("../lib/deep", "test/up");
    world.link(world.path("proj/lib"), "abs");
    world.link("lib/new.ex", "dangling");
    world.link("l/deep", "chain");
    world.link("lib/../lib/./a.ex", "winding");
    for boundary in world.boundaries() {
        for (path, relative, exists) in [
            ("l/a.ex", "lib/a.ex", true),
            ("test/up/b.ex", "lib/deep/b.ex", true),
            ("abs/a.ex", "lib/a.ex", true),
            ("dangling", "lib/new.ex", false),
            ("chain/b.ex", "lib/deep/b.ex", true),
            ("chain/../a.ex", "lib/a.ex", true),
            ("winding", "lib/a.ex", true),
        ] {
            let resolved = boundary.resolve(path).unwrap();
            assert_eq!(
                (resolved.relative.as_path(), resolved.exists),
                (Path::new(relative), exists),
                "{path}"
            );
        }
        assert_eq!(read(&boundary, "chain/b.ex").unwrap(), "inside b");
        assert_eq!(read(&boundary, "abs/a.ex").unwrap(), "inside a");
        assert_eq!(read(&boundary, "dangling"), Err("not_found"));
    }
}

#[test]
fn links_that_leave_are_refused() {
    let world = World::new();
    world.link("..", "up");
    world.link(world.path("outside"), "out");
    world.link(world.path("outside/missing"), "dangling_out");
    world.link("../outside/secret", "lib/../secret");
    world.link("../proj/lib", "there_and_back");
    world.link("up", "second");
    world.link("/proc/self/root/etc", "magic");
    world.link(world.path("proj-evil"), "evil");
    for boundary in world.boundaries() {
        for path in [
            "up",
            "up/outside/secret",
            "out/secret",
            "out",
            "dangling_out",
            "secret",
            "there_and_back/a.ex",
            "second/outside",
            "magic/passwd",
            "evil/x",
            "lib/../out/secret",
        ] {
            assert_eq!(kind(&boundary, path), "outside", "{path}");
            assert_eq!(read(&boundary, path), Err("outside"), "{path}");
        }
        match *boundary.resolve("second/outside").unwrap_err() {
            BoundaryError::Outside {
                link: Some(link), ..
            } => assert_eq!(link, Path::new("up")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn link_loops_end() {
    let world = World::new();
    world.link("loop", "loop");
    world.link("b", "a");
    world.link("a", "b");
    world.link("grow/x", "grow");
    for boundary in world.boundaries() {
        for path in ["loop", "a", "b/x", "grow"] {
            assert_eq!(kind(&boundary, path), "too_many_links", "{path}");
            assert_eq!(read(&boundary, path), Err("too_many_links"), "{path}");
        }
    }
}

#[test]
fn a_root_behind_a_link_has_two_names() {
    let world = World::new();
    symlink(world.path("proj"), world.path("alias")).unwrap();
    let boundary = Boundary::open(world.path("alias")).unwrap();
    assert_eq!(boundary.root(), world.path("proj"));
    for path in [world.path("alias/lib/a.ex"), world.path("proj/lib/a.ex")] {
        assert_eq!(
            boundary.resolve(path).unwrap().relative,
            Path::new("lib/a.ex")
        );
    }
    assert_eq!(kind(&boundary, world.path("alias-evil")), "outside");
}

#[test]
fn links_outside_that_lead_in_are_names_of_the_project() {
    let world = World::new();
    for (target, link) in [
        (world.path("proj"), "other"),
        (world.path("proj/lib"), "library"),
        (world.path("other"), "second"),
        (world.path("outside"), "away"),
        (world.path("round"), "round"),
    ] {
        symlink(target, world.path(link)).unwrap();
    }
    world.link(world.path("outside"), "out");
    let text = |below: &str| world.path(below).to_str().unwrap().to_owned();
    for boundary in world.boundaries() {
        let named = |path: String| {
            boundary
                .resolve_by_any_name(&path)
                .map(|found| (found.relative.to_str().unwrap().to_owned(), found.exists))
                .map_err(|refused| refused.kind())
        };
        for (path, relative, exists) in [
            ("other/lib/a.ex", "lib/a.ex", true),
            ("second/lib/./a.ex", "lib/a.ex", true),
            ("library/a.ex", "lib/a.ex", true),
            ("other", "", true),
            ("proj/lib/a.ex", "lib/a.ex", true),
            ("other/test/new_test.exs:12", "test/new_test.exs:12", false),
        ] {
            assert_eq!(
                named(text(path)),
                Ok((relative.to_owned(), exists)),
                "{path}"
            );
        }
        for path in [
            "other/../outside/secret",
            "other/lib/../../outside/secret",
            "away/../proj/lib/a.ex",
            "away/secret",
            "other/out/secret",
            "round/lib/a.ex",
            "missing/lib/a.ex",
            "proj-evil/x",
        ] {
            assert_eq!(named(text(path)), Err("outside"), "{path}");
        }
        // The kernel's links say where this process is, which nobody but it can mean.
        assert_eq!(named("/proc/self/root/etc/passwd".into()), Err("outside"));
        // What is checked and then used by its own text knows two names only.
        assert_eq!(kind(&boundary, world.path("other/lib/a.ex")), "outside");
    }
}

#[test]
fn the_root_must_be_a_folder() {
    let world = World::new();
    for bad in ["proj/lib/a.ex", "nothing"] {
        assert_eq!(
            Boundary::open(world.path(bad)).unwrap_err().kind(),
            "invalid_root"
        );
    }
    assert_eq!(Boundary::open("a\0b").unwrap_err().kind(), "nul_byte");
}

#[test]
fn only_plain_files_are_opened() {
    let world = World::new();
    let pipe = world.path("proj/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("proj/socket")).unwrap();
    for boundary in world.boundaries() {
        assert_eq!(
            read(&boundary, "pipe"),
            Err("wrong_type"),
            "and without waiting for a writer"
        );
        assert_eq!(read(&boundary, "socket"), Err("wrong_type"));
        assert_eq!(read(&boundary, "lib"), Err("wrong_type"));
        assert_eq!(
            boundary.open_dir("lib/a.ex").unwrap_err().kind(),
            "not_a_directory"
        );
        assert_eq!(
            boundary.open_dir("pipe").unwrap_err().kind(),
            "not_a_directory"
        );
    }
}

/// How long the race below waits for a side that stands still.
const PATIENCE: Duration = Duration::from_secs(60);

/// One thread swaps a folder for a link that leads out, and back, as fast as it can; the others
/// open a file below it. Whatever they get, it is never the outside file.
#[test]
fn a_swapped_link_never_leads_out() {
    let world = World::new();
    fs::write(world.path("outside/a.ex"), "secret").unwrap();
    let swap = world.path("proj/swap");
    fs::create_dir(&swap).unwrap();
    fs::write(swap.join("a.ex"), "inside").unwrap();
    let aside = world.path("proj/aside");
    let link = world.path("proj/link");
    let outside = world.path("outside");
    for boundary in world.boundaries() {
        let (done, good, refused) = (
            AtomicBool::new(false),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        let began = Instant::now();
        let both = || {
            [&good, &refused]
                .into_iter()
                .all(|seen| seen.load(Ordering::Relaxed) > 0)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    symlink(&outside, &link).unwrap();
                    fs::rename(&swap, &aside).unwrap();
                    fs::rename(&link, &swap).unwrap();
                    fs::remove_file(&swap).unwrap();
                    fs::rename(&aside, &swap).unwrap();
                }
            });
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut left = 20_000;
                        // On a busy machine one side may stand still for a long time.
                        while left > 0 || !both() && began.elapsed() < PATIENCE {
                            left -= i32::from(left > 0);
                            match read(&boundary, "swap/a.ex") {
                                Ok(text) => {
                                    assert_eq!(text, "inside");
                                    good.fetch_add(1, Ordering::Relaxed);
                                }
                                Err(_) => {
                                    refused.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                        }
                    })
                })
                .collect();
            let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
            done.store(true, Ordering::Relaxed);
            for result in results {
                result.unwrap();
            }
        });
        assert!(both(), "the race must have been run both ways");
    }
}

/// What the model tree holds: the file system of the property test, small enough to be walked by
/// hand.
#[derive(Clone, Debug)]
enum Entry {
    Dir,
    File,
    Link(String),
}

fn model_tree() -> BTreeMap<&'static str, Entry> {
    BTreeMap::from([
        ("a", Entry::Dir),
        ("a/b", Entry::Dir),
        ("a/f", Entry::File),
        ("a/b/f", Entry::File),
        ("up", Entry::Link("..".into())),
        ("self", Entry::Link(".".into())),
        ("a/up", Entry::Link("..".into())),
        ("a/out", Entry::Link("../..".into())),
        ("a/b/l", Entry::Link("../f".into())),
        ("l", Entry::Link("a/b".into())),
        ("loop", Entry::Link("loop".into())),
        ("new", Entry::Link("a/missing".into())),
    ])
}

/// A second, naive reading of the rules: texts only, one part at a time, everything rebuilt from
/// strings.
fn model(tree: &BTreeMap<&str, Entry>, path: &str) -> Result<(String, bool), &'static str> {
    let mut at: Vec<String> = Vec::new();
    let mut todo: Vec<String> = path.split('/').map(String::from).collect();
    let (mut links, mut missing, mut file) = (0, false, false);
    while !todo.is_empty() {
        let part = todo.remove(0);
        if file {
            return Err("not_a_directory");
        }
        match part.as_str() {
            "" | "." => {}
            ".." if missing => return Err("not_found"),
            ".." => {
                at.pop().ok_or("outside")?;
            }
            _ => {
                at.push(part);
                match tree.get(at.join("/").as_str()) {
                    _ if missing => {}
                    None => missing = true,
                    Some(Entry::Dir) => {}
                    Some(Entry::File) => file = true,
                    Some(Entry::Link(target)) => {
                        at.pop();
                        links += 1;
                        if links > 40 {
                            return Err("too_many_links");
                        }
                        todo.splice(0..0, target.split('/').map(String::from));
                    }
                }
            }
        }
    }
    Ok((at.join("/"), !missing))
}

fn path_text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "f", "up", "self", "out", "l", "loop", "new", "..", ".", "", "x",
    ]);
    prop::collection::vec(part, 1..8)
        .prop_map(|parts| parts.join("/"))
        .prop_filter("absolute", |p| !p.starts_with('/'))
}

#[test]
fn generated_paths_agree_with_the_model() {
    let world = World::new();
    let root = world.path("model");
    fs::create_dir(&root).unwrap();
    let tree = model_tree();
    for (path, entry) in &tree {
        match entry {
            Entry::Dir => fs::create_dir_all(root.join(path)).unwrap(),
            Entry::File => fs::write(root.join(path), "x").unwrap(),
            Entry::Link(target) => symlink(target, root.join(path)).unwrap(),
        }
    }
    let boundaries = [
        Boundary::open(&root).unwrap(),
        Boundary::open(&root).unwrap().without_openat2(),
    ];
    proptest!(ProptestConfig::with_cases(3000), |(path in path_text())| {
        for boundary in &boundaries {
            let got = boundary.resolve(&path).map(|r| (r.relative.to_str().unwrap().to_owned(), r.exists)).map_err(|e| e.kind());
            prop_assert_eq!(&got, &model(&tree, &path), "{}", path);
            // Where the answer says something is there, the kernel agrees on which file it is.
            if let Ok((relative, true)) = &got {
                prop_assert_eq!(fs::canonicalize(root.join(&path)).unwrap(), root.join(relative).canonicalize().unwrap());
            }
        }
    });
    proptest!(ProptestConfig::with_cases(500), |(path in any::<String>())| {
        for boundary in &boundaries {
            if let Ok(resolved) = boundary.resolve(&path) {
                prop_assert!(resolved.absolute.starts_with(&root));
                prop_assert!(!resolved.relative.components().any(|c| matches!(c, std::path::Component::ParentDir)));
            }
        }
    });
}
