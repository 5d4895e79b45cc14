package splash

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
)

const (
	barHeight = 7
	// busyWidth is the width of the moving mark of a busy bar, as a share of the bar.
	busyWidth = 0.22
)

// gauge is one progress bar: a track and its filled part, or a moving mark if the progress is unknown.
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

// set shows a fraction between 0 and 1, or the position of the moving mark.
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
		width = max(width, barHeight) // a smaller width can't have round ends
	}
	g.fill.Move(fyne.NewPos(x, g.at.Y))
	g.fill.Resize(fyne.NewSize(width, barHeight))
}

// show shows or hides the whole bar.
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
