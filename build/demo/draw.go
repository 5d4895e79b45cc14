package demo

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font/basicfont"
)

const (
	// playerSize and itemSize are the sides of the sprites in pixels.
	playerSize, itemSize = 96, 44
	// samples is how many points across a pixel are looked at.
	samples = 4
	// The characters of the atlas, and how many stand in a line.
	firstGlyph, lastGlyph, glyphColumns = 32, 126, 16
	glyphRows                           = 6
)

// transparent is the colour that the game leaves out.
var transparent = color.NRGBA{0xFF, 0x00, 0xFF, 0xFF}

// paint is a picture as a function: the colour at a point of the square from -1 to 1, y downwards; drawn is false where
// there is nothing.
type paint func(x, y float64) (c shade, drawn bool)

// shade is a colour with parts from 0 to 1.
type shade [3]float64

// lit scales a colour: 0 is black, 1 the colour, above 1 brighter.
func (s shade) lit(by float64) shade { return shade{s[0] * by, s[1] * by, s[2] * by} }

// sprite draws a picture. Edges are hard, because the game knows only full transparency: a pixel is drawn when half of
// its points are, in the average colour of those.
func sprite(size int, p paint) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			m.SetNRGBA(x, y, pixel(size, x, y, p))
		}
	}
	return m
}

func pixel(size, x, y int, p paint) color.NRGBA {
	var sum shade
	drawn := 0
	at := func(whole, part int) float64 {
		return (float64(whole)+(float64(part)+0.5)/samples)/float64(size)*2 - 1
	}
	for i := range samples * samples {
		if c, is := p(at(x, i%samples), at(y, i/samples)); is {
			sum = shade{sum[0] + c[0], sum[1] + c[1], sum[2] + c[2]}
			drawn++
		}
	}
	if 2*drawn < samples*samples {
		return transparent
	}
	return sum.lit(1 / float64(drawn)).colour()
}

// colour rounds, and keeps away from the transparent colour.
func (s shade) colour() color.NRGBA {
	part := func(v float64) uint8 { return uint8(math.Round(255 * min(max(v, 0), 1))) }
	c := color.NRGBA{part(s[0]), part(s[1]), part(s[2]), 0xFF}
	if c == transparent {
		c.G = 1
	}
	return c
}

// The metals.
var (
	steel  = shade{0.62, 0.68, 0.76}
	blue   = shade{0.36, 0.52, 0.72}
	brass  = shade{0.88, 0.68, 0.28}
	copper = shade{0.85, 0.47, 0.26}
)

// turned is the light on a face that was turned on a lathe: two bright and two dark sectors, and fine grooves.
func turned(r, angle float64) float64 {
	return 0.85 + 0.3*math.Cos(2*(angle+math.Pi/4)) + 0.05*math.Sin(60*r)
}

// collet is the sleeve seen from its mouth: a ring with six slots and a bevelled rim.
func collet(x, y float64) (shade, bool) {
	r, angle := math.Hypot(x, y), math.Atan2(y, x)
	if r > 0.97 || r < 0.3 || inSlot(r, angle, 6, 0.055, 0.42) {
		return shade{}, false
	}
	switch light := turned(r, angle); {
	case r > 0.86:
		return copper.lit(0.7 * light), true
	case r > 0.56 && r < 0.6:
		return copper.lit(0.45), true
	case r < 0.38:
		return steel.lit(1.15 * light), true
	default:
		return copper.lit(1.15 * light), true
	}
}

// inSlot reports whether a point lies in one of n radial slots of a half width, which begin at a radius.
func inSlot(r, angle float64, n int, halfWidth, from float64) bool {
	sector := 2 * math.Pi / float64(n)
	off := math.Abs(math.Remainder(angle+sector/2, sector))
	return r > from && r*math.Sin(off) < halfWidth
}

// gear is a brass wheel with ten teeth.
func gear(x, y float64) (shade, bool) {
	r, angle := math.Hypot(x, y), math.Atan2(y, x)
	rim := 0.8 + 0.16*math.Tanh(6*math.Cos(10*angle))
	if r > rim || r < 0.24 {
		return shade{}, false
	}
	if r > 0.5 && r < 0.62 {
		return brass.lit(0.6), true
	}
	return brass.lit(turned(r, angle)), true
}

// jaw is a block of blue steel with a bore.
func jaw(x, y float64) (shade, bool) {
	side := math.Max(math.Abs(x), math.Abs(y))
	r, corner := math.Hypot(x, y), math.Abs(x)+math.Abs(y)
	if side > 0.88 || corner > 1.5 || r < 0.3 {
		return shade{}, false
	}
	light := 1.05 - 0.25*y - 0.15*x
	if side > 0.76 || corner > 1.36 {
		light *= 0.7
	}
	if r < 0.42 {
		return steel.lit(light), true
	}
	return blue.lit(light), true
}

// nut is a hexagon of steel with a hole.
func nut(x, y float64) (shade, bool) {
	side := math.Max(math.Abs(y), math.Abs(x)*math.Sqrt(3)/2+math.Abs(y)/2)
	if r := math.Hypot(x, y); side > 0.86 || r < 0.36 {
		return shade{}, false
	}
	light := 1.05 - 0.3*y
	if side > 0.7 {
		light *= 0.75
	}
	return steel.lit(light), true
}

// cell is the size of one character in the atlas: a font whose characters reach to the left of their place gets wider
// cells, so that no character loses a part to its neighbour.
func cell(face *basicfont.Face) image.Point {
	return image.Pt(face.Advance-min(face.Left, 0), face.Ascent+face.Descent)
}

// atlas draws the printable ASCII characters white on the transparent colour, 16 in a line, in cells of one size.
func atlas(face *basicfont.Face) *image.NRGBA {
	size := cell(face)
	m := image.NewNRGBA(image.Rect(0, 0, glyphColumns*size.X, glyphRows*size.Y))
	draw.Draw(m, m.Bounds(), image.NewUniform(transparent), image.Point{}, draw.Src)
	for r := rune(firstGlyph); r <= lastGlyph; r++ {
		i := int(r - firstGlyph)
		glyph(m, image.Pt(i%glyphColumns*size.X, i/glyphColumns*size.Y), face, r)
	}
	return m
}

// glyph draws one character with its cell's upper left corner at a point.
func glyph(m *image.NRGBA, at image.Point, face *basicfont.Face, r rune) {
	for y := range cell(face).Y {
		for x := range min(face.Width, cell(face).X) {
			if inked(face, r, x, y) {
				m.SetNRGBA(at.X+x, at.Y+y, color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF})
			}
		}
	}
}

// inked reports whether the font's picture of a character covers at least half of a pixel.
func inked(face *basicfont.Face, r rune, x, y int) bool {
	top, found := glyphTop(face, r)
	if !found {
		return false
	}
	_, _, _, alpha := face.Mask.At(x, top+y).RGBA()
	return alpha >= 0x8000
}

// glyphTop is the line of the face's mask at which a character begins.
func glyphTop(face *basicfont.Face, r rune) (top int, found bool) {
	for _, within := range face.Ranges {
		if r >= within.Low && r < within.High {
			return (int(r-within.Low) + within.Offset) * (face.Ascent + face.Descent), true
		}
	}
	return 0, false
}
