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

.PHONY: help run check test test-all fuzz lint build hosts pack release qa bench bench-delta bench-net bench-install bench-publish bench-remote bench-cluster bench-save bench-compare \
	clean setup setup-test setup-all programs gofmt vet cross cross-windows cross-darwin staticcheck govulncheck

help: # list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

run: setup build ## build everything, then play an update through: server, splash, swap, game
	bin/collet$(EXE) demo --screenshots bin/screenshots

# --- Tests: three levels, see platform/testlevel. ---

# What make check and make fuzz look at: PKG="./netproto/... ./app" chooses.
PKG ?= ./...
LAB := ./build/lab/...
# The one package of the lab that a change of the product breaks without a compiler's notice: its mutants name lines.
TABLE := ./build/lab/mutants
# Where the window's headers are missing, make check leaves out what is linked against the window.
WINDOW := $(shell pkg-config --exists gl egl x11 xcursor xrandr xinerama xi xxf86vm xkbcommon wayland-client 2>/dev/null && echo yes)
ifeq ($(WINDOW)$(filter-out Linux,$(shell uname -s)),)
HEADLESS := {{$$ok := true}}{{range .Deps}}{{if eq . "fyne.io/fyne/v2"}}{{$$ok = false}}{{end}}{{end}}{{if $$ok}}{{.ImportPath}}{{end}}
checked = $$($(GO) list $(FLAGS) -e -f '$(HEADLESS)' $(PKG))
else
checked = $(PKG)
endif

# Go's test cache holds what was green and has not changed since: only the rest runs. The root package holds the rules of the tree.
check: gofmt ## format, vet and the unit tests of what changed; needs Go and a C compiler only
	$(if $(findstring $$,$(checked)),@echo "check: without the window's packages: their headers are missing (make setup installs them)")
	$(GO) vet $(FLAGS) $(checked)
	$(GO) test -short -vet=off $(FLAGS) . $(TABLE) $(checked)

# Packages in which goroutines meet: their tests run under the race detector, those of all others without it. Each runs once.
RACED := ./netproto/den ./netproto/launcher/... ./app/beacon ./app/device ./app/download ./app/host ./app/supervise ./app/update ./build/remote ./netproto ./netproto/session \
	./netproto/dial ./netproto/server/... ./platform
# Packages in which few tests let goroutines meet: only these tests run under the race detector. It takes three times the processor time.
# Others that start goroutines have none that meet: app/install waits for the one that hashes a portion before it returns, and its code is
# watched in the tests of app/acquire and app/host; in build/pack each writes a file or an element of its own, and a group waits for all.
MEETING := ./app/acquire ./app/splash ./build/publish ./build/soak
MEETINGS := Drip|FirstInstall|LargeFiles|ManyGoroutines|Mended|Mirror|Prefetch|Reproducible|TestRemoteWindow|TestRun|TwoReleases
# Those whose tests take longest, so that they begin first.
LONGEST := ./build/cmd/collet ./app ./app/install
# Libraries that only compute, and the delta engine, which has tests without the race detector: it would watch every byte of theirs,
# which takes five times as long. One with a sync.Map does not belong here: the program may get its copy of that generic code, and with
# it locks that nothing sees.
UNWATCHED := compress/... hash/adler32 image/... crypto/internal/fips140/... math/big collet/netproto/chunk collet/netproto/deflate collet/netproto/delta collet/netproto/delta/predict collet/netproto/solid \
	github.com/andybalholm/brotli/... github.com/klauspost/compress/... github.com/ulikunitz/xz/... golang.org/x/image/...
