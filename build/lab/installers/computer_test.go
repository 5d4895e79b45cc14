package installers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/pack/bundle"
	"collet/build/pack/windows"
)

// uninstaller is what a setup leaves to remove the game.
const uninstaller = "uninstall.exe"

// patience is how long anything in Wine may take.
const patience = 2 * time.Minute

// player is a host that notes its arguments in the player's data folder, and stays for as many seconds as "sleep=" says.
const player = `
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int n, char **arg) {
    char path[600];
    int seconds = 0;
    snprintf(path, sizeof path, "%s\\Lathe", getenv("LOCALAPPDATA"));
    CreateDirectoryA(path, NULL);
    strcat(path, "\\played");
    FILE *f = fopen(path, "a");
    if (!f)
        return 1;
    for (int i = 1; i < n; i++) {
        fprintf(f, "[%s]", arg[i]);
        if (!strncmp(arg[i], "sleep=", 6))
            seconds = atoi(arg[i] + 6);
    }
    fprintf(f, "\n");
    fclose(f);
    Sleep(1000 * seconds);
    return 0;
}
`

func playerProgram(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "player.c"), filepath.Join(dir, "player.exe")
	if err := os.WriteFile(source, []byte(player), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wine.Compile(t.Context(), exe, "-mwindows", source); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// computer is a prefix with the installers of one kind in two versions.
type computer struct {
	*wine.Prefix
	t          *testing.T
	kind       string
	scope      windows.Scope
	older, new string // installers on this machine
	product    string // product code of the new MSI
}

// computers skips where there are none, or tools are missing.
func computers(t *testing.T, tools ...string) {
	t.Helper()
	wine.Need(t)
	need(t, tools...)
}

// need skips where a tool is missing.
func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing (Debian: nsis wixl msitools osslsigncode openssl xdotool)", tool)
		}
	}
}

// each runs a story for both kinds and both scopes, on a computer of its own.
func each(t *testing.T, story func(c *computer)) {
	computers(t, "makensis", "wixl", "msibuild", "msiinfo")
	host := playerProgram(t)
	for _, kind := range []string{"nsis", "msi"} {
		for _, scope := range []windows.Scope{windows.User, windows.Machine} {
			t.Run(kind+" for "+string(scope), func(t *testing.T) {
				c := &computer{t: t, kind: kind, scope: scope}
				c.older, c.new = c.build("1.3.9", host, bundle.Entry{Path: "docs/old.txt", Mode: bundle.Plain, Data: []byte("old")}), c.build("1.4.2", host)
				c.Prefix = wine.For(t, wine.Options{})
				story(c)
			})
		}
	}
}

// build makes an installer of one version.
func (c *computer) build(version string, host []byte, more ...bundle.Entry) string {
	c.t.Helper()
	b := lathe(c.t, host, more...)
	b.Product.Version = version
	return c.pack(b)
}

// install runs an installer without questions and gives its exit code, of which eight bits arrive.
func (c *computer) install(installer string) int {
	c.t.Helper()
	if c.kind == "msi" {
		return c.code("msiexec", "/i", wine.Windows(installer), "/qn")
	}
	return c.code(installer, "/S", map[windows.Scope]string{windows.User: "/CurrentUser", windows.Machine: "/AllUsers"}[c.scope])
}

func (c *computer) code(program string, args ...string) int {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	said, err := c.Run(ctx, program, args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", program, args, err, said)
	}
	return 0
}

// remove uninstalls as Windows' list of programs would, without questions.
func (c *computer) remove() {
	c.t.Helper()
	if c.kind == "msi" {
		if code := c.code("msiexec", "/x", "{"+c.product+"}", "/qn"); code != 0 {
			c.t.Fatalf("msiexec /x ended with %d", code)
		}
		return
	}
	quiet := c.value(c.uninstallKey(), "QuietUninstallString")
	program, args, _ := strings.Cut(strings.TrimPrefix(quiet, `"`), `" `)
	if code := c.code(c.Unix(program), strings.Fields(args)...); code != 0 {
		c.t.Fatalf("%s ended with %d", quiet, code)
	}
	c.wantGone(c.Unix(program)) // it goes on as a copy of itself, so that it can remove itself
}

