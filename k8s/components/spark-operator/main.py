"""What spark-submit starts in the driver: `saffron run model-builder`, on the JVM that it has started."""

from saffron.cli.main import run

run()
