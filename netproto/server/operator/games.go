package operator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"collet/netproto/compat"
)

const (
	// GameTime is how long what a game server told counts. One that tells more often and then is silent has ended.
	GameTime = time.Minute
	// maxGameServers is how many game servers may tell of their sessions at once.
	maxGameServers = 100
	// maxGameVersions is how many logic versions one may name.
	maxGameVersions = 32
	// maxGameSessions is the largest number of sessions of one version.
	maxGameSessions = 1_000_000
)

// Games are the sessions of game servers, as these tell them. They are forgotten when the server ends. It is safe for concurrent use.
type Games struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]told // by the name of the game server
}

// told is what a game server told.
type told struct {
	sessions []GameSessions
	at       time.Time
}

// GameSessions is how many games are played in one logic version.
type GameSessions struct {
	Logic *int32 `json:"logic,omitempty"` // nil: not said
	Count int    `json:"count"`
}

// GameServer is a game server with its sessions, in groups without a target.
type GameServer struct {
	Name     string  `json:"name"`
	Sessions []Group `json:"sessions"`
	Count    int     `json:"count"` // of all of them
}

func newGames() *Games { return &Games{now: time.Now, all: map[string]told{}} }

// Tell replaces what the game server of a name told before. The error is an *InputError.
func (g *Games) Tell(name string, sessions []GameSessions) error {
	if compat.CheckName(name) != nil || len(name) > MaxActor {
		return &InputError{Field: "name", Why: fmt.Sprintf("must have 1 to %d ASCII letters, digits, '_', '.' and '-'", MaxActor)}
	}
	if len(sessions) > maxGameVersions {
		return &InputError{Field: "sessions", Why: fmt.Sprintf("has %d entries, at most %d are taken", len(sessions), maxGameVersions)}
	}
	for _, s := range sessions {
		if s.Count < 0 || s.Count > maxGameSessions {
			return &InputError{Field: "sessions.count", Why: fmt.Sprintf("must be a number from 0 to %d", maxGameSessions)}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget()
	if _, there := g.all[name]; !there && len(g.all) >= maxGameServers {
		return &InputError{Field: "name", Why: fmt.Sprintf("%d game servers tell of their sessions, the largest number", maxGameServers)}
	}
	g.all[name] = told{slices.Clone(sessions), g.now()}
	return nil
}

// forget forgets game servers that are silent. The caller holds the lock.
func (g *Games) forget() {
	maps.DeleteFunc(g.all, func(_ string, t told) bool { return g.now().Sub(t.at) > GameTime })
}

// list are the game servers by name.
func (g *Games) list() []GameServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget()
	list := []GameServer{}
	for name, t := range g.all {
		s, counts := GameServer{Name: name}, map[Group]int{}
		for _, told := range t.sessions {
			logic := NoLogicGroup
			if told.Logic != nil && *told.Logic >= 0 {
				logic = strconv.Itoa(int(*told.Logic))
			}
			counts[Group{Logic: logic}] += told.Count
			s.Count += told.Count
		}
		s.Sessions = sortGroups(counts)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b GameServer) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// gamesCollector has the metric of the game servers that tell of their sessions.
type gamesCollector struct {
	o    *Operator
	desc *prometheus.Desc
}

func newGamesCollector(o *Operator) gamesCollector {
	return gamesCollector{o, prometheus.NewDesc("compat_game_sessions", "Sessions of games, as game servers tell of them.", []string{"server", "logic"}, nil)}
}

// Describe implements prometheus.Collector.
func (c gamesCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c gamesCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.o.Games.list() {
		for _, g := range s.Sessions {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(g.Count), s.Name, g.Logic)
		}
	}
}
