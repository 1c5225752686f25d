//! What this server offers, from the file that is made when the library is compiled.

use rmcp::model::{ErrorData, Tool};
use serde::Deserialize;

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
}

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
            .map_err(|error| format!("{} is not what it should be: {error}", path.display()))
    }

    /// Refuses a name that no tool has.
    pub fn check(&self, name: &str) -> Result<(), ErrorData> {
        if self.tools.iter().any(|tool| tool.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
        let shown: String = name.chars().take(100).collect();
        Err(ErrorData::invalid_params(
            format!("Unknown tool: {shown}. The tools are: {}", names.join(", ")),
            None,
        ))
    }
}
