//! Git's folders of a project: which they are, what of them git may change, and who commits.
//!
//! A person's git runs what lies there, outside of every fence: hooks, filters, aliases, pagers, whatever the
//! configuration names. So all of it is read-only for commands. Git itself, started from an approved line, may write its
//! folders, but for what controls it.

pub mod config;
pub mod keeper;

use std::fs;
use std::path::{Path, PathBuf};

use crate::fence::Repository;
use config::Config;

/// The repositories of the places that a command may write.
#[derive(Clone, Debug, Default)]
pub struct Repositories {
    /// Git's folders, and the files that lead to them.
    pub folders: Vec<PathBuf>,
    /// What controls git, within these folders; also what isn't there yet.
    pub control: Vec<PathBuf>,
    /// Paths of the project that git's configuration names as programs or further configuration.
    pub named: Vec<PathBuf>,
    /// The working tree around a project that is only a part of it.
    pub around: Option<PathBuf>,
    /// Who commits, as variables.
    pub identity: Vec<(String, String)>,
}

/// What controls git in each of its folders.
const CONTROL: [&str; 7] = [
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "commondir",
    "gitdir",
    "objects/info/alternates",
];

/// Submodules lie as deep as their names have slashes.
const DEPTH: usize = 6;

impl Repositories {
    /// Looks for them. `homes` hold a person's own configuration of git.
    pub fn find(write: &[PathBuf], homes: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut settings = Config::default();
        for home in homes {
            settings.add(&home.join(".config/git/config"));
            settings.add(&home.join(".gitconfig"));
        }
        for place in write.iter().filter_map(|place| place.canonicalize().ok()) {
            let Some(tree) = place
                .ancestors()
                .find(|folder| folder.join(".git").exists())
            else {
                continue;
            };
            if tree != place {
                found.around = Some(tree.to_owned());
            }
            found.add(&tree.join(".git"), &mut settings);
            let named = settings.paths(tree);
            found
                .named
                .extend(named.into_iter().filter(|path| path.starts_with(&place)));
        }
        found.identity = settings.identity();
        found.folders.sort();
        found.folders.dedup();
        found
    }

    fn add(&mut self, entry: &Path, settings: &mut Config) {
        self.folders.push(entry.to_owned());
        let folder = match led_to(entry, "gitdir: ") {
            Some(folder) => folder,
            None => entry.to_owned(),
        };
        let common = led_to(&folder.join("commondir"), "").unwrap_or_else(|| folder.clone());
        for folder in [&common, &folder] {
            if !self.folders.iter().any(|known| folder.starts_with(known)) {
                self.folders.push(folder.clone());
            }
            settings.add(&folder.join("config"));
            settings.add(&folder.join("config.worktree"));
        }
        self.control(&common);
        self.modules(&common.join("modules"), DEPTH);
        for worktree in children(&common.join("worktrees")) {
            self.control(&worktree);
        }
    }

    fn control(&mut self, folder: &Path) {
        self.control
            .extend(CONTROL.iter().map(|name| folder.join(name)));
    }

    fn modules(&mut self, folder: &Path, depth: usize) {
        for child in children(folder) {
            if child.join("HEAD").is_file() {
                self.control(&child);
                // The file in the submodule's own folder that leads here.
                let mut settings = Config::default();
                settings.add(&child.join("config"));
                if let Some(tree) = settings.value("core.worktree") {
                    self.named
                        .extend(child.join(tree).join(".git").canonicalize().ok());
                }
                self.modules(&child.join("modules"), depth.saturating_sub(1));
            } else if depth > 0 {
                self.modules(&child, depth - 1);
            }
        }
    }

    /// Git's own view of them, for a plan that runs it.
    pub fn view(&self) -> Repository {
        Repository {
            folders: self
                .folders
                .iter()
                .filter(|path| path.is_dir())
                .cloned()
                .collect(),
            control: self
                .control
                .iter()
                .filter(|path| path.exists())
                .cloned()
                .collect(),
            around: self.around.clone(),
        }
    }
}

/// The folder that a file names, behind a word.
fn led_to(file: &Path, word: &str) -> Option<PathBuf> {
    let metadata = fs::symlink_metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > 8192 {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(word)?.trim_end();
    file.parent()?.join(path).canonicalize().ok()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
