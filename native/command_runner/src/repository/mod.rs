//! Git's folders of a project: which they are, what of them git may change, and who commits.
//!
//! A person's git runs what lies there, outside of every fence: hooks, filters, aliases, pagers,
//! whatever the configuration names. So all of it is read-only for commands. Git itself, started
//! from an approved line, may write its folders, but for what controls it.

pub mod appeared;
pub mod config;
mod index;
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
    /// The entries `.git` of submodules, also those that aren't there: a person's git looks into
    /// what it finds at one.
    pub entries: Vec<PathBuf>,
    /// What each repository has as submodules.
    pub submodules: Vec<Submodules>,
    /// The working tree around a project that is only a part of it.
    pub around: Option<PathBuf>,
    /// Who commits, as variables.
    pub identity: Vec<(String, String)>,
}

/// The submodules of a repository, to be told of those that a command adds.
#[derive(Clone, Debug)]
pub struct Submodules {
    tree: PathBuf,
    folder: PathBuf,
    known: Vec<PathBuf>,
}

impl Submodules {
    fn of(tree: &Path, folder: &Path) -> Self {
        Self {
            tree: tree.to_owned(),
            folder: folder.to_owned(),
            known: index::submodules(folder),
        }
    }

    /// A sentence for each that is one now and was none before.
    pub fn added(&self) -> Vec<String> {
        let now = index::submodules(&self.folder).into_iter();
        now.filter(|path| !self.known.contains(path))
            .filter(|path| self.tree.join(path).join(".git").symlink_metadata().is_ok())
            .map(|path| {
                format!(
                    "{} was added as a repository within this one. Git looks into it from here, \
                     and its configuration and hooks can run programs: read them first",
                    path.display()
                )
            })
            .collect()
    }
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
            if let Some(folder) = found.add(&tree.join(".git"), &mut settings) {
                found.add_submodules(tree, &folder, DEPTH);
                if tree != place {
                    found.around = Some(tree.to_owned());
                }
            }
            let named = settings.paths(tree);
            found
                .named
                .extend(named.into_iter().filter(|path| path.starts_with(&place)));
        }
        let places = paths::without_links(write);
        let writable = |path: &PathBuf| places.iter().any(|place| path.starts_with(place));
        found.entries.retain(writable);
        found
            .named
            .retain(|path| writable(path) && !places.contains(path));
        found.identity = settings.identity();
        found.folders.sort();
        found.folders.dedup();
        found
    }

    /// Adds the repository whose folder is, or is named by, an entry `.git`, and answers the
    /// folder. A command may have written the entry: it names a folder elsewhere only if that
    /// folder leads back.
    fn add(&mut self, entry: &Path, settings: &mut Config) -> Option<PathBuf> {
        let folder = git_folder(entry)?;
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
        Some(folder)
    }

    /// Adds the submodules of a working tree, and theirs. One may have its folder of git in itself,
    /// instead of below that of the repository around.
    fn add_submodules(&mut self, tree: &Path, folder: &Path, depth: usize) {
        let submodules = Submodules::of(tree, folder);
        for path in &submodules.known {
            let module = tree.join(path);
            let entry = module.join(".git");
            let mut settings = Config::default();
            // The others are among the modules of the repository around.
            let folder = match git_folder(&entry) {
                Some(folder) if folder == entry => self.add(&entry, &mut settings),
                Some(folder) => {
                    settings.add(&folder.join("config"));
                    Some(folder)
                }
                None => None,
            };
            self.entries.push(entry);
            if let (Some(folder), true) = (folder, depth > 0) {
                self.named.extend(settings.paths(&module));
                self.add_submodules(&module, &folder, depth - 1);
            }
        }
        self.submodules.push(submodules);
    }

    fn control(&mut self, folder: &Path) {
        for path in CONTROL.map(|name| folder.join(name)) {
            // Where the person's own link leads to is what git reads.
            if path.is_symlink() {
                self.named.extend(path.canonicalize().ok());
            }
            self.control.push(path);
        }
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
                .filter(|path| path.exists() && !path.is_symlink())
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
