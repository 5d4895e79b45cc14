#!/bin/sh
# Makes the pictures of the manual again: sh docs/pictures/make.sh
#
# It plays Start here with the programs of bin on a screen of its own, the size of the window, and takes a picture of each moment; one of the
# dashboard on a larger screen. It needs make build, and the packages xvfb, xdotool, imagemagick, pngquant and chromium.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH="${COLLET_BIN:-$here/../../bin}:$PATH"
work=/tmp/anna # the pictures show this name
mkdir "$work"
HOME=$work
export PATH HOME DISPLAY=:97 LIBGL_ALWAYS_SOFTWARE=1 LANG=C.UTF-8 COLLET_PASSPHRASE='correct horse' XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$work/run"
Xvfb :97 -screen 0 640x480x24 >/dev/null 2>&1 & screen=$!
Xvfb :98 -screen 0 1000x600x24 >/dev/null 2>&1 & screen2=$!
server=$screen
trap 'code=$?; [ $code = 0 ] || tail -n 5 "$work/client.log" "$work/server.log" >&2; kill $screen $screen2 $server 2>/dev/null || true; rm -rf "$work"; exit $code' EXIT
cd "$work"

# noise FILE SEED MEGABYTES: bytes that nothing makes smaller.
noise() { openssl enc -aes-256-ctr -pbkdf2 -nosalt -pass "pass:$2" </dev/zero 2>/dev/null | head -c "$3"000000 >"$1"; }

# opened SECONDS: waits until so long after the window has opened.
opened() {
	for _ in $(seq 600); do
		xdotool search --onlyvisible --name . >/dev/null 2>&1 && break
		sleep 0.1
	done
	sleep "$1"
}

# shot NAME SECONDS: the window, so long after it has opened.
shot() {
	opened "$2"
	import -window root "$work/$1.png"
	pngquant --force --nofs --speed 1 --output "$here/$1.png" 64 "$work/$1.png"
	echo "$1: $(wc -c <"$here/$1.png") bytes"
}

# play FLAG…: the client, in the background; alone FLAG…: the program without its package, in a folder of its own.
play() { player/Lathe/Lathe "$@" >>client.log 2>&1 & client=$!; }
alone() { alone/Lathe "$@" >>client.log 2>&1 & client=$!; }

# waitfor TEXT: a line of the client's log.
waitfor() {
	for _ in $(seq 600); do
		grep -q "$1" player/Lathe/Lathe.log 2>/dev/null && return
		sleep 0.1
	done
	echo "the log never said $1" >&2
	exit 1
}

# leave: the client's window is closed by force.
leave() { kill "$client" || true; wait "$client" || true; }

# The game is a script.
mkdir -p build/linux/maps
printf '#!/bin/sh\nexit ${LATHE_ENDS:-0}\n' >build/linux/lathe
chmod +x build/linux/lathe
for map in workshop forest; do noise build/linux/maps/$map.pak $map 1; done

collet wrap build --yes --name Lathe --url http://127.0.0.1:8797 >/dev/null
collet keys init >/dev/null
collet release publish --effort fast >/dev/null
collet pack all >/dev/null
printf '[Release]\nFolder = "release"\n[Compat]\nStore = "operator.db"\n[Operations]\nProposals = "proposals"\n' >server.toml
collet-server --config server.toml --listen 127.0.0.1:4097 --http 127.0.0.1:8797 --control server.sock >server.log 2>&1 & server=$!
mkdir player alone
tar -xf packages/*-Client-*.tar.gz -C player
cp player/Lathe/Lathe alone

alone --bandwidth 100K
shot install 6
leave

player/Lathe/Lathe --headless --run >>client.log 2>&1

noise build/linux/maps/forest.pak "forest, later" 2
collet release publish --effort fast --percent 10 >/dev/null
collet-server reload --control server.sock >/dev/null
collet compat token ada --control server.sock >token
DISPLAY=:98
chromium --no-sandbox --kiosk --incognito --no-first-run --lang=en-GB --user-data-dir="$work/chromium" --window-position=0,0 --window-size=1000,600 \
	http://127.0.0.1:8797/admin >browser.log 2>&1 & client=$!
opened 8
xdotool type "$(cat token)"
xdotool key Return
sleep 4
xdotool mousemove 321 28 click 1 # the page of releases
sleep 1
xdotool mousemove 990 590
shot dashboard 3
leave
DISPLAY=:97
collet release rollout 2 100 >/dev/null
collet-server reload --control server.sock >/dev/null
play --bandwidth 100K
shot update 9
leave
player/Lathe/Lathe --headless --run >>client.log 2>&1

printf '#!/bin/sh\nexit 3\n' >build/linux/lathe
collet release publish --effort fast >/dev/null
collet-server reload --control server.sock >/dev/null
LATHE_ENDS=3 player/Lathe/Lathe --headless --run >>client.log 2>&1 || true
play
waitfor 'last proven set'
shot rollback 5
leave

mkdir -p Games
cp -r build/linux Games/OldLathe
play --adopt "$work/Games/OldLathe"
shot adopt 4
leave
