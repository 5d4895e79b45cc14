package splash

import (
	"strings"

	"fyne.io/fyne/v2"

	"collet/assets"
)

// limits are the selectable rates in bytes per second: unlimited; half of a 20 Mbit/s line; a rate that leaves a call
// undisturbed; a minimal rate.
func limits() []int64 { return []int64{0, 1_200_000, 400_000, 100_000} }

// steer is the row of buttons above the cancel button: details of a toast, release notes, rate limit, and pause. Each is
// shown only if it applies. It is used only on the loop.
type steer struct {
	texts  assets.Texts
	valve  Valve
	limit  int64
	paused bool
	moved  func() // called after a button has changed its size

	pressed func() // action of more

	more, news, speed, pause *choice
}

func newSteer(texts assets.Texts, valve Valve, limit int64, read func(), key func(*fyne.KeyEvent)) *steer {
	s := &steer{texts: texts, valve: valve, limit: limit, moved: func() {}, pressed: func() {}}
	s.more = newChoice("", false, func() { s.pressed() }, key)
	s.news = newChoice(texts.Get("button.news"), false, read, key)
	s.speed = newChoice(s.speedLabel(), false, s.slower, key)
	s.pause = newChoice(texts.Get("button.pause"), false, s.toggle, key)
	for _, c := range s.choices() {
		c.Hide()
	}
	return s
}

func (s *steer) choices() []*choice { return []*choice{s.more, s.news, s.speed, s.pause} }

// place puts the visible buttons in one row that ends at right.
func (s *steer) place(right, y float32) {
	row := s.choices()
	for i := len(row) - 1; i >= 0; i-- {
		if !row[i].Visible() {
			continue
		}
		size := row[i].MinSize()
		row[i].Resize(size)
		row[i].Move(fyne.NewPos(right-size.Width, y))
		right -= size.Width + choiceGap - 2*ringGap
	}
}

// show updates the buttons for a scene.
func (s *steer) show(scene Scene) {
	s.paused = scene.Paused
	setVisible(s.speed, scene.Valve && s.valve != nil)
	setVisible(s.pause, scene.Valve && s.valve != nil)
	label := "button.pause"
	if s.paused {
		label = "button.resume"
	}
	s.pause.rename(s.texts.Get(label))
}

// hide hides all buttons.
func (s *steer) hide() {
	for _, c := range s.choices() {
		c.Hide()
	}
}

func (s *steer) toggle() { s.valve.Pause(!s.paused) }

// slower selects the next lower limit, and after the lowest one unlimited.
func (s *steer) slower() {
	next := int64(0)
	for _, limit := range limits() {
		if limit > next && (s.limit == 0 || limit < s.limit) {
			next = limit
		}
	}
	s.limit = next
	s.valve.SetCap(next)
	s.speed.rename(s.speedLabel())
	s.moved()
}

func (s *steer) speedLabel() string {
	if s.limit == 0 {
		return s.texts.Get("button.speed.free")
	}
	return s.texts.Get("button.speed", "rate", s.texts.Rate(s.limit))
}

// firstLine is the first line of a text, cleaned and shortened.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clean(first, maxLine)
}
