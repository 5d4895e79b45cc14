package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"collet/netproto/server"
)

// running is a server at work, with everything that an operator reaches it by.
type running struct {
	opt       options
	set       server.Settings
	log       zerolog.Logger
	sockets   sockets
	monitor   server.Monitor
	server    *server.Server
	listeners *server.Listeners // nil until they are open
	helpers   sync.WaitGroup
}

// serve runs a server until ctx ends.
func serve(ctx context.Context, opt options, set server.Settings, log zerolog.Logger) (err error) {
	r := &running{opt: opt, set: set, log: log}
	ctx, stop := context.WithCancel(ctx)
	alive, end := context.WithCancel(context.WithoutCancel(ctx)) // of what tells that the server is being stopped
	defer r.helpers.Wait()
	defer stop()
	defer end()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	defer r.close()
	if err := r.listen(ctx, alive); err != nil {
		return err
	}
	stamp := set.Stamp()
	catalogue, err := server.Open(ctx, set, log)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	r.server = server.New(catalogue, set, log)
	defer r.server.Close()
	operator, err := server.OpenOperator(set, catalogue, server.OperatorOptions{AcceptRollback: opt.AcceptRollback}, log)
	if err != nil {
		return err
	}
	if operator != nil {
		defer operator.Close()
	}
	r.server.Govern(operator)
	r.monitor.Watch(r.server)
	if err := r.control(ctx, hangup, stamp); err != nil {
		return err
	}
	tell("READY=1")
	r.helpers.Go(func() {
		<-ctx.Done()
		tell("STOPPING=1")
	})
	return r.server.Serve(ctx, r.listeners)
}

// listen takes all ports. They come before hashing gigabytes, which would be for nothing if one is taken.
func (r *running) listen(ctx, alive context.Context) error {
	var err error
	if r.sockets, err = inherited(os.Getenv, os.Getpid()); err != nil {
		return err
	}
	at, err := r.sockets.over(r.opt.addresses(r.set), r.opt.Transport)
	if err != nil {
		r.sockets.close()
		return err
	}
	all, err := server.ListenAll(ctx, at, r.sockets.players, r.set, r.log)
	if err != nil {
		return err
	}
	r.listeners = all
	return r.watchOver(ctx, alive)
}

// watchOver serves metrics and health, if they are wanted, as long as alive lasts.
func (r *running) watchOver(ctx, alive context.Context) error {
	listener := r.sockets.http
	if addr := r.set.MonitorAddress(); listener == nil && addr != "" {
		var err error
		if listener, err = server.Listen(ctx, addr); err != nil {
			var fault *server.ListenError
			if errors.As(err, &fault) {
				fault.Option = "--http or Operations.HTTPAddress"
			}
			return err
		}
	}
	if err := r.monitor.Configure(r.set, r.log); err != nil {
		if listener != nil {
			listener.Close()
		}
		return err
	}
	if listener != nil {
		r.background("serve metrics", func() error { return r.monitor.ServeMonitor(alive, listener, r.log) })
	}
	return nil
}

// control starts everything that makes the server offer what is on disk now.
func (r *running) control(ctx context.Context, hangup <-chan os.Signal, stamp uint64) error {
	if path := r.set.Operations.ControlSocket; path != "" {
		listener, err := server.ListenControl(path)
		if err != nil {
			return err
		}
		r.background("serve the control socket", func() error { return server.ServeLocal(ctx, listener, r.server, r.reload, r.log) })
	}
	if period := r.set.Operations.WatchTime; period > 0 {
		r.helpers.Go(func() { server.Watch(ctx, period, stamp, r.opt.settings, r.reload) })
	}
	r.helpers.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				r.reload(ctx) // which tells of its failure
			}
		}
	})
	return nil
}

// reload reads settings, files and certificates again.
func (r *running) reload(ctx context.Context) error {
	set, err := r.opt.settings()
	if err == nil {
		err = r.server.Reload(ctx, set)
	}
	r.listeners.Reload()
	r.monitor.Reload()
	if err != nil {
		r.log.Error().Err(err).Msg("Could not reload; what was offered before stays")
	}
	return err
}

// background runs a helper that the server can do without.
func (r *running) background(what string, helper func() error) {
	r.helpers.Go(func() {
		if err := helper(); err != nil {
			r.log.Error().Err(err).Msgf("Could not %s any longer", what)
		}
	})
}

// close is for listeners that never came to be served.
func (r *running) close() {
	if r.listeners != nil {
		r.listeners.Close()
	}
}
