package lab.server.cluster;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Announces to another node that this one has started, so that it is asked from now on although it was away before. */
final class Announcement extends PeerCall {

    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(Announcement.class);

    private final String to;
    private final transient CountDownLatch ended;

    private Announcement(String self, String to, CountDownLatch ended) {
        super(Kind.ANNOUNCE, self.getBytes(StandardCharsets.US_ASCII), null);
        this.to = to;
        this.ended = ended;
    }

    /**
     * Announces a node to all others and waits until each of them has responded or has turned out to be away.
     *
     * @param self      address of the node
     * @param timeoutMs longest wait
     */
    static void send(String self, List<Peer> peers, int timeoutMs) {
        CountDownLatch ended = new CountDownLatch(peers.size());
        for (Peer peer : peers) {
            peer.send(new Announcement(self, peer.url(), ended));
        }
        try {
            ended.await(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    void responded(byte[] stored) {
        ended.countDown();
    }

    @Override
    void failed(PeerFailure failure) {
        if (failure == PeerFailure.REFUSED) {
            LOG.warn("{} does not know this node. Start both with the same --topology.", to);
        }
        ended.countDown();
    }
}
