// Package icon scales a game's picture to the sizes that systems require.
//
// The picture is a square PNG of 256 to 4096 pixels. It is only scaled down, because systems enlarge better, and smaller files suffice. The
// same picture gives the same bytes.
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
	// MinSide is the minimum side in pixels: the size of menu icons on screens of double density.
	MinSide = 256
	// MaxSide is the maximum side in pixels: 64 MiB in memory.
	MaxSide = 4096
	// maxFile limits the file in bytes: an uncompressed picture of MaxSide, and a margin.
	maxFile = 65 << 20
)

// Picture is one size.
type Picture struct {
	Side int    // in pixels
	PNG  []byte // read-only
}

// Scale reads a PNG and returns it in the given sizes, in order, skipping sizes larger than the picture.
func Scale(name string, sides ...int) ([]Picture, error) {
	whole, err := readPicture(name)
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

// readPicture decodes a picture after checking its size.
func readPicture(name string) (image.Image, error) {
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

// minSource is the minimum side in pixels of a picture that Fit enlarges; below it no picture can be recognized.
const minSource = 16

// Fit makes the PNG of a game's icon of any picture: centred on a transparent square of MinSide pixels or more, enlarged if it is smaller.
func Fit(picture image.Image) ([]byte, error) {
	width, height := picture.Bounds().Dx(), picture.Bounds().Dy()
	if min(width, height) < minSource || max(width, height) > MaxSide {
		return nil, fmt.Errorf("icon: has %d by %d pixels; want %d to %d", width, height, minSource, MaxSide)
	}
	side := max(width, height, MinSide)
	w, h := width*side/max(width, height), height*side/max(width, height)
	square := image.NewNRGBA(image.Rect(0, 0, side, side))
	into := image.Rect(0, 0, w, h).Add(image.Pt((side-w)/2, (side-h)/2))
	draw.CatmullRom.Scale(square, into, picture, picture.Bounds(), draw.Src, nil)
	var data bytes.Buffer
	err := png.Encode(&data, square)
	return data.Bytes(), err
}
