package check

import (
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/product"
)

// unknown ends the targets of processors and systems that have no name. Clients built for such a system ask for it.
const unknown = "-unknown"

// Packable returns the targets whose clients replace their own module.
func Packable() (names []string) {
	for _, t := range product.Targets() {
		if t.CanSelfUpdate() && !strings.HasSuffix(string(t), unknown) {
			names = append(names, string(t))
		}
	}
	return names
}

// Target returns what is wrong with the name of a target; nil if there can be clients that ask for it.
func Target(name string) *Fault {
	if slices.Contains(product.Targets(), product.Target(name)) || strings.HasSuffix(name, unknown) {
		return nil
	}
	return &Fault{What: "no client asks for the target " + name, Want: TargetAdvice(name)}
}

// TargetAdvice is advice for an unknown name of a target. It knows common other names, too: windows-amd64, darwin/arm64, linux.
func TargetAdvice(name string) string {
	known := Packable()
	system, processor, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(name), "/", "-"), "-")
	switch system {
	case "macos", "mac", "osx":
		system = "darwin"
	case "win":
		system = "windows"
	}
	for goarch, others := range map[string][]string{"amd64": {"", "x64", "x86_64", "win64"}, "386": {"x86", "i386", "win32"}, "arm64": {"aarch64"}} {
		if slices.Contains(others, processor) {
			processor = goarch
		}
	}
	if meant := string(product.TargetFor(system, processor)); slices.Contains(known, meant) {
		return "did you mean " + meant + "?"
	}
	return advice.DidYouMean(name, known)
}
