"""A stack counts for exactly one category, that of its deepest frame with a meaning."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from runners.design.description import Category
from runners.errors import ReadError
from runners.readers.run import frame
from runners.readers.stacks import (
    CATEGORIES,
    OTHER,
    classifier,
    classifier_of,
    frames_frame,
    plain,
    read_collapsed,
    shares_frame,
    wilson,
)
from runners.storage.schema import ServerRecord

DATA = Path(__file__).parents[1] / "data" / "profile"
SELECTOR = "one/nio/server/SelectorThread.run"
SESSION = f"{SELECTOR};one/nio/net/Session.process;one/nio/http/HttpSession.processRead"
HANDLER = f"{SESSION};one/nio/http/HttpSession.handleParsedRequest"


@pytest.mark.parametrize(
    ("stack", "category"),
    [
        (f"{SELECTOR};one/nio/net/NativeSelector.select;epoll_wait;ep_poll", "poll"),
        (f"{SELECTOR};one/nio/net/JavaSelector.select;sun/nio/ch/SelectorImpl.select;sun/nio/ch/EPoll.wait", "poll"),
        (f"{SESSION};one/nio/net/Session.read;one/nio/net/NativeSocket.read_[j];recv;tcp_recvmsg_[k]", "socket read"),
        (f"{SESSION};one/nio/net/SelectableJavaSocket.read;sun/nio/ch/SocketChannelImpl.read", "socket read"),
        (f"{HANDLER};lab/server/onenio/KeyValueSession.respond;one/nio/net/Session.write;send", "socket write"),
        # on loopback the receiver's half of the work runs inside the sender's system call
        (f"{HANDLER};one/nio/net/NativeSocket.write;__send;tcp_sendmsg;__netif_receive_skb;tcp_v4_rcv;sock_def_readable;"
         "ep_poll_callback;try_to_wake_up", "socket write"),
        (f"{HANDLER};org/rocksdb/RocksDB.put;Java_org_rocksdb_RocksDB_put;rocksdb::DBImpl::WriteImpl", "storage"),
        # the log of the store is written with write(2), which is no socket
        (f"{HANDLER};org/rocksdb/RocksDB.put;rocksdb::PosixWritableFile::Append;write;ksys_write;ext4_file_write_iter",
         "storage"),
        ("clone3;start_thread;librocksdbjni-linux64.so;memcpy", "storage"),
        (f"{HANDLER};lab/storage/lsm/LsmStorage.put;java/util/concurrent/ConcurrentSkipListMap.put", "storage"),
        (f"{HANDLER};lab/storage/lsm/LsmStorage.get;java/util/Arrays.copyOf;byte[]", "storage"),
        (f"{HANDLER};one/nio/http/HttpSession.sendResponse;one/nio/http/Response.toBytes;byte[]", "response"),
        (f"{SESSION};one/nio/http/HttpSession.processHttpBuffer;one/nio/http/Request.addHeader", "HTTP parsing"),
        (f"{SESSION};one/nio/http/HttpSession.processHttpBuffer;java/lang/String.<init>;memcpy", "HTTP parsing"),
        (f"{HANDLER};lab/server/api/KeyValueApi.handle;lab/server/api/KeyValueApi.route", "handler"),
        ("clone3;start_thread;thread_native_entry;VMThread::run;VM_GenCollectForAllocation::doit;DefNewGeneration::collect",
         "GC"),
        ("thread_start;WorkerThread::run;G1EvacuateRegionsTask::work", "GC"),
        (f"{HANDLER};lab/storage/lsm/LsmStorage.put;OptoRuntime::new_array_C;CollectedHeap::array_allocate", "GC"),
        ("start_thread;JavaThread::run;CompileBroker::compiler_thread_loop;C2Compiler::compile_method", "JIT"),
        ("[C2 CompilerThre tid=17];Compile::Compile;PhaseChaitin::Register_Allocate;malloc", "JIT"),
        ("[G1 Conc#0 tid=12];something", "GC"),
        ("[lsm-flush tid=9];lab/storage/lsm/Flusher.run;lab/storage/lsm/TableWriter.add;write", "flush"),
        ("[rocksdb:low tid=9];rocksdb::CompactionJob::Run;memcpy", "compaction"),
        (f"{HANDLER};org/rocksdb/RocksDB.put;rocksdb::DBImpl::WriteToWAL;rocksdb::log::Writer::AddRecord;write", "log"),
        (f"{HANDLER};lab/storage/lsm/RowCache.get;com/github/benmanes/caffeine/cache/BoundedLocalCache.get", "cache"),
        ("[worker-3 tid=9];java/util/concurrent/ThreadPoolExecutor.getTask;unsafe_park", "hand-over"),
        ("org/iq80/leveldb/impl/DbImpl.writeInternal;java/util/concurrent/locks/ReentrantLock.lock;park", "storage"),
        ("java/util/concurrent/LinkedBlockingQueue.take;java/util/concurrent/locks/ReentrantLock.lock", "hand-over"),
        ("lab/server/cluster/BlockingTransport$Task.run;java/util/concurrent/locks/ReentrantLock.lock", "cluster"),
        (f"{HANDLER};lab/server/cluster/ReplicatedEntities.put;java/util/HashMap.get", "cluster"),
        ("[Monitor Deflati tid=9];clone3;MonitorDeflationThread::monitor_deflation_thread_entry;futex_wait", "VM"),
        ("java/lang/Thread.run;java/util/HashMap.put", OTHER),
        ("[unknown]", OTHER),
    ],
)  # fmt: skip
def test_the_deepest_frame_with_a_meaning_decides(stack: str, category: str) -> None:
    assert classifier().stack(stack.split(";")) == category


def test_a_target_names_its_own_frames_and_the_rest_is_as_ever() -> None:
    rules = classifier_of(ServerRecord(categories={"storage": ("^sqlite3", "\\bdb\\.py")}))
    assert rules.stack(["main", "handle (app/db.py)", "memcpy"]) == "storage"
    assert rules.stack(["main", "sqlite3_step", "tcp_sendmsg"]) == "socket write", "the deepest frame with a meaning"
    assert classifier().stack(["main", "sqlite3_step"]) == "other"
    assert set(get_args(Category)) <= set(CATEGORIES)


@pytest.mark.parametrize("engine", ["rocksdb", "lsm"])
def test_recorded_profiles_leave_little_unexplained(engine: str) -> None:
    stacks = read_collapsed(DATA / f"put-{engine}.cpu.collapsed", "cpu")
    frame = shares_frame(stacks)
    shares = dict(zip(frame["category"], frame["share"], strict=True))
    assert set(shares) == set(CATEGORIES)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[OTHER] < 0.05
    for category in ("poll", "socket read", "socket write", "storage"):
        assert shares[category] > 0.02


def test_allocations_are_weighed_by_bytes_and_bounded_by_samples() -> None:
    stacks = read_collapsed(DATA / "put-rocksdb.alloc.collapsed", "alloc")
    total = stacks["count"].sum()
    few, many = shares_frame(stacks, {"alloc": 40}), shares_frame(stacks, {"alloc": 4_000})
    assert few["weight"].sum() == total
    assert few["share"].tolist() == many["share"].tolist()
    assert few["samples"].sum() == pytest.approx(40, abs=3)
    assert ((few["high"] - few["low"]) > (many["high"] - many["low"])).all()
    assert shares_frame(stacks)["samples"].sum() < len(stacks) + len(CATEGORIES)


@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_is_the_textbooks(hits: int, trials: int) -> None:
    hits = min(hits, trials)
    known = binomtest(hits, trials).proportion_ci(0.95, method="wilson")
    assert wilson(hits / trials, trials) == pytest.approx((known.low, known.high), abs=1e-9)


names = st.sampled_from((*SESSION.split(";"), "epoll_wait", "rocksdb::Get", "tcp_sendmsg_[k]", "a b<c, d>", "x"))


@given(
    st.dictionaries(st.lists(names, min_size=1, max_size=6).map(";".join), st.integers(1, 99), min_size=1, max_size=20)
)
def test_shares_add_up_and_frames_lie_within_them(counts: dict[str, int]) -> None:
    stacks = frame("stacks", [{"event": "cpu", "stack": stack, "count": count} for stack, count in counts.items()])
    shares, frames = shares_frame(stacks), frames_frame(stacks)
    assert shares["share"].sum() == pytest.approx(1)
    assert shares["samples"].sum() == sum(counts.values())
    assert ((shares["low"] <= shares["share"]) & (shares["share"] <= shares["high"])).all()
    assert frames["self_share"].sum() == pytest.approx(1)
    assert (frames["self_share"] <= frames["share"] + 1e-12).all()


def test_suffixes_of_frames_and_repeated_stacks(tmp_path: Path) -> None:
    path = tmp_path / "cpu.collapsed"
    path.write_text("a_[j];b_[k] 2\na_[i];b 3\noperator new[](unsigned long) 1\n")
    stacks = read_collapsed(path, "cpu")
    assert dict(zip(stacks["stack"], stacks["count"], strict=True)) == {"a;b": 5, "operator new[](unsigned long)": 1}
    assert plain("java.lang.String[]_[i]") == "java.lang.String[]"


def test_an_empty_profile_and_a_broken_one(tmp_path: Path) -> None:
    path = tmp_path / "cpu.collapsed"
    path.write_text("")
    assert read_collapsed(path, "cpu").empty
    assert shares_frame(read_collapsed(path, "cpu")).empty
    path.write_text("a;b 1\na;b;")  # cut short
    assert len(read_collapsed(path, "cpu")) == 1
    path.write_text("a;b one\nc 1\n")
    with pytest.raises(ReadError, match="line 1"):
        read_collapsed(path, "cpu")


def test_every_rule_is_of_a_known_category() -> None:
    assert {rule.category for rule in classifier().rules} == set(CATEGORIES) - {OTHER}
