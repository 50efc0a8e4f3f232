package lab.server;

import static lab.server.Flags.require;

import lab.server.api.AsPublished;
import picocli.CommandLine.Option;

/** What happens to a request on its way, apart from what is needed. */
final class HandlingFlags {

    @Option(names = "--as-published", defaultValue = "nothing", paramLabel = "VARIANT",
            description = "A test aid, to see what it costs: do what the published servers did in each request. "
                    + "string-keys: keys become texts and bytes again. copied-values: values are copied once more. "
                    + "new-response: responses are one-nio's objects. shared-response: those without a body are one object "
                    + "for all, which grows with each response. Default: ${DEFAULT-VALUE}.")
    private AsPublished publishedVariant;

    /** Refuses what no front or node can do. */
    void validate(NetworkFlags network, ClusterFlags cluster) {
        require(!publishedVariant.isOfResponses() || network.front() == FrontKind.ONE_NIO, "--as-published "
                + publishedVariant + " is for --front one-nio, but the front is " + network.front() + ".");
        require(publishedVariant == AsPublished.NOTHING || !cluster.isCluster(), "--as-published " + publishedVariant
                + " is for a node that is alone, but this one is part of a cluster.");
    }

    AsPublished publishedVariant() {
        return publishedVariant;
    }
}
