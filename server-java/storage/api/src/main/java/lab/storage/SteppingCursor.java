package lab.storage;

/** A cursor that can stop between entries that it does not show. */
public interface SteppingCursor extends Cursor {

    @Override
    Step step();

    @Override
    default boolean next() {
        Step step;
        do {
            step = step();
        } while (step == Step.PASSED);
        return step == Step.ENTRY;
    }
}
