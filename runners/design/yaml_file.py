"""YAML files that are read into typed records; an error names file, line, key, cause and remedy."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from runners.errors import PlanError


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record in a YAML file; an unknown key in it is an error."""


Record = TypeVar("Record", bound=Struct)
#: A fault in a file: the keys that lead to it from the root, its cause, and its remedy (empty: the key's description).
Fault = tuple[tuple[Any, ...], str, str]

_WHERE = re.compile(r" - at (?:`key` in )?`(?:key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")


@dataclass(frozen=True, slots=True)
class YamlForm(Generic[Record]):
    """How one kind of YAML file is read: the type of record that a file becomes, and the texts of errors."""

    record: type[Record]
    remedy: str  # advice in an error about a key that has no description
    none_yet: str  # remedy for a missing or an empty file
    entries: Mapping[str, Any] = field(default_factory=dict)  # {key: type of its entries}, which the user names
    parts: Mapping[str, type[msgspec.Struct]] = field(default_factory=dict)  # {key: type of the record in it}
    faults: Callable[[Record], Iterator[Fault]] = lambda _record: iter(())  # yields contradictions

    def read(self, path: Path) -> tuple[Record, bytes]:
        """Return the record and the file's bytes. Raises PlanError if the file is wrong or missing."""
        try:
            raw = path.read_bytes()
            text = raw.decode()
        except OSError as error:
            raise PlanError(str(path), f"can't be read ({error.strerror})", self.none_yet) from error
        except UnicodeDecodeError as error:
            raise PlanError(str(path), "it is not UTF-8", "save it as UTF-8") from error
        return _Reading(self, path, *self._parsed(path, text)).record(), raw

    def schema(self, title: str) -> dict[str, Any]:
        schema = msgspec.json.schema(self.record)
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}

    def _parsed(self, path: Path, text: str) -> tuple[yaml.Node, Any]:
        try:
            loader = yaml.SafeLoader(text)
            root = loader.get_single_node()
            if root is None:
                raise PlanError(str(path), "it is empty", self.none_yet)
            _refuse_twice(path, root)
            return root, loader.construct_document(root)  # as SafeLoader does: plain values alone
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f"{path}, line {mark.line + 1}" if mark else str(path)
            raise PlanError(where, f"it is no YAML ({error.problem})", "correct that line") from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise PlanError(str(path), f"it is no YAML ({error})", f"correct it, or {self.none_yet}") from error


def _refuse_twice(path: Path, node: yaml.Node, above: tuple[int, ...] = ()) -> None:
    """Raise PlanError if a key stands twice in a mapping (YAML takes the last), or if an alias contains itself."""
    if id(node) in above:
        raise PlanError(f"{path}, line {node.start_mark.line + 1}", "an alias holds itself", "write it out")
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                where = f"{path}, line {key.start_mark.line + 1}, key {key.value}"
                raise PlanError(where, "it stands twice", "keep one of them")
            seen.add(str(key.value))
            _refuse_twice(path, value, (*above, id(node)))
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_twice(path, item, (*above, id(node)))


@dataclass(frozen=True, slots=True)
class _Reading(Generic[Record]):
    """A parsed YAML file: its tree of nodes, for line numbers in errors, and its value, to convert to the record."""

    form: YamlForm[Record]
    path: Path
    root: yaml.Node
    value: Any

    def record(self) -> Record:
        for part, kind in self.form.entries.items() if isinstance(self.value, dict) else ():
            entries = self.value.get(part)
            for key, entry in entries.items() if isinstance(entries, dict) else ():
                if not isinstance(key, str):
                    raise self.error((part, key), "its name is no text", "write the name in quotes")
                self._converted(entry, kind, (part, key))
        record: Record = self._converted(self.value, self.form.record, ())
        for keys, cause, remedy in self.form.faults(record):
            raise self.error(keys, cause, remedy)
        return record

    def _converted(self, value: Any, kind: Any, above: tuple[Any, ...]) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, form = str(error), self.form
            where = _WHERE.search(message)
            steps = _STEP.finditer(where["path"]) if where else ()
            inside = (step["key"] or int(step["index"]) for step in steps if step["index"] != "...")
            keys, cause = (*above, *inside), _WHERE.sub("", message)
            if unknown := re.search(r"unknown field `(.+)`", cause):
                part = next((form.parts[key] for key in keys if key in form.parts), form.record)
                valid = [*_descriptions_by_key(part)]
                near = difflib.get_close_matches(unknown[1], valid, 1)
                hint = f"did you mean {near[0]}? " if near else ""
                remedy = f"{hint}valid: {', '.join(valid)}"
                raise self.error((*keys, unknown[1]), "there is no such key", remedy) from error
            raise self.error(keys, cause[:1].lower() + cause[1:]) from error

    def error(self, keys: tuple[Any, ...], cause: str, remedy: str = "") -> PlanError:
        form, where, named = self.form, f"{self.path}, line {_line(self.root, keys)}", ".".join(map(str, keys))
        parts: tuple[type[msgspec.Struct], ...] = (form.record,)
        for part in (*(form.parts[key] for key in keys if key in form.parts), *parts):
            known = ((key, _descriptions_by_key(part).get(key)) for key in reversed(keys))
            remedy = remedy or next((f"`{key}`: {text}" for key, text in known if text), "")
        return PlanError(f"{where}, key {named}" if named else where, cause, remedy or form.remedy)


def _descriptions_by_key(record: type[msgspec.Struct]) -> dict[str, str]:
    return {
        field.encode_name: "".join(meta.description or "" for meta in getattr(field.type, "__metadata__", ()))
        for field in msgspec.structs.fields(record)
    }


def _line(node: yaml.Node, keys: tuple[Any, ...]) -> int:
    """Return the line number, from 1, of the last key on the path `keys` that the file still contains."""
    line: int = node.start_mark.line + 1
    for wanted in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(wanted)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(wanted, int) and wanted < len(node.value):
            node = node.value[wanted]
            line = node.start_mark.line + 1
    return line
