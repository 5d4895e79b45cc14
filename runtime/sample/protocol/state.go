// Package protocol is the common code of the sample game and its server: the declarations of its components, and a lockstep protocol.
//
// Both ends have the same State and perform the same Steps. The client sends the player's input and the checksum of its state with each
// step. The server performs the step and compares. Neither sends the state itself, so only the checksum reveals a difference. The client
// is the game itself, in C (world.c, sum.c and link.c of package sample); Game is a client in Go. Host is the server.
//
//	client  i32 logic version · u32 seed · field: i16 left, top, right, bottom, u16 width and height of player and piece · u16 pieces ─>
//	client  u8 steering: 1 left, 2 right, 4 up, 8 down, 128 the player leaves · u64 checksum ─>
//	        <─ u8 1 if the states have come apart, else 0 · u32 step, from 0 · u64 the server's checksum                 server
//
// All numbers are little-endian. The answer to a step comes before the next one.
//
// The declarations have versions: members with since= and until= exist in some logic versions only. With an older peer, an end includes
// only the members of the older version in the checksum (compat.Checksum), so that builds of different versions stay in step if the marks
// are right. The table, the manifest and the header of the C sources are generated; see docs/COMPATIBILITY.md.
package protocol

import (
	"fmt"
	"slices"

	"collet/netproto/compat"
)

//go:generate go run collet/build/compatgen gen .

// Point is a position in the field, from its upper left corner.
type Point struct {
	X int16 `wire:"1"`
	Y int16 `wire:"2"`
}

// Piece is a piece of work that lies on the field.
type Piece struct {
	At    Point `wire:"1"`
	Taken bool  `wire:"2"`
}

// World is the field with what lies on it.
//
//compat:component name=Lathe.World id=1
type World struct {
	Round  uint32  `wire:"1"`
	Pieces []Piece `wire:"2"`
	Still  uint16  `wire:"3,until=2"` // steps without a find; the rules do not use it
	Wind   Point   `wire:"4,since=2"` // what it adds to every step
}

// Player is the player's figure.
//
//compat:component name=Lathe.Player id=2
type Player struct {
	At     Point  `wire:"1"`
	Found  uint32 `wire:"2"`
	Streak uint16 `wire:"3,since=2"` // finds in a row without standing still
}

// Steer is a player's input in one step.
//
//compat:input component=Lathe.Player
type Steer struct {
	Left  bool `wire:"1"`
	Right bool `wire:"2"`
	Up    bool `wire:"3"`
	Down  bool `wire:"4"`
}

// Parted is a server's last message when the states differ.
//
//compat:rpc component=Lathe.World id=1 to=client reliable
type Parted struct {
	Step uint32 `wire:"1"`
	Sum  uint64 `wire:"2"` // the server's
}

// Wealth is known to the server only.
//
//compat:component name=Lathe.Wealth id=3 side=server
type Wealth struct {
	Earned uint64 `wire:"1"`
}

// State is the common state of both ends.
type State struct {
	World  World  `wire:"1"`
	Player Player `wire:"2"`

	field Field // where; it never changes
	seed  uint32
}

// Field is the field of a game, in pixels: the player's area, the sizes of the pictures, and the number of pieces. It comes from the
// client's packs, and the client sends it to the server.
type Field struct {
	Left, Top, Right, Bottom  int16
	PlayerWidth, PlayerHeight uint16
	PieceWidth, PieceHeight   uint16
	Pieces                    uint16
}

// FieldError says that a game can't be played on a field.
type FieldError struct{ Field Field }

func (e *FieldError) Error() string {
	return fmt.Sprintf("a game on the field %+v: it has no room for its player, or not 1 to %d pieces", e.Field, MaxPieces)
}

// checkField returns nil or a *FieldError.
func (f Field) checkField() error {
	wide, high := int(f.Right)-int(f.Left), int(f.Bottom)-int(f.Top)
	fits := int(f.PlayerWidth) <= wide && int(f.PlayerHeight) <= high && int(f.PieceWidth) <= wide && int(f.PieceHeight) <= high
	if !fits || f.Pieces < 1 || f.Pieces > MaxPieces || f.Left < 0 || f.Top < 0 {
		return &FieldError{f}
	}
	return nil
}

// MaxPieces is how many pieces a field has at most, as in the game's packs.
const MaxPieces = 64

