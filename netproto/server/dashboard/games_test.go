package dashboard_test

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/runtime/sample/protocol"
)

// TestGameSessions counts the games of the sample's server, from its own messages.
func TestGameSessions(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	b.get(200, "/admin")
	b.lacks("Game server")
	host, err := protocol.Open("127.0.0.1:0", func(protocol.Played, error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for range 2 {
		conn, err := net.Dial("tcp", host.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		g, err := protocol.Begin(conn, protocol.CompatLogic, protocol.Field{Top: 60, Right: 640, Bottom: 340, PlayerWidth: 96, PlayerHeight: 96, PieceWidth: 40, PieceHeight: 40, Pieces: 20}, 7)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Step(protocol.Steer{}); err != nil { // answered: the game has begun
			t.Fatal(err)
		}
	}
	secret, err := o.Tokens.Create(servertest.Editor(), "games", operator.RoleView)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	tell := func(to protocol.Dashboard) (stop func()) {
		ctx, end := context.WithCancel(t.Context())
		var telling sync.WaitGroup
		telling.Go(func() {
			host.Tell(ctx, to, func(err error) {
				select {
				case failed <- err:
				default:
				}
			})
		})
		return func() { end(); telling.Wait() }
	}
	stop := tell(protocol.Dashboard{URL: b.at, Token: secret, Name: "eu-1"})
	defer stop()
	h.WaitUntil(t, func() bool { // it tells at once
		if len(failed) > 0 {
			t.Fatal(<-failed)
		}
		return len(o.Show().Games) > 0
	})
	if games := o.Show().Games; games[0].Name != "eu-1" || games[0].Count != 2 || len(games[0].Sessions) != 1 {
		t.Errorf("%+v", games)
	}
	b.get(200, "/admin")
	b.shows("Game server", "eu-1", `<td class="num">2</td>`)
	answer, text := servertest.CallAPI(t, "PUT", b.at+"/api/games/eu-2", `{"sessions": [{"logic": 7, "count": 9}, {"count": 1}]}`)
	if answer.StatusCode != 204 {
		t.Errorf("%s %s", answer.Status, text)
	}
	if games := o.Show().Games; len(games) != 2 || games[1].Count != 10 || games[1].Sessions[0].Logic != "7" {
		t.Errorf("%+v", games)
	}
	metrics := httptest.NewRecorder()
	h.Metrics().Handler().ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{`compat_game_sessions{logic="7",server="eu-2"} 9`, `compat_game_sessions{logic="none",server="eu-2"} 1`} {
		if !strings.Contains(metrics.Body.String(), line) {
			t.Errorf("no %s", line)
		}
	}
	if answer, text := servertest.CallAPI(t, "PUT", b.at+"/api/games/eu-2", `{"sessions": [{"count": -1}]}`); answer.StatusCode != 400 {
		t.Errorf("%s %s", answer.Status, text)
	}
	stop()
	if games := o.Show().Games; len(games) != 2 || games[0].Count != 0 {
		t.Errorf("a game server that ends: %+v", games)
	}
	tell(protocol.Dashboard{URL: b.at, Token: "wrong", Name: "eu-1"})()
	if err := <-failed; err == nil {
		t.Error("a wrong token is not told of")
	}
}
