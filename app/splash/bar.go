package splash

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
)

const (
	barHeight = 7
	// busyWidth is how much of a busy bar its moving mark covers.
	busyWidth = 0.22
)

// gauge is one progress bar: a track, and what is filled of it, or a mark that moves where there is no measure.
type gauge struct {
	track, fill *canvas.Rectangle
	at          fyne.Position
	width       float32
	fraction    float64
	busy        bool
}

func newGauge() *gauge {
	g := &gauge{track: canvas.NewRectangle(track), fill: canvas.NewRectangle(amber)}
	g.track.CornerRadius, g.fill.CornerRadius = barHeight/2, barHeight/2
	return g
}

func (g *gauge) objects() []fyne.CanvasObject { return []fyne.CanvasObject{g.track, g.fill} }

func (g *gauge) put(x, y, width float32) {
	g.at, g.width = fyne.NewPos(x, y), width
	g.track.Move(g.at)
	g.track.Resize(fyne.NewSize(width, barHeight))
	g.place()
}

// set shows a fraction between 0 and 1, or where the moving mark is.
func (g *gauge) set(fraction float64, busy bool) {
	g.fraction, g.busy = fraction, busy
	g.place()
}

func (g *gauge) place() {
	width, x := float32(g.fraction)*g.width, g.at.X
	if g.busy {
		width, x = g.width*busyWidth, x+float32(g.fraction)*g.width*(1-busyWidth)
	}
	if width > 0 {
		width = max(width, barHeight) // narrower than high, its round ends would be no more
	}
	g.fill.Move(fyne.NewPos(x, g.at.Y))
	g.fill.Resize(fyne.NewSize(width, barHeight))
}

// show makes the whole bar visible or not.
func (g *gauge) show(visible bool) {
	for _, o := range g.objects() {
		setVisible(o, visible)
	}
}

func setVisible(o fyne.CanvasObject, visible bool) {
	if visible == o.Visible() {
		return
	}
	if visible {
		o.Show()
	} else {
		o.Hide()
	}
}
