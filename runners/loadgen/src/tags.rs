//! Names that scripts give to their operations, numbered alike in all threads and targets.

use std::sync::{Arc, Mutex};

/// The names met so far; number 0 is an operation without a name.
#[derive(Debug, Clone, Default)]
pub struct Tags(Arc<Mutex<Vec<String>>>);

impl Tags {
    /// The number of a name, from 1. `None`: there are as many names as there are numbers.
    pub fn number(&self, name: &str) -> Option<u8> {
        let mut names = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        u8::try_from(index + 1).ok()
    }

    /// All names in the order of their numbers, from 1.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).len()
    }
}
