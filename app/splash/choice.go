package splash

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"
)

const (
	choiceHeight = 36
	choicePad    = 18 // space left and right of the label
	ringWidth    = 2  // ring around the focused button
	ringGap      = 3  // space between the edge of the widget and the face of the button
)

// choice is a button. Enter and Space press it; all other keys go to the window, which handles Escape and the arrows.
// Fyne's own button does not forward keys.
type choice struct {
	widget.BaseWidget
	label   string
	primary bool
	press   func()
	key     func(*fyne.KeyEvent)
	focused bool
	hot     bool
}

var (
	_ fyne.Focusable     = (*choice)(nil)
	_ fyne.Tappable      = (*choice)(nil)
	_ fyne.Accessible    = (*choice)(nil)
	_ desktop.Hoverable  = (*choice)(nil)
	_ desktop.Cursorable = (*choice)(nil)
)

func newChoice(label string, primary bool, press func(), key func(*fyne.KeyEvent)) *choice {
	c := &choice{label: label, primary: primary, press: press, key: key}
	c.ExtendBaseWidget(c)
	return c
}

// rename changes the label. The caller adjusts the layout.
func (c *choice) rename(label string) {
	if c.label != label {
		c.label = label
		c.Refresh()
	}
}

// Tapped implements fyne.Tappable.
func (c *choice) Tapped(*fyne.PointEvent) { c.press() }

// FocusGained implements fyne.Focusable.
func (c *choice) FocusGained() { c.focused = true; c.Refresh() }

// FocusLost implements fyne.Focusable.
func (c *choice) FocusLost() { c.focused = false; c.Refresh() }

// TypedRune implements fyne.Focusable; letters do nothing.
func (c *choice) TypedRune(rune) {}

// TypedKey implements fyne.Focusable.
func (c *choice) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace:
		c.press()
	default:
		c.key(e)
	}
}

// MouseIn implements desktop.Hoverable.
func (c *choice) MouseIn(*desktop.MouseEvent) { c.hot = true; c.Refresh() }

// MouseMoved implements desktop.Hoverable.
func (c *choice) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (c *choice) MouseOut() { c.hot = false; c.Refresh() }

// Cursor implements desktop.Cursorable.
func (c *choice) Cursor() desktop.Cursor { return desktop.PointerCursor }

// AccessibilityLabel implements fyne.Accessible.
func (c *choice) AccessibilityLabel() string { return c.label }

// AccessibilityRole implements fyne.Accessible.
func (c *choice) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleButton }

// CreateRenderer implements fyne.Widget.
func (c *choice) CreateRenderer() fyne.WidgetRenderer {
	r := &choiceRenderer{
		choice: c, face: canvas.NewRectangle(plain), ring: canvas.NewRectangle(invisible),
		label: newLine(sizeBody, c.primary, text),
	}
	r.face.CornerRadius, r.ring.CornerRadius = 6, 8
	r.ring.StrokeWidth = ringWidth
	r.label.Alignment = fyne.TextAlignCenter
	r.label.set(c.label)
	r.paint()
	return r
}

type choiceRenderer struct {
	choice     *choice
	face, ring *canvas.Rectangle
	label      *line
}

// Destroy implements fyne.WidgetRenderer.
func (r *choiceRenderer) Destroy() {}

// Objects implements fyne.WidgetRenderer.
func (r *choiceRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.ring, r.face, r.label.Text}
}

// MinSize implements fyne.WidgetRenderer.
func (r *choiceRenderer) MinSize() fyne.Size {
	return fyne.NewSize(r.label.measure(r.choice.label)+2*choicePad, choiceHeight)
}

// Layout implements fyne.WidgetRenderer. The ring lies inside the size, so that it is not clipped.
func (r *choiceRenderer) Layout(size fyne.Size) {
	r.ring.Resize(size)
	r.face.Move(fyne.NewSquareOffsetPos(ringGap))
	r.face.Resize(size.Subtract(fyne.NewSquareSize(2 * ringGap)))
	r.label.put(0, (size.Height-r.label.TextSize*1.4)/2, size.Width)
}

// Refresh implements fyne.WidgetRenderer.
func (r *choiceRenderer) Refresh() {
	r.paint()
	r.face.Refresh()
	r.ring.Refresh()
	r.label.Refresh()
}

func (r *choiceRenderer) paint() {
	r.label.set(r.choice.label)
	r.face.FillColor, r.label.Color = r.choice.colours()
	r.ring.StrokeColor = invisible
	if r.choice.focused {
		r.ring.StrokeColor = bright
	}
}

// colours are the colours of the face and the label.
func (c *choice) colours() (face, label color.Color) {
	switch {
	case c.primary && c.hot:
		return amberHot, ink
	case c.primary:
		return amber, ink
	case c.hot:
		return plainHot, bright
	default:
		return plain, bright
	}
}
