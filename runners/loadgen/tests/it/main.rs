//! The integration tests, one crate so that they link once; each module is a subject.

mod accounting;
mod backends;
mod busy_machine;
mod causes;
mod coalescing;
mod command_line;
mod connections;
mod documented;
mod exact;
mod faults;
mod frozen;
mod fuzz;
#[cfg(target_os = "linux")]
mod hot_path;
mod http_parser;
mod https;
mod interruption;
mod layouts;
mod manual;
mod many;
mod objectives;
mod operations;
mod originals;
mod published;
mod rates;
mod reference;
mod scripts;
mod scripts_found;
mod shares;
mod sharing;
#[cfg(target_os = "linux")]
mod stall_witness;
mod stalls;
mod support;
mod terminal;
mod unix;
