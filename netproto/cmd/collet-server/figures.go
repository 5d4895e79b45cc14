package main

import (
	"context"
	"time"

	"collet/netproto/adoption"
	"collet/netproto/server/figures"
	"collet/netproto/server/operator"
	"collet/netproto/server/releases"
)

// openFigures receives beacons on the HTTP port, if a folder for their figures is set. It writes until alive ends, which is after the last answer.
func (r *running) openFigures(alive context.Context) (err error) {
	if r.set.Operations.Figures == "" || r.sockets.http == nil {
		return nil
	}
	o := figures.Options{Folder: r.set.Operations.Figures, Name: r.monitor.NameOf, Remote: r.monitor.PlayerAddress, Now: time.Now, Log: r.log}
	if board := aboutServer(r.set).Releases; board != nil {
		o.Sizes = func() map[adoption.Has]int64 { return sizesOf(board) }
	}
	if r.figures, err = figures.Open(o); err != nil {
		r.sockets.close()
		return err
	}
	r.monitor.Mount(figures.Owns, r.figures)
	r.counting = startCounting(alive, r.figures)
	r.helpers.Go(r.counting.wait)
	return nil
}

// counting writes figures until it is stopped.
type counting struct {
	stop context.CancelFunc
	done chan struct{}
}

func startCounting(alive context.Context, f *figures.Figures) *counting {
	ctx, stop := context.WithCancel(alive)
	c := &counting{stop, make(chan struct{})}
	go func() {
		defer close(c.done)
		f.Run(ctx)
	}()
	return c
}

// wait waits for the last figures to be written.
func (c *counting) wait() {
	<-c.done
	c.stop()
}

// end writes the last figures.
func (c *counting) end() {
	c.stop()
	<-c.done
}

// reports are the figures for the operator; nil without a folder for them.
func (r *running) reports() operator.Figures {
	if r.figures == nil {
		return nil
	}
	return r.figures
}

// sizesOf are the bytes of the releases in the signed list.
func sizesOf(board *releases.Board) map[adoption.Has]int64 {
	sizes := map[adoption.Has]int64{}
	list, err := board.List()
	if err != nil {
		return nil // the page of releases says why
	}
	for _, e := range list.Releases {
		sizes[adoption.HasEntry(e.Entry.Channel, e.Entry.Target, e.Entry.Number)] = e.Bytes
	}
	return sizes
}
