//! Where requests come from: one text for the whole run, or a script's `request()`.

use crate::error::Result;
use crate::lua::{Script, is_head_request};

/// Gives requests.
pub struct Source {
    script: Script,
    text: Vec<u8>,
    dynamic: bool,
    head: bool,
}

impl Source {
    /// Takes a script after its `init`. Without `request()` its one request is made here.
    ///
    /// # Errors
    /// [`crate::error::Error::Script`] when there is no valid request.
    pub fn new(mut script: Script) -> Result<Self> {
        let dynamic = script.is_dynamic();
        let mut text = Vec::new();
        if !dynamic {
            script.request(&mut text)?;
        }
        let head = is_head_request(&text);
        Ok(Source { script, text, dynamic, head })
    }

    /// Calls `request()` once for nothing, as wrk and wrk2 do at start-up on the first thread.
    ///
    /// # Errors
    /// [`crate::error::Error::Script`].
    pub fn swallow_one(&mut self) -> Result<()> {
        if self.dynamic { self.script.request(&mut self.text) } else { Ok(()) }
    }

    /// Makes the next request. Read it with [`Source::text`].
    ///
    /// # Errors
    /// [`crate::error::Error::Script`].
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        if self.dynamic {
            self.script.request(&mut self.text)?;
            self.head = is_head_request(&self.text);
        }
        Ok(())
    }

    /// The request that [`Source::advance`] made.
    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a script makes each request anew.
    pub fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    /// Whether it is a HEAD request.
    #[inline]
    pub fn is_head(&self) -> bool {
        self.head
    }

    /// The script behind it.
    pub fn script(&self) -> &Script {
        &self.script
    }
}
