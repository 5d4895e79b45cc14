package pack

import (
	"errors"
	"os"
	"path/filepath"

	"collet/runtime/area"
)

// room is what fits into a program; zeros where it has no areas. Composition says so: a check takes programs that only look
// like ones.
type room struct{ config, resources int }

// zipFrame is what a zip adds to one picture, in bytes: two headers with its name, and the end.
const zipFrame = 150

// roomOf looks into a program, once. One that is packaged already is a mistake of the key that names it.
func (c *checker) roomOf(key, file string) room {
	if known, is := c.rooms[file]; is {
		return known
	}
	var r room
	if info, err := os.Stat(file); err == nil && info.Size() <= maxProgram {
		if data, err := os.ReadFile(file); err == nil {
			r.config = c.capacity(key, file, data, area.Config)
			r.resources = c.capacity(key, file, data, area.Resources)
		}
	}
	c.rooms[file] = r
	return r
}

func (c *checker) capacity(key, file string, program []byte, kind area.Kind) int {
	a, err := area.Find(program, kind)
	if errors.Is(err, area.ErrPackaged) {
		c.add(key, "name the file that the build made, not one out of a package", "%s is packaged already", filepath.Base(file))
	}
	return a.Capacity
}

// splashFits checks that a program has room for the splash.
func (c *checker) splashFits(key, file string) {
	r := c.roomOf(key, file)
	info, err := os.Stat(c.p.Game.Splash)
	if c.p.Game.Splash == "" || err != nil || r.resources == 0 {
		return
	}
	if most := int64(r.resources - zipFrame); info.Size() > most {
		c.add("game.splash", "make it smaller, or build the programs with a larger area", "has %d bytes, of which %s has room for %d", info.Size(), filepath.Base(file), most)
	}
}

// configFits checks that the programs of a build have room for its settings.
func (c *checker) configFits(b Build) {
	for _, file := range []string{b.Host, b.Module} {
		if r := c.rooms[file]; r.config > 0 && len(b.Config) > r.config {
			c.add("client", "shorten them, or build the programs with a larger area; the trusted root is most of it",
				"the settings of %s have %d bytes, of which %s has room for %d", b.Base, len(b.Config), filepath.Base(file), r.config)
		}
	}
}
