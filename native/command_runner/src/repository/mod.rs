//! Git's folders of a project: which they are, what of them git may change, and who commits.
//!
//! A person's git runs what lies there, outside of every fence: hooks, filters, aliases, pagers,
//! whatever the configuration names. So all of it is read-only for commands. Git itself, started
//! from an approved line, may write its folders, but for what controls it.

pub mod appeared;
pub mod config;
pub mod keeper;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::fence::Repository;
use crate::paths;
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
    /// Looks for them; the first of the places is the project. `homes` hold a person's own
    /// configuration of git.
    pub fn find(write: &[PathBuf], homes: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut settings = Config::default();
        for home in homes {
            settings.add_of_person(&home.join(".config/git/config"), home);
            settings.add_of_person(&home.join(".gitconfig"), home);
        }
        for (number, place) in paths::without_links(write).into_iter().enumerate() {
            let above = if number == 0 { usize::MAX } else { 1 };
            // Of a home that is a repository git would see all that is private.
            let usable =
                |tree: &&Path| **tree == place || !homes.iter().any(|home| home.starts_with(tree));
            let Some(tree) = place
                .ancestors()
                .take(above)
                .find(|folder| folder.join(".git").symlink_metadata().is_ok())
                .filter(usable)
            else {
                continue;
            };
            if found.add(&tree.join(".git"), &mut settings) && tree != place {
                found.around = Some(tree.to_owned());
            }
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

    /// Adds the repository whose folder is, or is named by, an entry `.git`; false when that is
    /// none. A command may have written the entry: it names a folder elsewhere only if that folder
    /// leads back.
    fn add(&mut self, entry: &Path, settings: &mut Config) -> bool {
        let Some(folder) = git_folder(entry) else {
            return false;
        };
        self.folders.push(entry.to_owned());
        let common = common_folder(&folder);
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
        true
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
                let tree = settings
                    .value("core.worktree")
                    .and_then(|tree| child.join(tree).canonicalize().ok());
                let entry = tree.map(|tree| tree.join(".git"));
                let leads_here = |entry: &PathBuf| git_folder(entry).as_ref() == Some(&child);
                self.named.extend(entry.filter(leads_here));
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

/// The folder behind an entry `.git`. A link counts for nothing.
fn git_folder(entry: &Path) -> Option<PathBuf> {
    if fs::symlink_metadata(entry).ok()?.is_dir() {
        return Some(entry.to_owned());
    }
    let folder = led_to(entry, "gitdir: ")?;
    let of_worktree = || led_to(&folder.join("gitdir"), "").as_deref() == Some(entry);
    let of_submodule = || {
        let mut settings = Config::default();
        settings.add(&folder.join("config"));
        let tree = settings.value("core.worktree")?;
        folder.join(tree).canonicalize().ok()
    };
    (of_worktree() || of_submodule().as_deref() == entry.parent()).then_some(folder)
}

/// The folder that a worktree's shares with the others; of all others the folder itself.
fn common_folder(folder: &Path) -> PathBuf {
    led_to(&folder.join("commondir"), "")
        .filter(|common| folder.parent() == Some(&common.join("worktrees")))
        .unwrap_or_else(|| folder.to_owned())
}

/// What a file names, behind a word.
fn led_to(file: &Path, word: &str) -> Option<PathBuf> {
    let text = paths::text(paths::open(file, OFlags::RDONLY).ok()?, 8192)?;
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
