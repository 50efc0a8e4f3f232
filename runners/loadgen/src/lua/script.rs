//! One Lua state with the script in it.

use super::address;
use super::failure::script_error;
use super::thread::{Thread, ThreadControl};
use crate::cli::TargetConfig;
use crate::error::{Error, Result, ScriptError};
use crate::http::{RequestKind, check_requests, divide_requests};
use crate::tags::Tags;
use crate::target::Peer;
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, UserDataRef, Value};
use std::path::PathBuf;

/// A Lua state that knows `wrk` and has run the script's body.
pub struct Script {
    lua: Lua,
    path: PathBuf,
    calls: Calls,
    wants_delay: bool,
    wants_response: bool,
    checked: bool,
    tags: Tags,
    tag: u8,
}

/// Most names that the operations of one run may have.
const MAX_TAGS: u8 = 64;
/// Longest name of an operation, in bytes.
const MAX_TAG_BYTES: usize = 64;

/// Functions of `wrk.lua` that are called during the load. They look the script's function up at every call, since a
/// script may exchange it.
struct Calls {
    /// Calls a function of the script so that what it raises can be read.
    guarded: Function,
    request: Function,
    delay: Function,
    response: Function,
    /// Numbers of the operations by name: a copy of [`Tags`] for `wrk.lua`, so that it need not ask for every request.
    numbers: Table,
}

impl Script {
    /// Makes a state and runs the script's body. Without a script the state still serves `wrk.format`. All scripts of a
    /// run number their operations by the same `tags`.
    ///
    /// # Errors
    /// [`Error::Script`] with the line; [`Error::CouldNotRun`] when the file cannot be read.
    pub fn load(config: &TargetConfig, tags: &Tags) -> Result<Self> {
        let path = config.script.clone().unwrap_or_else(|| PathBuf::from("(no script)"));
        let source = match &config.script {
            Some(path) => std::fs::read(path).map_err(|error| {
                Error::Usage(format!("cannot read the script {}: {error}; check the path after -s", path.display()))
            })?,
            None => Vec::new(),
        };
        // SAFETY: scripts get every standard library, `ffi` and `debug` included, as wrk gives them. They are the
        // user's own programs, run with the user's own rights, and need not be kept from anything.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new().catch_rust_panics(false)) };
        let failed = |error: &mlua::Error| script_error(&path, error);
        let calls = prepare(&lua, config).map_err(|error| failed(&error))?;
        let body = lua.load(source).set_name(format!("@{}", path.display())).into_function();
        body.and_then(|body| calls.guarded.call::<()>(body)).map_err(|error| failed(&error))?;
        let (tags, tag) = (tags.clone(), 0);
        Ok(Script { lua, path, calls, wants_delay: false, wants_response: false, checked: false, tags, tag })
    }

