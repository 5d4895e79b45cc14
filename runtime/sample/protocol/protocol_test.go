package protocol_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"collet/netproto/compat"
	"collet/runtime/sample/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestT15Generated checks that the generated table can be registered and sealed, that its views are the released ones, and that
// what the server alone knows is not in them.
func TestT15Generated(t *testing.T) {
	var r compat.Registry
	if _, err := r.Manifest(compat.Build{}); !errors.Is(err, compat.ErrUnsealed) {
		t.Errorf("before Seal: %v", err)
	}
	if err := protocol.CompatRegister(&r); err != nil {
		t.Fatal(err)
	}
	m, err := r.Manifest(compat.Build{Logic: protocol.CompatLogic})
	if err != nil || len(m.Entries) != 2 || m.Build.Components != protocol.CompatSet {
		t.Errorf("%v: %+v", err, m)
	}
	for logic, set := range protocol.CompatBaselines() {
		data, err := os.ReadFile(filepath.Join("baselines", string(rune('0'+logic))+".json"))
		if err != nil {
			t.Fatal(err)
		}
		shipped, err := compat.ParseManifest(data)
		if err != nil || shipped.Build.Components != set || shipped.Build.Logic != logic {
			t.Errorf("%v: version %d shipped %+v, the source has %016x", err, logic, shipped.Build, set)
		}
	}
}

// field is that of a release: what the sample game's packs make of its window.
func field() protocol.Field {
	return protocol.Field{Top: 60, Right: 640, Bottom: 340, PlayerWidth: 96, PlayerHeight: 96, PieceWidth: 40, PieceHeight: 40, Pieces: 20}
}

// state is the first one of a game on that field.
func state(t *testing.T, pieces uint16) *protocol.State {
	t.Helper()
	f := field()
	f.Pieces = pieces
	s, err := protocol.NewState(f, 7)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// playAll plays some steps of a game against a server and returns what both ends said. before is called before each step.
func playAll(t *testing.T, logic int32, before func(n int, g *protocol.Game)) (client, server error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := protocol.Serve(far)
		done <- err
		far.Close()
	}()
	defer func() {
		near.Close()
		if server = <-done; client == nil && server != nil {
			t.Logf("the server says %v", server)
		}
	}()
	g, err := protocol.Begin(near, logic, field(), 7)
	if err != nil {
		return err, nil
	}
	for n := range 200 {
		if before != nil {
			before(n, g)
		}
		if err := g.Step(protocol.Steer{Right: n%50 < 30, Left: n%70 > 40, Up: n%40 < 10, Down: n%40 > 22}); err != nil {
			return err, nil
		}
	}
	if g.State.Player.Found == 0 {
		t.Error("nothing was found; the game is too dull to test anything")
	}
	return g.End(), nil
}

// TestInStep plays a game in each supported version from its first step to its last.
func TestInStep(t *testing.T) {
	for logic := range protocol.CompatBaselines() {
		if client, server := playAll(t, logic, nil); client != nil || server != nil {
			t.Errorf("version %d: %v, %v", logic, client, server)
		}
	}
}

// TestVersionedMembers: a change of a member that the version does not have is ignored. A change of a member that it has is found at
// once, by both ends.
func TestVersionedMembers(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*protocol.State)
		counts map[int32]bool
	}{
		"place":  {func(s *protocol.State) { s.Player.At.X++ }, map[int32]bool{1: true, 2: true}},
		"piece":  {func(s *protocol.State) { s.World.Pieces[19].At.Y++ }, map[int32]bool{1: true, 2: true}},
		"still":  {func(s *protocol.State) { s.World.Still++ }, map[int32]bool{1: true, 2: false}},
		"streak": {func(s *protocol.State) { s.Player.Streak++ }, map[int32]bool{1: false, 2: true}},
		"wind":   {func(s *protocol.State) { s.World.Wind.X = 1 }, map[int32]bool{1: false, 2: true}},
	} {
		for logic, counts := range row.counts {
			client, server := playAll(t, logic, func(n int, g *protocol.Game) {
				if n == 100 {
					row.change(g.State)
				}
			})
			var here, there *protocol.PartedError
			if !counts {
				if client != nil || server != nil {
					t.Errorf("%s in version %d: %v, %v", name, logic, client, server)
				}
				continue
			}
			if !errors.As(client, &here) || !errors.As(server, &there) || *here != *there || here.Step != 100 || here.Logic != logic {
				t.Errorf("%s in version %d: %v, %v", name, logic, client, server)
			}
		}
	}
}

// TestUnknownVersions checks that a client of another version is told so.
func TestUnknownVersions(t *testing.T) {
	for _, logic := range []int32{-1, 0, 3, 1 << 30} {
		_, server := playAll(t, logic, nil)
		var unknown *protocol.LogicError
		if !errors.As(server, &unknown) || unknown.Logic != logic || !strings.Contains(server.Error(), "is not one from 1 to 2") {
			t.Errorf("version %d: %v", logic, server)
		}
	}
}

// TestBrokenConnections checks that the end of a connection is an error of the waiting call.
func TestBrokenConnections(t *testing.T) {
	near, far := net.Pipe()
	near.Close()
	if _, err := protocol.Serve(far); err == nil || !strings.Contains(err.Error(), "read greeting") {
		t.Errorf("%v", err)
	}
	if _, err := protocol.Begin(far, 1, field(), 1); err == nil || !strings.Contains(err.Error(), "greet") {
		t.Errorf("%v", err)
	}
	far.Close()
	near, far = net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := protocol.Serve(far)
		done <- err
	}()
	if _, err := protocol.Begin(near, 1, field(), 1); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "read step 0") {
		t.Errorf("%v", err)
	}
	far.Close()
}

