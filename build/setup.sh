#!/bin/sh
# Makes sure that what Collet's build, tests and demo need from the system is there; quick and silent when nothing is missing.
# Called by the Makefile with one of:
#
#   run      a compiler, the window's headers, a display without a screen: what the build and the demo need (the default)
#   test     also what the tests of the product start
#   all      also what the lab starts: Wine, a browser, makers of packages, compilers for other systems, games
#   bench    also what `make bench` compares with
#   peers    what `make bench-delta`, `bench-net` and `bench-install` compare with
#   arm64    that processor's packages, and what a client for Linux-arm64 links against
#
# On Debian and its relatives missing packages are installed when this user may do so without being asked for a password,
# otherwise the command to run is printed. On other systems it says what is needed. Exit code 1: the build can't work.
# Of what "test", "all" and "peers" add, what can't be had is named: the tests that need it are skipped, and these peers are not
# compared with.
set -eu
# shellcheck disable=SC2086 # lists of packages are words

# What the client's window links against (X11 and Wayland), and the C compiler.
build_packages="gcc libc6-dev make pkg-config libgl-dev libegl-dev libgles-dev libx11-dev libxcursor-dev
libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev libxkbcommon-dev libwayland-dev wayland-protocols"
# What `make bench` compares with.
bench_packages="nginx-light curl"
# The same for updates between releases, and what its corpus is made with, beside npm, which other packages of Node bring, too.
peer_packages="rsync zsync casync bsdiff xdelta3 zstd nginx-light curl iproute2"
corpus_packages="tar zip p7zip-full"
# What the sample game opens its window with, a software OpenGL, and a display and keyboard without a screen.
run_packages="libsdl2-2.0-0 libgl1-mesa-dri libxkbcommon-x11-0 xvfb xdotool"
# What the product's tests start: dialogs, traces of system calls, programs that read what we write, and a font with the letters of China
# and Japan.
test_packages="g++ x11-utils strace openssl openssh-client zip unzip zstd python3 fonts-wqy-zenhei groff-base"
# The lab: a browser for the server's dashboard, a web server, caches, a registry; what builds containers, and programs for other systems, and runs
# programs for Windows; what makes packages, signs them and reads them back. Without its preloader, one start of Wine in thousands finds
# its own heap where Windows keeps what all programs share, and ends with code 1.
other_systems="gcc-mingw-w64-x86-64 wine wine64 wine64-preloader gcc-aarch64-linux-gnu libc6-dev-arm64-cross clang lld llvm"
package_tools="nsis wixl msitools osslsigncode minisign gnupg rpm cpio lintian man-db desktop-file-utils appstream squashfs-tools
icnsutils"
lab_packages="chromium nginx-light curl docker-registry buildah prometheus softhsm2
busybox-static ca-certificates varnish trafficserver"
# The languages of the helper for games, which the lab runs in each of them.
helper_languages="lua5.1 lua5.4 mono-mcs mono-runtime nodejs godot3-server"
# Games of other people that the lab wraps, updates and plays (build/lab/games): one for each of plain C, C++, LÖVE, Python, and what
# Godot 3 exports run in. Some 80 MB are downloaded.
game_packages="openttd openttd-opengfx teeworlds chocolate-doom freedoom love mrrescue whichwayisup python3-pygame godot3-runner"
# What a client for Linux-arm64 links against, on a machine of another kind.
arm64_packages="libgl-dev libegl-dev libgles-dev libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev
libxkbcommon-dev libwayland-dev"
# The same for build systems that are not Debian, by the names that pkg-config knows.
build_modules="gl egl glesv2 x11 xcursor xrandr xinerama xi xxf86vm xkbcommon wayland-client wayland-cursor wayland-egl"

say() { printf '%s\n' "setup: $*" >&2; }

# have COMMAND: is it on the path?
have() { command -v "$1" >/dev/null 2>&1; }

check_go() {
	have go && return
	say "Go is missing. Install the version that go.mod names, or a newer one: https://go.dev/dl/"
	exit 1
}

# missing_packages PACKAGE…: those that dpkg does not have installed.
missing_packages() {
	installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}:${Architecture}\n' "$@" 2>/dev/null |
		sed -n "s/^ii *//p" | sed "s/:all\$//; s/:$(dpkg --print-architecture)\$//")
	for package in "$@"; do
		printf '%s\n' "$installed" | grep -qx -- "$package" || printf '%s ' "$package"
	done
}

# without_commands COMMAND…: is one of them not there? System programs count although users don't have them on the path.
without_commands() {
	for command in "$@"; do
		have "$command" || [ -x "/usr/sbin/$command" ] || return 0
	done
	return 1
}

# as_root: how to become root without a question; fails where that can't be done.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		root=""
	elif have sudo && sudo -n true 2>/dev/null; then
		root="sudo -n"
	else
		return 1
	fi
}

