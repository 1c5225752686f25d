//! As much of git's configuration as it takes to know what it names and who commits.
//!
//! Not a full reader: where git would see less in a value (comments, quotes) this sees more words,
//! and a word counts only if it is a path that exists in the project.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::paths;

/// Settings in the order in which they were read; of one name the last counts.
#[derive(Default)]
pub struct Config {
    settings: Vec<(String, String)>,
    /// Files that others included, with what they say read after them.
    included: Vec<PathBuf>,
}

/// Settings whose values name programs, or files with further settings. A `*` is any middle part.
const NAMES_PATHS: [&str; 24] = [
    "core.attributesfile",
    "core.excludesfile",
    "core.fsmonitor",
    "core.sshcommand",
    "core.gitproxy",
    "core.askpass",
    "core.editor",
    "core.pager",
    "sequence.editor",
    "diff.external",
    "gpg.program",
    "commit.template",
    "pager.*",
    "alias.*",
    "diff.*.command",
    "diff.*.textconv",
    "merge.*.driver",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "credential.helper",
    "credential.*.helper",
    "difftool.*.cmd",
    "mergetool.*.cmd",
];

/// Settings whose values name folders of programs.
const NAMES_FOLDERS: [&str; 2] = ["core.hookspath", "init.templatedir"];

/// Settings whose values name files with further settings.
const INCLUDES: [&str; 2] = ["include.path", "includeif.*.path"];

const LARGEST: u64 = 1024 * 1024;

/// More files than anyone includes; a ring of them ends here.
const MOST_INCLUDED: usize = 32;

impl Config {
    /// Reads a file of a repository, and what it includes; one that isn't there, or is a link, says
    /// nothing.
    pub fn add(&mut self, file: &Path) {
        self.add_opened(
            file,
            paths::open(file, OFlags::RDONLY).ok().map(File::from),
            None,
        );
    }

    /// Reads a file of a person's own, which may be a link.
    pub fn add_of_person(&mut self, file: &Path, home: &Path) {
        let real = file.canonicalize().ok();
        let opened = real.and_then(|real| paths::open(&real, OFlags::RDONLY).ok());
        self.add_opened(file, opened.map(File::from), Some(home));
    }

    fn add_opened(&mut self, file: &Path, opened: Option<File>, home: Option<&Path>) {
        let Some(text) = opened.and_then(|opened| paths::text(opened, LARGEST)) else {
            return;
        };
        let before = self.settings.len();
        self.parse(&text);
        let includes: Vec<String> = self.settings[before..]
            .iter()
            .filter(|(name, _)| INCLUDES.iter().any(|pattern| fits(pattern, name)))
            .map(|(_, value)| value.trim_matches('"').to_owned())
            .collect();
        for path in includes {
            let path = match (path.strip_prefix("~/"), home, file.parent()) {
                (Some(rest), Some(home), _) => home.join(rest),
                (_, _, Some(folder)) => folder.join(path),
                _ => continue,
            };
            let Ok(path) = path.canonicalize() else {
                continue;
            };
            if self.included.len() < MOST_INCLUDED && !self.included.contains(&path) {
                self.included.push(path.clone());
                let opened = paths::open(&path, OFlags::RDONLY).ok();
                self.add_opened(&path, opened.map(File::from), home);
            }
        }
    }

    fn parse(&mut self, text: &str) {
        let mut section = String::new();
        for line in text.replace("\\\n", " ").lines().map(str::trim) {
            if let Some((header, rest)) =
                line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            {
                section = match header.split_once('"') {
                    Some((name, sub)) => {
                        format!(
                            "{}.{}",
                            name.trim().to_lowercase(),
                            sub.trim_end_matches('"')
                        )
                    }
                    None => header.trim().to_lowercase(),
                };
                self.setting(&section, rest.trim());
            } else {
                self.setting(&section, line);
            }
        }
    }

    fn setting(&mut self, section: &str, line: &str) {
        if let Some((name, value)) = line.split_once('=') {
            let name = format!("{section}.{}", name.trim().to_lowercase());
            self.settings.push((name, value.trim().to_owned()));
        }
    }

    /// The last value of a setting, without quotes.
    pub fn value(&self, name: &str) -> Option<String> {
        let (_, value) = self.settings.iter().rfind(|(other, _)| other == name)?;
        Some(value.trim_matches('"').to_owned())
    }

    /// The variables that say who commits, for git where it can't read a person's own
    /// configuration.
    pub fn identity(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        for (setting, part) in [("user.name", "NAME"), ("user.email", "EMAIL")] {
            for role in ["AUTHOR", "COMMITTER"] {
                let value = self.value(setting).filter(|value| !value.contains('\0'));
                variables.extend(value.map(|value| (format!("GIT_{role}_{part}"), value)));
            }
        }
        variables
    }

    /// Existing paths of the tree that settings name: programs, folders of programs, and files with
    /// further settings. A folder that a command line only mentions is none of them.
    pub fn paths(&self, tree: &Path) -> Vec<PathBuf> {
        let mut found = self.included.clone();
        for (name, value) in &self.settings {
            if NAMES_FOLDERS.contains(&name.as_str()) {
                found.extend(tree.join(value.trim_matches('"')).canonicalize().ok());
            } else if NAMES_PATHS.iter().any(|pattern| fits(pattern, name)) {
                let separators = |c: char| c.is_whitespace() || "\"'!;|&<>()=".contains(c);
                let words = value.split(separators).filter(|word| !word.is_empty());
                let paths = words.filter_map(|word| tree.join(word).canonicalize().ok());
                found.extend(paths.filter(|path| path.is_file()));
            }
        }
        found.retain(|path| path.starts_with(tree) && path != tree);
        found
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((front, back)) => {
            name.len() > front.len() + back.len() && name.starts_with(front) && name.ends_with(back)
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_that_settings_name_are_found_and_ordinary_words_are_not() {
        use std::fs;
        let tree = std::env::temp_dir().join(format!("git-config-{}", std::process::id()));
        for folder in ["hooks", "tools", "lib"] {
            fs::create_dir_all(tree.join(folder)).unwrap();
        }
        fs::write(tree.join("tools/clean.sh"), "").unwrap();
        let tree = tree.canonicalize().unwrap();
        fs::write(
            tree.join("tools/more"),
            "[diff \"x\"]\n\tcommand = tools/differ\n",
        )
        .unwrap();
        fs::write(tree.join("tools/differ"), "").unwrap();
        fs::create_dir(tree.join(".git")).unwrap();
        fs::write(
            tree.join(".git/config"),
            "[core]\n\thooksPath = hooks\n[filter \"x.y\"]\n\tclean = sh ./tools/clean.sh %f\n\
             [branch \"lib\"]\n\tmerge = lib\n[user] name = \"Ada L\"\n\temail = ada@example.org\n\
             [alias]\n\tall = !cd lib && ls .\n[include]\n\tpath = ../tools/more\n",
        )
        .unwrap();
        let mut config = Config::default();
        config.add(&tree.join(".git/config"));
        let expected =
            ["tools/more", "hooks", "tools/clean.sh", "tools/differ"].map(|path| tree.join(path));
        assert_eq!(config.paths(&tree), expected);
        assert_eq!(config.value("user.name").unwrap(), "Ada L");
        assert_eq!(config.identity().len(), 4);
        fs::remove_dir_all(&tree).unwrap();
    }
}
