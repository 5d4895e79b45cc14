package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxSteps is how many steps a server accepts from one client: a day of sixty a second.
const maxSteps = 60 * 60 * 60 * 24

// The bits of a step's steering.
const (
	bitLeft  = 1
	bitRight = 2
	bitUp    = 4
	bitDown  = 8
	bitEnd   = 128 // the last step: the player leaves
)

// greeting is a client's first message; step is its message for each step, and verdict the server's answer to it.
type (
	greeting struct {
		Logic int32
		Seed  uint32
		Field Field
	}
	step struct {
		Steer uint8
		Sum   uint64 // of the client's state after the step
	}
	verdict struct {
		Parted bool
		Step   uint32
		Sum    uint64 // of the server's
	}
)

// PartedError says that the states of both ends differ.
type PartedError struct {
	Logic          int32 // version of the checksums
	Step           uint32
	Client, Server uint64
}

func (e *PartedError) Error() string {
	return fmt.Sprintf("step %d in logic version %d: the client's state has the checksum %016x, the server's %016x: a rule or a since= or until= differs", e.Step, e.Logic, e.Client, e.Server)
}

// LogicError says that the server does not support a client's logic version.
type LogicError struct{ Logic int32 }

func (e *LogicError) Error() string {
	return fmt.Sprintf("logic version %d is not one from %d to %d", e.Logic, CompatSupportedMin, CompatLogic)
}

// Played is the result of a game on the server.
type Played struct {
	Logic int32
	Steps uint32 // in which both ends had the same state
	Sum   uint64 // of the state after the last of them
	State *State // the server's
}

// Serve plays a game in lockstep with one client until the client leaves, which is not an error, or the states differ (*PartedError).
// Other errors are *LogicError, *FieldError, and those of the connection. Only the client's field and input are used; its checksums are
// compared. Closing the connection ends the game; the caller closes it.
func Serve(conn io.ReadWriter) (p Played, err error) { return serve(conn, func(int32) {}) }

// serve is Serve; begun is called with the logic version when the game begins.
func serve(conn io.ReadWriter, begun func(logic int32)) (p Played, err error) {
	var hello greeting
	if err := binary.Read(conn, binary.LittleEndian, &hello); err != nil {
		return p, fmt.Errorf("read greeting: %w", err)
	}
	if p.Logic = hello.Logic; hello.Logic < CompatSupportedMin || hello.Logic > CompatLogic {
		return p, &LogicError{hello.Logic}
	}
	if p.State, err = NewState(hello.Field, hello.Seed); err != nil {
		return p, err
	}
	begun(p.Logic)
	for p.Steps < maxSteps {
		var told step
		if err := binary.Read(conn, binary.LittleEndian, &told); err != nil {
			return p, fmt.Errorf("read step %d: %w", p.Steps, err)
		}
		if told.Steer&bitEnd != 0 {
			return p, nil
		}
		if err := p.step(conn, told); err != nil {
			return p, err
		}
	}
	return p, errors.New("the game has no end")
}

// step performs one step and answers.
func (p *Played) step(conn io.Writer, told step) error {
	p.State.Step(unpack(told.Steer), p.Logic)
	sum, err := p.State.Sum(p.Logic)
	if err != nil {
		return err
	}
	answer := verdict{Parted: sum != told.Sum, Step: p.Steps, Sum: sum}
	if err := binary.Write(conn, binary.LittleEndian, answer); err != nil {
		return fmt.Errorf("answer step %d: %w", p.Steps, err)
	}
	if answer.Parted {
		return &PartedError{p.Logic, p.Steps, told.Sum, sum}
	}
	p.Steps, p.Sum = p.Steps+1, sum
	return nil
}

// Game is the client's end of a game, for one goroutine. Begin makes one.
type Game struct {
	State *State
	Logic int32

	conn  io.ReadWriter
	steps uint32
}

// Begin sends the greeting and makes the first state. The error is a *FieldError or the connection's.
func Begin(conn io.ReadWriter, logic int32, f Field, seed uint32) (*Game, error) {
	state, err := NewState(f, seed)
	if err != nil {
		return nil, err
	}
	if err := binary.Write(conn, binary.LittleEndian, greeting{logic, seed, f}); err != nil {
		return nil, fmt.Errorf("greet: %w", err)
	}
	return &Game{State: state, Logic: logic, conn: conn}, nil
}

// Step performs a step and sends its checksum to the server. The error is a *PartedError if the states differ.
func (g *Game) Step(steer Steer) error {
	g.State.Step(steer, g.Logic)
	sum, err := g.State.Sum(g.Logic)
	if err != nil {
		return err
	}
	if err := binary.Write(g.conn, binary.LittleEndian, step{pack(steer), sum}); err != nil {
		return fmt.Errorf("send step %d: %w", g.steps, err)
	}
	var answer verdict
	if err := binary.Read(g.conn, binary.LittleEndian, &answer); err != nil {
		return fmt.Errorf("read answer to step %d: %w", g.steps, err)
	}
	if answer.Parted {
		return &PartedError{g.Logic, answer.Step, sum, answer.Sum}
	}
	g.steps++
	return nil
}

// End tells the server that the player leaves.
func (g *Game) End() error {
	return binary.Write(g.conn, binary.LittleEndian, step{Steer: bitEnd})
}

// steering lists the members in the order of bits, for packing and unpacking.
func steering(s *Steer) []*bool { return []*bool{&s.Left, &s.Right, &s.Up, &s.Down} }

var bits = []uint8{bitLeft, bitRight, bitUp, bitDown}

func pack(s Steer) (packed uint8) {
	for i, on := range steering(&s) {
		if *on {
			packed |= bits[i]
		}
	}
	return packed
}

func unpack(packed uint8) (s Steer) {
	for i, on := range steering(&s) {
		*on = packed&bits[i] != 0
	}
	return s
}
