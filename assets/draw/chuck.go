package main

import "math"

// The chuck from outside to inside, in fractions of its outer radius.
const (
	rim      = 1.00 // outer edge of the clamping nut
	chamfer  = 0.96 // the nut's face begins
	dialOut  = 0.925
	dialIn   = 0.885
	faceIn   = 0.735 // the nut's face ends
	nutIn    = 0.70  // below it: the gap between nut and collet
	cone     = 0.675 // outer edge of the collet
	lip      = 0.285 // where the cone turns into the bore
	bore     = 0.25
	tool     = 0.142 // the tool that is gripped: a triangle, as on a "play" button
	slot     = 0.014 // half the width of a slot
	keyhole  = 0.034 // radius of the hole in which a slot ends
	slots    = 6     // from the bore outwards; as many from the edge inwards between them
	notches  = 6     // for the wrench
	notch    = 0.115 // radius of a notch
	notchAt  = 1.045 // where its centre lies
	dialMark = 72    // graduations
)

// lamp is where the light comes from: above and left.
const lamp = -2.2

// The colours of steel in shade and in light, of the gap, and of the glowing tool.
func steelDark() paint  { return rgb(0x23282F) }
func steelMid() paint   { return rgb(0x68727E) }
func steelLight() paint { return rgb(0xE8EEF4) }
func gap() paint        { return rgb(0x07090B) }
func ember() paint      { return rgb(0xF59B2D) }
func flame() paint      { return rgb(0xFFD98A) }

// chuck is the paint at (x, y), measured from the centre, y downwards. Outside it is empty. fine draws graduations and
// turning marks, which only disturb at the size of an icon.
func chuck(x, y float64, fine bool) paint {
	r, angle := math.Hypot(x, y), math.Atan2(y, x)
	switch {
	case r > rim || inNotch(x, y):
		return paint{}
	case r > nutIn:
		return glow(nut(r, angle, x, y, fine), r)
	case r > cone:
		return glow(gap(), r)
	case r > bore:
		return glow(collet(r, angle, x, y, fine), r)
	default:
		return hole(r, x, y)
	}
}

// turned is the light on a face that was turned on a lathe: its grooves run round, so the highlights are two opposite
// sectors that widen outwards, and a fainter pair from a second lamp.
func turned(r, angle float64, fine bool) paint {
	first := math.Pow(math.Abs(math.Cos(angle-lamp)), 9)
	second := math.Pow(math.Abs(math.Cos(angle-lamp-1.15)), 26)
	level := 0.17 + 0.74*first + 0.30*second
	if fine {
		level *= 0.90 + 0.20*noise(int(r*420), 7)
	}
	return steel(level)
}

// steel goes from shade over the middle to full light.
func steel(level float64) paint {
	if level < 0.5 {
		return steelDark().mix(steelMid(), level*2)
	}
	return steelMid().mix(steelLight(), level*2-1)
}

// bevel is the light on an edge that leans outwards (lean = 1) or inwards (-1).
func bevel(angle, lean float64) paint {
	return steel(0.34 + 0.62*lean*math.Cos(angle-lamp))
}

func inNotch(x, y float64) bool {
	a := fold(math.Atan2(y, x), notches, 0)
	r := math.Hypot(x, y)
	return math.Hypot(r*math.Cos(a)-notchAt, r*math.Sin(a)) < notch
}

// notchEdge is how far (x, y) lies from the nearest notch.
func notchEdge(r, angle float64) float64 {
	a := fold(angle, notches, 0)
	return math.Hypot(r*math.Cos(a)-notchAt, r*math.Sin(a)) - notch
}

// fold brings an angle into the sector round the nearest of n evenly spaced directions that begin at first.
func fold(angle float64, n int, first float64) float64 {
	step := 2 * math.Pi / float64(n)
	return math.Remainder(angle-first, step)
}

