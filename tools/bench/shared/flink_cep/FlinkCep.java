import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * SEQ(A a, B b, C c) by key within a second, skip-till-next-match, exactly once: from a topic of JSON events to a topic
 * of JSON results.
 *
 * <p>Arguments: the broker, both topics, milliseconds between checkpoints, and milliseconds between watermarks (0: one
 * behind each event). It prints "running" once it reads.
 */
public final class FlinkCep {
    public static final class Event {
        public String type;
        public long ts;
        public String key;
        public long x;
    }

    /** Events from JSON, by Jackson's streaming parser. */
    private static final class Events implements DeserializationSchema<Event> {
        private static final JsonFactory JSON = new JsonFactory();

        @Override
        public Event deserialize(byte[] message) throws IOException {
            Event event = new Event();
            try (JsonParser parser = JSON.createParser(message)) {
                parser.nextToken();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String name = parser.currentName();
                    parser.nextToken();
                    switch (name) {
                        case "type" -> event.type = parser.getText();
                        case "ts" -> event.ts = parser.getLongValue();
                        case "key" -> event.key = parser.getText();
                        case "x" -> event.x = parser.getLongValue();
                        default -> parser.skipChildren();
                    }
                }
            }
            return event;
        }

        @Override
        public boolean isEndOfStream(Event event) {
            return false;
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return TypeInformation.of(Event.class);
        }
    }

    /** A watermark one millisecond behind the newest event: behind each, or now and then. */
    private static final class Watermarks implements WatermarkGenerator<Event> {
        private final boolean each;
        private long newest = Long.MIN_VALUE + 1;

        Watermarks(boolean each) {
            this.each = each;
        }

        @Override
        public void onEvent(Event event, long ts, WatermarkOutput output) {
            newest = Math.max(newest, ts);
            if (each) {
                onPeriodicEmit(output);
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            output.emitWatermark(new Watermark(newest - 1));
        }
    }

    private static final class OfType extends SimpleCondition<Event> {
        private final String type;

        OfType(String type) {
            this.type = type;
        }

        @Override
        public boolean filter(Event event) {
            return type.equals(event.type);
        }
    }

    private static final class Results extends PatternProcessFunction<Event, String> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<String> results) {
            StringBuilder text = new StringBuilder("{\"query\":\"abc\",\"events\":{");
            for (String name : List.of("a", "b", "c")) {
                Event event = match.get(name).get(0);
                text.append(name.equals("a") ? "\"" : ",\"").append(name).append("\":{\"type\":\"").append(event.type)
                    .append("\",\"ts\":").append(event.ts).append(",\"key\":\"").append(event.key)
                    .append("\",\"x\":").append(event.x).append('}');
            }
            results.collect(text.append("}}").toString());
        }
    }

    public static void main(String[] arguments) throws Exception {
        String broker = arguments[0];
        long checkpointMs = Long.parseLong(arguments[3]);
        long watermarkMs = Long.parseLong(arguments[4]);
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.getExecutionEnvironment();
        flink.setParallelism(1);
        flink.getConfig().enableObjectReuse();
        flink.enableCheckpointing(checkpointMs, CheckpointingMode.EXACTLY_ONCE);
        if (watermarkMs > 0) {
            flink.getConfig().setAutoWatermarkInterval(watermarkMs);
        }
        KafkaSource<Event> source = KafkaSource.<Event>builder().setBootstrapServers(broker).setTopics(arguments[1])
            .setGroupId("flink").setStartingOffsets(OffsetsInitializer.earliest())
            .setValueOnlyDeserializer(new Events()).build();
        KafkaSink<String> sink = KafkaSink.<String>builder().setBootstrapServers(broker)
            .setRecordSerializer(KafkaRecordSerializationSchema.builder().setTopic(arguments[2])
                .setValueSerializationSchema(new SimpleStringSchema()).build())
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix(arguments[2]).setProperty("transaction.timeout.ms", "60000").build();
        Pattern<Event, Event> pattern = Pattern.<Event>begin("a").where(new OfType("A"))
            .followedBy("b").where(new OfType("B")).followedBy("c").where(new OfType("C"))
            .within(Duration.ofMillis(1001));
        WatermarkStrategy<Event> watermarks = WatermarkStrategy.<Event>forGenerator(
            context -> new Watermarks(watermarkMs == 0)).withTimestampAssigner((event, ts) -> event.ts);
        CEP.pattern(flink.fromSource(source, watermarks, "events").keyBy(event -> event.key), pattern)
            .inEventTime().process(new Results()).sinkTo(sink);
        JobClient job = flink.executeAsync("abc");
        while (job.getJobStatus().get() != JobStatus.RUNNING) {
            Thread.sleep(50);
        }
        System.out.println("running");
        job.getJobExecutionResult().get();
    }
}
