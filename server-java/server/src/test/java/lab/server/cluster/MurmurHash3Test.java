package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MurmurHash3Test {

    /** As the reference has it: hash, seed, text. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, ''", "514e28b7, 1, ''", "81f16f39, ffffffff, ''",
        "7fa09ea6, 9747b28c, a", "5d211726, 9747b28c, aa", "283e0130, 9747b28c, aaa", "5a97808a, 9747b28c, aaaa",
        "24884cba, 9747b28c, 'Hello, world!'", "d58063c1, 9747b28c, ππππππππ",
        "2fa826cd, 9747b28c, The quick brown fox jumps over the lazy dog",
    })
    void hashesAsTheReferenceDoes(String hash, String seed, String text) {
        assertEquals(Integer.parseUnsignedInt(hash, 16), MurmurHash3.hash32(text.getBytes(StandardCharsets.UTF_8),
                Integer.parseUnsignedInt(seed, 16)));
    }
}
