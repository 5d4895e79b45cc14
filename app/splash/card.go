package splash

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
)

const (
	cardMargin = 44
	choiceGap  = 10
)

// card is a content that covers the picture: a heading, a body, a status line, and a row of buttons, one of which has the
// focus. Dialogs and the log view are cards. Cards are made on demand.
type card struct {
	root    *fyne.Container
	heading *line
	rule    *canvas.Rectangle
	veil    *canvas.Rectangle
	board   *canvas.Rectangle // behind a log
	body    *scrollText
	status  *line
	choices []*choice
	first   int    // index of the button with the initial focus
	escape  func() // the action of Escape
}

func newCard(title string, body *scrollText, first int, choices ...*choice) *card {
	c := &card{
		heading: newLine(sizeHeading, true, bright), status: newLine(sizeSmall, false, amber),
		rule: canvas.NewRectangle(amber), veil: canvas.NewRectangle(veil),
		board: canvas.NewRectangle(board),
		body:  body, choices: choices, first: first,
	}
	c.heading.set(title)
	c.board.CornerRadius = 6
	setVisible(c.board, body.log)
	objects := []fyne.CanvasObject{c.veil, c.board, c.heading.Text, c.rule, body.Scroll, c.status.Text}
	for _, choice := range choices {
		objects = append(objects, choice)
	}
	c.root = container.New(placer{fyne.NewSize(windowWidth, windowHeight), c.place}, objects...)
	return c
}

func (c *card) place(size fyne.Size) {
	width := size.Width - 2*cardMargin
	c.veil.Resize(size)
	c.heading.put(cardMargin, 44, width)
	c.rule.Move(fyne.NewPos(cardMargin, 84))
	c.rule.Resize(fyne.NewSize(48, 3))
	top := c.placeChoices(size)
	c.status.put(cardMargin, top-30, width)
	c.placeBody(fyne.NewPos(cardMargin, 106), fyne.NewSize(width, top-36-106))
}

func (c *card) placeBody(at fyne.Position, size fyne.Size) {
	c.board.Move(at)
	c.board.Resize(size)
	if c.body.log {
		const inset = 12
		at = at.AddXY(inset, inset/2)
		size = size.SubtractWidthHeight(inset+inset/2, inset)
	}
	c.body.put(at, size)
}

// placeChoices places the buttons in rows from the left, the last row at the bottom, and returns the top of the first row.
func (c *card) placeChoices(size fyne.Size) float32 {
	rows := [][]*choice{nil}
	var used float32
	for _, choice := range c.choices {
		width := choice.MinSize().Width
		if used > 0 && used+width > size.Width-2*cardMargin {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], choice)
		used += width + choiceGap
	}
	top := size.Height - 36 - float32(len(rows))*(choiceHeight+choiceGap) + choiceGap
	for i, row := range rows {
		placeRow(row, top+float32(i)*(choiceHeight+choiceGap))
	}
	return top
}

// placeRow aligns the faces of the buttons, without their focus rings, with the margin.
func placeRow(row []*choice, y float32) {
	x := float32(cardMargin - ringGap)
	for _, choice := range row {
		choice.Move(fyne.NewPos(x, y))
		choice.Resize(choice.MinSize())
		x += choice.Size().Width + choiceGap
	}
}
