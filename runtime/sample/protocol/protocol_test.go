package protocol_test

import (
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

// playAll plays some steps of a game against a server and returns what both ends said. before is called before each step.
func playAll(t *testing.T, logic int32, before func(n int, g *protocol.Game)) (client, server error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- protocol.Serve(far)
		far.Close()
	}()
	defer func() {
		near.Close()
		if server = <-done; client == nil && server != nil {
			t.Logf("the server says %v", server)
		}
	}()
	g, err := protocol.Begin(near, logic, 7, 20)
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

// TestVersionedMembers checks what keeps in step and what does not: a change of a member that the version does not have is
// nobody's business, one of a member that it has is found at once, by both ends.
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

// TestVersionsThatNobodyHas checks that a client of another time is told so.
func TestVersionsThatNobodyHas(t *testing.T) {
	for _, logic := range []int32{-1, 0, 3, 1 << 30} {
		_, server := playAll(t, logic, nil)
		var unknown *protocol.LogicError
		if !errors.As(server, &unknown) || unknown.Logic != logic || !strings.Contains(server.Error(), "is not one from 1 to 2") {
			t.Errorf("version %d: %v", logic, server)
		}
	}
}

// TestBrokenConnections checks that a connection that ends is an error of whoever waits.
func TestBrokenConnections(t *testing.T) {
	near, far := net.Pipe()
	near.Close()
	if err := protocol.Serve(far); err == nil || !strings.Contains(err.Error(), "read greeting") {
		t.Errorf("%v", err)
	}
	if _, err := protocol.Begin(far, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "greet") {
		t.Errorf("%v", err)
	}
	far.Close()
	near, far = net.Pipe()
	done := make(chan error, 1)
	go func() { done <- protocol.Serve(far) }()
	if _, err := protocol.Begin(near, 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "read step 0") {
		t.Errorf("%v", err)
	}
	far.Close()
}

// TestRules pins the game's rules: who changes them changes every version.
func TestRules(t *testing.T) {
	s := protocol.NewState(7, 1000)
	if len(s.World.Pieces) != 64 {
		t.Errorf("%d pieces", len(s.World.Pieces))
	}
	for range 1000 {
		s.Step(protocol.Steer{Right: true, Down: true}, 2)
	}
	if s.Player.At != (protocol.Point{X: protocol.Width, Y: protocol.Height}) {
		t.Errorf("the player left the field: %+v", s.Player.At)
	}
	s.World.Wind = protocol.Point{X: -2}
	s.Step(protocol.Steer{}, 1)
	s.Step(protocol.Steer{}, 2)
	if s.Player.At.X != protocol.Width-2 || s.Player.Streak != 0 {
		t.Errorf("%+v", s.Player)
	}
	s = protocol.NewState(7, 1)
	s.Player.At = s.World.Pieces[0].At
	s.Step(protocol.Steer{Up: true, Down: true}, 2)
	if s.Player.Found != 1 || s.World.Round != 1 || s.World.Pieces[0].Taken || s.Player.Streak != 1 {
		t.Errorf("%+v", s)
	}
}
