package main

import "math"

// Where the chuck sits in the splash picture, in pixels. The left third is left dark for the name of the game.
const (
	chuckX      = 448
	chuckY      = 168
	chuckRadius = 150
)

// splash is the picture of the window: the chuck on a dark ground with arcs of motion round it. Its lower edge runs out
// into the colour of the window's panel.
func splash(x, y float64) paint {
	u, v := (x-chuckX)/chuckRadius, (y-chuckY)/chuckRadius
	p := chuck(u, v, true).over(ground(x, y, u, v))
	return p.mix(rgb(0x12151A), smooth(splashHeight-84, splashHeight-2, y))
}

func ground(x, y, u, v float64) paint {
	r, angle := math.Hypot(u, v), math.Atan2(v, u)
	p := rgb(0x1B222C).mix(rgb(0x0B0D11), smooth(0, 640, x*0.35+y*1.3))
	p = p.light(rgb(0x3C6E9A), 0.34*math.Exp(-max(r-0.95, 0)*2.1))
	p = p.light(ember(), 0.10*math.Exp(-max(r-0.9, 0)*3.2)*(1+math.Cos(angle-0.9))/2)
	p = arcs(p, r, angle)
	shadow := math.Hypot(u-0.045, v-0.085)
	return p.scale(1 - 0.72*smooth(1.13, 0.95, shadow))
}

// arcs are the traces of a turning thing: thin rings that fade out behind a bright head.
func arcs(p paint, r, angle float64) paint {
	const spacing = 0.075
	ring := int(math.Floor(r / spacing))
	if r < 1.09 || ring > 34 {
		return p
	}
	head := noise(ring, 11) * 2 * math.Pi
	span := 0.9 + 2.2*noise(ring, 12)
	behind := math.Mod(angle-head+4*math.Pi, 2*math.Pi)
	if noise(ring, 13) < 0.22 || behind > span {
		return p
	}
	centre := (float64(ring) + 0.5) * spacing
	width := 0.004 + 0.008*noise(ring, 14)
	line := smooth(width+0.006, width, math.Abs(r-centre))
	fade := math.Pow(1-behind/span, 2) * smooth(0, 0.02, behind) * math.Exp(-(r-1)*0.42)
	if noise(ring, 15) > 0.62 {
		return p.light(ember(), 0.85*line*fade)
	}
	return p.light(rgb(0x7FB2DC), 0.48*line*fade)
}

// icon is the chuck alone, on nothing, swollen towards its middle: at 16 pixels the tool must still be seen.
func icon(x, y float64) paint {
	const centre, radius = iconSide / 2, iconSide/2 - 3
	u, v := (x-centre)/radius, (y-centre)/radius
	swell := math.Pow(math.Hypot(u, v), 0.36)
	return chuck(u*swell, v*swell, false)
}