// TestFields refuses games that can't be played, whichever end wants them.
func TestFields(t *testing.T) {
	for name, change := range map[string]func(*protocol.Field){
		"no pieces": func(f *protocol.Field) { f.Pieces = 0 }, "too many": func(f *protocol.Field) { f.Pieces = protocol.MaxPieces + 1 },
		"no width": func(f *protocol.Field) { f.Left, f.Right = 640, 0 }, "no room for the player": func(f *protocol.Field) { f.PlayerHeight = 281 },
		"no room for a piece": func(f *protocol.Field) { f.PieceWidth = 65535 }, "outside": func(f *protocol.Field) { f.Top = -1 },
	} {
		f := field()
		change(&f)
		var none *protocol.FieldError
		if _, err := protocol.NewState(f, 7); !errors.As(err, &none) || none.Field != f {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := protocol.Begin(nil, 1, f, 7); !errors.As(err, &none) {
			t.Errorf("%s, at the client: %v", name, err)
		}
		var hello bytes.Buffer
		if err := binary.Write(&hello, binary.LittleEndian, struct {
			Logic int32
			Seed  uint32
			Field protocol.Field
		}{2, 7, f}); err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.Serve(&hello); !errors.As(err, &none) {
			t.Errorf("%s, at the server: %v", name, err)
		}
	}
}

// TestRules pins the game's rules: a change of them changes every version.
func TestRules(t *testing.T) {
	s := state(t, 20)
	if s.Player.At != (protocol.Point{X: 272, Y: 152}) {
		t.Errorf("the player begins at %+v", s.Player.At)
	}
	for i, p := range s.World.Pieces {
		if p.Taken || p.At.X < 20 || p.At.X >= 580 || p.At.Y < 80 || p.At.Y >= 280 {
			t.Errorf("piece %d: %+v", i, p)
		}
	}
	for range 1000 {
		s.Step(protocol.Steer{Right: true, Down: true}, 2)
	}
	if s.Player.At != (protocol.Point{X: 544, Y: 244}) || s.World.Still < 900 {
		t.Errorf("the player left the field: %+v, %+v", s.Player, s.World.Still)
	}
	s.World.Wind = protocol.Point{X: -2}
	s.Step(protocol.Steer{}, 1)
	s.Step(protocol.Steer{}, 2)
	if s.Player.At.X != 542 || s.Player.Streak != 0 {
		t.Errorf("%+v", s.Player)
	}
	s = state(t, 1)
	for round := range uint32(5) {
		before := s.World.Pieces[0].At
		s.Player.At = before
		s.Step(protocol.Steer{Up: true, Down: true}, 2)
		if s.Player.Found != round+1 || s.World.Round != round+1 || s.World.Pieces[0].Taken || s.Player.Streak != uint16(round+1) || s.World.Still != 0 {
			t.Errorf("round %d: %+v", round, s)
		}
		if wind := s.World.Wind; wind != (protocol.Point{X: int16((round + 1) % 3)}) || s.World.Pieces[0].At == before {
			t.Errorf("round %d: wind %+v, the piece lies at %+v", round, wind, s.World.Pieces[0].At)
		}
	}
}

// TestHost plays on a server as it is started for real: several games at once, one that has come apart, one that is no game, and one
// that is under way when the server ends.
func TestHost(t *testing.T) {
	type end struct {
		protocol.Played
		err error
	}
	ends := make(chan end, 10)
	host, err := protocol.Open("127.0.0.1:0", func(p protocol.Played, err error) { ends <- end{p, err} })
	if err != nil {
		t.Fatal(err)
	}
	join := func(logic int32) (*protocol.Game, net.Conn) {
		conn, err := net.Dial("tcp", host.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		g, err := protocol.Begin(conn, logic, field(), 7)
		if err != nil {
			t.Fatal(err)
		}
		return g, conn
	}
	old, _ := join(1)
	young, _ := join(2)
	for range 50 {
		if err := errors.Join(old.Step(protocol.Steer{Left: true}), young.Step(protocol.Steer{Right: true})); err != nil {
			t.Fatal(err)
		}
	}
	for logic, g := range map[int32]*protocol.Game{1: old, 2: young} {
		if err := g.End(); err != nil {
			t.Fatal(err)
		}
		sum, err := g.State.Sum(logic)
		if e := <-ends; err != nil || e.err != nil || e.Logic != logic || e.Steps != 50 || e.Sum != sum || e.State.Player != g.State.Player {
			t.Errorf("version %d: %+v, %v", logic, e, err)
		}
	}
	apart, _ := join(2)
	apart.State.Player.Found++
	var parted *protocol.PartedError
	if err := apart.Step(protocol.Steer{}); !errors.As(err, &parted) {
		t.Error(err)
	}
	if e := <-ends; !errors.As(e.err, &parted) || e.Steps != 0 {
		t.Errorf("%+v", e)
	}
	scan, err := net.Dial("tcp", host.Addr())
	if err != nil {
		t.Fatal(err)
	}
	scan.Close()
	left, conn := join(1)
	if err := left.Step(protocol.Steer{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
	if e := <-ends; e.err == nil || e.Steps != 1 || len(ends) > 0 {
		t.Errorf("%+v, and %d more", e, len(ends))
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the server is closed and its game goes on")
	}
	if _, err := protocol.Open(host.Addr()+"0", nil); err == nil || !strings.Contains(err.Error(), "game server") {
		t.Errorf("an address that is none: %v", err)
	}
}
