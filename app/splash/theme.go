package splash

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// The colours of the window. Text has a contrast of at least 4.5 to 1 on its background; a test verifies it.
var (
	ground    = color.NRGBA{0x12, 0x15, 0x1A, 0xFF} // also the lower edge of the picture
	veil      = color.NRGBA{0x0C, 0x0E, 0x12, 0xEB} // over the picture while a dialog is shown
	board     = color.NRGBA{0x0A, 0x0C, 0x0F, 0xFF} // behind the log
	track     = color.NRGBA{0x2B, 0x32, 0x3B, 0xFF} // of a bar
	plain     = color.NRGBA{0x33, 0x3C, 0x47, 0xFF} // an ordinary button
	plainHot  = color.NRGBA{0x45, 0x50, 0x5E, 0xFF}
	amber     = color.NRGBA{0xF5, 0x9B, 0x2D, 0xFF} // bars, the default button
	amberHot  = color.NRGBA{0xFF, 0xB7, 0x5A, 0xFF}
	ink       = color.NRGBA{0x1A, 0x12, 0x06, 0xFF} // text on amber
	bright    = color.NRGBA{0xF1, 0xF4, 0xF8, 0xFF} // headlines; the focus ring
	text      = color.NRGBA{0xD3, 0xDA, 0xE3, 0xFF}
	quiet     = color.NRGBA{0x9D, 0xA8, 0xB6, 0xFF} // secondary text
	fine      = color.NRGBA{0x5F, 0xC9, 0x86, 0xFF} // a lamp: connected
	alarm     = color.NRGBA{0xFF, 0x8F, 0x80, 0xFF} // an error in a log
	invisible = color.NRGBA{}
)

// Sizes of text in Fyne's units, which are pixels at scale 1.
const (
	sizeTitle    = 30
	sizeHeading  = 22
	sizeHeadline = 18
	sizeBody     = 15
	sizeSmall    = 13
	sizeLog      = 12
)

// look is Fyne's own theme in our colours; Fyne still draws the log and its scroll bar with it.
type look struct {
	fyne.Theme
	face fyne.Resource // of the system, for all texts but logs; nil is the window's own
}

func newLook(face fyne.Resource) fyne.Theme { return look{theme.DefaultTheme(), face} }

// Font implements fyne.Theme.
func (l look) Font(style fyne.TextStyle) fyne.Resource {
	switch {
	case style.Monospace || style.Symbol || style.Italic:
		return l.Theme.Font(style)
	case l.face != nil:
		return l.face
	case style.Bold:
		return theme.DefaultTextBoldFont()
	default:
		return theme.DefaultTextFont()
	}
}

// Color implements fyne.Theme. The window is dark like its picture, whatever the system's preference.
func (l look) Color(name fyne.ThemeColorName, _ fyne.ThemeVariant) color.Color {
	switch name {
	case theme.ColorNameBackground:
		return ground
	case theme.ColorNameForeground:
		return text
	case theme.ColorNamePrimary, theme.ColorNameFocus:
		return amber
	case theme.ColorNameScrollBar:
		return quiet
	case theme.ColorNameShadow:
		return invisible
	default:
		return l.Theme.Color(name, theme.VariantDark)
	}
}

// Size implements fyne.Theme.
func (l look) Size(name fyne.ThemeSizeName) float32 {
	if name == theme.SizeNameText {
		return sizeLog
	}
	return l.Theme.Size(name)
}
