package wine_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/lab/wine"
	"collet/build/pack/pe"
)

// shown prints what the system finds in the program's own file.
const shown = `
#include <windows.h>
#include <stdio.h>
int main(void) {
    wchar_t file[600];
    char info[8192], *text = "no version";
    UINT n;
    VS_FIXEDFILEINFO *fixed;
    GetModuleFileNameW(NULL, file, 600);
    if (GetFileVersionInfoW(file, 0, sizeof info, info) && VerQueryValueA(info, "\\", (void **)&fixed, &n))
        printf("%u.%u.%u.%u ", HIWORD(fixed->dwFileVersionMS), LOWORD(fixed->dwFileVersionMS), HIWORD(fixed->dwFileVersionLS),
               LOWORD(fixed->dwFileVersionLS));
    VerQueryValueA(info, "\\StringFileInfo\\040904b0\\CompanyName", (void **)&text, &n);
    printf("%s ", text);
    for (int size = 16; size <= 256; size *= 2)
        printf("%d", LoadImageW(GetModuleHandleW(NULL), L"GLFW_ICON", IMAGE_ICON, size, size, 0) != NULL);
    printf(" %u\n", ExtractIconExW(file, -1, NULL, NULL, 0));
    return 0;
}
`

// TestResourcesAreShown asks Wine, whose loader and shell read the result as Windows' do.
func TestResourcesAreShown(t *testing.T) {
	wine.Need(t)
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "shown.c"), filepath.Join(dir, "shown.exe")
	if err := os.WriteFile(source, []byte(shown), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wine.Compile(t.Context(), exe, source, "-lversion", "-lgdi32"); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	program, err = pe.SetResources(program, pe.Resources{File: "Lathe.exe", Name: `The "Лэйс" & <co>`, Version: "1.4.2", Publisher: "Example Games", Icon: gradient(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, program, 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := wine.For(t, wine.Options{}).Run(t.Context(), exe)
	if got, want := strings.TrimSpace(said), "1.4.2.0 Example Games 11111 1"; got != want || err != nil {
		t.Errorf("it says %q, %v; want %q", got, err, want)
	}
}

// gradient is an icon.
func gradient(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	for i := range 256 * 256 {
		picture.Set(i%256, i/256, color.NRGBA{uint8(i), uint8(i / 256), 80, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
