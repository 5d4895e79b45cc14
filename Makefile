# Collet. `make` alone lists what can be made; docs/ARCHITECTURE.md says what the folders are.

GO ?= go
# On Linux the small OpenGL binding is built during development: a cold build takes a third of the time. Changing flags
# compiles it again, so every call below uses the same ones.
TAGS := $(if $(filter Linux,$(shell uname -s)),gles)
FLAGS := -buildvcs=false $(if $(TAGS),-tags $(TAGS))
EXE := $(shell $(GO) env GOEXE 2>/dev/null)
# Packages that another system's vet can check from here: those with Go files without cgo that don't reach the window.
PORTABLE := {{$$ok := true}}{{range .Deps}}{{if eq . "fyne.io/fyne/v2"}}{{$$ok = false}}{{end}}{{end}}{{if and .GoFiles $$ok}}{{.ImportPath}}{{end}}

comma := ,

.PHONY: help run test build hosts pack qa bench bench-delta bench-net bench-remote lint clean setup gofmt vet cross-windows cross-darwin

help: # list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: setup build ## build everything, then play an update through: server, splash, swap, game
	bin/collet$(EXE) demo --screenshots bin/screenshots

# The soak waits for two minutes: it begins first, beside as many packages as there are processors.
AT_ONCE = $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)
# Long enumerations, of which the race detector is shown a part; without it they are tried whole.
LONG := StoppedAnywhere|PowerCuts|EveryCallFailsOnce|InspectEverywhere|BaseCrash|KeepsItsPromises|TestTraces|TestCrash$$|CrashMutants|TestStandardFolders$$|Keyring|KeyFiles|LargestListing|DamagedMetadata|NoTwoForms|DamagedAnywhere|OfAnything|FormFollows|ManyWays|Histories|UnchangedBench|SequelsStaySmall|TestChanges|ApplyAhead|TestLargePatch|EstimateCountsChanges|SequelsWithChanges|Lifecycle|PlayerAhead|TestWindow$$|OnWindows|NastyNames|PackedClient|TrapTwoLaps|TrapLostAcksNear|TrapBurst|TrapStored|OldDuplicates
# Libraries that only compress and draw: the race detector would watch every byte of theirs, which takes five times as long. One
# with a sync.Map does not belong here: the program may get its copy of that generic code, and with it locks that nobody sees.
UNWATCHED := compress/... hash/adler32 image/... github.com/andybalholm/brotli/... github.com/fyne-io/oksvg/... \
	github.com/klauspost/compress/... github.com/nfnt/resize github.com/srwiley/rasterx/... github.com/tc-hib/winres/... \
	github.com/ulikunitz/xz/... golang.org/x/image/...
RACE = -race $(foreach library,$(UNWATCHED),-gcflags=$(library)=-race=false)
# Every program that ends under the race detector would sleep for a second.
test: export GORACE := atexit_sleep_ms=10
test: setup gofmt vet cross-windows cross-darwin ## format, vet (also for Windows and macOS) and all tests, with the race detector
	$(GO) test $(RACE) -shuffle=on -vet=off -timeout 40m -p $(AT_ONCE) $(FLAGS) ./build/soak ./...
	$(GO) test -vet=off $(FLAGS) -run '$(LONG)' ./app/install ./app/transfer ./build/cmd/collet ./build/compatgen ./build/pack/linux ./build/pack/windows ./build/publish ./build/qa ./netproto ./netproto/chunk ./netproto/dentest ./netproto/release ./platform/faultfs

build: ## the three programs and two releases of the sample game's module, into bin/
	$(GO) build $(FLAGS) -o bin/collet-client$(EXE) ./app
	$(GO) build $(FLAGS) -o bin/ ./netproto/cmd/collet-server ./build/cmd/collet
	bin/collet$(EXE) modules bin/modules

hosts: setup build ## the client, and the sample game's module, for every target that this machine can build, into bin/hosts/
	@build/hosts.sh bin bin/hosts $(FLAGS)

pack: hosts ## packages of the sample game for all of these, into bin/lathe/packages/
	@build/hosts.sh game bin bin/hosts bin/lathe

qa: setup build ## break updates on purpose, on this machine: crashes, disks, network, scenarios; reports in bin/
	$(GO) build -buildvcs=false -tags $(if $(TAGS),$(TAGS)$(comma))crashpoints -o bin/collet-client-crashpoints$(EXE) ./app
	bin/collet$(EXE) qa crash --report bin/qa-crash.html
	bin/collet$(EXE) qa crash --real --run --report bin/qa-kills.html
	bin/collet$(EXE) qa disk --run --report bin/qa-disk.html
	bin/collet$(EXE) qa net --report bin/qa-net.html
	bin/collet$(EXE) qa scenarios --report bin/qa-scenarios.html

bench: setup build ## first frame, file opens, peak memory, throughput; prints ratios and their bounds
	@build/setup.sh bench
	$(GO) build $(FLAGS) -o bin/minimal-splash$(EXE) ./build/lab/bench/minimal
	$(GO) run $(FLAGS) ./build/lab/bench --bin bin
	$(GO) test $(FLAGS) -run '^$$' -bench Crowd -benchtime 3x ./netproto/server

# STEPS="native-esbuild loose-three-0.187.0" chooses steps, ALL=1 takes all; the corpus lies in COLLET_CORPUS.
STEPFLAGS = $(foreach step,$(STEPS),--steps $(step)) $(if $(ALL),--all)

bench-delta: ## bytes of updates against bsdiff, xdelta3, zstd, casync, rsync, zsync; making, applying, publishing
bench-net: ## time of updates over slow and lossy links against curl, rsync, zsync, casync; needs root
bench-remote: ## pushes of the remote launcher against a released device, rsync and a stream of TCP; the last needs root
bench-delta bench-net bench-remote: setup build
	@build/setup.sh peers
	$(GO) run $(FLAGS) ./build/lab/bench --bin bin --pairs 3 $(STEPFLAGS) $(@:bench-%=%)

lint: setup gofmt vet cross-windows cross-darwin ## format, vet and staticcheck, without the tests
	$(GO) tool staticcheck $(if $(TAGS),-tags $(TAGS)) ./...

clean: ## remove what was built
	rm -rf bin

setup: ## install the system packages that are missing, or say which
	@build/setup.sh

gofmt:
	@unformatted=$$(gofmt -l app assets build netproto platform runtime *.go); \
	test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

vet:
	$(GO) vet $(FLAGS) ./...

cross-windows cross-darwin: export CGO_ENABLED = 0
cross-windows cross-darwin: cross-%:
	GOOS=$* $(GO) vet $$(GOOS=$* $(GO) list -e -f '$(PORTABLE)' ./...)
