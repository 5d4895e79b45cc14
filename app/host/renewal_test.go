package host

import (
	"slices"
	"testing"

	"collet/app/install"
	"collet/netproto/product"
)

// TestFrozen: where a program never replaces its own file, and that it may everywhere else.
func TestFrozen(t *testing.T) {
	name := buildTarget().ProgramName("Lathe")
	good := hostFacts{target: buildTarget(), exe: "/games/lathe/" + name, regular: true, install: "/games/lathe", data: "/games/lathe", base: "Lathe", trust: install.TrustSHA256}
	if why := good.frozen(); why != "" {
		t.Fatalf("it may, and does not: %s", why)
	}
	for why, change := range map[string]func(*hostFacts){
		"an installer placed it, and also updates it":        func(f *hostFacts) { f.data = "/home/player/lathe" },
		"it does not lie in the install folder":              func(f *hostFacts) { f.exe = "/games/lathe/MacOS/" + name },
		"its name is not that of the game":                   func(f *hostFacts) { f.base = "Other" },
		"its name is a link":                                 func(f *hostFacts) { f.regular = false },
		"another target was asked for":                       func(f *hostFacts) { f.target, f.base = "iOS-arm64", "Lathe" },
		"nothing but a checksum would vouch for a newer one": func(f *hostFacts) { f.trust = install.TrustFNV },
		"nothing would vouch for a newer one: there is no trusted root, the server is reached without TLS, and Update.Trust is not set": func(f *hostFacts) { f.trust = install.TrustNothing },
	} {
		facts := good
		change(&facts)
		if got := facts.frozen(); got != why {
			t.Errorf("%q, want %q", got, why)
		}
	}
	odd := hostFacts{target: "Windows-win64", exe: "/games/LATHE.EXE", regular: true, install: "/games", data: "/games", base: "Lathe"}
	if got := odd.frozen(); got == "its name is not that of the game" {
		t.Error("Windows knows no case")
	}
}

// TestRefusedPrograms: what a newer program has to say of itself.
func TestRefusedPrograms(t *testing.T) {
	const target = product.Target("Linux-x64")
	good := alive{Version: "2", Build: 9, ABI: 9, Target: string(target), Trusts: true, Asks: true, Name: "Lathe"}
	mine := knowledge{trusts: true, asks: true, name: "Lathe"}
	if why := good.refuse(target, mine); why != "" {
		t.Fatal(why)
	}
	if why := (alive{Version: "2", Target: string(target)}).refuse(target, knowledge{}); why != "" {
		t.Errorf("who knows nothing asks for nothing: %s", why)
	}
	for why, change := range map[string]func(*alive){
		"it would not start: settings":                   func(a *alive) { a.Fault = "settings" },
		`it is for "Linux-arm64", and this is Linux-x64`: func(a *alive) { a.Target = "Linux-arm64" },
		"it has no trusted root":                         func(a *alive) { a.Trusts = false },
		"it does not know any server":                    func(a *alive) { a.Asks = false },
		`it was packed as "Mill", and this as "Lathe"`:   func(a *alive) { a.Name = "Mill" },
		`it was packed as "", and this as "Lathe"`:       func(a *alive) { a.Name = "" },
		"it does not say its version":                    func(a *alive) { a.Version = "" },
	} {
		bad := good
		change(&bad)
		if got := bad.refuse(target, mine); got != why {
			t.Errorf("%q, want %q", got, why)
		}
	}
}

// TestTrialArguments: a trial is started as its sponsor was, and no start that follows takes itself for one.
func TestTrialArguments(t *testing.T) {
	args := []string{"--headless", "--relaunched=2", "--verify", "--show-crash", "text", "--server", "a:1", "--", "--trial=x", "--control=y"}
	opt := Options{Relaunched: 2, ClientLibPath: "/other.so", Command: args}
	trial := trialArgs(opt, "/games/Lathe")
	want := []string{"--trial=/games/Lathe", "--headless", "--server", "a:1", "--relaunched=3", "--ClientLibPath=/other.so", "--", "--trial=x", "--control=y"}
	if !slices.Equal(trial, want) {
		t.Errorf("%q\nwant %q", trial, want)
	}
	again := relaunchArgs(append([]string{"--control=3,4"}, trial...), relaunchState{count: 4, keep: true})
	want = []string{"--headless", "--server", "a:1", "--relaunched=4", "--keep-host=true", "--", "--trial=x", "--control=y"}
	if !slices.Equal(again, want) {
		t.Errorf("%q\nwant %q", again, want)
	}
}