RACE = -race $(foreach library,$(UNWATCHED),-gcflags=$(library)=-race=false)
# These tests open no window: with the tag ci the toolkit has no OpenGL, whose binding would be compiled once more.
RACEFLAGS = $(RACE) $(TESTFLAGS) -tags ci
# SHUFFLE=on tries another order; the order is fixed otherwise, so that Go's test cache holds.
SHUFFLE ?= off
# Many tests wait for other programs and for time limits, so more of them run at once than there are processors.
TESTFLAGS = -vet=off -timeout 30m -parallel 6 -shuffle=$(SHUFFLE) $(FLAGS)
# Prints packages and failures, and keeps what each test took.
gotest = $(GO) tool gotestsum --format pkgname --format-hide-empty-pkg --hide-summary skipped --jsonfile bin/$@-$(1).json --
slowest = echo "the ten slowest of $@, $(1):"; $(GO) tool gotestsum tool slowest --num 10 --jsonfile bin/$@-$(1).json

# Every program that ends under the race detector would sleep for a second. There a garbage collection costs twice as much, so there are
# fewer; without it, the memory that is not collected costs more page faults than it saves.
test: export GORACE := atexit_sleep_ms=10
test: setup-test lint programs ## all that a change could break here, with the race detector where goroutines meet
	@{ export GOGC=400; code=0; $(call gotest,raced) $(RACEFLAGS) $(RACED) || code=1; $(call gotest,meeting) $(RACEFLAGS) -run '$(MEETINGS)' $(MEETING) || code=1; exit $$code; } & \
	raced=$$!; code=0; \
	$(call gotest,plain) $(TESTFLAGS) $(TABLE) $(LONGEST) $$($(GO) list $(FLAGS) ./... | grep -vxF "$$($(GO) list $(FLAGS) $(RACED) $(MEETING))") || code=1; \
	$(call gotest,rest) $(TESTFLAGS) -skip '$(MEETINGS)' $(MEETING) || code=1; \
	wait $$raced || code=1; \
	$(call slowest,raced); $(call slowest,meeting); $(call slowest,plain); $(call slowest,rest); exit $$code

# Pushes of a hundred megabytes under the time limits of the remote launcher's protocol: beside other packages the disk stood still for longer.
ALONE := ./build/lab/dentest
# Without the race detector, which make test has shown its samples: whole enumerations, and the lab. Most of the lab waits for other
# programs, so three packages run at once.
test-all: export COLLET_TESTS := all
test-all: setup-all cross programs ## after make test: vet for other systems, whole enumerations, Wine, browsers, soak, mutants
	$(GO) test $(TESTFLAGS) -run TestBuildClient ./build/lab/wine
	@code=0; $(call gotest,alone) $(TESTFLAGS) $(ALONE) || code=1; \
	$(call gotest,all) -p 3 $(TESTFLAGS) $$($(GO) list $(FLAGS) $(LAB) | grep -vxF "$$($(GO) list $(FLAGS) $(ALONE))") ./... || code=1; \
	$(call slowest,alone); $(call slowest,all); exit $$code

fuzz: ## every fuzz target for TIME (1m) each; what fails is kept in testdata/fuzz, where go test finds it
	@build/fuzz.sh "$(or $(TIME),1m)" $(FLAGS) $(PKG)

lint: gofmt vet staticcheck govulncheck ## format, vet, staticcheck, govulncheck

# Each compiles the libraries for another system: six minutes of processor time with an empty build cache, so make test-all has it.
cross: cross-windows cross-darwin ## vet for Windows and macOS

# Built once for the tests of all packages, before these run side by side.
programs: ## the programs that tests start, into bin/test/
	@mkdir -p bin
	$(GO) test $(TESTFLAGS) -run TestPrograms ./build/testprograms

build: ## the four programs and two releases of the sample game's module, into bin/
	$(GO) build $(FLAGS) -o bin/collet-client$(EXE) ./app
	$(GO) build $(FLAGS) -o bin/ ./netproto/cmd/collet-server ./build/cmd/collet ./build/compatgen
	bin/collet$(EXE) modules bin/modules

hosts: setup build ## the client, and the sample game's module, for every target that this machine can build, into bin/hosts/
	@build/hosts.sh bin bin/hosts $(FLAGS)

