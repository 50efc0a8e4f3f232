//! One Lua state with the script in it.

use super::address;
use super::failure::script_error;
use super::thread::{Thread, ThreadControl};
use crate::cli::Config;
use crate::error::{Error, Result, ScriptError};
use mlua::{Function, Lua, LuaOptions, StdLib, Value};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A Lua state that knows `wrk` and has run the script's body.
pub struct Script {
    lua: Lua,
    path: PathBuf,
    calls: Calls,
    wants_delay: bool,
    wants_response: bool,
    checked: bool,
}

/// What is called again and again. Each looks the script's function up anew.
struct Calls {
    request: Function,
    delay: Function,
    response: Function,
}

impl Script {
    /// Makes a state and runs the script's body. Without a script the state still serves `wrk.format`.
    ///
    /// # Errors
    /// [`Error::Script`] with the line; [`Error::CouldNotRun`] when the file cannot be read.
    pub fn load(config: &Config) -> Result<Self> {
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
        lua.load(source).set_name(format!("@{}", path.display())).exec().map_err(|error| failed(&error))?;
        Ok(Script { lua, path, calls, wants_delay: false, wants_response: false, checked: false })
    }

    /// In the main state: the addresses of the URL's host at which somebody listens, as `wrk.addrs`.
    ///
    /// # Errors
    /// [`Error::Script`].
    pub fn set_addresses(&self, addresses: &[SocketAddr]) -> Result<()> {
        let found: Vec<_> = addresses.iter().copied().map(address::Address).collect();
        self.wrk().and_then(|wrk| wrk.set("addrs", found)).map_err(|error| script_error(&self.path, &error))
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
            self.wrk()?.get::<Function>("setup")?.call::<()>(self.lua.create_userdata(thread)?)
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
            self.wrk()?.get::<Function>("init")?.call::<()>(args)?;
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

    /// Whether the script looks at answers.
    pub fn wants_response(&self) -> bool {
        self.wants_response
    }

    /// Whether the script delays requests.
    pub fn wants_delay(&self) -> bool {
        self.wants_delay
    }

    /// Puts the next request into `text`.
    ///
    /// # Errors
    /// [`Error::Script`] when `request()` fails or gives no request.
    #[inline]
    pub fn request(&mut self, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        match self.calls.request.call::<Value>(()) {
            Ok(Value::String(request)) => text.extend_from_slice(&request.as_bytes()),
            Ok(other) => {
                let kind = other.type_name();
                return Err(self.refused(format!(
                    "request() gave a {kind}; it must give a string, for example wrk.format(\"GET\", \"/\")"
                )));
            }
            Err(error) => return Err(script_error(&self.path, &error)),
        }
        if !self.checked {
            check_request(text).map_err(|why| self.refused(format!("request() {why}")))?;
            self.checked = true;
        }
        Ok(())
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

    pub(super) fn failed(&self, error: &mlua::Error) -> Error {
        script_error(&self.path, error)
    }

    fn wrk(&self) -> mlua::Result<mlua::Table> {
        self.lua.globals().get("wrk")
    }

    fn refused(&self, message: String) -> Error {
        Error::Script(ScriptError { script: self.path.display().to_string(), line: None, message })
    }
}

/// Makes the `wrk` table.
fn prepare(lua: &Lua, config: &Config) -> mlua::Result<Calls> {
    let target = &config.target;
    let wrk = lua.create_table()?;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    // A string, as in wrk: scripts glue it to the host.
    wrk.set("port", target.port.map(|port| port.to_string()))?;
    wrk.set("method", "GET")?;
    wrk.set("path", target.path.as_str())?;
    let headers = lua.create_table()?;
    for (name, value) in &config.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    wrk.set("headers", headers)?;
    wrk.set("lookup", lua.create_function(address::lookup)?)?;
    wrk.set("connect", lua.create_function(address::connect)?)?;
    wrk.set("time_us", lua.create_function(|_, ()| Ok(crate::clock::unix_us() as f64))?)?;
    lua.globals().set("wrk", &wrk)?;
    let (request, delay, response) = lua.load(include_str!("wrk.lua")).set_name("=wrk").call(wrk)?;
    Ok(Calls { request, delay, response })
}

/// Whether a request asks for headers only, so that its answer has no body.
#[inline]
pub fn is_head_request(request: &[u8]) -> bool {
    request.starts_with(b"HEAD ")
}

/// A request must be exactly one: what is missing or too much would shift every later answer.
fn check_request(text: &[u8]) -> std::result::Result<(), String> {
    let mut slots = [httparse::EMPTY_HEADER; crate::http::MAX_HEADERS];
    let mut request = httparse::Request::new(&mut slots);
    let head = match request.parse(text) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => {
            return Err("gave no whole request: the empty line after the headers is missing".into());
        }
        Err(error) => return Err(format!("gave no HTTP request: {error}")),
    };
    let header = |name: &str| request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    if header("transfer-encoding").is_some() {
        return Ok(());
    }
    let declared =
        header("content-length").and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
    // Lines left over after a request without a body are no body: servers skip them (RFC 9112 section 2.2).
    let blank = declared.is_none() && text[head..].iter().all(|byte| matches!(byte, b'\r' | b'\n'));
    let (body, declared) = (text.len() - head, declared.unwrap_or(0_usize));
    if body == declared || blank {
        Ok(())
    } else if text[head..].windows(9).any(|window| window == b" HTTP/1.1") {
        Err("gave several requests in one string; pipelining is not done here, give one a call".into())
    } else {
        Err(format!("gave a body of {body} bytes under Content-Length {declared}; wrk.format sets it right"))
    }
}
