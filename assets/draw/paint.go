package main

import (
	"image"
	"image/color"
	"math"
	"sync"
)

// paint is a colour with coverage: red, green, blue are not multiplied by alpha.
type paint struct{ r, g, b, a float64 }

// rgb makes an opaque paint of 0xRRGGBB.
func rgb(hex uint32) paint {
	part := func(shift uint) float64 { return float64(hex>>shift&0xff) / 255 }
	return paint{part(16), part(8), part(0), 1}
}

// mix goes from p (t = 0) to q (t = 1).
func (p paint) mix(q paint, t float64) paint {
	t = clamp(t)
	lerp := func(a, b float64) float64 { return a + (b-a)*t }
	return paint{lerp(p.r, q.r), lerp(p.g, q.g), lerp(p.b, q.b), lerp(p.a, q.a)}
}

// light adds t times the colour of q, as a lamp of that colour would.
func (p paint) light(q paint, t float64) paint {
	return paint{p.r + q.r*t, p.g + q.g*t, p.b + q.b*t, p.a}
}

// scale makes p darker (t < 1) or brighter.
func (p paint) scale(t float64) paint { return paint{p.r * t, p.g * t, p.b * t, p.a} }

// over lays p on ground.
func (p paint) over(ground paint) paint {
	if p.a >= 1 {
		return p
	}
	a := p.a + ground.a*(1-p.a)
	if a == 0 {
		return paint{}
	}
	part := func(top, below float64) float64 { return (top*p.a + below*ground.a*(1-p.a)) / a }
	return paint{part(p.r, ground.r), part(p.g, ground.g), part(p.b, ground.b), a}
}

// clamp cuts t to 0…1.
func clamp(t float64) float64 { return min(max(t, 0), 1) }

// smooth rises from 0 at low to 1 at high without a corner; low may be above high.
func smooth(low, high, t float64) float64 {
	t = clamp((t - low) / (high - low))
	return t * t * (3 - 2*t)
}

// noise is a fixed value between 0 and 1 for every pair of whole numbers.
func noise(x, y int) float64 {
	h := uint32(x)*0x9E3779B1 ^ uint32(y)*0x85EBCA77
	h ^= h >> 15
	h *= 0x2C1B3C6D
	h ^= h >> 12
	h *= 0x297A2D39
	h ^= h >> 15
	return float64(h) / (1 << 32)
}

// grid is the number of samples of a pixel in each direction: 5 × 5 leave no visible step on the chuck's edges.
const grid = 5

// render asks shade for the paint at points of a width × height picture and averages grid × grid of them for a pixel.
// Half a step of noise keeps the dark gradients from showing bands. Opaque pictures come out as *image.RGBA in which
// every alpha is 255, so that they are stored without an alpha channel.
func render(width, height int, shade func(x, y float64) paint) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	var rows sync.WaitGroup
	for y := range height {
		rows.Go(func() {
			for x := range width {
				out.SetNRGBA(x, y, quantise(average(x, y, shade), noise(x, y)))
			}
		})
	}
	rows.Wait()
	return out
}

// average weighs colours by their coverage, so that edges against nothing keep their colour.
func average(x, y int, shade func(x, y float64) paint) paint {
	var sum paint
	for i := range grid * grid {
		p := shade(float64(x)+(float64(i%grid)+0.5)/grid, float64(y)+(float64(i/grid)+0.5)/grid)
		sum = paint{sum.r + clamp(p.r)*p.a, sum.g + clamp(p.g)*p.a, sum.b + clamp(p.b)*p.a, sum.a + p.a}
	}
	if sum.a == 0 {
		return paint{}
	}
	return paint{sum.r / sum.a, sum.g / sum.a, sum.b / sum.a, sum.a / (grid * grid)}
}

func quantise(p paint, dither float64) color.NRGBA {
	part := func(v float64) uint8 { return uint8(clamp((math.Floor(v*255+dither))/255)*255 + 0.5) }
	return color.NRGBA{part(p.r), part(p.g), part(p.b), uint8(clamp(p.a)*255 + 0.5)}
}
