#!/bin/sh
# Fetches published versions of real modules and packs into a folder, for `make bench-delta`, `bench-net` and `bench-install`:
#
#   corpus.sh DIR
#
#   DIR/native/<module>/<version>/module.so    native modules
#   DIR/packs/<pack>/<version>/...             loose files
#   DIR/zips|zipd/<pack>/<version>.zip         the same as one ZIP, stored and deflated by Info-ZIP
#   DIR/zipz|zip9/<pack>/<version>.zip         the same deflated by zlib at levels 6 and 9, if python3 is there
#   DIR/zip7/<pack>/<version>.zip              the same deflated by 7-Zip, if 7z is there
#   DIR/STEPS                                  lines of a step's name, its old and its new path
#
# It takes some 5 GB. What is there already is not fetched again; STEPS comes last, so a run that was stopped is run again.
set -eu
export TZ=UTC LC_ALL=C

say() { printf '%s\n' "corpus: $*" >&2; }

[ $# -eq 1 ] || { sed -n '2,13p' "$0" >&2; exit 2; }
for tool in npm tar zip; do
	command -v "$tool" >/dev/null || { say "$tool is missing; make setup bench installs it where it can"; exit 1; }
done
mkdir -p "$1/fetched"
corpus=$(cd "$1" && pwd)
: >"$corpus/steps.new"

# name, package, versions from old to new
modules='esbuild @esbuild/linux-x64 0.28.0 0.28.1 0.28.2
libvips @img/sharp-libvips-linux-x64 1.2.4 1.3.3 1.3.4
swc @swc/core-linux-x64-gnu 1.16.20 1.16.21 1.16.22
nextswc @next/swc-linux-x64-gnu 16.3.8 16.4.5 16.4.6
esbuildwin @esbuild/win32-x64 0.28.1 0.28.2
nextswcwin @next/swc-win32-x64-msvc 16.4.3 16.4.5
esbuildwasm esbuild-wasm 0.28.1 0.28.2'
packs='monaco monaco-editor 0.56.0 0.57.0
phaser phaser 4.2.0 4.2.1
pyodide pyodide 314.0.6 314.0.7
three three 0.186.0 0.186.1 0.187.0
babylon @babylonjs/core 9.33.1 9.33.2 9.34.0
cesium cesium 1.142.0 1.143.0 1.145.0
emoji emoji-datasource-google 15.1.1 15.1.2 16.0.0'

# fetch PACKAGE VERSION FOLDER: one published version, unpacked; nothing if the folder is there.
fetch() {
	[ ! -d "$3" ] || return 0
	file=$(printf '%s' "$1" | tr -d @ | tr / -)-$2.tgz
	[ -s "$corpus/fetched/$file" ] || (cd "$corpus/fetched" && npm pack --silent "$1@$2" >/dev/null)
	rm -rf "$3.part"
	mkdir -p "$3.part"
	tar -xzf "$corpus/fetched/$file" -C "$3.part" --strip-components=1 --no-same-owner
	chmod -R u+rwX "$3.part"
	mv "$3.part" "$3"
}

# module NAME PACKAGE VERSION: the largest file of a version.
module() {
	folder=$corpus/native/$1/$3
	[ ! -f "$folder/module.so" ] || return 0
	fetch "$2" "$3" "$folder-all"
	mkdir -p "$folder"
	largest=$(find "$folder-all" -type f -size +1024k -exec ls -S {} + | head -n 1)
	mv "$largest" "$folder/module.so"
	rm -rf "$folder-all"
}

# packed FOLDER FILE LEVEL: a ZIP with sorted names and fixed times.
packed() {
	[ ! -f "$2" ] || return 0
	mkdir -p "$(dirname "$2")"
	(cd "$1" && find . -type f -exec touch -d '1980-01-01 00:00:00' {} + && find . -type f | sed 's,^\./,,' | sort | zip -X -D -q "$3" -@ "$2.part.zip")
	mv "$2.part.zip" "$2"
}

# zlibbed FOLDER FILE LEVEL: the same by zlib.
zlibbed() {
	[ ! -f "$2" ] || return 0
	mkdir -p "$(dirname "$2")"
	(cd "$1" && find . -type f | sed 's,^\./,,' | sort | python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as pack:
    for name in sys.stdin.read().splitlines():
        entry = zipfile.ZipInfo(name)
        with open(name, "rb") as data:
            pack.writestr(entry, data.read(), zipfile.ZIP_DEFLATED, int(sys.argv[2]))
' "$2.part" "$3")
	mv "$2.part" "$2"
}

# sevenzipped FOLDER FILE: the same by 7-Zip.
sevenzipped() {
	[ ! -f "$2" ] || return 0
	mkdir -p "$(dirname "$2")"
	rm -f "$2.part.zip"
	find "$1" -type f | sed "s,^$1/,," | sort >"$2.names"
	(cd "$1" && 7z a -tzip -mx=5 -mtc=off -bd "$2.part.zip" "@$2.names" >/dev/null)
	rm "$2.names"
	mv "$2.part.zip" "$2"
}

# step NAME OLD NEW
step() { [ -z "${2##*/none*}" ] || printf '%s %s %s\n' "$1" "$2" "$3" >>"$corpus/steps.new"; }

printf '%s\n' "$modules" | while read -r name package versions; do
	before=none
	for version in $versions; do
		say "$name $version"
		module "$name" "$package" "$version"
		step "native-$name-$version" "native/$name/$before" "native/$name/$version"
		before=$version
	done
done
printf '%s\n' "$packs" | while read -r name package versions; do
	before=none
	for version in $versions; do
		say "$name $version"
		folder=$corpus/packs/$name/$version
		fetch "$package" "$version" "$folder"
		packed "$folder" "$corpus/zips/$name/$version.zip" -0
		packed "$folder" "$corpus/zipd/$name/$version.zip" -9
		forms='zips zipd'
		if command -v python3 >/dev/null; then
			zlibbed "$folder" "$corpus/zipz/$name/$version.zip" 6
			zlibbed "$folder" "$corpus/zip9/$name/$version.zip" 9
			forms="$forms zipz zip9"
		fi
		if command -v 7z >/dev/null; then
			sevenzipped "$folder" "$corpus/zip7/$name/$version.zip"
			forms="$forms zip7"
		fi
		step "loose-$name-$version" "packs/$name/$before" "packs/$name/$version"
		for form in $forms; do
			step "$form-$name-$version" "$form/$name/$before.zip" "$form/$name/$version.zip"
		done
		before=$version
	done
done
mv "$corpus/steps.new" "$corpus/STEPS"
