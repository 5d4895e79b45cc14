#!/bin/sh
# Makes a release of Collet's own programs of what `make hosts` built, and says what this machine can't make. Called by
# `make release VERSION=…`.
#
#   build/release.sh VERSION BIN HOSTS OUT
#
# OUT/VERSION gets, for each target, an archive of the programs and a CycloneDX list of the modules in them; packages of the sample
# game, made by `collet pack`; notes.md, from CHANGELOG.md; and SHA256SUMS over all of it. Times come from the last commit, so two
# machines with one version of Go make the same archives. What is in the archives is also published by `collet release`, as a signed
# release with patches from earlier ones.
#
#   COLLET_RELEASE=DIR COLLET_KEYS=DIR  the release folder of the product collet and its keys, see docs/RELEASING.md
#   COLLET_MINISIGN_KEY=FILE            signs SHA256SUMS with minisign, for those who have no Collet
#   COLLET_OPENPGP_KEY=ID               signs SHA256SUMS with gpg
#   TRY=1                               to try it: takes an unreleased version, a tree with changes and development keys, and says so;
#                                       without COLLET_RELEASE it publishes to a new folder, with new keys, and removes both
set -eu

say() { printf '%s\n' "release: $*"; }

# stop_unless_try MESSAGE: what no real release may have.
stop_unless_try() {
	if [ -z "${TRY:-}" ]; then
		printf '%s\n' "release: $*; TRY=1 makes one to try all the same" >&2
		exit 1
	fi
	say "$* (to try only)"
	tried="$tried
- $*"
}

# notes: the newest section of CHANGELOG.md, without its heading.
notes() { awk '/^## /{n++; next} n == 1' CHANGELOG.md; }

# go_target TARGET: GOOS and GOARCH.
go_target() {
	case $1 in
	Linux-x64) echo linux amd64 ;;
	Linux-arm64) echo linux arm64 ;;
	Windows-win64) echo windows amd64 ;;
	macOS-arm64) echo darwin arm64 ;;
	macOS-x64) echo darwin amd64 ;;
	esac
}

# programs TARGET FOLDER: server and tools are built for every target, since they need no C compiler; the client is taken from HOSTS.
programs() {
	# shellcheck disable=SC2046 # two words
	set -- "$1" "$2" $(go_target "$1")
	mkdir -p "$2"
	CGO_ENABLED=0 GOOS=$3 GOARCH=$4 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$2/" ./netproto/cmd/collet-server ./build/cmd/collet ./build/compatgen
	for client in "$hosts/$1/collet-client" "$hosts/$1/collet-client.exe"; do
		[ ! -e "$client" ] || cp "$client" "$2/"
	done
	if ! [ -e "$2/collet-client" ] && ! [ -e "$2/collet-client.exe" ]; then
		say "$1: WITHOUT THE CLIENT: $hosts/$1 has none; run make hosts on a machine that can build it, and copy its folder here"
	fi
}

# modules TARGET FOLDER: a CycloneDX document of what the programs were linked from, by their own build information.
modules() {
	for program in "$2"/*; do go version -m "$program"; done |
		awk -v version="$version" -v target="$1" -v time="$time" '
		$1 == "path" || $1 == "build" { next }
		$1 == "dep" { found[$2 "@" $3] = $2 " " $3 }
		$2 ~ /^go[0-9]/ && $1 ~ /:$/ { found["go"] = "std " substr($2, 3) }
		END {
			printf "{\n\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.6\", \"version\": 1,\n"
			printf "\"metadata\": {\"timestamp\": \"%s\", \"component\": {\"type\": \"application\", \"name\": \"collet\", \"version\": \"%s\", \"description\": \"%s\"}},\n", time, version, target
			printf "\"components\": ["
			for (key in found) lines[++n] = found[key]
			for (i = 2; i <= n; i++) for (j = i; j > 1 && lines[j-1] > lines[j]; j--) { t = lines[j]; lines[j] = lines[j-1]; lines[j-1] = t }
			for (i = 1; i <= n; i++) {
				split(lines[i], part, " ")
				printf "%s\n{\"type\": \"library\", \"name\": \"%s\", \"version\": \"%s\", \"purl\": \"pkg:golang/%s@%s\"}", (i > 1 ? "," : ""), part[1], part[2], part[1], part[2]
			}
			printf "\n]}\n"
		}'
}

# archive TARGET FOLDER: FOLDER lies in $work and becomes one archive, with equal bytes at every run.
archive() {
	cp -R LICENSE README.md CHANGELOG.md docs "$work/$2/"
	mkdir -p "$work/$2/runtime/abi"
	cp runtime/abi/*.h "$work/$2/runtime/abi/" # what modules include; the docs link to it
	mkdir -p "$work/$2/completions"
	for program in collet collet-server collet-client compatgen; do # of this machine: they print the same for every target
		"$bin/$program" --man "$work/$2/man/man1"
		for shell in bash zsh fish powershell; do "$bin/$program" --completion $shell >"$work/$2/completions/$program.$shell"; done
	done
	find "$work/$2" -exec touch -d "@$epoch" {} +
	case $1 in
	Windows-*)
		if ! command -v zip >/dev/null 2>&1; then
			say "$1: NOT ARCHIVED: zip is missing"
			return
		fi
		(cd "$work" && find "$2" -type f | LC_ALL=C sort | TZ=UTC zip -q -X -9 "$release/collet-$version-$1.zip" -@)
		;;
	*)
		tar -C "$work" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$epoch" -cf - "$2" |
			gzip -9 -n >"$release/collet-$version-$1.tar.gz"
		;;
	esac
}

# sample: packages of the sample game with this version's host and server.
sample() {
	if ! ls "$hosts"/*/*athe* >/dev/null 2>&1; then
		say "the sample game: NO PACKAGES: $hosts has no module of it; run make hosts"
		return
	fi
	SOURCE_DATE_EPOCH=$epoch build/hosts.sh game "$bin" "$hosts" "$work/lathe"
	for package in "$work"/lathe/packages/*; do
		if [ -f "$package" ] && [ "${package##*/}" != SHA256SUMS ]; then cp "$package" "$release/"; fi
	done
}

