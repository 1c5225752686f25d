//! As much of git's configuration as it takes to know what it names and who commits.
//!
//! Not a full reader: where git would see less in a value (comments, quotes) this sees more words, and a word counts only
//! if it is a path that exists in the project.

use std::fs;
use std::path::{Path, PathBuf};

/// Settings in the order in which they were read; of one name the last counts.
#[derive(Default)]
pub struct Config {
    settings: Vec<(String, String)>,
}

/// Settings whose values name programs, or files with further settings. A `*` is any middle part.
const NAMES_PATHS: [&str; 28] = [
    "core.hookspath",
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
    "init.templatedir",
    "include.path",
    "includeif.*.path",
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

const LARGEST: u64 = 1024 * 1024;

impl Config {
    /// Reads a file; one that isn't there says nothing.
    pub fn add(&mut self, file: &Path) {
        if fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST)
        {
            self.parse(&fs::read_to_string(file).unwrap_or_default());
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

    /// The variables that say who commits, for git where it can't read a person's own configuration.
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

    /// Existing paths of the tree that settings name.
    pub fn paths(&self, tree: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for (name, value) in &self.settings {
            if !NAMES_PATHS.iter().any(|pattern| fits(pattern, name)) {
                continue;
            }
            let separators = |c: char| c.is_whitespace() || "\"'!;|&<>()=".contains(c);
            for word in value.split(separators).filter(|word| !word.is_empty()) {
                let path = tree.join(word).canonicalize();
                paths.extend(
                    path.ok()
                        .filter(|path| path.starts_with(tree) && path != tree),
                );
            }
        }
        paths
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
        let tree = std::env::temp_dir().join(format!("git-config-{}", std::process::id()));
        for folder in ["hooks", "tools", "lib"] {
            fs::create_dir_all(tree.join(folder)).unwrap();
        }
        fs::write(tree.join("tools/clean.sh"), "").unwrap();
        let tree = tree.canonicalize().unwrap();
        let mut config = Config::default();
        config.parse(
            "[core]\n\thooksPath = hooks\n[filter \"x.y\"]\n\tclean = sh ./tools/clean.sh %f\n\
             [branch \"lib\"]\n\tmerge = lib\n[user] name = \"Ada L\"\n\temail = ada@example.org\n\
             [alias]\n\tall = !cd lib && ls .\n",
        );
        let expected = ["hooks", "tools/clean.sh", "lib"].map(|path| tree.join(path));
        assert_eq!(config.paths(&tree), expected);
        assert_eq!(config.value("user.name").unwrap(), "Ada L");
        assert_eq!(config.identity().len(), 4);
        fs::remove_dir_all(&tree).unwrap();
    }
}
