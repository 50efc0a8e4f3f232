"""The servers of a run: how a setting is started on this machine, what is up now, and where its data lies."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runners.design.experiment import Value
from runners.design.setting import JDK_FRONT, Setting
from runners.design.target import EXTERNAL, HOST, LOOPBACK, TargetFile, TargetWorkload
from runners.design.target import Target as Description
from runners.errors import ToolError
from runners.process.supervisor import in_a_row
from runners.storage.run_folder import RunFolder
from runners.targets.base import Target
from runners.targets.external import build as build_target
from runners.targets.external import launch as launch_target
from runners.targets.lab_server import MAIN, NodeHost, RunningServer, ServerSpec, launch_nodes
from runners.targets.lab_server import launch as launch_server
from runners.toolchain.build import JDK17_MAIN
from runners.toolchain.workshop import Workshop
from runners.trial import machine

#: The engine that does nothing.
NOOP = "noop"


class Servers:
    """One server that is loaded, or several beside each other; a new one takes the place of all."""

    def __init__(
        self, shop: Workshop, folder: RunFolder, parameters: Mapping[str, Value], cpus: tuple[int, ...] | None,
        node_hosts: Sequence[NodeHost] = (),
    ) -> None:  # fmt: skip
        self._shop, self._folder, self._parameters, self.cpus = shop, folder, parameters, cpus
        self._node_hosts = node_hosts
        self._listen = str(parameters.get("listen", LOOPBACK))
        self._up: list[Target] = []
        self._starts = sum(1 for _ in folder.path.glob("servers/*/start-*"))  # those of earlier sessions

    def start(self, setting: Setting, keep_data: bool = False) -> RunningServer:
        """Stop what is up, cleanly, then start a setting on an empty store, or on what its last server left."""
        self.stop()
        return self._launched(setting, keep_data)

    def beside(self, setting: Setting) -> RunningServer:
        """Start one more server on an empty store, beside those that are up."""
        return self._launched(setting, keep_data=False, beside=True)

    def start_target(self, file: TargetFile, beside: bool = False, name: str = "", engine: str = EXTERNAL) -> Target:
        """Start anybody's server by its description, on an empty data folder, in place of what is up or beside it.

        `name` is what reports call this process, if not by the target's name.
        """
        if not beside:
            self.stop()
        self._starts += 1
        folder = self._folder.server_folder(name or file.name) / f"start-{self._starts}"
        target = launch_target(file, folder, self.cpus, machine.taskset(), name, engine, self._listen)
        self._up.append(target)
        return target

    def build_target(self, file: TargetFile) -> None:
        """Build anybody's server by its description, once for its name. Raises PlanError when that fails."""
        build_target(file, self._folder.server_folder(file.name) / "build.log")

    @property
    def has_own(self) -> bool:
        """Whether the lab's own servers can be started in this run."""
        return self._shop.servers is not None

    def start_idle(self, name: str, beside: bool = False) -> Target:
        """Start the crate's server that does nothing, where none of the lab's own is needed otherwise."""
        reference = self._shop.reference
        assert reference is not None, "the workshop has a JDK where there is none"
        url = f"http://{HOST}:{in_a_row(1)}"
        command = (str(reference.path), "--kind", "server", url)
        idle = Description(name=name, url=url, workloads={"get": TargetWorkload()}, command=command)
        return self.start_target(TargetFile(reference.path, idle, ""), beside, engine=NOOP)

    def _launched(self, setting: Setting, keep_data: bool, beside: bool = False) -> RunningServer:
        spec = self.specify(setting, keep_data)
        if beside and setting.nodes == 1:  # the port that was asked for is the first one's
            spec = replace(spec, port=0)
        if setting.processes > 1:
            first = in_a_row(setting.processes)
            server: RunningServer = launch_nodes(spec, range(first, first + setting.processes), self._node_hosts)
        else:
            server = launch_server(spec)
        self._up.append(server)
        return server

    def stop(self) -> None:
        """Stop every server that is up, the last one first, with everything flushed."""
        while self._up:
            self._up.pop().stop()

    def drop_data(self) -> None:
        """Remove what the stores of all settings hold."""
        for data in self._folder.path.glob("servers/*/data"):
            shutil.rmtree(data, ignore_errors=True)

    def specify(self, setting: Setting, keep_data: bool = False) -> ServerSpec:
        """How a setting is started here, on an empty store or on what is there. Raises ToolError without its JDK."""
        self._starts += 1
        jdk, server = self._shop.jdk_of(setting.jdk), self._shop.server
        if jdk is None:
            remedy = f"install a JDK {setting.jdk}, then run again"
            raise ToolError(f"JDK {setting.jdk}", f"setting {setting.name} needs it, and it was not found", remedy)
        own = setting.front == JDK_FRONT
        home = self._folder.server_folder(setting.name)
        if not keep_data:
            shutil.rmtree(home / "data", ignore_errors=True)
        port = int(self._parameters.get("port", 0))
        return ServerSpec(
            java=jdk.java,
            class_path=server.jdk17_dist if own else server.dist,
            main_class=JDK17_MAIN if own else MAIN,
            engine=setting.engine,
            folder=home / f"start-{self._starts}",
            data=home / "data",
            heap_mb=setting.heap_mb or int(self._parameters["heap_mb"]),
            selectors=int(self._parameters.get("selectors", 0)),
            port=in_a_row(setting.nodes) if setting.nodes > 1 and not port else port,
            cpus=None if setting.all_cores else self.cpus,
            taskset=machine.taskset(),
            server_flags=setting.server_flags,
            more_jvm_flags=setting.jvm_flags,
            subject=setting.name,
            listen=self._listen,
        )
