package lab.server.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
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
        map.put("list", List.of("a", 1, Map.of("b", 2), List.of()));
        assertEquals("{\"text\":\"a\\\"b\\\\c\\u000a\\u0001é\",\"number\":12,\"share\":0.5,\"nothing\":null,"
                + "\"infinite\":null,\"inner\":{\"flag\":true},\"list\":[\"a\",1,{\"b\":2},[]]}", Json.write(map));
    }
}
