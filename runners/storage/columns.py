"""Compressed columns of a table, written in the coding, base column and order of rows that need fewest bytes.

runners/docs/0027-archives.md describes codings and orders. Reading gives back every value that was written, to the bit.
"""

import json
import lzma
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec.structs import replace

Whole = npt.NDArray[np.int64]

#: Numbers of decimals that a column may have: times in whole nanoseconds have three in microseconds, nine in seconds.
DIGITS = (0, 2, 3, 4, 6, 7, 9)
LARGEST = 2**53  # up to it float64 represents every whole number
TEXT, BITS, RANK, THREE = "text", "bits", "rank", "three digits"
LEAST, MOST, LOWEST_TEN = 100, 999, -9  # of coding THREE: least and greatest mantissa, lowest power of ten
TRIED = 1 << 16  # rows from the middle of a column, on which its possible forms are compared
GROUPS = 200  # a column with more different texts than this is not tried as the column to sort rows by
WINDOW = 1 << 24  # bytes of LZMA's dictionary, at most


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """The form in which a column is written: as whole numbers, compressed."""

    name: str
    kind: str
    coding: str  # TEXT, BITS, RANK, THREE or the number of decimals
    low: int = 0  # the lowest number, written as 1; 0 stands for a missing value
    base: str = ""  # column whose value in the same row was subtracted …
    before: bool = False  # … or in the row before
    group: str = ""  # text column by which rows were sorted
    delta: bool = False  # differences of rows were written
    width: int = 1  # bytes of a number
    bytes: int = 0  # in all, compressed
    place: int = 0  # index in the frame
    values: tuple[str, int, int] = ("", 0, 0)  # for RANK: (coding, number, length in bytes) of the list of values


def texts_of(frames: Iterable[pd.DataFrame]) -> dict[str, list[str]]:
    """Return the sorted distinct texts of every text column in all data frames, by the column's name."""
    texts: dict[str, set[str]] = {}
    for frame in frames:
        for name in frame.columns:
            if _kind(frame[name]) == "str":
                texts.setdefault(str(name), set()).update(map(str, frame[name].dropna().unique()))
    return {name: sorted(values) for name, values in texts.items()}


def pack(frame: pd.DataFrame, texts: Mapping[str, Sequence[str]]) -> tuple[list[dict[str, Any]], bytes]:
    """Return (the `Column` of every column of a data frame as a dict, all columns' bytes). `texts`: see `texts_of`."""
    written: dict[str, tuple[Column, Whole]] = {}
    parts: list[bytes] = []
    # text columns first, because the rows of number columns may be sorted by them
    for name in sorted(frame.columns, key=lambda name: _kind(frame[str(name)]) != "str"):
        column, codes, values = _smallest(str(name), frame[name], texts, written)
        numbers = _ordered(column, codes, {key: own for key, (_, own) in written.items()})
        packed, width = compressed(_bytes(numbers, _width(numbers))), _width(numbers)
        column = replace(column, width=width, bytes=len(packed), place=list(frame.columns).index(name))
        written[str(name)] = column, codes
        parts += [packed, values]
    return [msgspec.to_builtins(column) for column, _ in written.values()], b"".join(parts)


def unpack(columns: Sequence[Mapping[str, Any]], data: bytes, rows: int, texts: Mapping[str, Any]) -> pd.DataFrame:
    """Return the data frame that `pack` wrote; `texts`: {column: its distinct texts as an Arrow array}."""
    import pyarrow as pa

    codes: dict[str, Whole] = {}
    read: dict[str, Any] = {}
    at = 0
    for about in columns:
        column = msgspec.convert(about, Column)
        numbers = _numbers(expanded(data[at : at + column.bytes]), rows, column.width)
        at += column.bytes
        own = _restored(column, numbers, codes)
        codes[column.name] = own
        if column.coding == TEXT:
            places = pa.array(own - 1, mask=own == 0)
            read[column.name] = pa.DictionaryArray.from_arrays(places, texts[column.name]).cast(pa.large_string())
            continue
        values: npt.NDArray[Any] | None = None
        coding, count, size = column.values
        if count:
            listed = np.cumsum(_numbers(expanded(data[at : at + size]), count, 8))
            values = listed.view(np.float64) if coding == BITS else _of_codes(coding, listed)
        at += size
        read[column.name] = _typed(column, own, values)
    table = {name: value for name, value in read.items() if isinstance(value, pa.Array)}
    frame = pa.table(table).to_pandas() if table else pd.DataFrame(index=range(rows))
    frame = frame.assign(**{name: value for name, value in read.items() if name not in table})
    return frame[[about["name"] for about in sorted(columns, key=lambda about: about.get("place", 0))]]


