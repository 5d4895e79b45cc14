package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestHandOverInVain closes the store of a serving server for another process, and opens it again: who plays goes on, who has not said
// hello is ended, and who comes meanwhile waits and is judged by what the store has then.
func TestHandOverInVain(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h := servertest.New()
	o := h.OpenWithOperator(t, set, operator.Options{})
	all, err := server.ListenAll(t.Context(), config.Addresses{TCP: anywhere}, server.Sockets{}, set, h.Logger())
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, all)
	plays := h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.Accept, compat.RuleAccept)
	servertest.Next[*netproto.FileList](plays)
	servertest.Next[*netproto.Ping](plays)
	silent := h.Dial(t, netproto.C1)
	h.WaitUntil(t, func() bool { return h.Connections() == 2 })

	all.Pause()
	late := h.Dial(t, netproto.C1)
	late.Send(servertest.VersionHandshake(6, "Linux-x64"))
	h.AwaitVerdicts(0)
	silent.ReadToEnd()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	admin.Handler(o, servertest.Editor()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/compat", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("the API of a closed store answers %d", answer.Code)
	}
	other, err := operator.Open(set.Compat.Store, h.Catalogue().Declared(), operator.Options{}, h.Logger()) // the other process
	if err != nil {
		t.Fatal(err)
	}
	servertest.ChangeSettings(t, other, func(s *compat.Settings) { s.Maintenance.Enabled = true })
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := operator.Open(set.Compat.Store, h.Catalogue().Declared(), operator.Options{After: o}, h.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	h.Govern(again)
	if groups := again.Show().Connected; len(groups) != 1 || groups[0].Count != 1 {
		t.Errorf("the sessions %+v are known, want that of the client that plays", groups)
	}
	release, err := again.HoldStore()
	if err != nil {
		t.Fatal(err)
	}
	var held *operator.InputError
	if _, err := again.MoveStore(t.Context(), servertest.Editor(), operator.Move{From: operator.KindBolt, To: operator.KindNATS}); !errors.As(err, &held) || held.Field != "store" {
		t.Errorf("a store is moved while it is handed over: %v", err)
	}
	release()
	all.Resume()

	if got := servertest.Next[*netproto.HandshakeAnswer](late).Judgement(netproto.C1).Verdict; got != compat.Maintenance {
		t.Errorf("who came meanwhile is told %v", got)
	}
	plays.Send(&netproto.Ping{})
	servertest.Next[*netproto.Ping](plays)
	h.AwaitVerdicts(time.Minute) // no client is left to be judged
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.Maintenance, compat.RuleMaintenance)
}
