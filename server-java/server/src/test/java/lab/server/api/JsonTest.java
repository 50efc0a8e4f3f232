package lab.server.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {

    @Test
    void valuesAreWrittenOnOneLine() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("text", "a\"b\\c\n\u0001é");
        map.put("number", 12L);
        map.put("share", 0.5);
        map.put("nothing", null);
        map.put("infinite", Double.NaN);
        map.put("inner", Map.of("flag", true));
        assertEquals("{\"text\":\"a\\\"b\\\\c\\u000a\\u0001é\",\"number\":12,\"share\":0.5,\"nothing\":null,"
                + "\"infinite\":null,\"inner\":{\"flag\":true}}", Json.write(map));
    }
}
