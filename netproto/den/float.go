package den

import "math"

// floatBits returns the IEEE 754 bits of f in width bytes: 2, 4 or 8.
func floatBits(width int, f float64) uint64 {
	switch width {
	case 2:
		return uint64(halfBits(f))
	case 4:
		return uint64(math.Float32bits(float32(f)))
	default:
		return math.Float64bits(f)
	}
}

// floatOf is the inverse of floatBits.
func floatOf(width int, bits uint64) float64 {
	switch width {
	case 2:
		return halfOf(uint16(bits))
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	default:
		return math.Float64frombits(bits)
	}
}

// binary16 has a sign, 5 bits of exponent with bias 15, and 10 bits of fraction.
const (
	halfSign     = 0x8000
	halfInfinity = 0x7C00
	halfNaN      = 0x7E00
	halfMaxExp   = 15
	halfMinExp   = -14
	halfFraction = 10
)

// halfBits rounds f to the nearest binary16, ties to even.
func halfBits(f float64) uint16 {
	var sign uint16
	if math.Signbit(f) {
		sign = halfSign
	}
	switch f = math.Abs(f); {
	case math.IsNaN(f):
		return sign | halfNaN
	case math.IsInf(f, 0):
		return sign | halfInfinity
	case f == 0:
		return sign
	}
	_, exp := math.Frexp(f)
	exp = max(exp-1, halfMinExp)
	if exp > halfMaxExp {
		return sign | halfInfinity
	}
	scaled := uint16(math.RoundToEven(math.Ldexp(f, halfFraction-exp)))
	if scaled < 1<<halfFraction {
		return sign | scaled // subnormal
	}
	return sign | (uint16(exp-halfMinExp)<<halfFraction + scaled)
}

// halfOf converts a binary16 exactly.
func halfOf(bits uint16) float64 {
	exp := int(bits>>halfFraction) & 0x1F
	fraction := float64(bits & (1<<halfFraction - 1))
	var f float64
	switch exp {
	case 0:
		f = math.Ldexp(fraction, halfMinExp-halfFraction)
	case 0x1F:
		if f = math.Inf(1); fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(fraction+1<<halfFraction, exp-halfMaxExp-halfFraction)
	}
	if bits&halfSign != 0 {
		return -f
	}
	return f
}
