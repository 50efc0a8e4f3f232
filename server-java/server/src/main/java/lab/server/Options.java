package lab.server;

import picocli.CommandLine.ArgGroup;

/**
 * What the command line says. Every setting is a flag; there is no file and no variable. Each concern has a group of its
 * own; a group checks what the parser cannot.
 */
final class Options {

    @ArgGroup(validate = false, heading = "%nStore:%n")
    private final StoreFlags store = new StoreFlags();

    @ArgGroup(validate = false, heading = "%nNetwork:%n")
    private final NetworkFlags network = new NetworkFlags();

    @ArgGroup(validate = false, heading = "%nThreads:%n")
    private final ExecutionFlags execution = new ExecutionFlags();

    @ArgGroup(validate = false, heading = "%nCluster:%n")
    private final ClusterFlags cluster = new ClusterFlags();

    void validate() {
        store.validate();
        network.validate();
        execution.validate();
        cluster.validate(network);
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

    ClusterFlags cluster() {
        return cluster;
    }
}
