package wine

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// anchor is a program that waits for its input to end. As long as one runs, so do the services that every program needs,
// and none of them has to start them again. It ends when this process does, however that ends, and the services follow.
type anchor struct {
	cmd   *exec.Cmd
	input io.Closer
}

// serve starts the process that all programs of a prefix share. It is tried again because the one of a prefix that was
// removed may be about to end: its socket lies in a folder that is named after the number of the prefix' folder.
func (p *Prefix) serve() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	for range attempts {
		if err = p.server(ctx); err == nil {
			return nil
		}
		time.Sleep(lockPoll)
	}
	return err
}

// drop starts the anchor of the prefix.
func (p *Prefix) drop() error {
	if err := p.serve(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command("wine", "cmd.exe", "/q")
	cmd.Env = p.Environ()
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start wine: %w", err)
	}
	p.anchor = &anchor{cmd, input}
	if p.life.Err() != nil {
		p.life, p.end = context.WithCancel(context.Background())
	}
	return nil
}

// weigh ends it, if there is one, and what Command has started.
func (p *Prefix) weigh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	if p.anchor == nil {
		return
	}
	p.anchor.input.Close()
	p.anchor.cmd.Process.Kill()
	p.anchor.cmd.Wait() // killed
	p.anchor = nil
}
