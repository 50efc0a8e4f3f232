//! Receive buffers that the kernel picks from: a ring in memory shared with it (Linux 5.19 and later).

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers in the ring; a power of two.
const BUFFERS: u16 = 256;
/// Bytes of one buffer. A longer response takes several.
const BUFFER_BYTES: usize = 8192;
const PAGE_BYTES: usize = 4096;

/// The ring and the buffers. Both are never freed: after the end the kernel may still write into a buffer for a moment,
/// and a process opens one of these a thread.
pub(super) struct ProvidedBuffers {
    entries: NonNull<BufRingEntry>,
    data: NonNull<u8>,
    tail: u16,
}

impl ProvidedBuffers {
    /// The number under which receives refer to these buffers.
    pub(super) const GROUP: u16 = 0;

    pub(super) fn register(ring: &IoUring) -> io::Result<Self> {
        let entries_layout =
            Layout::array::<BufRingEntry>(usize::from(BUFFERS)).and_then(|layout| layout.align_to(PAGE_BYTES));
        let data_layout = Layout::from_size_align(usize::from(BUFFERS) * BUFFER_BYTES, PAGE_BYTES);
        let (Ok(entries_layout), Ok(data_layout)) = (entries_layout, data_layout) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: both layouts have a size above zero.
        let (entries, data) = unsafe { (alloc_zeroed(entries_layout), alloc_zeroed(data_layout)) };
        let (Some(entries), Some(data)) = (NonNull::new(entries.cast()), NonNull::new(data)) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: the memory is page-aligned, holds this many entries, and is never freed.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, BUFFERS, Self::GROUP, 0)? };
        let mut buffers = ProvidedBuffers { entries, data, tail: 0 };
        (0..BUFFERS).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// The first `length` bytes of a buffer that the kernel has filled and not been given back.
    pub(super) fn filled(&self, buffer: u16, length: usize) -> &[u8] {
        assert!(buffer < BUFFERS && length <= BUFFER_BYTES, "the kernel names only buffers of this ring");
        // SAFETY: within the allocation by the assertion; the kernel does not touch a buffer between its completion and
        // its return, and returning takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().add(usize::from(buffer) * BUFFER_BYTES), length) }
    }

    /// Lets the kernel fill the buffer again.
    pub(super) fn give_back(&mut self, buffer: u16) {
        assert!(buffer < BUFFERS, "the kernel names only buffers of this ring");
        let index = usize::from(self.tail & (BUFFERS - 1));
        // SAFETY: `index` and `buffer` are within their allocations; the kernel reads an entry only after the tail has
        // passed it, which the release store below makes known. The tail lies in the first entry, aligned for a u16.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(index);
            entry.set_addr(self.data.as_ptr().add(usize::from(buffer) * BUFFER_BYTES) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}