def packed_texts(texts: Sequence[str]) -> bytes:
    return compressed(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode(), text=True)


def unpacked_texts(data: bytes) -> Any:
    """Return the texts that `packed_texts` wrote, as an Arrow array."""
    import pyarrow as pa

    return pa.array(json.loads(expanded(data, text=True)), pa.large_string())


def _kind(values: pd.Series) -> str:
    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_string_dtype(values.dtype):
        return "str"
    return str(values.dtype)


def _smallest(
    name: str, values: pd.Series, texts: Mapping[str, Sequence[str]], others: Mapping[str, tuple[Column, Whole]]
) -> tuple[Column, Whole, bytes]:
    """Return (description, codes, packed values) of a column in its smallest form: best coding, then base, then group.

    `texts`: see `texts_of`. `others`: the columns that were written before, by name.
    """
    middle = max(0, (len(values) - TRIED) // 2)
    some = slice(middle, middle + TRIED)
    parts = {key: codes[some] for key, (_, codes) in others.items()}

    def size(form: tuple[Column, Whole, bytes]) -> int:
        column, codes, list_of_values = form
        numbers = _ordered(column, codes[some], parts)
        return len(compressed(_bytes(numbers, _width(numbers)), quick=True)) + len(list_of_values)

    def best(forms: Iterable[tuple[Column, Whole, bytes]], *changes: dict[str, Any]) -> tuple[Column, Whole, bytes]:
        tried = product(forms, changes, (False, True))
        return min(((replace(form[0], delta=delta, **change), *form[1:]) for form, change, delta in tried), key=size)

    form = best(_forms(name, values, texts), {})
    column = form[0]
    alike = [key for key, (other, _) in others.items() if other.coding == column.coding != BITS]
    groups = [key for key, (other, own) in others.items() if other.coding == TEXT and own.max(initial=0) <= GROUPS]
    form = best([form], {}, *({"base": key, "before": before} for key in alike for before in (False, True)))
    return best([form], {}, *({"group": key} for key in groups))


def _forms(name: str, values: pd.Series, texts: Mapping[str, Sequence[str]]) -> Iterable[tuple[Column, Whole, bytes]]:
    """Yield (description, codes as whole numbers, packed values) of a column for each coding that keeps every bit."""
    kind = _kind(values)
    if kind == "str":
        places = pd.Index(np.array(texts[name], object)).get_indexer(pd.Index(values.to_numpy(object)))
        yield Column(name, kind, TEXT), np.asarray(places, np.int64) + 1, b""
        return
    if kind == "boolean":
        yield Column(name, kind, "0"), np.asarray(values.astype("Int64").fillna(-1), np.int64) + 1, b""
        return
    numbers = values.to_numpy()
    if kind == "int64":
        yield _from_low(Column(name, kind, "0"), values.to_numpy(np.int64, copy=False))
        return
    yield Column(name, kind, BITS), numbers.view(f"i{numbers.itemsize}").astype(np.int64), b""
    for coding in (*map(str, DIGITS), THREE):
        if (codes := _codes(coding, numbers)) is not None:
            yield _from_low(Column(name, kind, coding), codes, np.isnan(numbers))
            if coding != THREE:
                break
    unique = np.unique(numbers[~np.isnan(numbers)]).astype(np.float64)
    if 0 < len(unique) <= len(numbers) // 4 and not (np.signbit(numbers) & (numbers == 0)).any():
        places = np.where(np.isnan(numbers), 0, np.searchsorted(unique, numbers) + 1)
        coding = next((digits for digits in map(str, DIGITS) if _codes(digits, unique) is not None), BITS)
        listed = unique.view(np.int64) if coding == BITS else _codes(coding, unique)
        assert listed is not None
        packed = compressed(_bytes(np.diff(listed, prepend=0), 8))
        yield Column(name, kind, RANK, values=(coding, len(unique), len(packed))), places.astype(np.int64), packed


def _from_low(
    column: Column, codes: Whole, missing: npt.NDArray[np.bool_] | None = None
) -> tuple[Column, Whole, bytes]:
    known = codes if missing is None else codes[~missing]
    low = int(known.min()) if len(known) else 0
    with np.errstate(over="ignore"):
        shifted = codes - np.int64(low) + 1
    return replace(column, low=low), shifted if missing is None else np.where(missing, 0, shifted), b""


def _codes(coding: str, numbers: npt.NDArray[Any]) -> Whole | None:
    """Return the whole numbers that stand for `numbers` in a coding; None if decoding would not return every bit."""
    known = np.where(np.isnan(numbers), 1, numbers).astype(np.float64)
    if not np.isfinite(known).all():
        return None
    if coding == THREE:
        magnitude = np.where(known > 0, known, 1.0)
        power = np.floor(np.log10(magnitude)).astype(np.int64) - 2
        mantissa = np.rint(_times_ten(magnitude, -power)).astype(np.int64)
        power, mantissa = np.where(mantissa > MOST, power + 1, power), np.where(mantissa > MOST, LEAST, mantissa)
        if (known < 0).any() or (power < LOWEST_TEN).any() or (power > 12).any():
            return None
        codes = np.where(known == 0, 0, (power - LOWEST_TEN) * (MOST - LEAST + 1) + mantissa - LEAST + 1)
    elif np.abs(known).max(initial=0) * 10 ** int(coding) >= LARGEST:
        return None
    else:
        codes = np.rint(known * 10 ** int(coding)).astype(np.int64)
    bits = f"i{numbers.itemsize}"
    same = _of_codes(coding, codes).astype(numbers.dtype).view(bits) == known.astype(numbers.dtype).view(bits)
    return codes if same.all() else None


def _of_codes(coding: str, codes: Whole) -> npt.NDArray[np.float64]:
    if coding != THREE:
        return codes / float(10 ** int(coding))
    power, mantissa = np.divmod(np.maximum(codes - 1, 0), MOST - LEAST + 1)
    return np.where(codes == 0, 0.0, _times_ten((mantissa + LEAST).astype(np.float64), power + LOWEST_TEN))


def _times_ten(numbers: npt.NDArray[np.float64], power: Whole) -> npt.NDArray[np.float64]:
    tens = 10.0 ** np.abs(power)
    return np.where(power < 0, numbers / tens, numbers * tens)  # a division is rounded only once


def _typed(column: Column, codes: Whole, values: npt.NDArray[Any] | None) -> Any:
    if column.kind == "boolean":
        return pd.arrays.BooleanArray(codes == 2, codes == 0)
    if column.kind == "int64":
        return codes + np.int64(column.low) - 1
    if column.coding == BITS:
        return codes.view(np.float64) if column.kind == "float64" else codes.astype(np.int32).view(np.float32)
    if values is not None:
        return np.concatenate([[np.nan], values])[codes].astype(column.kind)
    numbers = _of_codes(column.coding, codes + column.low - 1)
    return np.where(codes == 0, np.nan, numbers).astype(column.kind)


def _base(column: Column, codes: Mapping[str, Whole]) -> Whole | int:
    if not column.base:
        return 0
    other = codes[column.base]
    return np.concatenate([[0], other[:-1]]) if column.before else other


def _ordered(column: Column, codes: Whole, others: Mapping[str, Whole]) -> Whole:
    numbers: Whole = codes - _base(column, others)
    if column.group:
        numbers = numbers[np.argsort(others[column.group], kind="stable")]
    return np.diff(numbers, prepend=0) if column.delta else numbers


def _restored(column: Column, numbers: Whole, others: Mapping[str, Whole]) -> Whole:
    if column.delta:
        numbers = np.cumsum(numbers)
    if column.group:
        sorted_numbers, numbers = numbers, np.empty_like(numbers)
        numbers[np.argsort(others[column.group], kind="stable")] = sorted_numbers
    return numbers + _base(column, others)


def _zigzag(numbers: Whole) -> npt.NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def _width(numbers: Whole) -> int:
    return max(1, (int(_zigzag(numbers).max(initial=0)).bit_length() + 7) // 8)


def _bytes(numbers: Whole, width: int) -> bytes:
    """Return zigzag-coded numbers by byte: the lowest byte of every number, then the next byte of every number, etc."""
    return _zigzag(numbers).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()


def _numbers(data: bytes, rows: int, width: int) -> Whole:
    folded = np.zeros(rows, np.uint64)
    for place, plane in enumerate(np.frombuffer(data, np.uint8).reshape(width, rows)):
        if plane.any():
            folded |= plane.astype(np.uint64) << np.uint64(8 * place)
    return np.asarray((folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64))


def _filters(text: bool, quick: bool = False, size: int = WINDOW) -> list[dict[str, int]]:
    window = min(WINDOW, max(4096, 1 << size.bit_length()))
    context = {"lc": 3, "lp": 0, "pb": 0} if text else {"lc": 0, "lp": 0, "pb": 0}
    preset = 1 if quick else 9 | lzma.PRESET_EXTREME
    return [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": window, **context}]


def compressed(data: bytes, text: bool = False, quick: bool = False) -> bytes:
    return lzma.compress(data, lzma.FORMAT_RAW, filters=_filters(text, quick, len(data)))


def expanded(data: bytes, text: bool = False) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_filters(text))
