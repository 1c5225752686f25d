//! A project tree in a temporary directory, gone when dropped.
#![allow(dead_code, clippy::unwrap_used)]

use code_search::{CancelToken, Error, Options, Report, Search};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub struct Tree {
    pub parent: PathBuf,
    pub root: PathBuf,
}

impl Tree {
    /// An empty project; `parent` is there for what lies outside it.
    pub fn new() -> Tree {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("code_search-{}-{n}", std::process::id());
        let parent = std::env::temp_dir().canonicalize().unwrap().join(name);
        let root = parent.join("project");
        fs::create_dir_all(&root).unwrap();
        Tree { parent, root }
    }

    pub fn with(files: &[(&str, &str)]) -> Tree {
        let tree = Tree::new();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn dir(&self, path: &str) {
        fs::create_dir_all(self.root.join(path)).unwrap();
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    pub fn fifo(&self, path: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    pub fn search(&self, path: &str, pattern: &str, options: Options) -> Result<Report, Error> {
        let search = Search {
            root: self.root.clone(),
            path: path.into(),
            pattern: pattern.into(),
            options,
        };
        search.run(&CancelToken::new(), Duration::from_secs(30))
    }

    pub fn text(&self, pattern: &str, options: Options) -> String {
        self.search(".", pattern, options).unwrap().text
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.parent);
    }
}
