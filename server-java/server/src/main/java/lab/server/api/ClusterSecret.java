package lab.server.api;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;

/**
 * What the nodes of one cluster know and clients do not: the value of the header field {@link Exchange#INTERNAL_FIELD},
 * by which a node believes that a request comes from another one. It has no text form, so that it appears in no log.
 */
public final class ClusterSecret {

    private static final int RANDOM_BYTES = 32;
    private static final int MIN_CHARS = 16;
    private static final int MAX_CHARS = 256;

    private final byte[] bytes;

    private ClusterSecret(String text) {
        this.bytes = text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Makes a secret that nobody can guess. */
    public static ClusterSecret random() {
        byte[] random = new byte[RANDOM_BYTES];
        new SecureRandom().nextBytes(random);
        return new ClusterSecret(HexFormat.of().formatHex(random));
    }

    /**
     * Makes the same secret on each node of a topology. Whoever knows the topology can make it too: it guards against
     * mistakes, not against an attacker on the same machine.
     */
    public static ClusterSecret ofTopology(List<String> nodes) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(String.join(",", nodes).getBytes(StandardCharsets.UTF_8));
            return new ClusterSecret(HexFormat.of().formatHex(digest));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Reads a secret from a file, without the white space around it.
     *
     * @throws IllegalArgumentException if the file cannot be read or holds no secret; the message names the file
     */
    public static ClusterSecret read(Path file) {
        String text;
        try {
            text = Files.readString(file, StandardCharsets.US_ASCII).strip();
        } catch (MalformedInputException e) {
            text = "";
        } catch (IOException e) {
            throw new IllegalArgumentException("The file of the cluster's secret cannot be read: " + e + ". Make it "
                    + "readable for the user of the server.", e);
        }
        if (text.length() < MIN_CHARS || text.length() > MAX_CHARS || !text.chars().allMatch(c -> c > ' ' && c <= '~')) {
            throw new IllegalArgumentException("The file " + file + " holds no secret: it must be " + MIN_CHARS + " to "
                    + MAX_CHARS + " printable ASCII characters without spaces. Write one with: openssl rand -hex 32.");
        }
        return new ClusterSecret(text);
    }

    /** The value of the header field. */
    public String fieldValue() {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    /** Whether a field's value is this secret. How long that takes does not depend on where they differ. */
    public boolean matches(byte[] buffer, int from, int to) {
        int difference = to - from ^ bytes.length;
        for (int i = 0; i < bytes.length && from + i < to; i++) {
            difference |= bytes[i] ^ buffer[from + i];
        }
        return difference == 0;
    }
}
