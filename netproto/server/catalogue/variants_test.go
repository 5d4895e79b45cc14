package catalogue_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/product"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// openVariants offers files of these names, as <target>/<name>, and gives what was logged.
func openVariants(t *testing.T, names ...string) (*catalogue.Catalogue, string) {
	t.Helper()
	files := map[string]string{"Resources/Core.zip": "pack"}
	for i, name := range names {
		files["PlatformBinaries/"+name] = fmt.Sprint("content ", i)
	}
	var log bytes.Buffer
	c, err := catalogue.Open(t.Context(), config.ForFolder(pack(t, files), "1.4"), zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, log.String()
}

func TestVariantsOfTargets(t *testing.T) {
	c, log := openVariants(t, "Windows-win64/Lathe.dll", "Windows-win64/Lathe.dll.pdb", "Windows-win64/Lathe.pdb", "Windows-win64/Lathe_OpenGL.dll",
		"Windows-win64/Lathe.exe", "Linux-x64/Lathe_Headless_Profiling.so", "Linux-x64/Lathe.so", "Linux-x64/Lathe", "macOS-arm64/notes.txt")
	if c.Game() != "Lathe" {
		t.Errorf("the game is %q", c.Game())
	}
	want := map[string][]product.Variant{
		"Windows-win64": {{}, {OpenGL: true}},
		"Linux-x64":     {{}, {Headless: true, Profiling: product.TotalProfiling}},
		"macOS-arm64":   nil, "Android-arm64": nil,
	}
	for target, variants := range want {
		if got := c.Variants(target); !slices.Equal(got, variants) {
			t.Errorf("%s has %v, want %v", target, got, variants)
		}
	}
	if n := strings.Count(log, "No client takes"); n != 1 || !strings.Contains(log, `"file":"notes.txt"`) {
		t.Errorf("%d files are no variants:\n%s", n, log)
	}
	if !strings.Contains(log, `"variants":"plain; headless, profiling"`) {
		t.Errorf("the variants of Linux are not logged:\n%s", log)
	}
}

func TestStrayFilesAreNamed(t *testing.T) {
	names := []string{"Linux-x64/Lathe.so", "Linux-x64/Lathe.so.debug"}
	for i := range 12 {
		names = append(names, fmt.Sprintf("Linux-x64/stray-%02d", i))
	}
	_, log := openVariants(t, names...)
	if n := strings.Count(log, "No client takes this file"); n != 10 || !strings.Contains(log, "No client takes 2 more files") {
		t.Errorf("%d of 12 files are named:\n%s", n, log)
	}
}

func TestSeveralGames(t *testing.T) {
	c, log := openVariants(t, "Linux-x64/Lathe.so", "Linux-x64/Latte_OpenGL.so")
	if c.Game() != "" || c.Variants("Linux-x64") != nil {
		t.Errorf("the game is %q with %v", c.Game(), c.Variants("Linux-x64"))
	}
	if !strings.Contains(log, "named after several games") || !strings.Contains(log, `["Lathe","Latte_OpenGL"]`) {
		t.Errorf("it was not told:\n%s", log)
	}
	var table bytes.Buffer
	if err := c.Describe(&table); err != nil || !strings.Contains(table.String(), "Lathe; Latte_OpenGL") {
		t.Errorf("%v:\n%s", err, &table)
	}
}
