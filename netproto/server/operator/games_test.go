package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGames: what game servers tell counts for a minute, in bounds.
func TestGames(t *testing.T) {
	t.Parallel()
	at, g := time.Unix(1_700_000_000, 0), newGames()
	g.now = func() time.Time { return at }
	says := func(name string, sessions ...GameSessions) {
		t.Helper()
		if err := g.Tell(name, sessions); err != nil {
			t.Error(err)
		}
	}
	seven, ten := int32(7), int32(10)
	says("eu-1", GameSessions{&seven, 4}, GameSessions{&seven, 5}, GameSessions{&ten, 2}, GameSessions{nil, 1})
	at = at.Add(GameTime / 2)
	says("eu-2", GameSessions{&seven, 1})
	list := g.list()
	want := []Group{{Logic: "7", Count: 9}, {Logic: "10", Count: 2}, {Logic: NoLogicGroup, Count: 1}}
	if len(list) != 2 || list[0].Name != "eu-1" || list[0].Count != 12 || !slices.Equal(list[0].Sessions, want) || list[1].Count != 1 {
		t.Errorf("%+v", list)
	}
	at = at.Add(GameTime/2 + time.Second)
	if list = g.list(); len(list) != 1 || list[0].Name != "eu-2" {
		t.Errorf("a silent game server counts: %+v", list)
	}
	says("eu-2")
	if list = g.list(); len(list) != 1 || list[0].Count != 0 {
		t.Errorf("%+v", list)
	}
	for i := range maxGameServers - 1 {
		says(fmt.Sprintf("s%d", i))
	}
	says("eu-2")
	var input *InputError
	for why, fault := range map[string]error{
		"100 game servers":           g.Tell("one-more", nil),
		"ASCII letters":              g.Tell("eu 1", nil),
		"1 to 64":                    g.Tell(strings.Repeat("a", 65), nil),
		"33 entries":                 g.Tell("eu-2", make([]GameSessions, 33)),
		"a number from 0 to 1000000": errors.Join(g.Tell("eu-2", []GameSessions{{nil, -1}}), g.Tell("eu-2", []GameSessions{{nil, 1_000_001}})),
	} {
		if !errors.As(fault, &input) || !strings.Contains(fault.Error(), why) {
			t.Errorf("%s: %v", why, fault)
		}
	}
	at = at.Add(2 * GameTime)
	says("one-more")
}
