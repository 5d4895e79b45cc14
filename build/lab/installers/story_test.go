package installers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/pack/windows"
)

// TestStoryOnWindows is the life of a game on a computer: installed, replaced by a newer version, not by an older one, played, started by
// a link, updated, removed. What is left is the player's, and nothing else.
func TestStoryOnWindows(t *testing.T) {
	each(t, func(c *computer) {
		before := c.drive()
		if code := c.install(c.older); code != 0 {
			c.t.Fatalf("the older version: code %d", code)
		}
		if !slices.Contains(c.within(), "docs/old.txt") {
			c.t.Errorf("the older version has %q", c.within())
		}
		if code := c.install(c.new); code != 0 {
			c.t.Fatalf("the new version: code %d", code)
		}
		c.checkInstalled()
		if code := c.install(c.older); code != map[string]int{"nsis": 1638 & 255, "msi": 1603 & 255}[c.kind] {
			c.t.Errorf("an older version over a newer one: code %d", code)
		}
		if code := c.install(c.new); code != 0 {
			c.t.Errorf("the same version once more: code %d", code)
		}
		c.checkInstalled()
		c.play()
		foreign := c.live()
		c.remove()
		c.checkRemoved(before, foreign)
	})
}

func (c *computer) checkInstalled() {
	c.t.Helper()
	if got := c.within(); !same(got, c.delivered()) {
		c.t.Errorf("installed are %q, want %q", got, c.delivered())
	}
	if len(c.links()) != 2 {
		c.t.Errorf("shortcuts %q, want one in the menu and one on the desktop", c.links())
	}
	for name, want := range map[string]string{
		"DisplayVersion": "1.4.2", "Publisher": "Example ${NAME} Games", "NoModify": "0x1", "URLInfoAbout": "https://example.org/?a=b&c=$d",
	} {
		if got := c.value(c.uninstallKey(), name); got != want {
			c.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := c.value(c.uninstallKey(), "DisplayName"); !strings.HasPrefix(got, `The "`) || !strings.HasSuffix(got, `" & $Co`) {
		c.t.Errorf("DisplayName is %q", got) // the letters between are not in the code page that reg prints in
	}
	exe := c.name(filepath.Join(c.folder(), "Lathe.exe"))
	if got, want := c.value(c.root()+`\Software\Classes\lathe\shell\open\command`, ""), `"`+exe+`" -- --DeepLinkUri "%1"`; !strings.EqualFold(got, want) {
		c.t.Errorf("links start %q, want %q", got, want)
	}
}

// play starts the game by a link. Wine 8 looks for schemes in the machine's part of the registry only.
func (c *computer) play() {
	c.t.Helper()
	const link = "lathe://join/7?x=%20y"
	if c.scope == windows.Machine {
		c.code("start", "/wait", link)
	} else {
		c.code(filepath.Join(c.folder(), "Lathe.exe"), "--", "--DeepLinkUri", link)
	}
	played := filepath.Join(c.local(), "Lathe", "played")
	eventually(c.t, func() bool { return exists(played) }, "the game does not start")
	if data, err := os.ReadFile(played); !strings.Contains(string(data), "[--][--DeepLinkUri]["+link+"]") {
		c.t.Errorf("the game was started with %q, %v", data, err)
	}
}

// live puts what updates and players leave in the game's folder, and tells what is the player's.
func (c *computer) live() (foreign []string) {
	c.t.Helper()
	c.put("Lathe.dll", "Lathe.dll-staging", "Lathe.dll.bak", "~Lathe.dll", "Lathe.dll.pdb-staging", "Lathe-staging.exe", "Lathe.exe.bak",
		"Lathe.log", "Lathe.log.old", "Resources/Core.zip", "Resources/~Core.zip", ".collet/journal.0", ".collet/lists.1", ".collet/lock",
		".collet/previous/Resources/Core.zip", "Cache/hashes", "Cache/last-update.new", "ClientRuntimeHost/Lathe.dll.path")
	if c.kind == "nsis" { // Windows Installer does it by patterns, which Wine does not know
		c.put(".collet/packs/sha256-00", ".collet/host/journal.0", "Cache/release/trust/root.json", "Cache/release/spool/x.have", "Recycler/7/Resources/Old.zip")
	}
	foreign = []string{"Cache/mine.txt", "Recycler/yours-8/Resources/Mod.zip", "Resources/my mod.zip", "Screenshots/1.png", "notes.txt"}
	c.put(foreign...)
	return foreign
}

func (c *computer) checkRemoved(before, foreign []string) {
	c.t.Helper()
	if got := c.within(); !same(got, foreign) {
		c.t.Errorf("left in the game's folder are %q, want %q", got, foreign)
	}
	game, _ := filepath.Rel(c.Drive(), c.folder())
	data, _ := filepath.Rel(c.Drive(), filepath.Join(c.local(), "Lathe"))
	for _, name := range c.drive() {
		if !slices.Contains(before, name) && !strings.HasPrefix(name, game+"/") && !strings.HasPrefix(name, data+"/") && name != filepath.Dir(game)+"/" {
			c.t.Errorf("%s is left on the drive", name)
		}
	}
	if !exists(filepath.Join(c.local(), "Lathe", "played")) {
		c.t.Error("the player's data folder is gone")
	}
	for _, key := range []string{c.uninstallKey(), c.root() + `\Software\Classes\lathe`} {
		if _, err := c.Run(c.t.Context(), "reg", "query", key); err == nil {
			c.t.Errorf("%s is still there", key)
		}
	}
}

// TestNothingIsLeftOnWindows: without foreign files the folder goes, too.
func TestNothingIsLeftOnWindows(t *testing.T) {
	each(t, func(c *computer) {
		if code := c.install(c.new); code != 0 {
			c.t.Fatalf("code %d", code)
		}
		c.remove()
		c.wantGone(c.folder())
		if links := c.links(); links != nil {
			c.t.Errorf("shortcuts %q are left", links)
		}
	})
}