func nut(r, angle, x, y float64, fine bool) paint {
	edge := notchEdge(r, angle)
	switch {
	case r > chamfer:
		return bevel(angle, 1)
	case edge < 0.03:
		return steel(0.25 + 0.5*smooth(-0.6, 0.8, math.Sin(angle-lamp)))
	case r < faceIn:
		return bevel(angle, -1)
	}
	face := turned(r, angle, fine)
	if fine {
		face = dial(face, r, angle)
	}
	groove := math.Abs(r - 0.80)
	if groove < 0.008 {
		face = face.scale(0.42)
	} else if groove < 0.014 {
		face = face.scale(1.12)
	}
	return face.scale(1 - 0.35*smooth(0.07, 0.03, edge))
}

// dial engraves the graduations: every sixth is long, the topmost is filled with colour.
func dial(face paint, r, angle float64) paint {
	a := fold(angle, dialMark, -math.Pi/2)
	index := int(math.Round((angle + math.Pi/2) / (2 * math.Pi / dialMark)))
	inner := dialIn + 0.018
	if index%6 == 0 {
		inner = dialIn - 0.018
	}
	if r > dialOut || r < inner || math.Abs(a)*r > 0.0062 {
		return face
	}
	if index == 0 {
		return ember()
	}
	return face.scale(0.30)
}

// collet is the cone with its slots. Each of the jaws catches the light a little differently.
func collet(r, angle, x, y float64, fine bool) paint {
	inner, outer := fold(angle, slots, math.Pi/2), fold(angle, slots, math.Pi/2+math.Pi/slots)
	if inSlot(r, inner, 0, 0.575) || inSlot(r, outer, 0.40, 1) {
		return gap()
	}
	if r < lip {
		return bevel(angle, -1).scale(1.1)
	}
	jaw := math.Floor((angle - math.Pi/2) / (math.Pi / slots))
	tilt := (noise(int(jaw), 3) - 0.5) * 0.30
	depth := smooth(lip, cone, r)
	face := turned(r, angle+tilt, fine).scale(0.50 + 0.46*depth)
	shade := min(slotEdge(r, inner, 0, 0.575), slotEdge(r, outer, 0.40, 1))
	face = face.scale(1 + 0.55*smooth(0.016, 0.004, shade)*math.Sin(angle-lamp))
	return face.mix(bevel(angle, 1), smooth(cone-0.022, cone-0.012, r))
}

// slotEdge is the distance to a slot that runs along direction 0 from radius low to high and ends in a round hole.
func slotEdge(r, a, low, high float64) float64 {
	along, across := r*math.Cos(a), math.Abs(r*math.Sin(a))
	end := high
	if high > cone {
		end = low
	}
	round := math.Hypot(along-end, across) - keyhole
	if along < low || along > high {
		return round
	}
	return min(across-slot, round)
}

func inSlot(r, a, low, high float64) bool { return slotEdge(r, a, low, high) < 0 }

// hole is the bore with the tool in it.
func hole(r, x, y float64) paint {
	wall := gap().mix(ember().scale(0.55), 0.55*smooth(bore, tool*0.6, r))
	d := triangle(x+0.016, y)
	if d > 0 {
		return wall.light(ember(), 0.75*math.Exp(-d*26))
	}
	face := ember().mix(flame(), clamp(0.55-(x+y)*2.4))
	return face.mix(rgb(0xFFF3D6), smooth(-0.012, 0, d)*0.75)
}

// triangle is the distance to the tool's outline: a triangle with round corners that points to the right.
func triangle(x, y float64) float64 {
	const round = 0.035
	size := tool - round
	y = math.Abs(y)
	side := (x*0.5 + y*math.Sqrt(3)/2) - size*0.55
	back := -x - size*0.62
	d := max(side, back)
	if side > 0 && back > 0 {
		d = math.Hypot(side, back)
	}
	return d - round
}

// glow is the light of the tool on what surrounds it.
func glow(p paint, r float64) paint { return p.light(ember(), 0.85*math.Exp(-(r-tool)*8.5)) }