# project: a project whose program is Collet's own, for each target the folder that is in its archive. No packages are made of it, so no client
# needs the server's address.
project() {
	cat <<-TOML
		[game]
		name = "Collet"
		id = "org.collet.tools"
		version = "$version"
		publisher = "The Collet authors"
		maintainer = "The Collet authors <collet@example.org>"
		summary = "Keeps a game's client current"
		icon = "icon.png"

		[client]
		server = "tls://collet.example.org:4000"
	TOML
	for target in $targets; do
		program=collet
		case $target in Windows-*) program=collet.exe ;; esac
		printf '\n[[target]]\nname = "%s"\nfolder = "collet-%s-%s"\nprogram = "%s"\n' "$target" "$version" "$target" "$program"
	done
}

# publish: the programs as a signed release.
publish() {
	if [ -n "${TRY:-}" ] && [ -z "${COLLET_RELEASE:-}" ]; then
		export COLLET_RELEASE="$work/release" COLLET_KEYS="$work/keys"
		"$bin/collet" keys init --development
		"$bin/collet" release init --product collet --allow-development
	fi
	if [ -z "${COLLET_RELEASE:-}" ] || [ -z "${COLLET_KEYS:-}" ]; then
		say "the programs: NO SIGNED RELEASE: COLLET_RELEASE and COLLET_KEYS name the release folder and the keys"
		return
	fi
	project >"$work/collet.toml"
	cp assets/icon.png "$work/"
	(cd "$work" && SOURCE_DATE_EPOCH=$epoch "$bin/collet" release publish --yes ${TRY:+--allow-development} --label "$version" --notes "en=$release/notes.md")
	"$bin/collet" release verify
}

sign() {
	if [ -n "${COLLET_MINISIGN_KEY:-}" ]; then
		minisign -S -s "$COLLET_MINISIGN_KEY" -m SHA256SUMS -t "collet $version"
	else
		say "SHA256SUMS: NOT SIGNED with minisign: COLLET_MINISIGN_KEY names no key"
	fi
	if [ -n "${COLLET_OPENPGP_KEY:-}" ]; then
		gpg --batch --yes --armor --local-user "$COLLET_OPENPGP_KEY" --detach-sign SHA256SUMS
	else
		say "SHA256SUMS: NOT SIGNED with OpenPGP: COLLET_OPENPGP_KEY names no key"
	fi
}

[ $# = 4 ] && [ -n "$1" ] || { say "usage: make release VERSION=0.1.0" >&2; exit 2; }
cd "$(dirname "$0")/.."
version=$1 tried=""
mkdir -p "$4"
bin=$(cd "$2" && pwd) hosts=$(cd "$3" && pwd) out=$(cd "$4" && pwd)
release=$out/$version work=$out/.work
targets=${TARGETS:-Linux-x64 Linux-arm64 Windows-win64 macOS-arm64 macOS-x64}
for folder in COLLET_RELEASE COLLET_KEYS; do # they are named relative to the tree, and used elsewhere
	eval "named=\${$folder:-}"
	if [ -n "$named" ]; then
		named=$(cd "$named" && pwd)
		export "$folder=$named"
	fi
done

[ "$(sed -n 's/^Version = "\(.*\)"/\1/p' FyneApp.toml)" = "$version" ] || { say "FyneApp.toml has another version than $version" >&2; exit 1; }
heading=$(grep -m 1 '^## ' CHANGELOG.md)
case $heading in
"## $version (20"*) ;;
*) stop_unless_try "the newest section of CHANGELOG.md is \"$heading\", not \"## $version (<date>)\"" ;;
esac
[ -z "$(git status --porcelain)" ] || stop_unless_try "the working copy has changes that are not committed"
if [ -n "${COLLET_RELEASE:-}" ]; then # a release without the client would take it from those who have it
	for target in $targets; do
		[ -e "$hosts/$target/collet-client" ] || [ -e "$hosts/$target/collet-client.exe" ] ||
			stop_unless_try "$hosts/$target has no client for the signed release; run make hosts on a machine that can build it"
	done
fi
epoch=$(git log -1 --format=%ct)
time=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)

rm -rf "$release" "$work"
mkdir -p "$release" "$work"
{ [ -z "$tried" ] || printf 'Made to try the recipe:\n%s\n\n' "$tried"; notes; } >"$release/notes.md"
for target in $targets; do
	say "$target"
	folder=collet-$version-$target
	programs "$target" "$work/$folder"
	modules "$target" "$work/$folder" >"$release/$folder.cdx.json"
	archive "$target" "$folder"
done
sample
publish
cd "$release"
rm -f SHA256SUMS*
LC_ALL=C sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
sign
rm -rf "$work"
say "$release"
ls -l
