package wine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/lab/wine"
	"collet/runtime/area"
)

// TestAreasOfPrograms: programs for Windows know what they were filled with. What the areas are and how they are read back, the
// tests of runtime/area try.
func TestAreasOfPrograms(t *testing.T) {
	const (
		before = "packaged false\nname \nconfig \"\"\nresources \"\"\n"
		after  = "packaged true\nname Lathe_OpenGL\n" + `config "ClientNetwork.ServerHost = \"play.example\"\n"` + "\n" + `resources "PK a zip"` + "\n"
	)
	prefix, folder := wine.For(t, wine.Options{}), t.TempDir()
	home := filepath.Join("..", "..", "..", "runtime", "area")
	for language, build := range map[string]func(output string) error{
		"C": func(output string) error {
			return wine.Compile(t.Context(), output, "-O2", "-DPROGRAM", "-I"+filepath.Join(home, "..", "abi"), filepath.Join(home, "testdata", "program.c"))
		},
		"Go": func(output string) error { return wine.Build(t.Context(), home, "./testdata/program", output) },
	} {
		t.Run(language, func(t *testing.T) {
			output := filepath.Join(folder, language+".exe")
			if err := build(output); err != nil {
				t.Fatal(err)
			}
			says := func(want string) {
				t.Helper()
				got, err := prefix.Run(t.Context(), output)
				if err != nil || strings.ReplaceAll(got, "\r\n", "\n") != want {
					t.Errorf("%v, got\n%swant\n%s", err, got, want)
				}
			}
			says(before)
			contents := area.Contents{Config: "ClientNetwork.ServerHost = \"play.example\"\n", Name: "Lathe_OpenGL", Resources: []byte("PK a zip")}
			program, err := os.ReadFile(output)
			if err == nil {
				err = area.Patch(program, contents)
			}
			if err == nil {
				err = os.WriteFile(output, program, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
			says(after)
		})
	}
}
