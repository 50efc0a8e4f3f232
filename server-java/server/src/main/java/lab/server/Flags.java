package lab.server;

import java.util.Arrays;
import picocli.CommandLine.TypeConversionException;

/** What the groups of flags share. */
final class Flags {

    private Flags() {
    }

    /**
     * Refuses a value that the parser let pass.
     *
     * @param otherwise which flag is wrong, what it is, and what it may be
     */
    static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    /** The constant that is written like this on the command line. */
    static <E extends Enum<E>> E byFlag(Class<E> type, String text) {
        for (E constant : type.getEnumConstants()) {
            if (constant.toString().equals(text)) {
                return constant;
            }
        }
        throw new TypeConversionException("'" + text + "' is not one of " + Arrays.toString(type.getEnumConstants()));
    }
}
