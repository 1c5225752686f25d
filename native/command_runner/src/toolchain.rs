//! Where the programs of the person's `PATH` really lie, so that they can be read where home
//! folders can't.
//!
//! Nothing of this comes from the project: `PATH` and the variables of version managers are those
//! of the BEAM.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::paths;

/// Programs whose installation is looked for behind links.
const PROGRAMS: [&str; 26] = [
    "elixir", "elixirc", "iex", "mix", "erl", "erlc", "escript", "rebar3", "cargo", "rustc",
    "rustup", "node", "npm", "npx", "yarn", "pnpm", "python3", "python", "git", "make", "gcc",
    "cc", "rg", "jq", "go", "gleam",
];

/// Version managers: the variable that names their folder, and that folder's usual place in a home.
const MANAGERS: [(&str, &str); 16] = [
    ("ASDF_DATA_DIR", ".asdf"),
    ("ASDF_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("RTX_DATA_DIR", ".local/share/rtx"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("FNM_DIR", ".local/share/fnm"),
    ("VOLTA_HOME", ".volta"),
    ("RUSTUP_HOME", ".rustup"),
    ("KERL_BASE_DIR", ".kerl"),
    ("KIEX_HOME", ".kiex"),
    ("GOROOT", "go"),
    ("RBENV_ROOT", ".rbenv"),
    ("NODENV_ROOT", ".nodenv"),
    ("EXENV_ROOT", ".exenv"),
    ("SDKMAN_DIR", ".sdkman/candidates"),
];

/// Which version to use, as the managers' own files in a home say.
const CHOICES: [&str; 4] = [
    ".tool-versions",
    ".asdfrc",
    ".config/mise/config.toml",
    ".nvmrc",
];

/// A variable of the commands.
pub fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.as_os_str())
}

/// The home folders of this user: by the variable, and by the list of users.
pub fn homes(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let own = rustix::process::getuid().as_raw().to_string();
    let listed = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = listed.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&own.as_str())).then(|| fields.get(5).map(PathBuf::from))?
    });
    let named = variable(environment, "HOME").map(PathBuf::from);
    let found: BTreeSet<PathBuf> = [named, listed]
        .into_iter()
        .flatten()
        .filter(|path| path.is_absolute() && path.parent().is_some())
        .collect();
    found.into_iter().collect()
}

/// The folders and files that the programs of `PATH` need, outside of the system's own. Links in
/// the places `writable` count for nothing: a command may have made them.
pub fn find(
    environment: &[(OsString, OsString)],
    homes: &[PathBuf],
    writable: &[PathBuf],
) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let path = variable(environment, "PATH").unwrap_or_default();
    let mut searched = BTreeSet::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let Some(real) = paths::settled(&folder, writable).filter(|real| real.is_dir()) else {
            continue;
        };
        if !system(&folder) {
            found.insert(folder);
        }
        // Each once: on many systems /bin is a link to /usr/bin.
        if searched.insert(real.clone()) {
            links(&real, homes, writable, &mut found);
        }
    }
    for (name, usual) in MANAGERS {
        let named = variable(environment, name).map(PathBuf::from);
        let places = homes.iter().map(|home| home.join(usual)).chain(named);
        // A home itself is not a folder of a manager, whatever a variable says.
        found.extend(places.filter(|place| !homes.contains(place) && place.is_dir()));
    }
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let named = variable(environment, name).map(PathBuf::from);
        let usable = |place: &PathBuf| place.is_absolute() && place.exists();
        found.extend(named.filter(|place| usable(place) && !homes.contains(place)));
    }
    for home in homes {
        found.extend(
            CHOICES
                .iter()
                .map(|name| home.join(name))
                .filter(|file| file.is_file()),
        );
    }
    found.into_iter().collect()
}

/// Takes the folders off `PATH` that commands may write. A file of the project that is named like a
/// program would be taken for it otherwise, and one that is named `git` for git, which alone may
/// write git's folder.
pub fn leave_out_writable(environment: &mut [(OsString, OsString)], write: &[PathBuf]) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let write: Vec<PathBuf> = write.iter().map(|path| real(path)).collect();
    let outside = |folder: &PathBuf| {
        let folder = real(folder);
        !write.iter().any(|path| folder.starts_with(path))
    };
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let folders = std::env::split_paths(&*value).filter(outside);
        // What was split at every colon can be joined.
        *value = std::env::join_paths(folders).unwrap_or_default();
    }
}

