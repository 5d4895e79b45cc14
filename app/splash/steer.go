package splash

import (
	"strings"

	"fyne.io/fyne/v2"

	"collet/assets"
)

// limits are the speeds that a player can choose from, in bytes a second: no limit; half of a 20 Mbit/s line; what leaves a
// call undisturbed; hardly anything.
func limits() []int64 { return []int64{0, 1_200_000, 400_000, 100_000} }

// steer is the row of buttons above the one that cancels: what a toast is about, what is new, how fast it may come, and a pause. Each is shown where
// it is of use. All of it runs on the loop.
type steer struct {
	texts  assets.Texts
	valve  Valve
	limit  int64
	paused bool
	moved  func() // a button has another size

	pressed func() // of more

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

// place puts what is shown in one row that ends at right.
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

// show follows a scene.
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

// hide takes all of it away.
func (s *steer) hide() {
	for _, c := range s.choices() {
		c.Hide()
	}
}

func (s *steer) toggle() { s.valve.Pause(!s.paused) }

// slower goes on to the next limit that is below the present one, and from the last one to none.
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

// firstLine is what of a longer text fits into one line.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clean(first, maxLine)
}
