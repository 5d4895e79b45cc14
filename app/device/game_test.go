package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/app/supervise"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "  \t ": nil, "a": {"a"}, " a  b\nc ": {"a", "b", "c"}, `"a b" c`: {"a b", "c"}, `a"b c"d`: {"ab cd"}, `""`: {""}, `'"' "'"`: {`"`, "'"},
		`--path C:\dir\file`: {"--path", `C:\dir\file`}, `say \"hi\"`: {"say", `"hi"`}, `"a \" b"`: {`a " b`}, `x\`: {`x\`}, "Привет 'мой мир'": {"Привет", "мой мир"},
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`"`, `a 'b`, `"a\"`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, seed := range []string{`a "b c" 'd'`, `\"`, "\xff \x00", `C:\"x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		size := 0
		for _, w := range words {
			size += len([]rune(w))
		}
		if err == nil && size > len([]rune(line)) {
			t.Errorf("%q made %q", line, words)
		}
	})
}

// gamesOf is a device's launcher for a working copy with these files.
func gamesOf(t *testing.T, files ...string) *games {
	t.Helper()
	g := &games{opt: Options{Exe: "/nowhere", Target: "Linux-x64", Packs: "Resources", Log: zerolog.Nop()}, copy: t.TempDir(), own: t.TempDir()}
	for _, name := range files {
		putFile(t, filepath.Join(g.copy, filepath.FromSlash(name)), []byte("x"))
	}
	return g
}

func TestModuleOfAWorkingCopy(t *testing.T) {
	inner := "PlatformBinaries/Linux-x64/"
	for _, test := range []struct {
		name, module, base string
		files              []string
		want, fault        string
	}{
		{name: "the only one", files: []string{"Lathe.so", "Resources/Core.zip", "lib/other.so"}, want: "Lathe.so"},
		{name: "for several systems", files: []string{inner + "Lathe.so", "PlatformBinaries/Windows-win64/Lathe.dll"}, want: inner + "Lathe.so"},
		{name: "named by its base", base: "Mill", files: []string{"Lathe.so", "Mill.so"}, want: "Mill.so"},
		{name: "named, root before binaries", base: "Mill", files: []string{"Mill.so", inner + "Mill.so"}, want: "Mill.so"},
		{name: "none", files: []string{"readme"}, fault: "no *.so in its root or in PlatformBinaries/Linux-x64"},
		{name: "none of that base", base: "Mill", files: []string{"Lathe.so"}, fault: "no Mill.so in its root"},
		{name: "two", files: []string{"Lathe.so", "Mill.so"}, fault: "has 2 modules: Lathe.so, Mill.so; say which one with --runtime-name"},
		{name: "by path", module: "bin/Lathe.so", files: []string{"bin/Lathe.so", "a.so", "b.so"}, want: "bin/Lathe.so"},
		{name: "by path without its ending", module: "bin/Lathe", files: []string{"bin/Lathe.so"}, want: "bin/Lathe.so"},
		{name: "by a path that is not there", module: "bin/Lathe.so", fault: "push a working copy that has it"},
		{name: "by a path of a folder", module: "bin", files: []string{"bin.so/x"}, fault: "it is no file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := gamesOf(t, test.files...)
			g.opt.Module, g.opt.Runtime = test.module, test.base
			got, err := g.find()
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("got %q, %v; want %q", got, err, test.fault)
				}
				return
			}
			if want := filepath.Join(g.copy, filepath.FromSlash(test.want)); err != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	g := gamesOf(t)
	if names, standard := g.Profiles(); !slices.Equal(names, []string{"standard"}) || standard != "standard" {
		t.Errorf("without settings: %q, %q", names, standard)
	}
	g.opt.Profiles = settings.Profiles{Profile: "small", Profiles: map[string]settings.Profile{
		"small": {Arguments: []string{"--frames", "5"}, Environment: map[string]string{"GAME_SIZE": "small"}}, "big": {},
	}}
	names, standard := g.Profiles()
	if !slices.Equal(names, []string{"standard", "big", "small"}) || standard != "small" {
		t.Errorf("got %q, %q", names, standard)
	}
	name, p, err := g.profile("")
	if err != nil || name != "small" || !slices.Equal(p.Arguments, []string{"--frames", "5"}) {
		t.Errorf("the standard is %q %+v, %v", name, p, err)
	}
	if _, _, err := g.profile("huge"); err == nil || !strings.Contains(err.Error(), `profile "huge" is not known here; there are standard, big, small`) {
		t.Errorf("unknown: %v", err)
	}
	g.opt.Args = []string{"--at-device"}
	args := g.arguments(filepath.Join(g.copy, "Lathe.so"), p, []string{"--by-desk"})
	want := []string{filepath.Join(g.copy, "Lathe"), "--at-device", "--frames", "5", "--by-desk", "--ClientResources", filepath.Join(g.copy, "Resources")}
	if !slices.Equal(args, want) {
		t.Errorf("got %q, want %q", args, want)
	}
	env := g.environment(p, map[string]string{envCopy: g.copy})
	if !slices.Contains(env, "GAME_SIZE=small") || !slices.Contains(env, envCopy+"="+g.copy) {
		t.Errorf("got %q", env)
	}
}

func TestGameThatCantBeStarted(t *testing.T) {
	for _, test := range []struct {
		r     device.StartRequest
		files []string
		want  string
	}{
		{device.StartRequest{Profile: "huge"}, []string{"Lathe.so"}, "not known here"},
		{device.StartRequest{Arguments: `"`}, []string{"Lathe.so"}, "no partner"},
		{device.StartRequest{}, nil, "no module"},
		{device.StartRequest{GameConfig: "<degame/>"}, []string{"Lathe.so"}, "/nowhere"}, // there is no such program
	} {
		g := gamesOf(t, test.files...)
		if run, err := g.Start(t.Context(), test.r, func(device.Line) {}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, %v; want %q", test.r, run, err, test.want)
		}
		if test.r.GameConfig == "" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(g.own, gameConfigFile)); err != nil || string(text) != test.r.GameConfig {
			t.Errorf("the description is %q, %v", text, err)
		}
	}
}

func TestTraceOfTheHostIsNoLogOfTheGame(t *testing.T) {
	var said []string
	r := &run{out: func(l device.Line) { said = append(said, l.Text) }}
	for _, line := range []string{
		"goroutine of our own", "SIGSEGV: segmentation violation", "", "goroutine 1 gp=0x1 m=0 mp=0x2 [syscall, locked to thread]:", "runtime.cgocall(0x1)", "rax 0x0",
	} {
		r.output(supervise.StreamErr, zerolog.InfoLevel, line)
	}
	r.output(supervise.StreamOut, zerolog.InfoLevel, "goroutine 1 [running]:")
	if want := []string{"goroutine of our own", "SIGSEGV: segmentation violation", "", "goroutine 1 [running]:"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestLevelsOfTheHost(t *testing.T) {
	for level, want := range map[zerolog.Level]wire.LogLevel{
		zerolog.DebugLevel: wire.LevelInfo, zerolog.InfoLevel: wire.LevelInfo, zerolog.WarnLevel: wire.LevelWarning,
		zerolog.ErrorLevel: wire.LevelError, zerolog.FatalLevel: wire.LevelError,
	} {
		if got := levelOf(level); got != want {
			t.Errorf("%s became %s", level, got)
		}
	}
}
