package product

import (
	"slices"
	"strings"
)

// Target names an operating system and a processor in the engine's form, for example "Linux-x64".
// It is a field of the hello, and the name of the modules' folder in PlatformBinaries.
type Target string

// The operating systems, the first part of a target.
const (
	Windows = "Windows"
	Linux   = "Linux"
	MacOS   = "macOS"
	Android = "Android"
	IOS     = "iOS"
	Web     = "Web"
)

// TargetFor returns the target of a Go system and architecture. It is total: an unknown processor becomes "-unknown",
// and an unknown system keeps Go's name.
func TargetFor(goos, goarch string) Target {
	system, processors := targetNames(goos)
	if processor, known := processors[goarch]; known {
		return Target(system + "-" + processor)
	}
	return Target(system + "-unknown")
}

// targetNames returns the engine's names of a system and of its processors.
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

// Targets lists the targets of all known systems and processors.
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

// DescriptionExt is the extension of the description that takes the module's place in a game of kind program.
const DescriptionExt = ".program"

// ProgramName is the file name of the program called base.
func (t Target) ProgramName(base string) string {
	if t.System() == Windows {
		return base + exeSuffix
	}
	return base
}

// HostOf returns the name of the host that loads a native module from the same folder, or reads the description of a program there:
// "Lathe.exe" for "Lathe.dll" and for "Lathe.program". ok is false if module is neither's name.
func (t Target) HostOf(module string) (name string, ok bool) {
	base, ok := strings.CutSuffix(module, t.LibraryExt())
	if !ok {
		base, ok = strings.CutSuffix(module, DescriptionExt)
	}
	return t.ProgramName(base), ok && base != ""
}

// exeSuffix is the only extension that is removed from a program's name.
const exeSuffix = ".exe"

// RuntimeBase is the base name that an executable shares with its module: "MyAlt" for "MyAlt.exe", "C:\Games\MyAlt.EXE"
// and "/opt/games/MyAlt". It removes folders, and then an ".exe" in any case.
//
// The engine removes everything after the last dot, on every system. So its Linux host "game-1.2" looks for "game-1.so",
// although the packager put "game-1.2.so" beside it. This function keeps such a name
// whole, so that host and module match as packaged. Both rules agree on names without a dot, and on names with .exe.
func RuntimeBase(exe string) string {
	name := exe[strings.LastIndexAny(exe, `/\`)+1:]
	cut := len(name) - len(exeSuffix)
	if cut > 0 && strings.EqualFold(name[cut:], exeSuffix) {
		return name[:cut]
	}
	return name
}
