// Package icon makes the sizes that systems want of a game's one picture.
//
// The picture is a square PNG of 256 to 4096 pixels. It is scaled down and never up: a system enlarges better than a file, and
// smaller. The same picture gives the same bytes.
package icon

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"

	"golang.org/x/image/draw"
)

const (
	// MinSide is the smallest picture in pixels: what menus show on screens of twice the density.
	MinSide = 256
	// MaxSide is the largest picture in pixels: it has 64 MiB in memory.
	MaxSide = 4096
	// maxFile is the largest file in bytes: a picture of MaxSide that is not compressed at all, and a little.
	maxFile = 65 << 20
)

// Picture is one size.
type Picture struct {
	Side int    // in pixels
	PNG  []byte // not to be changed
}

// Scale reads a PNG and gives it in those sizes that are not larger than it is, in their order.
func Scale(name string, sides ...int) ([]Picture, error) {
	whole, err := read(name)
	if err != nil {
		return nil, fmt.Errorf("icon %q: %w", name, err)
	}
	var all []Picture
	for _, side := range sides {
		if side > whole.Bounds().Dx() {
			continue
		}
		scaled := image.NewNRGBA(image.Rect(0, 0, side, side))
		draw.CatmullRom.Scale(scaled, scaled.Bounds(), whole, whole.Bounds(), draw.Src, nil)
		var data bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&data, scaled); err != nil {
			return nil, fmt.Errorf("icon %q: %w", name, err)
		}
		all = append(all, Picture{side, data.Bytes()})
	}
	return all, nil
}

// read decodes a picture after a look at its size.
func read(name string) (image.Image, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if info.Size() > maxFile {
		return nil, fmt.Errorf("has %d bytes; want at most %d", info.Size(), maxFile)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if head.Width != head.Height || head.Width < MinSide || head.Width > MaxSide {
		return nil, fmt.Errorf("has %d by %d pixels; want a square of %d to %d", head.Width, head.Height, MinSide, MaxSide)
	}
	return png.Decode(bytes.NewReader(data))
}
