import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.formats.common.TimestampFormat;
import org.apache.flink.formats.json.JsonParserRowDataDeserializationSchema;
import org.apache.flink.formats.json.JsonRowDataDeserializationSchema;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.Collector;

/**
 * Flink's JSON format alone: the messages in a file, a line each, become rows of six nested leaves.
 *
 * <p>Arguments: the file, "parser" (the default of Flink SQL) or "tree", and the number of runs. It prints the seconds
 * of each run behind five that warm up.
 */
public final class FlinkJson {
    private static final LogicalType TEXT = VarCharType.STRING_TYPE;

    private static final class Counting implements Collector<RowData> {
        long rows;

        @Override
        public void collect(RowData row) {
            rows++;
        }

        @Override
        public void close() {}
    }

    public static void main(String[] arguments) throws Exception {
        List<byte[]> messages = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            messages.add(line.getBytes("UTF-8"));
        }
        DeserializationSchema<RowData> schema = arguments[1].equals("parser") ? parser() : tree();
        schema.open(null);
        for (int run = -5; run < Integer.parseInt(arguments[2]); run++) {
            Counting counting = new Counting();
            long begun = System.nanoTime();
            for (byte[] message : messages) {
                schema.deserialize(message, counting);
            }
            double seconds = (System.nanoTime() - begun) / 1e9;
            if (counting.rows != messages.size()) {
                throw new IllegalStateException(counting.rows + " rows of " + messages.size() + " messages");
            }
            if (run >= 0) {
                System.out.println(seconds);
            }
        }
    }

    /** The leaves by a streaming parser, which skips the rest. */
    private static DeserializationSchema<RowData> parser() {
        RowType row =
                row(
                        new String[] {"ts", "user", "country", "order", "total", "express"},
                        new BigIntType(), TEXT, TEXT, TEXT, new DoubleType(), new BooleanType());
        String[][] paths = {
            {"meta", "ts"}, {"user", "id"}, {"user", "geo", "country"}, {"order", "id"}, {"order", "total"},
            {"flags", "express"}
        };
        return new JsonParserRowDataDeserializationSchema(
                row, InternalTypeInfo.of(row), false, false, TimestampFormat.ISO_8601, paths);
    }

    /** The same leaves as nested rows, by a tree of each message. */
    private static DeserializationSchema<RowData> tree() {
        RowType geo = row(new String[] {"country"}, TEXT);
        RowType row =
                row(
                        new String[] {"meta", "user", "order", "flags"},
                        row(new String[] {"ts"}, new BigIntType()),
                        row(new String[] {"id", "geo"}, TEXT, geo),
                        row(new String[] {"id", "total"}, TEXT, new DoubleType()),
                        row(new String[] {"express"}, new BooleanType()));
        return new JsonRowDataDeserializationSchema(
                row, InternalTypeInfo.of(row), false, false, TimestampFormat.ISO_8601);
    }

    private static RowType row(String[] names, LogicalType... types) {
        return RowType.of(types, names);
    }
}