// wantGone waits until there is nothing of a name.
func (c *computer) wantGone(name string) {
	c.t.Helper()
	eventually(c.t, func() bool { return !exists(name) }, name+" is still there")
}

// eventually waits for what a program for Windows does: nothing of it can be waited for but by looking.
func eventually(t *testing.T, is func() bool, otherwise string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatal(otherwise)
		case <-look.C:
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func (c *computer) root() string {
	return map[windows.Scope]string{windows.User: "HKCU", windows.Machine: "HKLM"}[c.scope]
}

func (c *computer) uninstallKey() string {
	if c.kind == "msi" {
		return `HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall\{` + c.product + `}` // where Wine puts both scopes
	}
	return c.root() + `\Software\Microsoft\Windows\CurrentVersion\Uninstall\org.example.lathe`
}

// value reads the registry; an empty name is the key's own value. What is not there is empty.
func (c *computer) value(key, name string) string {
	c.t.Helper()
	args := []string{"query", key, "/v", name}
	if name == "" {
		args = []string{"query", key, "/ve"}
	}
	said, err := c.Run(c.t.Context(), "reg", args...)
	for _, kind := range []string{"REG_SZ", "REG_EXPAND_SZ", "REG_DWORD"} {
		if _, text, found := strings.Cut(said, kind); err == nil && found {
			return strings.TrimSpace(text)
		}
	}
	c.t.Logf("reg %q said %q, %v", args, said, err)
	return ""
}

// folder is where the game lies, on this machine.
func (c *computer) folder() string {
	if c.scope == windows.Machine {
		return filepath.Join(c.Drive(), "Program Files", "Lathe")
	}
	return filepath.Join(c.local(), "Programs", "Lathe")
}

// name is what programs call a file on drive C:.
func (c *computer) name(file string) string {
	return strings.Replace(wine.Windows(strings.TrimPrefix(file, c.Drive())), "Z:", "C:", 1)
}

// local is the player's folder for data.
func (c *computer) local() string {
	found, err := filepath.Glob(filepath.Join(c.Drive(), "users", "*", "AppData", "Local"))
	if err != nil || len(found) != 1 {
		c.t.Fatalf("folders for data: %q, %v", found, err)
	}
	return found[0]
}

// drive lists all files and folders of drive C: but those that are the system's own.
func (c *computer) drive() (list []string) {
	c.t.Helper()
	err := filepath.WalkDir(c.Drive(), func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(c.Drive(), name)
		switch {
		case err != nil:
			return err
		case rel == "windows", strings.HasSuffix(rel, "/Temp"), strings.HasSuffix(rel, "/Microsoft/Installer"):
			return fs.SkipDir
		}
		if d.IsDir() {
			rel += "/"
		}
		list = append(list, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// within lists the files of the game's folder.
func (c *computer) within() (list []string) {
	c.t.Helper()
	err := filepath.WalkDir(c.folder(), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(c.folder(), name)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return list
}

func (c *computer) put(files ...string) {
	c.t.Helper()
	for _, name := range files {
		name = filepath.Join(c.folder(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("x"), 0o644)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// links are the shortcuts on the drive.
func (c *computer) links() (list []string) {
	for _, name := range c.drive() {
		if path.Ext(name) == ".lnk" && strings.Contains(name, "Лэйс") {
			list = append(list, name)
		}
	}
	return list
}

// delivered is what a package of the new version has.
func (c *computer) delivered() []string {
	list := []string{"EULA.txt", "INSTALLED", "Lathe.dll", "Lathe.dll.pdb", "Lathe.exe", "Resources/Core.zip", "Resources/Extra Ж$ {x}'s.zip"}
	if c.kind == "nsis" {
		list = append(list, uninstaller)
	}
	return list
}

func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
