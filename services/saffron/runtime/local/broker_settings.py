"""Settings of the embedded broker: JVM options and server.properties; {...} are placeholders."""

JVM = ("-Xms256m", "-Xmx384m", "-Xmn192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
"""Heap and garbage collector for a machine that also runs all services.

C1 code is fast enough for a broker, whose work is in the kernel, and compiles without taking a core away.
"""

LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
)

STARTED = "Kafka Server started"
FENCED = "Fencing broker 1 "
"""Lines of its log: the broker is started; a controller has ended the broker's registration."""

_NODE = """\
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
"""

SERVER = (
    _NODE
    + """\
process.roles=broker,controller
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{client}
inter.broker.listener.name=PLAINTEXT
auto.create.topics.enable=false
num.partitions=1
num.network.threads=2
num.io.threads=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
log.cleaner.dedupe.buffer.size=4194304
log.retention.ms=-1
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
metadata.max.idle.interval.ms=5000
"""
)
"""Settings of broker and controller in one process. The reasons:

- broker.session.*: with a timeout of one second a broker that starves on a busy machine is fenced, and all its
  partitions lose their leader.
- log.cleaner.dedupe.buffer.size: the default alone would fill a small heap.
- group.min.session.timeout.ms: members may be found dead sooner than the default floor of 6 s allows.
- log.retention.ms: topics of the user's own keep their messages, whose times may be of the past; 30 s after its start
  the broker would remove those of last week. Saffron's topics have a retention each.
- metadata.max.idle.interval.ms: an empty record would go to disk twice a second.
"""

CONTROLLER = (
    _NODE
    + """\
process.roles=controller
listeners=CONTROLLER://127.0.0.1:{controller}
broker.session.timeout.ms=100
broker.heartbeat.interval.ms=50
metadata.max.idle.interval.ms=50
"""
)
"""The controller alone, over the same data, so that the registration of a broker that was killed ends at once.

metadata.max.idle.interval.ms: how often it adds a record to its log that says nothing. They tell that it is awake, and
that what it decided before is on disk.
"""
