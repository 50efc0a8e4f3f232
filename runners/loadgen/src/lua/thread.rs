//! The `thread` that `setup` gets: one worker, seen from a script.

use super::address::Address;
use crate::target::Peer;
use mlua::{Lua, UserData, UserDataFields, UserDataMethods, UserDataRef, Value, WeakLua};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// What a script may change of a worker.
#[derive(Debug, Clone)]
pub struct ThreadControl {
    address: Arc<Mutex<Peer>>,
    /// How often the address was set.
    moves: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl ThreadControl {
    /// A worker that will connect to `address`.
    pub fn new(address: Peer) -> Self {
        ThreadControl { address: Arc::new(Mutex::new(address)), moves: Arc::default(), stop: Arc::default() }
    }

    /// Where the worker connects.
    pub fn address(&self) -> Peer {
        self.address.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// How often a script has set the address. Connections made before the last time go to the old one.
    #[inline]
    pub fn moves(&self) -> u32 {
        self.moves.load(Ordering::Relaxed)
    }

    fn move_to(&self, address: Peer) {
        *self.address.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = address;
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a script said `thread:stop()`.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The userdata. It holds the worker's state weakly, since it may itself lie in that state.
pub(super) struct Thread {
    pub(super) control: ThreadControl,
    pub(super) lua: WeakLua,
}

impl Thread {
    fn state(&self) -> mlua::Result<Lua> {
        self.lua.try_upgrade().ok_or_else(|| mlua::Error::runtime("this thread has ended and its values are gone"))
    }
}

impl UserData for Thread {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, thread| Ok(Address(thread.control.address())));
        fields.add_field_method_set("addr", |_, thread, address: UserDataRef<Address>| {
            thread.control.move_to(address.0.clone());
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: String| {
            let state = thread.state()?;
            transfer(&state.globals().get(name)?, lua, 0)
        });
        methods.add_method("set", |_, thread, (name, value): (String, Value)| {
            let state = thread.state()?;
            let copy = transfer(&value, &state, 0)?;
            state.globals().set(name, copy)
        });
        methods.add_method("stop", |_, thread, ()| {
            thread.control.stop.store(true, Ordering::Relaxed);
            Ok(())
        });
    }
}

/// Deepest table that is copied; deeper ones hold themselves.
const MAX_DEPTH: usize = 64;

/// Copies a value into another state. Functions and userdata belong to one state and cannot go.
fn transfer(value: &Value, to: &Lua, depth: usize) -> mlua::Result<Value> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(truth) => Value::Boolean(*truth),
        Value::Integer(number) => Value::Integer(*number),
        Value::Number(number) => Value::Number(*number),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(_) if depth >= MAX_DEPTH => {
            return Err(mlua::Error::runtime(
                "cannot transfer a table that is nested deeper than 64, or holds itself, to a thread",
            ));
        }
        Value::Table(table) => {
            let copy = to.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                copy.raw_set(transfer(&key, to, depth + 1)?, transfer(&value, to, depth + 1)?)?;
            }
            Value::Table(copy)
        }
        other => {
            let kind = other.type_name();
            return Err(mlua::Error::runtime(format!(
                "cannot transfer a {kind} to a thread; give nil, a boolean, a number, a string or a table of these"
            )));
        }
    })
}
