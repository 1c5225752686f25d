//! Whether a path lies inside the project.

pub mod lexical;
