package lab.server.api;

import java.util.Map;

/** Writes maps, lists, texts, numbers, booleans and null as JSON on one line. */
public final class Json {

    private static final int FIRST_PRINTABLE = 0x20;

    private Json() {
    }

    /** A map as a JSON object, entries in the order of the map. */
    public static String write(Map<String, ?> object) {
        StringBuilder out = new StringBuilder();
        append(out, object);
        return out.toString();
    }

    private static void append(StringBuilder out, Object value) {
        if (value instanceof Map<?, ?> map) {
            appendObject(out, map);
        } else if (value instanceof Iterable<?> list) {
            appendList(out, list);
        } else if (value == null || value instanceof Double number && !Double.isFinite(number)) {
            out.append("null");
        } else if (value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else {
            appendText(out, value.toString());
        }
    }

    private static void appendObject(StringBuilder out, Map<?, ?> map) {
        out.append('{');
        String separator = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            appendText(out, entry.getKey().toString());
            out.append(':');
            append(out, entry.getValue());
            separator = ",";
        }
        out.append('}');
    }

    private static void appendList(StringBuilder out, Iterable<?> list) {
        out.append('[');
        String separator = "";
        for (Object element : list) {
            out.append(separator);
            append(out, element);
            separator = ",";
        }
        out.append(']');
    }

    private static void appendText(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < FIRST_PRINTABLE || Character.isSurrogate(c)) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
