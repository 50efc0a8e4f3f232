package lab.server;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;
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

    /** Has enums read as they are written; picocli would take the names of their constants too, and list both. */
    static CommandLine withEnums(CommandLine line) {
        line.getCommandSpec().options().stream().map(OptionSpec::type).filter(Class::isEnum)
                .forEach(type -> register(line, type));
        return line;
    }

    private static <E> void register(CommandLine line, Class<E> type) {
        List<E> constants = List.of(type.getEnumConstants());
        line.registerConverter(type, text -> constants.stream().filter(constant -> constant.toString().equals(text)).findAny()
                .orElseThrow(() -> new TypeConversionException("'" + text + "' is not one of " + constants)));
    }
}
