package pe_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"

	"collet/build/pack/pe"
	"collet/platform/testlevel"
)

// square is a PNG with a gradient.
func square(t testing.TB, side int) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, side, side))
	for i := range side * side {
		picture.Set(i%side, i/side, color.NRGBA{uint8(i), uint8(i / side), 80, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func lathe(t testing.TB) pe.Resources {
	return pe.Resources{File: "Lathe.exe", Name: `The "Лэйс" & <co>`, Version: "1.4.2", Publisher: "Example Games", Icon: square(t, 256)}
}

// mingw links a program with GNU tools, with resources of its own if res is set; extra are more flags.
func mingw(t *testing.T, res string, extra ...string) []byte {
	t.Helper()
	testlevel.Slow(t)
	const cc, rc = "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-windres"
	for _, tool := range []string{cc, rc} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing (Debian: gcc-mingw-w64-x86-64): programs for Windows can't be linked", tool)
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("main.c", "int main(void){return 7;}\n")
	args := append([]string{"-o", "main.exe", "main.c"}, extra...)
	if res != "" {
		write("main.rc", res)
		run(rc, "main.rc", "-O", "coff", "-o", "res.o")
		args = append(args, "res.o")
	}
	run(cc, args...)
	data, err := os.ReadFile(filepath.Join(dir, "main.exe"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func resourcesOf(t *testing.T, image []byte) *winres.ResourceSet {
	t.Helper()
	set, err := winres.LoadFromEXE(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestResources(t *testing.T) {
	for _, c := range []struct {
		name, rc string
		flags    []string
	}{
		{"none before", "", []string{"-s"}},
		{"with symbols", "", []string{"-g"}},
		{"some before", "1 VERSIONINFO\nFILEVERSION 9,9,9,9\nBEGIN\nEND\n42 RCDATA { \"kept\" }\n", []string{"-s"}},
		{"a library", "42 RCDATA { \"kept\" }\n", []string{"-shared", "-s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := mingw(t, c.rc, c.flags...)
			was := bytes.Clone(before)
			after, err := pe.SetResources(before, lathe(t))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, was) {
				t.Error("the image that was given has changed")
			}
			checkResources(t, after)
			kept := resourcesOf(t, after).Get(winres.RT_RCDATA, winres.ID(42), 0x409)
			if has := bytes.Contains(kept, []byte("kept")); has != (strings.Contains(c.rc, "kept")) {
				t.Errorf("other resources: %q", kept)
			}
			again, err := pe.SetResources(after, lathe(t))
			if err != nil || !bytes.Equal(again, after) {
				t.Errorf("a second time the image differs (%v)", err)
			}
			outsiders(t, after)
		})
	}
}

func checkResources(t *testing.T, image []byte) {
	t.Helper()
	set := resourcesOf(t, image)
	icon, err := set.GetIcon(winres.Name("GLFW_ICON"))
	if err != nil || icon == nil {
		t.Fatalf("icon: %v", err)
	}
	info, err := version.FromBytes(set.Get(winres.RT_VERSION, winres.ID(1), 0x409))
	if err != nil {
		t.Fatal(err)
	}
	if info.FileVersion != [4]uint16{1, 4, 2, 0} || (*info.Table()[0x409])[version.ProductName] != `The "Лэйс" & <co>` {
		t.Errorf("version info %+v", info)
	}
	manifest, err := winres.AppManifestFromXML(set.Get(winres.RT_MANIFEST, winres.ID(1), 0x409))
	if err != nil || manifest.ExecutionLevel != winres.AsInvoker || !manifest.LongPathAware ||
		manifest.DPIAwareness != winres.DPIPerMonitorV2 || manifest.Compatibility != winres.Win7AndAbove {
		t.Errorf("manifest %+v, %v", manifest, err)
	}
	if err := pe.FixChecksum(bytes.Clone(image)); err != nil {
		t.Error(err)
	}
}

// outsiders has LLVM's and GNU's readers walk the result.
func outsiders(t *testing.T, image []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Lathe.exe")
	if err := os.WriteFile(file, image, 0o755); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string][]string{
		"llvm-readobj":               {"--coff-resources", "--sections", "--symbols", file},
		"x86_64-w64-mingw32-objdump": {"-x", file},
	} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is missing", tool)
			continue
		}
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("VERSIONINFO")) && tool == "llvm-readobj" {
			t.Errorf("%s: %v\n%.2000s", tool, err, out)
		}
	}
}

func TestResourcesRefuse(t *testing.T) {
	good := lathe(t)
	with := func(change func(*pe.Resources)) pe.Resources {
		r := good
		change(&r)
		return r
	}
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewNRGBA(image.Rect(0, 0, 64, 32))); err != nil {
		t.Fatal(err)
	}
	exe := mingw(t, "", "-s")
	for _, c := range []struct {
		name  string
		image []byte
		r     pe.Resources
		want  string
	}{
		{"no program", []byte("#!/bin/sh\n"), good, "not a PE32"},
		{"half", exe[:200], good, "too early"},
		{"no picture", exe, with(func(r *pe.Resources) { r.Icon = []byte("GIF89a") }), "not a PNG"},
		{"not square", exe, with(func(r *pe.Resources) { r.Icon = wide.Bytes() }), "64×32"},
		{"tiny", exe, with(func(r *pe.Resources) { r.Icon = square(t, 8) }), "8 pixels"},
		{"half a picture", exe, with(func(r *pe.Resources) { r.Icon = r.Icon[:len(r.Icon)/2] }), "icon"},
		{"one number", exe, with(func(r *pe.Resources) { r.Version = "1" }), "two to four"},
		{"a large number", exe, with(func(r *pe.Resources) { r.Version = "1.65536" }), "65535"},
		{"NUL", exe, with(func(r *pe.Resources) { r.Publisher = "a\x00b" }), "CompanyName"},
	} {
		_, err := pe.SetResources(c.image, c.r)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := pe.SetResources(signedImage(exe), good); !errors.Is(err, pe.Signed) {
		t.Errorf("a signed image: %v", err)
	}
}

// signedImage says that it has certificates.
func signedImage(image []byte) []byte {
	image = bytes.Clone(image)
	at := int(image[0x3c]) + int(image[0x3d])<<8 + 24 + 112 + 4*8 // data directory 4 of PE32+
	image[at], image[at+4] = 8, 8
	return image
}

func TestWriteICO(t *testing.T) {
	var out bytes.Buffer
	if err := pe.WriteICO(&out, square(t, 512)); err != nil {
		t.Fatal(err)
	}
	if _, err := winres.LoadICO(bytes.NewReader(out.Bytes())); err != nil {
		t.Error(err)
	}
	if err := pe.WriteICO(io.Discard, nil); err == nil {
		t.Error("an icon was made of nothing")
	}
}
