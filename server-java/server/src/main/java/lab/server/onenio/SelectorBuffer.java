package lab.server.onenio;

/** The buffer that a selector thread of one-nio reads into. */
final class SelectorBuffer {

    /** Its size, which one-nio fixes. */
    static final int BYTES = 64_000;

    private SelectorBuffer() {
    }
}
