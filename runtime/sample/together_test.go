package sample_test

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"collet/runtime/sample/protocol"
)

// played is a game as a game server knows it at its end.
type played struct {
	protocol.Played
	err error
}

// gameServer is a game server of the test, which tells each end of a game.
func gameServer(t *testing.T) (addr string, ends chan played) {
	t.Helper()
	ends = make(chan played, 10)
	h, err := protocol.Open("127.0.0.1:0", func(p protocol.Played, err error) { ends <- played{p, err} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.Addr(), ends
}

// large are packs whose pictures are so large that a round is over soon.
func large(items int) content {
	c := good()
	c.core["game.txt"] = fmt.Appendf(nil, "title=Lathe Test\ngreeting=Hello.\nitems=%d\n", items)
	c.art["item.bmp"], c.art["player.bmp"] = encode(disc(350, magenta)), encode(disc(350, magenta))
	return c
}

var inStep = regexp.MustCompile(`in step with the game server to the end: (\d+) steps, logic version (\d+), checksum ([0-9a-f]{16})`)

// TestTogether plays the game, in C, with a game server, in Go, in both logic versions, from the first step to the last: both ends count
// what the version has of the world, with nothing but the declarations in common.
func TestTogether(t *testing.T) {
	module := build(t)
	addr, ends := gameServer(t)
	sums := map[string]int32{}
	for logic := range protocol.CompatBaselines() {
		for items, packs := range map[int]content{12: good(), 1: large(1)} {
			got := run(t, patience, module, "--ClientResources", packs.write(t), "--frames", "80", "--logic", fmt.Sprint(logic), "--server", addr)
			if got.code != 0 || got.result == nil || !got.result.Success {
				t.Fatalf("version %d: %+v", logic, got)
			}
			end := <-ends
			found := inStep.FindStringSubmatch(strings.Join(got.logs, "\n"))
			if found == nil || end.err != nil || end.Logic != logic || end.Steps != 80 {
				t.Fatalf("version %d: the game says %q, the server %+v", logic, got.logs, end)
			}
			if found[1] != "80" || found[2] != fmt.Sprint(logic) || found[3] != fmt.Sprintf("%016x", end.Sum) {
				t.Errorf("version %d: the game says %q, the server %d steps and %016x", logic, found[0], end.Steps, end.Sum)
			}
			if other, seen := sums[found[3]]; seen {
				t.Errorf("versions %d and %d have the checksum %s", logic, other, found[3])
			}
			sums[found[3]] = logic
			if w := end.State.World; items == 1 && (w.Round == 0 || end.State.Player.Found == 0) {
				t.Errorf("version %d: no round is over: %+v", logic, w)
			}
		}
	}
	if len(ends) > 0 {
		t.Errorf("there was another game: %+v", <-ends)
	}
}

// TestApart: a server that sees another world is told of in the log, and the game goes on alone; so it does where there is no server,
// or one that breaks off.
func TestApart(t *testing.T) {
	module, packs := build(t), good().write(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	answers := make(chan []byte, 2)
	go func() {
		for answer := range answers {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			greeting := make([]byte, 26+9) // and the first step
			for n := 0; n < len(greeting) && err == nil; {
				var more int
				more, err = conn.Read(greeting[n:])
				n += more
			}
			_, _ = conn.Write(answer) // the game says what came of it
			conn.Close()
		}
	}()
	defer close(answers)
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().String()
	if err := errors.Join(err, free.Close()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, server string
		answer       []byte
		says         string
	}{
		{"another world", listener.Addr().String(), []byte{1, 0, 0, 0, 0, 0xEF, 0xBE, 0xAD, 0xDE, 0, 0, 0, 0},
			`^3 out of step with the game server: step 0 in logic version 2: this world has the checksum [0-9a-f]{16}, the server's 00000000deadbeef$`},
		{"half an answer", listener.Addr().String(), []byte{0, 0, 0}, `^3 out of step with the game server: it is gone, or takes too long$`},
		{"no server", closed, nil, `^2 no game server, the game plays alone: no server answers at 127\.0\.0\.1:\d+$`},
		{"no port", "127.0.0.1", nil, `^2 no game server, the game plays alone: 127\.0\.0\.1 is not like 192\.0\.2\.1:4100$`},
		{"no number", "127.0.0.1:http", nil, `is not like`}, {"no port at all", "127.0.0.1:0", nil, `is not like`},
		{"a long name", strings.Repeat("a", 200) + ":80", nil, `is not like`}, {"a name", "localhost:80", nil, `no server answers at localhost:80`},
	} {
		if test.answer != nil {
			answers <- test.answer
		}
		got := run(t, patience, module, "--ClientResources", packs, "--frames", "3", "--server", test.server)
		if got.code != 0 || got.result == nil || !got.result.Success || got.ready != 1 {
			t.Errorf("%s: %+v", test.name, got)
		}
		said := regexp.MustCompile(test.says)
		count := 0
		for _, l := range got.logs {
			if said.MatchString(l) {
				count++
			}
			if strings.Contains(l, "to the end") {
				t.Errorf("%s: %s", test.name, l)
			}
		}
		if count != 1 {
			t.Errorf("%s: said %q", test.name, got.logs)
		}
	}
}
