package splash

import (
	"image/color"
	"sort"

	harmless "collet/platform/text"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
)

// line is one line of text that never exceeds its width: a text that is too long loses its middle.
//
// It names its font. Without a font Fyne reads all fonts of the system first, which takes far longer than the rest of the
// first frame. Letters missing in the named font are still looked up there.
type line struct {
	*canvas.Text
	whole string
	width float32
}

func newLine(size float32, bold bool, c color.Color) *line {
	t := canvas.NewText("", c)
	t.TextSize, t.FontSource = size, font(bold)
	return &line{Text: t}
}

// font is that of the window's look.
func font(bold bool) fyne.Resource {
	return fyne.CurrentApp().Settings().Theme().Font(fyne.TextStyle{Bold: bold})
}

// set changes the text. Like everything on the screen it must run on the loop.
func (l *line) set(text string) {
	if text != l.whole {
		l.whole = text
		l.fit()
	}
}

// put places the line with its top left corner at (x, y), or its top right corner with right alignment.
func (l *line) put(x, y, width float32) {
	l.width = width
	l.Move(fyne.NewPos(x, y))
	l.Resize(fyne.NewSize(width, l.TextSize*1.4))
	l.fit()
}

// fit shortens the shown text to the width.
func (l *line) fit() {
	shown := l.whole
	if l.width > 0 && l.measure(shown) > l.width {
		fits := sort.Search(len([]rune(l.whole)), func(n int) bool { return l.measure(harmless.Cut(l.whole, n+1)) > l.width })
		shown = harmless.Cut(l.whole, max(fits, 1))
	}
	if shown != l.Text.Text {
		l.Text.Text = shown
		l.Refresh()
	}
}

func (l *line) measure(text string) float32 { return textWidth(text, l.TextSize, l.FontSource) }

func textWidth(text string, size float32, source fyne.Resource) float32 {
	measured, _ := fyne.CurrentApp().Driver().RenderedTextSize(text, size, fyne.TextStyle{}, source)
	return measured.Width
}
