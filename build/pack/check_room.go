package pack

import (
	"errors"
	"os"
	"path/filepath"

	"collet/build/pack/icon"
	"collet/runtime/area"
)

// room is the capacity of a program's areas in bytes; zeros for a program without areas. Composition reports missing areas, so that a check
// accepts stand-in programs.
type room struct{ config, resources int }

// zipFrame is the zip overhead of one picture in bytes: two headers with its name, and the end record.
const zipFrame = 150

// roomChecker checks that pictures and settings fit into the areas of the programs. It reads each program once.
type roomChecker struct {
	*ledger
	game  *Game
	rooms map[string]room // by the program's path
	icon  int64           // see iconSize
}

// readRoom reads the areas of a program, and caches the result. It reports an already packaged program as a mistake of key.
func (c *roomChecker) readRoom(key, file string) room {
	if known, is := c.rooms[file]; is {
		return known
	}
	var r room
	if info, err := os.Stat(file); err == nil && info.Size() <= maxProgram {
		if data, err := os.ReadFile(file); err == nil {
			r.config = c.readCapacity(key, file, data, area.Config)
			r.resources = c.readCapacity(key, file, data, area.Resources)
		}
	}
	c.rooms[file] = r
	return r
}

func (c *roomChecker) readCapacity(key, file string, program []byte, kind area.Kind) int {
	a, err := area.Find(program, kind)
	if errors.Is(err, area.ErrPackaged) {
		c.add(key, "name the file that the build made, not one out of a package", "%s is packaged already", filepath.Base(file))
	}
	return a.Capacity
}

// checkPictures checks that icon and splash fit into a program.
func (c *roomChecker) checkPictures(key, file string) {
	r := c.readRoom(key, file)
	if r.resources == 0 {
		return
	}
	const larger = "or build the programs with a larger area"
	left := int64(r.resources-2*zipFrame) - c.iconSize()
	info, err := os.Stat(c.game.Splash)
	switch name := filepath.Base(file); {
	case left < 0:
		c.add("game.icon", "take a simpler picture, "+larger, "has %d bytes as windows show it, for which %s has no room", c.iconSize(), name)
	case c.game.Splash != "" && err == nil && info.Size() > left:
		c.add("game.splash", "make it smaller, "+larger, "has %d bytes, of which %s has room for %d beside the icon", info.Size(), name, left)
	}
}

// iconSize is the size in bytes of the icon that is embedded beside the splash; 0 for an unreadable icon.
func (c *roomChecker) iconSize() int64 {
	if c.icon == 0 && !c.isBroken("game.icon") {
		pictures, _ := icon.Scale(c.game.Icon, iconSide) // its errors are reported elsewhere
		for _, p := range pictures {
			c.icon += int64(len(p.PNG))
		}
	}
	return c.icon
}

// checkSettings checks that the settings of a build fit into its programs.
func (c *roomChecker) checkSettings(b Build) {
	size := area.Contents{Config: b.Config, Name: b.Base}.Size(area.Config)
	for _, file := range []string{b.Host, b.Module} {
		if r := c.rooms[file]; r.config > 0 && size > r.config {
			c.add("client", "shorten them, or build the programs with a larger area; the trusted root is most of it",
				"the settings of %s have %d bytes, of which %s has room for %d", b.Base, size, filepath.Base(file), r.config)
		}
	}
}
