package lab.server;

import picocli.CommandLine.Mixin;

/**
 * What the command line says. Every setting is a flag; there is no file and no variable. Each concern has a group of its
 * own; a group checks what the parser cannot. They are mixins, not picocli's argument groups: a group loses its other flags
 * when one is given twice, and forgets that one is required.
 */
final class Options {

    @Mixin
    private final StoreFlags store = new StoreFlags();

    @Mixin
    private final NetworkFlags network = new NetworkFlags();

    @Mixin
    private final ExecutionFlags execution = new ExecutionFlags();

    @Mixin
    private final HandlingFlags handling = new HandlingFlags();

    @Mixin
    private final ClusterFlags cluster = new ClusterFlags();

    void validate() {
        network.validate();
        store.validate(network.maxValueBytes());
        execution.validate();
        cluster.validate(network);
        handling.validate(network, cluster);
    }

    StoreFlags store() {
        return store;
    }

    NetworkFlags network() {
        return network;
    }

    ExecutionFlags execution() {
        return execution;
    }

    HandlingFlags handling() {
        return handling;
    }

    ClusterFlags cluster() {
        return cluster;
    }
}
