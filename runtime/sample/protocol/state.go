// Package protocol is what the sample game and a server of it share: the declarations that its components are made of, and a
// way to play in step.
//
// Both ends hold the same State and do the same Steps. The client sends what its player steers, and with each step the checksum
// of its state; the server does the step too, and compares. Neither sends the state itself, so a difference would stay hidden
// without the checksum.
//
// The declarations have versions: members with since= and until= are there for some logic versions only. An end that speaks
// with an older one counts what that one has (compat.Checksum), so that builds of different versions stay in step as long as
// the marks are right. The table, the manifest and the header of the C sources are generated; docs/COMPATIBILITY.md says how.
package protocol

import (
	"slices"

	"collet/netproto/compat"
)

//go:generate go run collet/build/compatgen gen .

// The field, in pixels, and how far a player comes in one step.
const (
	Width  = 640
	Height = 360
	Speed  = 5
	reach  = 20 // how near a piece has to be to be picked up
)

// Point is a place in the field, from its upper left corner.
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
	Still  uint16  `wire:"3,until=2"` // steps without a find; nobody looked at it
	Wind   Point   `wire:"4,since=2"` // what it adds to every step
}

// Player is the one who steers.
//
//compat:component name=Lathe.Player id=2
type Player struct {
	At     Point  `wire:"1"`
	Found  uint32 `wire:"2"`
	Streak uint16 `wire:"3,since=2"` // finds in a row without standing still
}

// Steer is what a player does in one step.
//
//compat:input component=Lathe.Player
type Steer struct {
	Left  bool `wire:"1"`
	Right bool `wire:"2"`
	Up    bool `wire:"3"`
	Down  bool `wire:"4"`
}

// Parted is what a server says last when the states have come apart.
//
//compat:rpc component=Lathe.World id=1 to=client reliable
type Parted struct {
	Step uint32 `wire:"1"`
	Sum  uint64 `wire:"2"` // the server's
}

// Wealth is what the server alone knows.
//
//compat:component name=Lathe.Wealth id=3 side=server
type Wealth struct {
	Earned uint64 `wire:"1"`
}

// State is everything that both ends have.
type State struct {
	World  World  `wire:"1"`
	Player Player `wire:"2"`
}

// NewState is the first state of a game. The same seed gives the same state.
func NewState(seed uint32, pieces int) *State {
	s := &State{Player: Player{At: Point{Width / 2, Height / 2}}}
	for range min(pieces, maxPieces) {
		s.World.Pieces = append(s.World.Pieces, Piece{At: Point{int16(scatter(&seed, Width)), int16(scatter(&seed, Height))}})
	}
	return s
}

// maxPieces is how many pieces a field has at most, as in the game's packs.
const maxPieces = 64

// scatter is the next number of a fixed sequence.
func scatter(seed *uint32, below uint32) uint32 {
	*seed = *seed*1103515245 + 12345
	return (*seed >> 16) % below
}

// Sum is the checksum of what a logic version has of the state.
func (s *State) Sum(logic int32) (uint64, error) { return compat.Checksum(s, logic) }

// Step goes on by one step, as a logic version does it: an older one has no wind.
func (s *State) Step(steer Steer, logic int32) {
	p, before := &s.Player, s.Player.Found
	wind := s.World.Wind
	if logic < 2 {
		wind = Point{}
	}
	p.At.X = min(max(p.At.X+wind.X+Speed*(one(steer.Right)-one(steer.Left)), 0), Width)
	p.At.Y = min(max(p.At.Y+wind.Y+Speed*(one(steer.Down)-one(steer.Up)), 0), Height)
	for i := range s.World.Pieces {
		if piece := &s.World.Pieces[i]; !piece.Taken && near(piece.At.X, p.At.X) && near(piece.At.Y, p.At.Y) {
			piece.Taken = true
			p.Found++
		}
	}
	if left := slices.ContainsFunc(s.World.Pieces, func(p Piece) bool { return !p.Taken }); !left {
		s.World.Round++
		for i := range s.World.Pieces {
			s.World.Pieces[i].Taken = false
		}
	}
	s.World.Still++
	if p.Found != before {
		s.World.Still = 0
		p.Streak++
	}
	if steer == (Steer{}) {
		p.Streak = 0
	}
}

func near(a, b int16) bool { return a-b < reach && b-a < reach }

func one(b bool) int16 {
	if b {
		return 1
	}
	return 0
}