# peers installs what updates are compared with.
peers() {
	wanted=""
	without_commands rsync zsync casync bsdiff xdelta3 zstd nginx curl ip && wanted=$peer_packages
	without_commands npm && wanted="$wanted npm"
	without_commands tar zip 7z && wanted="$wanted $corpus_packages"
	without_commands nginx && fresh=nginx || fresh=""
	optional "it is not compared with" $wanted
	quiet_services
}

# optional CONSEQUENCE PACKAGE…: installs those that are missing, together if that works, otherwise one after the other, so
# that one that does not exist takes no other with it. Of each that can't be installed it says what follows from that.
optional() {
	consequence=$1
	shift
	[ $# -gt 0 ] || return 0
	wanted=$(missing_packages "$@")
	[ -n "$wanted" ] || return 0
	if ! as_root; then
		for package in $wanted; do say "$package is MISSING: $consequence"; done
		say "to get them: sudo apt-get update && sudo apt-get install -y --no-install-recommends $wanted"
		return 0
	fi
	say "installing $wanted"
	$root apt-get update -qq || say "the package lists could not be refreshed; trying with those at hand"
	install="$root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends"
	$install $wanted >/dev/null 2>&1 && return
	for package in $wanted; do
		$install "$package" >/dev/null || say "$package CAN'T BE INSTALLED: $consequence"
	done
}

# arm64 makes a machine of another kind able to build clients for Linux-arm64.
arm64() {
	if ! as_root; then
		say "this needs root: sudo build/setup.sh arm64"
		exit 1
	fi
	$root dpkg --add-architecture arm64
	wanted=""
	for package in $arm64_packages; do wanted="$wanted $package:arm64"; done
	optional "the client for Linux-arm64 can't be built" $wanted
}

# quiet_services stops the servers in $fresh, which came with their programs: only the programs are wanted.
quiet_services() {
	if [ -n "$fresh" ] && have systemctl; then
		$root systemctl disable --now $fresh >/dev/null 2>&1 || true
	fi
}

debian() {
	fresh=""
	case "$1" in
	peers | arm64)
		"$1"
		return 0
		;;
	esac
	missing=$(missing_packages $build_packages $run_packages)
	case "$1" in
	bench | all) without_commands nginx && fresh=nginx ;;
	esac
	[ "$1" != all ] || ! without_commands docker-registry || fresh="$fresh docker-registry"
	[ "$1" != all ] || ! without_commands varnishd || fresh="$fresh varnish"
	[ "$1" != all ] || ! without_commands traffic_server || fresh="$fresh trafficserver"
	[ "$1" != bench ] || ! without_commands nginx curl || missing="$missing$(missing_packages $bench_packages)"
	[ -z "$missing" ] || required
	case "$1" in
	test) optional "the tests that need it are SKIPPED" $test_packages ;;
	all) optional "the tests that need it are SKIPPED" $test_packages $other_systems $package_tools $lab_packages $helper_languages $game_packages ;;
	esac
	quiet_services
}

# required installs what is in $missing, or ends this with what to do.
required() {
	install="apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing"
	if ! as_root; then
		say "packages are missing and this user can't install them without a password. Run:"
		say "  sudo apt-get update && sudo $install"
		exit 1
	fi
	say "installing $missing"
	$root apt-get update -qq || say "the package lists could not be refreshed; trying with those at hand"
	if ! $root env DEBIAN_FRONTEND=noninteractive $install >/dev/null; then
		say "the installation did not work. Run it by hand to see why:"
		say "  $root $install"
		exit 1
	fi
}

other_unix() {
	missing=""
	for tool in gcc pkg-config; do
		have "$tool" || missing="$missing $tool"
	done
	if have pkg-config; then
		for module in $build_modules; do
			pkg-config --exists "$module" || missing="$missing $module"
		done
	fi
	for tool in Xvfb xdotool xmessage strace wine x86_64-w64-mingw32-gcc makensis wixl osslsigncode clang; do
		have "$tool" || say "$tool is missing: the tests and benches that need it will say so and be skipped"
	done
	[ -n "$missing" ] || return 0
	say "this is not Debian; install with your package manager a C compiler and the development files of:$missing"
	say "(on Debian these are: $(echo $build_packages))"
	exit 1
}

macos() {
	if ! xcode-select -p >/dev/null 2>&1; then
		say "Apple's command line tools are missing. Run: xcode-select --install"
		exit 1
	fi
	[ -e /opt/homebrew/lib/libSDL2.dylib ] || [ -e /usr/local/lib/libSDL2.dylib ] ||
		say "SDL2 is missing: the sample game will run in text. To get it: brew install sdl2"
}

windows() {
	have gcc && return
	say "a C compiler is missing. Install MSYS2 (https://www.msys2.org), then: pacman -S mingw-w64-x86_64-gcc make"
	exit 1
}

check_go
case "$(uname -s)" in
Darwin) macos ;;
MINGW* | MSYS* | CYGWIN*) windows ;;
*) if have dpkg-query && have apt-get; then debian "${1:-run}"; else other_unix; fi ;;
esac
