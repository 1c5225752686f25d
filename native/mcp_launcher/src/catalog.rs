//! What this server offers, from the file that is made when the library is compiled.

use std::collections::BTreeMap;

use rmcp::model::{ErrorData, Tool};
use serde::Deserialize;

use crate::fence::Fence;
use crate::options::Session;

/// Lies beside this program, made by the Mix compiler of the library from its definitions.
const FILE: &str = "jido_mcp_tools.json";

/// The tools, and what is said of them all.
#[derive(Debug, Deserialize)]
pub struct Catalog {
    /// The library's version.
    pub version: String,
    /// For the model: what these tools are, and why one may be denied.
    pub instructions: String,
    /// In the order in which they are listed.
    pub tools: Vec<Tool>,
    /// The tier that each asks for.
    pub tiers: BTreeMap<String, String>,
}

/// From the least to the most powerful.
const TIERS: [&str; 4] = ["read_only", "write", "execute", "privileged"];

impl Catalog {
    /// Reads the file.
    pub fn beside_this_program() -> Result<Catalog, String> {
        let path = std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name(FILE);
        let text = std::fs::read(&path).map_err(|error| {
            format!(
                "can't read {}: {error}; compile the project once, or run mix jido.mcp.config",
                path.display()
            )
        })?;
        serde_json::from_slice(&text)
            .map_err(|error| format!("{} is not a list of tools: {error}", path.display()))
    }

    /// What a client is told at its start, with what this session may do.
    pub fn instructions(&self, session: &Session, fence: &Fence) -> String {
        let level = |tier: &str| TIERS.iter().position(|known| *known == tier);
        let granted = level(&session.tier);
        let denied: Vec<String> = self
            .tools
            .iter()
            .filter_map(|tool| {
                let tier = self.tiers.get(tool.name.as_ref())?;
                let consented = session.consented.iter().any(|name| *name == tool.name);
                let allowed =
                    consented || granted.is_some_and(|granted| level(tier) <= Some(granted));
                (!allowed).then(|| format!("{} ({tier})", tool.name))
            })
            .collect();
        let mut text = format!(
            "{} {} This session has the tier {}.",
            self.instructions,
            fence.instruction(session.fence),
            session.tier
        );
        if !denied.is_empty() {
            text += &format!(" Not granted: {}.", denied.join(", "));
            text += if session.ask {
                " Calls of these ask the person at the client, or are denied if the client \
                 can't ask."
            } else {
                " Only a person can grant more, at the server's start."
            };
        }
        text
    }

    /// Refuses a name that no tool has, of these and of the project's own.
    pub fn check(&self, name: &str, offered: &[Tool]) -> Result<(), ErrorData> {
        let all = || self.tools.iter().chain(offered);
        if all().any(|tool| tool.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = all().map(|tool| tool.name.as_ref()).collect();
        let shown: String = name
            .chars()
            .take(100)
            .flat_map(char::escape_debug)
            .collect();
        Err(ErrorData::invalid_params(
            format!("Unknown tool: {shown}. The tools are: {}", names.join(", ")),
            None,
        ))
    }
}
