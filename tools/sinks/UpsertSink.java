import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * A sink that upserts records into a table of the topic's name, by the primary key "id".
 *
 * It does what JDBC sink connectors do with insert.mode=upsert, pk.mode=record_value, pk.fields=id and
 * auto.create=true. Those are not on Maven Central.
 */
public class UpsertSink extends SinkConnector {
    private Map<String, String> properties;

    @Override
    public void start(Map<String, String> given) {
        properties = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return UpsertTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return Collections.nCopies(most, properties);
    }

    @Override
    public void stop() {}

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("connection.url", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "JDBC URL");
    }

    @Override
    public String version() {
        return "1";
    }

    public static class UpsertTask extends SinkTask {
        private String url;
        private Connection connection;

        @Override
        public void start(Map<String, String> given) {
            url = given.get("connection.url");
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            try {
                if (connection == null) {
                    connection = DriverManager.getConnection(url);
                    connection.setAutoCommit(false);
                }
                for (SinkRecord record : records) {
                    write(record);
                }
                connection.commit();
            } catch (SQLException error) {
                throw new RetriableException(error);
            }
        }

        private void write(SinkRecord record) throws SQLException {
            Struct row = (Struct) record.value();
            List<Field> fields = record.valueSchema().fields();
            String table = quoted(record.topic());
            String columns = fields.stream().map(f -> quoted(f.name())).collect(Collectors.joining(", "));
            String types = fields.stream().map(UpsertTask::column).collect(Collectors.joining(", "));
            String marks = fields.stream().map(f -> "?").collect(Collectors.joining(", "));
            String updates = fields.stream()
                .map(f -> quoted(f.name()) + " = EXCLUDED." + quoted(f.name()))
                .collect(Collectors.joining(", "));
            try (PreparedStatement create = connection.prepareStatement(
                "CREATE TABLE IF NOT EXISTS " + table + " (" + types + ", PRIMARY KEY (\"id\"))")) {
                create.execute();
            }
            try (PreparedStatement upsert = connection.prepareStatement(
                "INSERT INTO " + table + " (" + columns + ") VALUES (" + marks + ") ON CONFLICT (\"id\") DO UPDATE SET "
                    + updates)) {
                for (Field field : fields) {
                    Object value = row.get(field);
                    boolean isTime = value instanceof java.util.Date;
                    upsert.setObject(field.index() + 1, isTime ? new Timestamp(((java.util.Date) value).getTime()) : value);
                }
                upsert.execute();
            }
        }

        private static String column(Field field) {
            String logical = field.schema().name();
            String type = "org.apache.kafka.connect.data.Timestamp".equals(logical) ? "TIMESTAMP" : switch (field.schema().type()) {
                case STRING -> "TEXT";
                case INT64 -> "BIGINT";
                case FLOAT64 -> "DOUBLE PRECISION";
                case BOOLEAN -> "BOOLEAN";
                default -> throw new ConnectException("no column for " + field.schema().type());
            };
            return quoted(field.name()) + " " + type + (field.schema().isOptional() ? "" : " NOT NULL");
        }

        private static String quoted(String name) {
            return '"' + name.replace("\"", "\"\"") + '"';
        }

        @Override
        public void stop() {
            try {
                if (connection != null) {
                    connection.close();
                }
            } catch (SQLException error) {
                throw new ConnectException(error);
            }
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
