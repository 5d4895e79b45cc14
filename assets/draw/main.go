// Command draw makes the pictures that Collet ships: splash.png, which the splash window shows, and icon.png.
//
//	go generate ./assets          writes both into the assets folder
//
// Nothing is loaded: every pixel is computed from the geometry of a collet chuck seen from the front, so the pictures
// are ours, are the same on every run, and can be drawn at any size. All lengths of the chuck are fractions of its
// outer radius; all colours are sRGB values between 0 and 1, mixed as they stand, which is how the window's own
// gradients are mixed too.
package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
)

const (
	splashWidth  = 640 // pixels, and the splash window's width at scale 1
	splashHeight = 360
	iconSide     = 256 // the largest icon that Windows and the desktop entries ask for
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

// write draws both pictures into dir.
func write(dir string) error {
	pictures := map[string]image.Image{
		"splash.png": render(splashWidth, splashHeight, splash),
		"icon.png":   render(iconSide, iconSide, icon),
	}
	for name, picture := range pictures {
		if err := save(filepath.Join(dir, name), picture); err != nil {
			return err
		}
	}
	return nil
}

func save(name string, picture image.Image) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(f, picture); err != nil {
		_ = f.Close()
		return fmt.Errorf("encode %q: %w", name, err)
	}
	return f.Close()
}
