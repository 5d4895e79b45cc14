package splash

import (
	"cmp"
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
)

// The size of the window in Fyne's units. The picture's lower edge fades into the background, so the texts may overlap it a
// little.
const (
	windowWidth   = 640
	windowHeight  = 480
	pictureHeight = 360
	margin        = 24
)

// progress is the content of the window during an update: the name of the game on the picture, and below it the current
// activity, the bar of the current file, the bar of all files, and the cancel button.
type progress struct {
	root                *fyne.Container
	title               *line
	headline, note      *line
	detail, thisAmount  *line
	allLabel, allAmount *line
	speed, left         *line
	thisBar, allBar     *gauge
	cancel              *choice
	steer               *steer
	said, news          string // the note, and the text in its place while it is empty
	toast               string // replaces both while it is set
	size                fyne.Size
}

func newProgress(title string, cancel *choice, steer *steer) *progress {
	p := &progress{
		title:    newLine(sizeTitle, true, bright),
		headline: newLine(sizeHeadline, true, bright), note: newLine(sizeSmall, false, amber),
		detail: newLine(sizeSmall, false, text), thisAmount: newRight(text),
		allLabel: newLine(sizeSmall, false, text), allAmount: newRight(text),
		speed: newLine(sizeSmall, false, quiet), left: newRight(quiet),
		thisBar: newGauge(), allBar: newGauge(), cancel: cancel, steer: steer,
	}
	p.title.set(title)
	p.steer.moved = p.arrange
	objects := []fyne.CanvasObject{p.steer.more, p.steer.news, p.steer.speed, p.steer.pause, p.cancel}
	for _, l := range p.lines() {
		objects = append(objects, l.Text)
	}
	objects = append(objects, p.thisBar.objects()...)
	objects = append(objects, p.allBar.objects()...)
	p.root = container.New(placer{fyne.NewSize(windowWidth, windowHeight), p.place}, objects...)
	return p
}

func newRight(c color.Color) *line {
	l := newLine(sizeSmall, false, c)
	l.Alignment = fyne.TextAlignTrailing
	return l
}

func (p *progress) lines() []*line {
	return []*line{p.title, p.headline, p.note, p.detail, p.thisAmount, p.allLabel, p.allAmount, p.speed, p.left}
}

// place lays out everything from the bottom upwards, so that the note does not move the bars.
func (p *progress) place(size fyne.Size) {
	p.size = size
	width, y := size.Width-2*margin, size.Height
	p.title.put(margin+8, 132, width*0.40)
	p.speed.put(margin, y-36, width/2)
	p.left.put(margin+width/2, y-36, width/2)
	p.allBar.put(margin, y-50, width)
	p.allLabel.put(margin, y-73, width/2)
	p.allAmount.put(margin+width/2, y-73, width/2)
	p.thisBar.put(margin, y-86, width)
	p.detail.put(margin, y-109, width*0.62)
	p.thisAmount.put(margin+width*0.62, y-109, width*0.38)
	button := p.cancel.MinSize()
	p.cancel.Resize(button)
	p.cancel.Move(fyne.NewPos(size.Width-margin-button.Width+ringGap, y-154))
	p.steer.place(size.Width-margin+ringGap, y-154-choiceHeight-choiceGap)
	p.placeHead(width - button.Width - margin)
}

// placeHead places the headline, and the note below it if there is one.
func (p *progress) placeHead(width float32) {
	y := p.size.Height - 142
	if p.note.whole != "" {
		p.note.put(margin, p.size.Height-131, width)
		y -= 16
	}
	p.headline.put(margin, y, width)
}

// show paints a scene.
func (p *progress) show(s Scene) {
	p.steer.show(s)
	p.headline.set(s.Headline)
	p.detail.set(s.Detail)
	p.thisAmount.set(s.This.Amount)
	p.allLabel.set(s.All.Label)
	p.allAmount.set(s.All.Amount)
	p.speed.set(s.Speed)
	if s.Retry != "" {
		p.speed.set(s.Retry)
	}
	p.left.set(s.Left)
	p.thisBar.show(s.This.Shown)
	p.thisBar.set(s.This.Fraction, false)
	p.allBar.show(s.All.Shown || s.Busy)
	if s.Busy {
		p.allBar.set(steady(s.Pulse), true)
	} else {
		p.allBar.set(s.All.Fraction, false)
	}
	p.arrange()
}

// steady stops the mark of a busy bar if the system is set to reduced motion.
func steady(pulse float64) float64 {
	if fyne.CurrentApp().Settings().ShowAnimations() {
		return pulse
	}
	return 0.5
}

// setNote shows a line under the headline, or removes it.
func (p *progress) setNote(text string) {
	p.said = text
	p.note.set(cmp.Or(p.toast, p.said, p.news))
	p.arrange()
}

// setToast shows a line in place of the note, and a button with this label, or removes both.
func (p *progress) setToast(text, label string, pressed func()) {
	p.toast, p.steer.pressed = text, pressed
	p.steer.more.rename(label)
	setVisible(p.steer.more, text != "")
	p.setNote(p.said)
}

// setNews shows the beginning of release notes in place of an empty note.
func (p *progress) setNews(text string) {
	p.news = text
	setVisible(p.steer.news, text != "")
	p.setNote(p.said)
}

// arrange updates the layout, once the size is known.
func (p *progress) arrange() {
	if !p.size.IsZero() {
		p.place(p.size)
	}
}

// placer is a layout made of one function.
type placer struct {
	min   fyne.Size
	place func(size fyne.Size)
}

// MinSize implements fyne.Layout.
func (l placer) MinSize([]fyne.CanvasObject) fyne.Size { return l.min }

// Layout implements fyne.Layout.
func (l placer) Layout(_ []fyne.CanvasObject, size fyne.Size) { l.place(size) }
