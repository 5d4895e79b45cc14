package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/platform/text"
)

const (
	// lookEvery is how often log and screen are looked at.
	lookEvery = 50 * time.Millisecond
	// tellEvery is how often the progress of the link is told.
	tellEvery = time.Second
	// midway is the part of the packs' bytes after which the splash is photographed.
	midway = 0.4
	// windowWait is how long the game's window may take to be found once the game says that it shows it.
	windowWait = time.Minute
	// drawWait is how long the window may take to have something in it.
	drawWait = time.Minute
)

// play follows the client until the game of release 2 is up, checks everything, and sees the game to its end.
func (s *story) play(ctx context.Context) error {
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	if err := s.checkSwap(); err != nil {
		return err
	}
	if s.display.screen == nil {
		s.tell.say("demo", "the game is yours; leave it with Escape or close its window to end the demo")
		return s.waitEnd(ctx)
	}
	game, err := s.checkWindow(ctx)
	if err != nil {
		return err
	}
	s.tell.say("demo", "pressing Escape in the game's window")
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	if err := s.display.screen.KeyUntil(ctx, game, "Escape", s.client.Done()); err != nil && ctx.Err() == nil {
		return err
	}
	return s.waitEnd(ctx)
}

// waitReady tells the log as it grows until the module of release 2 says that it is ready.
func (s *story) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	told := time.Now()
	for {
		if err := s.follow(); err != nil {
			return err
		}
		if s.facts.ready && s.facts.swaps > 0 {
			return nil
		}
		if s.facts.fetching() && time.Since(told) >= tellEvery {
			told = time.Now()
			_, down := s.link.Bytes()
			s.tell.say("link", "%s have come through", text.Bytes(down))
		}
		if err := s.watchSplash(ctx); err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-s.client.Done():
			return errors.Join(fmt.Errorf("the client ended with code %d before the game of release 2 was up", s.client.Code()), s.follow())
		case <-s.server.Done():
			return fmt.Errorf("the server ended with code %d", s.server.Code())
		case <-ctx.Done():
			return fmt.Errorf("the game of release 2 is not up: %w", ctx.Err())
		}
	}
}

// patience is how long the update may take on this link.
func (s *story) patience() time.Duration {
	if s.options.Rate <= 0 {
		return bringUpLimit
	}
	return bringUpLimit + time.Duration(s.layout.New.size()/s.options.Rate)*2*time.Second
}

// follow reads the log, keeps the facts and tells those worth it.
func (s *story) follow() error {
	lines, err := s.log.nextLines()
	for _, l := range lines {
		if text, worth := s.facts.readLine(l); worth {
			s.tell.say("client", "%s", text)
		}
	}
	return err
}

// watchSplash photographs the splash once, in the middle of the packs' download.
func (s *story) watchSplash(ctx context.Context) error {
	_, down := s.link.Bytes()
	if s.display.screen == nil || s.splash || !s.facts.fetching() || float64(down) < midway*float64(s.layout.New.size()) {
		return nil
	}
	windows, err := s.display.windowsOf(ctx, s.client.PID())
	if err != nil {
		return err
	}
	switch len(windows) {
	case 0:
		return nil // it is not open yet
	case 1:
	default:
		return fmt.Errorf("the host shows %d windows during the download, want its splash: %v", len(windows), windows)
	}
	s.colours, err = s.display.photograph("splash.png", windows[0].Bounds)
	s.splash = s.colours >= enoughColours // one that was not drawn yet is looked at again, as long as the download lasts
	return err
}

// waitEnd waits until the client has ended, and wants exit code 0.
func (s *story) waitEnd(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if err := s.follow(); err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-s.client.Done():
			return s.checkEnd()
		case <-ctx.Done():
			return fmt.Errorf("the client does not end: %w", ctx.Err())
		}
	}
}

func (s *story) checkEnd() error {
	if err := s.follow(); err != nil {
		return err
	}
	if code := s.client.Code(); code != 0 {
		return fmt.Errorf("the client ended with code %d, want 0", code)
	}
	s.tell.say("client", "ended with exit code 0")
	return nil
}
