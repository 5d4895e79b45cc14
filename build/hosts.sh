#!/bin/sh
# Builds the client and the sample game's module for every target that this machine has compilers for, and says what it can't
# build and what that needs.
#
#   build/hosts.sh BIN OUT [FLAGS…]        BIN has the programs of `make build`, OUT gets a folder for each target; FLAGS are those of
#                                          `go build` for this system
#   build/hosts.sh game BIN HOSTS FOLDER   makes a project of the sample game in FOLDER, of what lies in HOSTS, and packs it
set -eu

say() { printf '%s\n' "hosts: $*"; }

# own_target: this system, as the engine calls it.
own_target() {
	case "$(go env GOOS)/$(go env GOARCH)" in
	linux/amd64) echo Linux-x64 ;;
	linux/arm64) echo Linux-arm64 ;;
	windows/amd64) echo Windows-win64 ;;
	darwin/arm64) echo macOS-arm64 ;;
	darwin/amd64) echo macOS-x64 ;;
	*)
		say "no packages are made for $(go env GOOS)/$(go env GOARCH)" >&2
		exit 1
		;;
	esac
}

# windows builds the client and the module for Windows from another system. It takes some minutes the first time.
windows() {
	if ! command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
		say "Windows-win64: x86_64-w64-mingw32-gcc is missing, on Debian the package gcc-mingw-w64-x86-64"
		return
	fi
	say "Windows-win64: client and module (the first time this takes some minutes)"
	CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=x86_64-w64-mingw32-gcc CXX=x86_64-w64-mingw32-g++ \
		go build -buildvcs=false -trimpath -ldflags '-s -w -H=windowsgui' -o "$out/Windows-win64/collet-client.exe" ./app
	module Windows-win64
}

# arm64 FLAGS…: server and module for Linux on arm64, and the client where the libraries of such a machine are there.
arm64() {
	if ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
		say "Linux-arm64: aarch64-linux-gnu-gcc is missing, on Debian the package gcc-aarch64-linux-gnu"
		return
	fi
	mkdir -p "$out/Linux-arm64"
	CGO_ENABLED=0 GOARCH=arm64 go build -trimpath -ldflags '-s -w' "$@" -o "$out/Linux-arm64/" ./netproto/cmd/collet-server
	module Linux-arm64
	libraries=/usr/lib/aarch64-linux-gnu/pkgconfig
	if ! [ -e "$libraries/gl.pc" ] || ! [ -e "$libraries/wayland-client.pc" ]; then
		say "Linux-arm64: server and module; the client needs the libraries of such a machine: build/setup.sh arm64 installs them"
		return
	fi
	say "Linux-arm64: client, server and module (the first time this takes some minutes)"
	PKG_CONFIG_LIBDIR=$libraries CGO_ENABLED=1 GOARCH=arm64 CC=aarch64-linux-gnu-gcc \
		go build -trimpath -ldflags '-s -w' "$@" -o "$out/Linux-arm64/collet-client" ./app
}

# module TARGET: the sample game's module in its first release.
module() {
	"$bin/collet" modules --target "$1" "$out/.modules" >/dev/null
	mkdir -p "$out/$1"
	cp "$out/.modules/release-1"/* "$out/$1/"
	rm -r "$out/.modules"
}

hosts() {
	bin=$1 out=$2
	shift 2
	own=$(own_target)
	say "$own: client, server and module"
	mkdir -p "$out/$own"
	go build -trimpath -ldflags '-s -w' "$@" -o "$out/$own/" ./netproto/cmd/collet-server
	go build -trimpath -ldflags '-s -w' "$@" -o "$out/$own/collet-client$(go env GOEXE)" ./app
	module "$own"
	[ "$own" = Windows-win64 ] || windows
	[ "$own" != Linux-x64 ] || arm64 "$@"
	case $own in
	macOS-*) ;;
	*) say "macOS: the client's window and its module need a Mac with Apple's tools: run make hosts there. Everything else is checked for it here by make cross-darwin" ;;
	esac
}

game() {
	bin=$1 hosts=$2 folder=$3
	mkdir -p "$folder"
	rm -rf "$folder/build" "$folder/Resources"
	cp -R "$hosts" "$folder/build"
	"$bin/collet" modules --packs "$folder/.modules" >/dev/null
	cp -R "$folder/.modules/release-1/Resources" "$folder/Resources"
	rm -r "$folder/.modules"
	cp assets/icon.png "$folder/"
	bin=$(cd "$bin" && pwd)
	version=$(sed -n 's/^#define GAME_COMPATIBILITY "\(.*\)".*/\1/p' runtime/sample/game/module.c)
	cd "$folder"
	if [ -e collet.toml ]; then
		say "$folder/collet.toml stays as it is; remove it to have what was built since in a new one"
	else
		"$bin/collet" pack init --compatibility "$version" .
	fi
	"$bin/collet" pack check
	"$bin/collet" pack all
}

if [ "$1" = game ]; then
	shift
	game "$@"
else
	hosts "$@"
fi
