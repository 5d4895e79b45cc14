package pack_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack"
)

// configArea is the area for settings as a build leaves it.
var configArea = "###Internal" + "Config###1234" + strings.Repeat("1234567890", 600) + "###Internal" + "ConfigEnd###"

// emptyZip is an archive without files.
var emptyZip = "PK\x05\x06" + strings.Repeat("\x00", 18)

// moduleFor is the beginning of a module for a target.
func moduleFor(target string) string {
	switch target {
	case "Windows-win64":
		return pe(0x8664)
	case "Windows-arm64":
		return pe(0xaa64)
	case "macOS-x64":
		return macho(0x01000007)
	case "macOS-arm64":
		return macho(0x0100000c)
	}
	return elf(map[string]uint16{"Linux-x64": 62, "Linux-arm64": 183, "Linux-x86": 3, "Linux-arm": 40}[target])
}

// elf is the beginning of a program for Linux on a processor.
func elf(machine uint16) string {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[18:], machine)
	return string(b)
}

// pe is the beginning of a program for Windows.
func pe(machine uint16) string {
	b := make([]byte, 128)
	copy(b, "MZ")
	b[0x3c] = 0x40
	copy(b[0x40:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(b[0x44:], machine)
	return string(b)
}

// macho is the beginning of a program for macOS.
func macho(cpu uint32) string {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint32(b, 0xfeedfacf)
	binary.LittleEndian.PutUint32(b[4:], cpu)
	return string(b)
}

// fat is the beginning of one for several processors.
func fat(cpus ...uint32) string {
	b := make([]byte, 256)
	binary.BigEndian.PutUint32(b, 0xcafebabe)
	binary.BigEndian.PutUint32(b[4:], uint32(len(cpus)))
	for i, cpu := range cpus {
		binary.BigEndian.PutUint32(b[8+20*i:], cpu)
	}
	return string(b)
}

// TestBuiltForAnother names programs of other systems and processors in a description.
func TestBuiltForAnother(t *testing.T) {
	t.Parallel()
	const arm64, amd64 = 0x0100000c, 0x01000007
	for _, test := range []struct{ target, content, is string }{
		{"Linux-x64", elf(62), ""},
		{"Linux-x64", elf(183), "Linux-arm64"},
		{"Linux-arm64", elf(183), ""},
		{"Linux-x86", elf(3), ""},
		{"Linux-arm", elf(40), ""},
		{"Linux-x64", elf(8), ""}, // a processor that has no name here
		{"Linux-x64", pe(0x8664), "Windows-win64"},
		{"Windows-win64", pe(0x8664), ""},
		{"Windows-win64", pe(0x14c), "Windows-win32"},
		{"Windows-arm64", pe(0xaa64), ""},
		{"Windows-win64", "MZ" + strings.Repeat("\xff", 100), ""}, // its header lies nowhere
		{"Windows-win64", "MZ" + strings.Repeat("\x00", 40), ""},
		{"macOS-arm64", macho(arm64), ""},
		{"macOS-arm64", macho(amd64), "macOS-x64"},
		{"macOS-arm64", fat(amd64, arm64), ""},
		{"macOS-x64", fat(amd64, arm64), ""},
		{"Linux-x64", fat(amd64), "macOS-x64"},
		{"macOS-x64", fat()[:8] + strings.Repeat("\xff", 50), ""},
		{"macOS-x64", "\xca\xfe\xba\xbe\x00\x00\x00\x34" + strings.Repeat("J", 50), ""}, // a class of Java
		{"Linux-x64", "", ""},
		{"Linux-x64", "#!/bin/sh", ""},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"host": test.content, "game.dll": moduleFor(test.target), "game.so": moduleFor(test.target), "game.dylib": moduleFor(test.target), "icon.png": picture(t, 256, 256)})
		extension := map[string]string{"Windows": ".dll", "macOS": ".dylib"}[strings.Split(test.target, "-")[0]]
		if extension == "" {
			extension = ".so"
		}
		description := strings.Split(good, "[client]")[0] + "[client]\nserver = \"tls://x:1\"\n[windows]\nformats = [\"zip\"]\n" +
			"[[target]]\nname = \"" + test.target + "\"\nhost = \"host\"\nmodule = \"game" + extension + "\"\n"
		if extension == ".dll" {
			description += "no-symbols = true\n"
		}
		description = strings.ReplaceAll(strings.ReplaceAll(description, "art/icon.png", "icon.png"), `splash = "art/splash.png"`, "")
		file := filepath.Join(dir, "collet.toml")
		if err := os.WriteFile(file, []byte(description), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := pack.Load(file, env())
		want := "target[0].host: host was built for " + test.is + "; name the file that was built for " + test.target
		if test.is == "" && err != nil || test.is != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%.8q for %s: got %v, want %q", test.content, test.target, err, test.is)
		}
	}
}
