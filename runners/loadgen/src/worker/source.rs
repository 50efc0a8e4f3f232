//! Where requests come from: one text for the whole run, or a script's `request()`.

use crate::error::Result;
use crate::lua::Script;

pub use crate::lua::RequestKind;

/// Gives requests, one or several pipelined at a time.
pub struct Source {
    script: Script,
    text: Vec<u8>,
    kinds: Vec<RequestKind>,
    dynamic: bool,
}

impl Source {
    /// Takes a script after its `init`. Without `request()` its one request is made here.
    ///
    /// # Errors
    /// [`crate::error::Error::Script`] when there is no valid request.
    pub fn new(script: Script) -> Result<Self> {
        let dynamic = script.is_dynamic();
        let mut source = Source { script, text: Vec::new(), kinds: Vec::new(), dynamic };
        if !dynamic {
            source.script.request(&mut source.text, &mut source.kinds)?;
        }
        Ok(source)
    }

    /// Calls `request()` once for nothing, as wrk and wrk2 do at start-up on the first thread.
    ///
    /// # Errors
    /// [`crate::error::Error::Script`].
    pub fn swallow_one(&mut self) -> Result<()> {
        self.advance()
    }

    /// Makes the next requests. Read them with [`Source::text`].
    ///
    /// # Errors
    /// [`crate::error::Error::Script`].
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        if self.dynamic { self.script.request(&mut self.text, &mut self.kinds) } else { Ok(()) }
    }

    /// The bytes that [`Source::advance`] made.
    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The requests in those bytes, in order.
    #[inline]
    pub fn requests(&self) -> &[RequestKind] {
        &self.kinds
    }

    /// The number of the operation's name; 0 is none.
    #[inline]
    pub fn tag(&self) -> u8 {
        self.script.tag()
    }

    /// The script behind it.
    pub fn script(&self) -> &Script {
        &self.script
    }
}
