package lab.storage.files;

import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * File names for keys of any bytes. Digits, small letters and {@code -} and {@code _} stand for themselves, every other
 * byte is {@code %} and two hexadecimal digits: so no key names a parent folder or a hidden file, and two keys differ
 * also where a file system does not tell capital letters from small ones. A key whose name would be too long for a file
 * system is named by its SHA-256 after {@code ~}; such a file begins with the key itself.
 */
final class FileNames {

    /** File systems allow 255 bytes. */
    private static final int MAX_NAME_CHARS = 200;
    private static final char ESCAPE = '%';
    private static final char HASHED = '~';
    private static final int HEX = 16;
    private static final String DIGITS = "0123456789abcdef";

    private FileNames() {
    }

    /** Name of the file of a key. */
    static String of(byte[] key) {
        if (key.length > MAX_NAME_CHARS) {
            return hashed(key);
        }
        StringBuilder name = new StringBuilder(key.length + HEX);
        for (byte b : key) {
            if (standsForItself(b)) {
                name.append((char) b);
            } else {
                name.append(ESCAPE);
                appendHex(name, b);
            }
        }
        return name.length() > MAX_NAME_CHARS ? hashed(key) : name.toString();
    }

    private static boolean standsForItself(byte b) {
        return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' || b == '_';
    }

    /** Whether the name does not tell the key, and the file begins with it. */
    static boolean isHashed(String name) {
        return name.charAt(0) == HASHED;
    }

    /** The key of a name that is not hashed. */
    static byte[] key(String name) {
        ByteArrayOutputStream key = new ByteArrayOutputStream(name.length());
        for (int i = 0; i < name.length(); i++) {
            if (name.charAt(i) == ESCAPE) {
                key.write(Integer.parseInt(name, i + 1, i + 1 + 2, HEX));
                i += 2;
            } else {
                key.write(name.charAt(i));
            }
        }
        return key.toByteArray();
    }

    private static String hashed(byte[] key) {
        try {
            StringBuilder name = new StringBuilder().append(HASHED);
            for (byte b : MessageDigest.getInstance("SHA-256").digest(key)) {
                appendHex(name, b);
            }
            return name.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256.", e);
        }
    }

    private static void appendHex(StringBuilder name, byte b) {
        name.append(DIGITS.charAt(b >> 4 & 0xf)).append(DIGITS.charAt(b & 0xf));
    }
}
