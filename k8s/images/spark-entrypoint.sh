#!/bin/sh
# What a pod of the image saffron-spark starts: `driver ...` or `executor`, as Spark on Kubernetes asks its images (it
# sets the SPARK_* variables read here); anything else is a command.
set -eu

home=$(dirname "$(dirname "$(readlink -f "$0")")")
SPARK_HOME=$("$home/bin/python" -c "import pyspark; print(*pyspark.__path__)")
export SPARK_HOME JAVA_HOME="$home/java" PYSPARK_PYTHON="$home/bin/python" PYSPARK_DRIVER_PYTHON="$home/bin/python"
connector=$home/connector/*

case ${1:-} in
driver)
    shift
    exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client --driver-class-path "$connector" \
        --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
        --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
executor)
    set -- -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*:$connector" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    set -- "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" "$@"
    number=$(env | grep -c '^SPARK_JAVA_OPT_' || true)
    while [ "$number" -gt 0 ]; do # each is one option, whatever is in it
        number=$((number - 1))
        eval "set -- \"\$SPARK_JAVA_OPT_$number\" \"\$@\""
    done
    exec "$JAVA_HOME/bin/java" "$@"
    ;;
*) exec "$@" ;;
esac