    /// In the main state: the addresses of the URL's host at which somebody listens, as `wrk.addrs`.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn set_addresses(&self, addresses: &[Peer]) -> Result<()> {
        let addresses: Vec<_> = addresses.iter().cloned().map(address::Address).collect();
        self.wrk().and_then(|wrk| wrk.set("addrs", addresses)).map_err(|error| script_error(&self.path, &error))
    }

    /// In the main state: calls `setup(thread)` for a worker.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn setup(&self, worker: &Script, control: &ThreadControl) -> Result<()> {
        let call = || -> mlua::Result<()> {
            let own = worker.lua.create_userdata(Thread { control: control.clone(), lua: worker.lua.weak() })?;
            worker.wrk()?.set("thread", own)?;
            let thread = Thread { control: control.clone(), lua: worker.lua.weak() };
            let setup = self.wrk()?.get::<Function>("setup")?;
            self.calls.guarded.call::<()>((setup, self.lua.create_userdata(thread)?))
        };
        call().map_err(|error| script_error(&self.path, &error))
    }

    /// In a worker's state: calls `init(args)`. As in wrk, `args[0]` is the URL and the arguments count from 1.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn init(&mut self, url: &str, arguments: &[String]) -> Result<()> {
        let call = || -> mlua::Result<(bool, bool)> {
            let args = self.lua.create_sequence_from(arguments.iter().map(String::as_str))?;
            args.raw_set(0, url)?;
            self.calls.guarded.call::<()>((self.wrk()?.get::<Function>("init")?, args))?;
            let globals = self.lua.globals();
            let is_function = |name: &str| Ok::<_, mlua::Error>(matches!(globals.get(name)?, Value::Function(_)));
            Ok((is_function("delay")?, is_function("response")?))
        };
        (self.wants_delay, self.wants_response) = call().map_err(|error| script_error(&self.path, &error))?;
        Ok(())
    }

    /// Whether the script makes a new request each time; otherwise one is made for the whole run.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.lua.globals().get("request"), Ok(Value::Function(_)))
    }

    /// Whether the script looks at responses.
    pub fn wants_response(&self) -> bool {
        self.wants_response
    }

    /// Whether the script delays requests.
    pub fn wants_delay(&self) -> bool {
        self.wants_delay
    }

    /// Puts what `request()` gives next into `text`, and the kinds of the requests in it into `kinds`: one, or several
    /// that are pipelined. None where the script gives nothing after it has stopped its thread.
    ///
    /// # Errors
    /// [`Error::Script`] when `request()` fails or gives no request.
    #[inline]
    pub fn request(&mut self, text: &mut Vec<u8>, kinds: &mut Vec<RequestKind>) -> Result<()> {
        text.clear();
        kinds.clear();
        let (request, tag) = match self.calls.request.call::<(Value, Value)>(()) {
            Ok(given) => given,
            Err(error) => return Err(script_error(&self.path, &error)),
        };
        let Value::String(request) = request else {
            let kind = request.type_name();
            if request.is_nil() && self.has_stopped() {
                return Ok(());
            }
            return Err(self.refused(format!(
                "request() gave a {kind}; it must give a string, for example wrk.format(\"GET\", \"/\")"
            )));
        };
        text.extend_from_slice(&request.as_bytes());
        self.tag = match tag {
            Value::Integer(number) => number as u8,
            Value::Number(number) => number as u8,
            name => self.number(&name)?,
        };
        divide_requests(text, kinds).map_err(|why| self.refused(format!("request() {why}")))?;
        if !self.checked {
            check_requests(text).map_err(|why| self.refused(format!("request() {why}")))?;
            self.checked = true;
        }
        Ok(())
    }

    /// The number in [`Tags`] of the operation that the last request belongs to; 0 is one without a name.
    #[inline]
    pub fn tag(&self) -> u8 {
        self.tag
    }

    /// Numbers an operation's name at its first use.
    #[cold]
    fn number(&self, name: &Value) -> Result<u8> {
        let Value::String(text) = name else {
            let kind = name.type_name();
            return Err(self.refused(format!("wrk.tag is a {kind}; it must be a string that names the operation")));
        };
        let text = text.to_string_lossy();
        let fits = (1..=MAX_TAG_BYTES).contains(&text.len());
        if !fits || text.contains(|letter: char| letter.is_control() || letter.is_whitespace() || letter == ',') {
            return Err(self.refused(format!(
                "the tag '{}' names no operation; give 1 to {MAX_TAG_BYTES} bytes without blanks, commas and control bytes",
                text.escape_debug()
            )));
        }
        let number = self.tags.number(&text).filter(|number| *number <= MAX_TAGS).ok_or_else(|| {
            self.refused(format!(
                "'{text}' is one tag more than the {MAX_TAGS} that a run may have; name kinds of operations, not single requests"
            ))
        })?;
        self.calls.numbers.raw_set(name, number).map_err(|error| self.failed(&error))?;
        Ok(number)
    }

    /// Whether the script has called `stop()` of its own thread.
    #[cold]
    fn has_stopped(&self) -> bool {
        let thread = self.wrk().and_then(|wrk| wrk.get::<UserDataRef<Thread>>("thread"));
        thread.is_ok_and(|thread| thread.control.stopped())
    }

    /// `delay()` in milliseconds; 0 if the script has none any more.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn delay_ms(&self) -> Result<f64> {
        let value: Value = self.calls.delay.call(()).map_err(|error| script_error(&self.path, &error))?;
        let ms = value.as_f64().or_else(|| value.as_i64().map(|whole| whole as f64)).unwrap_or(0.0);
        Ok(if ms.is_finite() { ms.max(0.0) } else { 0.0 })
    }

    /// Calls `response(status, headers, body)`.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn response(&self, status: u16, headers: &[(String, Vec<u8>)], body: &[u8]) -> Result<()> {
        let call = || -> mlua::Result<()> {
            let table = self.lua.create_table_with_capacity(0, headers.len())?;
            for (name, value) in headers {
                table.raw_set(name.as_str(), self.lua.create_string(value)?)?;
            }
            self.calls.response.call::<()>((status, table, self.lua.create_string(body)?))
        };
        call().map_err(|error| script_error(&self.path, &error))
    }

    pub(super) fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Calls a function of the script so that what it raises can be read.
    pub(super) fn call(&self, arguments: impl IntoLuaMulti) -> mlua::Result<()> {
        self.calls.guarded.call(arguments)
    }

    pub(super) fn failed(&self, error: &mlua::Error) -> Error {
        script_error(&self.path, error)
    }

    fn wrk(&self) -> mlua::Result<Table> {
        self.lua.globals().get("wrk")
    }

    pub(crate) fn refused(&self, message: String) -> Error {
        Error::Script(ScriptError { script: self.path.display().to_string(), line: None, message })
    }
}

/// Makes the `wrk` table.
fn prepare(lua: &Lua, config: &TargetConfig) -> mlua::Result<Calls> {
    let target = &config.target;
    let wrk = lua.create_table()?;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    // A string, as in wrk: scripts glue it to the host.
    wrk.set("port", target.port.map(|port| port.to_string()))?;
    wrk.set("method", config.method.as_str())?;
    wrk.set("path", target.path.as_str())?;
    wrk.set("body", config.body.as_deref().map(|body| lua.create_string(body)).transpose()?)?;
    let headers = lua.create_table()?;
    for (name, value) in &config.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    wrk.set("headers", headers)?;
    wrk.set("lookup", lua.create_function(address::lookup)?)?;
    wrk.set("connect", lua.create_function(address::connect)?)?;
    wrk.set("time_us", lua.create_function(|_, ()| Ok(crate::clock::unix_us() as f64))?)?;
    lua.globals().set("wrk", &wrk)?;
    let chunk = lua.load(include_str!("wrk.lua")).set_name("=wrk");
    let (guarded, request, delay, response, numbers) = chunk.call((wrk, config.sends_host))?;
    Ok(Calls { guarded, request, delay, response, numbers })
}
