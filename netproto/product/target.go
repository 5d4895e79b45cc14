package product

import (
	"slices"
	"strings"
)

// Target names an operating system and a processor as the engine does, for example "Linux-x64" (fonline reference,
// section 3.1). It travels in the hello and names the folder of PlatformBinaries with the modules for it.
type Target string

// The operating systems, as a target begins.
const (
	Windows = "Windows"
	Linux   = "Linux"
	MacOS   = "macOS"
	Android = "Android"
	IOS     = "iOS"
	Web     = "Web"
)

// TargetFor names the target of a Go system and architecture. It is total: a processor for which the engine has no name
// is "-unknown", and a system that it doesn't know keeps Go's name.
func TargetFor(goos, goarch string) Target {
	system, processors := targetNames(goos)
	if processor, known := processors[goarch]; known {
		return Target(system + "-" + processor)
	}
	return Target(system + "-unknown")
}

// targetNames gives the engine's name of a system and of its processors.
func targetNames(goos string) (system string, processors map[string]string) {
	switch goos {
	case "windows":
		return Windows, map[string]string{"amd64": "win64", "386": "win32", "arm64": "arm64"}
	case "linux":
		return Linux, map[string]string{"amd64": "x64", "arm64": "arm64", "386": "x86", "arm": "arm"}
	case "darwin":
		return MacOS, map[string]string{"arm64": "arm64", "amd64": "x64"}
	case "android":
		return Android, map[string]string{"arm64": "arm64", "arm": "arm32", "386": "x86"}
	case "ios": // Go builds ios/amd64 for the simulator only
		return IOS, map[string]string{"arm64": "arm64", "amd64": "simulator"}
	case "js":
		return Web, map[string]string{"wasm": "wasm"}
	default:
		return goos, nil
	}
}

// Targets are all names that TargetFor gives for the systems and processors that it knows.
func Targets() (targets []Target) {
	for _, system := range []string{"windows", "linux", "darwin", "android", "ios", "js"} {
		for _, processor := range []string{"amd64", "arm64", "386", "arm", "wasm", "unknown"} {
			if t := TargetFor(system, processor); !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	return targets
}

// System is the part before the first dash: Windows, Linux and so on.
func (t Target) System() string {
	system, _, _ := strings.Cut(string(t), "-")
	return system
}

// CanSelfUpdate reports whether a client of this target may replace its own native module: on Windows, Linux and macOS.
func (t Target) CanSelfUpdate() bool {
	switch t.System() {
	case Windows, Linux, MacOS:
		return true
	default:
		return false
	}
}

// LibraryExt is the extension of a native module, with its dot.
func (t Target) LibraryExt() string {
	switch t.System() {
	case Windows:
		return ".dll"
	case MacOS, IOS:
		return ".dylib"
	default:
		return ".so"
	}
}

// LibraryName is the file name of the native module called base.
func (t Target) LibraryName(base string) string { return base + t.LibraryExt() }

// ProgramName is the file name of the program called base.
func (t Target) ProgramName(base string) string {
	if t.System() == Windows {
		return base + exeSuffix
	}
	return base
}

// HostOf is the name of the host that loads a native module, as both lie beside each other: "Lathe.exe" for "Lathe.dll". It is
// false for a name that is not that of a module.
func (t Target) HostOf(module string) (name string, ok bool) {
	base, ok := strings.CutSuffix(module, t.LibraryExt())
	return t.ProgramName(base), ok && base != ""
}

// exeSuffix is the one extension that a program's name has on its own account.
const exeSuffix = ".exe"

// RuntimeBase is the name that an executable shares with its module: "MyAlt" for "MyAlt.exe", "C:\Games\MyAlt.EXE" and
// "/opt/games/MyAlt". Folders are dropped, then an ".exe" in any case.
//
// The engine drops everything behind the last dot, on every system, so that its Linux host "game-1.2" looks for
// "game-1.so" although the packager put "game-1.2.so" beside it (fonline reference, section 3.4). We keep such a name
// whole: host and module then match as the package has them. Names without a dot, and names with .exe, come out equal
// in both.
func RuntimeBase(exe string) string {
	name := exe[strings.LastIndexAny(exe, `/\`)+1:]
	cut := len(name) - len(exeSuffix)
	if cut > 0 && strings.EqualFold(name[cut:], exeSuffix) {
		return name[:cut]
	}
	return name
}
