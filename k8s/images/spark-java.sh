#!/bin/sh
# The Java that comes from PyPI, for Spark's own scripts: it lacks an incubator module that Spark asks for by default,
# and uses for nothing but faster linear algebra.
set -eu
for option; do
    shift
    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec "$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")/jdk/bin/java" "$@"
