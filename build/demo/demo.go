package demo

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/build/qa/process"
	"collet/build/qa/proxy"
	"collet/platform/text"
)

const (
	// bringUpLimit is the time limit until the game of release 2 is ready, in addition to the link's transfer time.
	bringUpLimit = 2 * time.Minute
	// leaveLimit is the time limit for the client to end after the game was asked to.
	leaveLimit = 30 * time.Second
)

// Options configure the demo. Programs and Out are required.
type Options struct {
	Programs    string // folder of collet-client and collet-server
	Keep        string // keep the folder here; empty: a temporary one that is removed
	Screenshots string // folder for pictures; empty: inside Keep, else a new temporary one
	Screen      Screen
	Rate        int64  // of the link in bytes a second, 0 is unlimited
	Port        int    // of the link, 0 is a free one
	LevelsMB    int    // size of the large pack of release 2 in MB of 2^20 bytes
	Lang        string // of the client, empty is the system's
	Out         io.Writer
}

// story is the state of one run of the demo.
type story struct {
	options Options
	tell    *teller
	layout  *Layout
	display *display
	server  *process.Process
	game    *gameServer
	guest   *guest
	link    *proxy.Proxy
	client  *process.Process
	printed *process.Tail // what the client prints beside its log
	log     follower
	facts   facts
	splash  bool // the splash was photographed
	colours int  // of the last photographed splash; 0: none
}

// Run plays the demo and returns nil if all its claims were verified. The error of an interruption is the context's. When Run returns,
// everything that it started has ended.
func Run(ctx context.Context, o Options) (err error) {
	s := &story{options: o, tell: newTeller(o.Out)}
	root, remove, err := folder(o.Keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s.tell.say("folder", "%s", root)
	if s.layout, err = Prepare(ctx, root, o.Programs, o.LevelsMB); err != nil {
		return err
	}
	s.introduce()
	defer s.stopAll()
	if err := s.startAll(ctx); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return s.explain(ctx, err)
	}
	if err := s.together(ctx); err != nil {
		return s.explain(ctx, err)
	}
	return nil
}

// folder makes the demo's folder; remove has no effect on a kept one.
func folder(keep string) (root string, remove func() error, err error) {
	if keep == "" {
		root, err = os.MkdirTemp("", "collet-demo-")
		return root, func() error { return os.RemoveAll(root) }, err
	}
	if root, err = filepath.Abs(keep); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", nil, err
	}
	found, err := os.ReadDir(root)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("folder %s is not empty; name a new one", root)
	}
	return root, func() error { return nil }, err
}

// introduce prints the layout.
func (s *story) introduce() {
	l := s.layout
	s.tell.say("client", "has release 1: host %s, module %s of compatibility %s, packs %s",
		filepath.Base(l.Host()), l.Library(), l.Old.Compatibility, l.Old.packNames())
	s.tell.say("client", "takes the server's module by its SHA-256 digest: Update.Trust says so, because nothing here is signed or encrypted")
	s.tell.say("server", "offers release 2: module of compatibility %s for %s, packs %s",
		l.New.Compatibility, l.Target, l.New.packNames())
}

// startAll starts server, link, game server, display and client, in that order.
func (s *story) startAll(ctx context.Context) (err error) {
	var address string
	if s.server, address, err = StartServer(ctx, s.layout, 0); err != nil {
		return err
	}
	s.tell.say("server", "listens on %s", address)
	s.link, err = proxy.Start(proxy.Options{Target: address, Port: s.options.Port, Link: proxy.Link{Rate: s.options.Rate}})
	if err != nil {
		return err
	}
	s.tell.say("link", "%s", s.describeLink())
	if err := s.layout.Point(s.link.Port(), s.options.Lang); err != nil {
		return err
	}
	if s.game, err = startGameServer(); err != nil {
		return err
	}
	s.tell.say("game", "a game server on %s plays along, step by step", s.game.host.Addr())
	s.guest = &guest{layout: s.layout, tell: s.tell, games: s.game}
	if err := s.guest.install(); err != nil {
		return err
	}
	if s.display, err = openDisplay(ctx, s.options, s.layout.Root, s.tell); err != nil {
		return err
	}
	return s.startClient()
}

func (s *story) describeLink() string {
	if s.options.Rate <= 0 {
		return fmt.Sprintf("%s passes everything on to the server, as fast as it goes", s.link.Addr())
	}
	return fmt.Sprintf("%s passes everything on to the server at %s a second, so that the splash can be watched (--rate changes it)",
		s.link.Addr(), text.Bytes(s.options.Rate))
}

// startClient starts the installed host like a player, without arguments of its own. The game gets the game server's address.
func (s *story) startClient() (err error) {
	s.printed = process.NewTail()
	o := process.Options{Path: s.layout.Host(), Args: s.game.args(), Dir: s.layout.Client(), Output: s.printed}
	if s.display.screen != nil {
		o.Env = s.display.screen.Environ()
	}
	s.log = follower{path: s.layout.Log()}
	if s.client, err = process.Start(o); err == nil {
		s.tell.say("client", "started as process %d", s.client.PID())
	}
	return err
}

// stopAll ends all processes, the client first.
func (s *story) stopAll() {
	for _, p := range []*process.Process{s.client, s.server} {
		if p != nil {
			p.Stop(politeEnd)
		}
	}
	if s.link != nil {
		s.link.Close()
	}
	if s.game != nil {
		if err := s.game.host.Close(); err != nil {
			s.tell.say("game", "%v", err)
		}
	}
	if s.display != nil {
		s.display.close()
	}
}

// explain adds diagnostics to a failure: a last screenshot, and the ends of log and output.
func (s *story) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.display.screen != nil {
		if _, shotErr := s.display.photograph("failed.png", image.Rectangle{}); shotErr != nil {
			s.tell.say("screen", "%v", shotErr)
		}
	}
	if data, readErr := os.ReadFile(s.layout.Log()); readErr == nil {
		s.tell.quote("client's log", data)
	}
	s.tell.quote("client's output", []byte(s.printed.String()))
	return err
}
