package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collet/build/qa/process"
	"collet/runtime/sample/protocol"
)

const (
	// guestSteps is how long the player on release 1 plays, in steps of 20 ms.
	guestSteps = 50
	// guestLimit is the time limit for that, including start and end; endLimit is the game server's time limit to notice an end.
	guestLimit, endLimit = time.Minute, 10 * time.Second
	// guestLogic is the logic version of that player's release.
	guestLogic = 1
)

// played is the end of a game as the game server recorded it.
type played struct {
	protocol.Played
	err error
}

// gameServer simulates the sample game step by step, and records the result of each game.
type gameServer struct {
	host *protocol.Host
	ends chan played
}

// startGameServer starts one on the loopback interface.
func startGameServer() (g *gameServer, err error) {
	g = &gameServer{ends: make(chan played, 2)} // this story has two games
	g.host, err = protocol.Open("127.0.0.1:0", func(p protocol.Played, err error) {
		select {
		case g.ends <- played{p, err}:
		default: // an unexpected additional game
		}
	})
	return g, err
}

// args returns the game's arguments with the server's address, after the host's own arguments.
func (g *gameServer) args(more ...string) []string {
	return append([]string{"--", "--server", g.host.Addr()}, more...)
}

// nextGame returns the end of the next game.
func (g *gameServer) nextGame(ctx context.Context) (p played, err error) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	select {
	case p = <-g.ends:
		return p, nil
	case <-ctx.Done():
		return p, fmt.Errorf("the game server has seen no game to its end: %w", ctx.Err())
	}
}

// checkGame checks that an ended game was in step to its end, according to the server and to the game's lines in its host's log.
func (g *gameServer) checkGame(ctx context.Context, tell *teller, who, log string, logic int32) error {
	p, err := g.nextGame(ctx)
	switch {
	case err != nil:
		return err
	case p.err != nil:
		return fmt.Errorf("the game of %s: %w", who, p.err)
	case p.Logic != logic || p.Steps == 0:
		return fmt.Errorf("the game of %s was played for %d steps in logic version %d, want some in %d", who, p.Steps, p.Logic, logic)
	}
	said := fmt.Sprintf("in step with the game server to the end: %d steps, logic version %d, checksum %016x", p.Steps, p.Logic, p.Sum)
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), said) {
		return fmt.Errorf("the game of %s does not say %q; see %s", who, said, log)
	}
	tell.say("check", "the game of %s and the game server had the same world in each of %d steps: logic version %d, checksum %016x in the end", who, p.Steps, p.Logic, p.Sum)
	return nil
}

// guest is a player who stays on release 1.
type guest struct {
	layout *Layout
	tell   *teller
	games  *gameServer
}

// install installs release 1 a second time, for a player who does not update.
func (g *guest) install() error {
	l := g.layout
	if err := os.CopyFS(filepath.Join(l.Guest(), packFolder), os.DirFS(filepath.Join(l.Client(), packFolder))); err != nil {
		return err
	}
	return copyFile(filepath.Join(l.Guest(), l.Library()), l.LiveModule(), 0o644)
}

// play plays release 1 on the same game server by its own logic version, without a window.
func (g *guest) play(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, guestLimit)
	defer cancel()
	printed := process.NewTail()
	args := []string{"--headless", "--run", "--offline", "--dir", g.layout.Guest(), "--runtime-name", game}
	args = append(args, g.games.args("--logic", fmt.Sprint(guestLogic), "--frames", fmt.Sprint(guestSteps))...)
	client, err := process.Start(process.Options{
		Path: g.layout.Host(), Args: args, Dir: g.layout.Guest(), Output: printed,
		Env: append(os.Environ(), "SDL_VIDEODRIVER=dummy"), // a driver that shows nothing: the game plays as text
	})
	if err != nil {
		return err
	}
	defer client.Stop(politeEnd)
	g.tell.say("guest", "still has release 1, and plays on the same game server as process %d", client.PID())
	select {
	case <-client.Done():
	case <-ctx.Done():
		err = fmt.Errorf("release 1 does not end: %w", ctx.Err())
	}
	if err == nil && client.Code() != 0 {
		err = fmt.Errorf("release 1 ended with code %d, want 0", client.Code())
	}
	if err == nil {
		err = g.games.checkGame(ctx, g.tell, "release 1", filepath.Join(g.layout.Guest(), game+".log"), guestLogic)
	}
	if err != nil {
		g.tell.quote("guest's output", []byte(printed.String()))
	}
	return err
}

// together ends the story: both releases were in step with one game server, each by its own logic version.
func (s *story) together(ctx context.Context) error {
	return errors.Join(s.game.checkGame(ctx, s.tell, "release 2", s.layout.Log(), protocol.CompatLogic), s.guest.play(ctx))
}
