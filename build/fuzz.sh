#!/bin/sh
# Runs every fuzz target of some packages in turn. Called by make fuzz: build/fuzz.sh TIME [FLAG…] PACKAGE…
#
# An input that fails is written to testdata/fuzz/TARGET of its package, where go test finds it from then on: commit it with the
# fix. Inputs that only reach new code stay in Go's build cache, where the next run begins with them. The exit code is 1 when a
# target failed; the others run all the same.
set -eu
time=$1
shift
flags=""
while [ $# -gt 0 ]; do
	case "$1" in
	-tags) flags="$flags $1 $2"; shift 2 ;;
	-*) flags="$flags $1"; shift ;;
	*) break ;;
	esac
done
failed=""
# shellcheck disable=SC2086 # flags are words
for package in $(go list $flags "$@"); do
	for target in $(go test $flags -vet=off -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test $flags -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed="$failed $package.$target"
	done
done
[ -z "$failed" ] || { echo "fuzz: failed:$failed" >&2; exit 1; }