pack: hosts ## packages of the sample game for all of these, into bin/lathe/packages/
	@build/hosts.sh game bin bin/hosts bin/lathe

release: hosts ## archives, packages, lists of modules, digests and notes of VERSION, signed where keys are named, into bin/release/
	@build/release.sh "$(VERSION)" bin bin/hosts bin/release

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

# STEPS="native-esbuild loose-three-0.187.0" chooses steps, ALL=1 takes all, LINKS="20ms 100ms" chooses links; the corpus lies in COLLET_CORPUS.
STEPFLAGS = $(foreach step,$(STEPS),--steps $(step)) $(if $(ALL),--all) $(foreach link,$(LINKS),--links $(link))

bench-delta: ## bytes of updates against bsdiff, xdelta3, zstd, casync, rsync, zsync; making, applying, publishing
bench-net: ## time of updates over slow and lossy links against curl, rsync, zsync, casync; needs root
bench-install: ## time, bytes, requests and memory of first installs against curl, zstd -19 and tar; needs root
bench-publish: ## processor time and bytes of publications against zstd -19
bench-remote: ## pushes of the remote launcher against a released device, rsync and a stream of TCP; the last needs root
bench-delta bench-net bench-install bench-publish bench-remote: setup build
	@build/setup.sh peers
	$(GO) run $(FLAGS) ./build/lab/bench --bin bin --pairs 3 $(STEPFLAGS) $(@:bench-%=%)

bench-cluster: setup ## how soon a change is at twelve nodes, changes under kill -9, ten million floors, and what the engine costs a single server
	for what in "Visible 100x" "Kills 1x" "Alone 15x" "Floors 3x"; do \
		COLLET_TESTS=all $(GO) test $(FLAGS) -timeout 40m -run '^$$' -bench "^Benchmark$${what% *}$$" -benchtime $${what#* } ./build/lab/cluster || exit 1; done

# Ratios, not times, can be compared between machines: WHAT="delta net install publish remote" chooses what is measured.
WHAT ?= delta net remote
BASELINES := build/lab/bench/baselines

bench-save: ## measure WHAT (delta net install publish remote) and keep the ratios in the tree, as the baseline
bench-compare: ## measure WHAT again and compare the ratios with the baseline, by benchstat
bench-save bench-compare: setup build
	@build/setup.sh peers
	@mkdir -p $(BASELINES) && rm -f bin/ratios-*.txt
	for what in $(WHAT); do $(GO) run $(FLAGS) ./build/lab/bench --bin bin --pairs 3 $(STEPFLAGS) --save bin/ratios-$$what.txt $$what || true; done
ifeq ($(MAKECMDGOALS),bench-save)
	for what in $(WHAT); do cp bin/ratios-$$what.txt $(BASELINES)/$$what.txt; done
else
	for what in $(WHAT); do $(GO) tool benchstat $(BASELINES)/$$what.txt bin/ratios-$$what.txt; done
endif

clean: ## remove what was built
	rm -rf bin

setup: ## install the system packages that make run needs, or say which
	@build/setup.sh run

setup-test: # the same for make test
	@build/setup.sh test

setup-all: # the same for make test-all
	@build/setup.sh all

gofmt:
	@unformatted=$$(gofmt -l app assets build netproto platform runtime *.go); \
	test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

vet:
	$(GO) vet $(FLAGS) ./... $(LAB)

cross-windows cross-darwin: export CGO_ENABLED = 0
cross-windows cross-darwin: cross-%:
	GOOS=$* $(GO) vet $$(GOOS=$* $(GO) list -e -f '$(PORTABLE)' ./...)

staticcheck:
	$(GO) tool staticcheck $(if $(TAGS),-tags $(TAGS)) ./... $(LAB)

# Known vulnerabilities in code that is called. Its database is on the network: where that can't be reached, it says so.
govulncheck:
	@build/govulncheck.sh $(if $(TAGS),-tags $(TAGS)) ./...