// The rules, in pixels; those of the game's world.c.
const (
	speed  = 5  // how far a player comes in one step
	margin = 20 // between pieces and the field's edges
	tries  = 40 // places that are looked at for a piece before it may cover another
	windy  = 2  // logic version from which on there is wind
	winds  = 3  // it is one pixel stronger in each round, and still again after so many
)

// NewState is the first state of a game. The same field and seed give the same state. The error is a *FieldError.
func NewState(f Field, seed uint32) (*State, error) {
	if err := f.checkField(); err != nil {
		return nil, err
	}
	s := &State{field: f, seed: seed, World: World{Pieces: make([]Piece, f.Pieces)}}
	s.Player.At = Point{(f.Left + f.Right - int16(f.PlayerWidth)) / 2, (f.Top + f.Bottom - int16(f.PlayerHeight)) / 2}
	s.scatter()
	return s, nil
}

// sequence is a fixed sequence of numbers, the same in every build.
type sequence uint32

func (q *sequence) between(low, high int) int16 {
	if high <= low {
		return int16(low)
	}
	*q = *q*1103515245 + 12345
	return int16(low + int(*q>>16&0x7FFF)%(high-low))
}

// scatter lays all pieces out for a round.
func (s *State) scatter() {
	numbers, f := sequence(s.seed+s.World.Round), s.field
	for i := range s.World.Pieces {
		piece := &s.World.Pieces[i]
		for range tries {
			piece.At.X = numbers.between(int(f.Left)+margin, int(f.Right)-margin-int(f.PieceWidth))
			piece.At.Y = numbers.between(int(f.Top)+margin, int(f.Bottom)-margin-int(f.PieceHeight))
			if !s.covers(i) && !s.touches(piece) {
				break
			}
		}
		piece.Taken = false
	}
}

// covers reports whether a piece lies over one before it.
func (s *State) covers(i int) bool {
	at, w, h := s.World.Pieces[i].At, s.field.PieceWidth, s.field.PieceHeight
	return slices.ContainsFunc(s.World.Pieces[:i], func(other Piece) bool {
		return overlap(at.X, w, other.At.X, w) && overlap(at.Y, h, other.At.Y, h)
	})
}

// touches reports whether the player stands at a piece.
func (s *State) touches(p *Piece) bool {
	f, at := s.field, s.Player.At
	return overlap(at.X, f.PlayerWidth, p.At.X, f.PieceWidth) && overlap(at.Y, f.PlayerHeight, p.At.Y, f.PieceHeight)
}

func overlap(a int16, sizeA uint16, b int16, sizeB uint16) bool {
	return int(a) < int(b)+int(sizeB) && int(b) < int(a)+int(sizeA)
}

// Sum is the checksum of what a logic version has of the state.
func (s *State) Sum(logic int32) (uint64, error) { return compat.Checksum(s, logic) }

// Step goes on by one step, as a logic version does it: an older one has no wind.
func (s *State) Step(steer Steer, logic int32) {
	p, f, before := &s.Player, s.field, s.Player.Found
	wind := s.World.Wind
	if logic < windy {
		wind = Point{}
	}
	p.At.X = moved(p.At.X+wind.X+speed*(boolInt(steer.Right)-boolInt(steer.Left)), f.Left, f.Right-int16(f.PlayerWidth))
	p.At.Y = moved(p.At.Y+wind.Y+speed*(boolInt(steer.Down)-boolInt(steer.Up)), f.Top, f.Bottom-int16(f.PlayerHeight))
	s.pickUp()
	s.World.Still++
	if p.Found != before {
		s.World.Still = 0
		p.Streak++
	}
	if steer == (Steer{}) {
		p.Streak = 0
	}
}

// moved is a place that stays within the field.
func moved(to, least, most int16) int16 { return min(max(to, least), most) }

// pickUp takes every piece that the player stands at. Behind the last one the next round begins.
func (s *State) pickUp() {
	left := 0
	for i := range s.World.Pieces {
		piece := &s.World.Pieces[i]
		if !piece.Taken && s.touches(piece) {
			piece.Taken = true
			s.Player.Found++
		}
		if !piece.Taken {
			left++
		}
	}
	if left == 0 {
		s.World.Round++
		s.World.Wind.X = int16(s.World.Round % winds)
		s.scatter()
	}
}

func boolInt(b bool) int16 {
	if b {
		return 1
	}
	return 0
}