/// Where the home can't be replaced by an empty one at its place, its variable leads to another
/// folder, and those of version managers and package managers to what they find beside the home
/// otherwise.
pub fn replace_home(environment: &mut Vec<(OsString, OsString)>, homes: &[PathBuf], own: &Path) {
    let beside = [("CARGO_HOME", ".cargo"), ("MIX_HOME", ".mix")];
    for home in homes {
        for (name, usual) in MANAGERS.into_iter().chain(beside) {
            let place = home.join(usual);
            if variable(environment, name).is_none() && place.is_dir() {
                environment.push((name.into(), place.into()));
            }
        }
    }
    environment.retain(|(name, _)| name != "HOME");
    environment.push(("HOME".into(), own.into()));
}

fn system(folder: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/opt", "/nix"]
        .iter()
        .any(|system| folder.starts_with(system))
}

/// Installations that known programs in a folder are links into.
fn links(folder: &Path, homes: &[PathBuf], writable: &[PathBuf], found: &mut BTreeSet<PathBuf>) {
    for name in PROGRAMS {
        let Some(program) = paths::settled(&folder.join(name), writable) else {
            continue;
        };
        if system(&program) || program.parent() == Some(folder) && system(folder) {
            continue;
        }
        found.extend(installation(&program, homes));
    }
}

/// The folder around `bin`, where libraries lie beside programs; of a home or its `.local`, `bin`
/// alone.
fn installation(program: &Path, homes: &[PathBuf]) -> Option<PathBuf> {
    let folder = program.parent()?;
    let around = folder.parent()?;
    let shared = around.parent().is_none()
        || homes
            .iter()
            .any(|home| home.starts_with(around) || *around == home.join(".local"));
    // ~/.cargo holds credentials beside its programs.
    let private = around.file_name() == Some(OsStr::new(".cargo"));
    let whole = folder.file_name() == Some(OsStr::new("bin")) && !shared && !private;
    Some(if whole { around } else { folder }.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_program_is_found_where_commands_may_write() {
        let folder = std::env::temp_dir().join(format!("path-{}", std::process::id()));
        fs::create_dir_all(folder.join("project/bin")).unwrap();
        symlink(folder.join("project/bin"), folder.join("link")).unwrap();
        let path = std::env::join_paths([
            folder.join("project/bin"),
            folder.join("link"),
            folder.clone(),
            folder.join("missing"),
        ]);
        let mut environment = vec![("PATH".into(), path.unwrap())];
        leave_out_writable(&mut environment, &[folder.join("project")]);
        let left = std::env::join_paths([folder.clone(), folder.join("missing")]);
        assert_eq!(environment[0].1, left.unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn installations_under_home_are_found_and_the_rest_of_home_is_not() {
        let home = std::env::temp_dir().join(format!("toolchain-{}", std::process::id()));
        let home = {
            fs::create_dir_all(&home).unwrap();
            home.canonicalize().unwrap()
        };
        for folder in [
            "erlang/27/bin",
            ".cargo/bin",
            ".asdf/shims",
            ".local/bin",
            ".ssh",
        ] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        fs::write(home.join("erlang/27/bin/erl"), "").unwrap();
        fs::write(home.join(".cargo/bin/cargo"), "").unwrap();
        symlink(home.join("erlang/27/bin/erl"), home.join(".local/bin/erl")).unwrap();
        let path = std::env::join_paths([
            home.join(".cargo/bin"),
            home.join(".asdf/shims"),
            home.join(".local/bin"),
        ]);
        let environment = vec![
            ("PATH".into(), path.unwrap()),
            ("ASDF_DIR".into(), home.clone().into()),
        ];
        let found = find(&environment, std::slice::from_ref(&home), &[]);
        let expected = [
            ".asdf",
            ".asdf/shims",
            ".cargo/bin",
            ".local/bin",
            "erlang/27",
        ];
        assert_eq!(found, expected.map(|path| home.join(path)));
        fs::remove_dir_all(&home).unwrap();
    }
}
