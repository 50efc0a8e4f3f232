import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import one.convert.Arguments;
import one.convert.JfrConverter;
import one.jfr.JfrReader;
import one.jfr.StackTrace;
import one.jfr.event.Event;
import one.jfr.event.EventCollector;

/**
 * async-profiler's recording to samples with their time, which the converter's own formats leave out.
 *
 * <p>Run with the converter on the class path: {@code java -cp jfr-converter.jar:CLASSES TimedStacks RECORDING OUT
 * FROM_MS TO_MS EVENT…} with events {@code cpu}, {@code alloc}, {@code lock} and wall-clock times in milliseconds.
 * Each line of OUT is either {@code S id frame;frame;frame} (a stack, root first, before its first use) or
 * {@code E event unix_us id samples weight}; weight is bytes for alloc and nanoseconds for lock.
 */
final class TimedStacks extends JfrConverter {

    private final String event;
    private final Path out;
    private final Map<String, Integer> known;
    private final List<Event> events = new ArrayList<>();

    private TimedStacks(JfrReader reader, Arguments arguments, String event, Path out, Map<String, Integer> known) {
        super(reader, arguments);
        this.event = event;
        this.out = out;
        this.known = known;
    }

    @Override
    protected EventCollector createCollector(Arguments arguments) {
        return new EventCollector() {
            @Override
            public void collect(Event sample) {
                events.add(sample);
            }

            @Override
            public void beforeChunk() {
                events.clear();
            }

            @Override
            public void afterChunk() {
                // each chunk is written by convertChunk, while its stacks can still be looked up
            }

            @Override
            public boolean finish() {
                return false;
            }

            @Override
            public void forEach(EventCollector.Visitor visitor) {
                throw new UnsupportedOperationException("events are kept one by one");
            }
        };
    }

    @Override
    protected void convertChunk() {
        try (BufferedWriter lines = Files.newBufferedWriter(out, java.nio.file.StandardOpenOption.APPEND)) {
            for (Event sample : events) {
                StackTrace trace = jfr.stackTraces.get(sample.stackTraceId);
                if (trace == null) {
                    continue;
                }
                String stack = named(trace, sample);
                Integer id = known.get(stack);
                if (id == null) {
                    id = known.size();
                    known.put(stack, id);
                    lines.write("S " + id + ' ' + stack + '\n');
                }
                long unixUs = jfr.eventTimeToNanos(sample.time) / 1000;
                long weight = event.equals("lock") ? (long) (sample.value() * counterFactor()) : sample.value();
                lines.write("E " + event + ' ' + unixUs + ' ' + id + ' ' + sample.samples() + ' ' + weight + '\n');
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** The frames as the converter's collapsed format names them: the thread first, last what was allocated or locked. */
    private String named(StackTrace trace, Event sample) {
        StringBuilder text = new StringBuilder(getThreadName(sample.tid).replace(';', ','));
        for (int at = trace.methods.length - 1; at >= 0; at--) {
            text.append(';').append(getMethodName(trace.methods[at], trace.types[at]).replace(';', ','));
        }
        if (sample.classId() != 0) {
            text.append(';').append(getClassName(sample.classId()));
        }
        return text.toString().replace('\n', ' ');
    }

    public static void main(String[] given) throws IOException {
        Path out = Path.of(given[1]);
        Files.writeString(out, "");
        Map<String, Integer> known = new LinkedHashMap<>();
        for (int at = 4; at < given.length; at++) {
            Arguments arguments = new Arguments("--" + given[at], "--norm", "--threads", "--from", given[2], "--to", given[3]);
            try (JfrReader reader = new JfrReader(given[0])) {
                new TimedStacks(reader, arguments, given[at], out, known).convert();
            }
        }
    }
}
