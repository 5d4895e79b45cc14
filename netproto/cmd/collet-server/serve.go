package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"collet"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/cluster"
	"collet/netproto/server/config"
	"collet/netproto/server/dashboard"
	"collet/netproto/server/figures"
	"collet/netproto/server/operator"
	"collet/netproto/server/origin"
	"collet/netproto/server/releases"
	"collet/netproto/server/signin"
)

// running is a running server with its listeners, its monitor and its helpers.
type running struct {
	opt       options
	set       config.Settings
	log       zerolog.Logger
	sockets   sockets
	monitor   origin.Monitor
	server    *server.Server
	listeners *server.Listeners // nil until they are open
	figures   *figures.Figures  // nil without Operations.Figures
	helpers   sync.WaitGroup
}

// serve runs a server until ctx ends.
func serve(ctx context.Context, opt options, set config.Settings, log zerolog.Logger) (err error) {
	r := &running{opt: opt, set: set, log: log}
	ctx, stop := context.WithCancel(ctx)
	alive, end := context.WithCancel(context.WithoutCancel(ctx)) // for the monitor, which reports the stopping server
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
	stamp := catalogue.Stamp(set)
	catalogue, err := catalogue.Open(ctx, set, log)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	r.server = server.New(catalogue, set, log)
	r.server.Metrics().SetVersion(collet.Version())
	defer r.server.Close()
	if r.figures != nil {
		r.server.Metrics().Register(r.figures)
	}
	var op *operator.Operator
	if set.Compat.Store != "" {
		op, err = r.openOperator(ctx, catalogue.Declared(), operator.Options{AcceptRollback: opt.AcceptRollback, Figures: r.reports()})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		defer op.Close()
		if err := r.createFirstToken(op); err != nil {
			return err
		}
		r.server.Govern(op)
	}
	r.monitor.Watch(r.server)
	if err := r.startReloads(ctx, hangup, stamp); err != nil {
		return err
	}
	notifyManager("READY=1")
	r.helpers.Go(func() {
		<-ctx.Done()
		notifyManager("STOPPING=1")
	})
	return r.server.Serve(ctx, r.listeners)
}

// openOperator opens the store of the settings: the server's own, or that of a cluster.
func (r *running) openOperator(ctx context.Context, d *compat.Declared, opt operator.Options) (*operator.Operator, error) {
	started := false
	store, err := cluster.OpenNode(ctx, func() (c cluster.Config, err error) {
		set := r.set
		if started { // for a move: as they are now
			if set, err = r.opt.settings(); err != nil {
				return c, err
			}
		}
		switch {
		case set.Compat.Store != r.set.Compat.Store:
			return c, &config.Error{Key: "Compat.Store", Text: "was changed: start the server again first"}
		case set.Cluster.Name == "":
			return c, nil
		}
		return cluster.FromSettings(set, os.Getenv, r.log)
	}, r.set.Compat.Store, r.log)
	if err != nil {
		return nil, err
	}
	started = true
	o, err := operator.New(store, d, opt, r.log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return o, nil
}

// listen opens all ports. It runs before the hashing of gigabytes, so an occupied port fails early.
func (r *running) listen(ctx, alive context.Context) error {
	var err error
	if r.sockets, err = inheritSockets(os.Getenv, os.Getpid()); err != nil {
		return err
	}
	at, err := r.sockets.replaceAddresses(r.opt.addresses(r.set), r.opt.Transport)
	if err != nil {
		r.sockets.close()
		return err
	}
	if err := guardUpdatePorts(at, r.sockets.players, r.set.Release.TokensFile); err != nil {
		r.sockets.close()
		return err
	}
	all, err := server.ListenAll(ctx, at, r.sockets.players, r.set, r.log)
	if err != nil {
		return err
	}
	r.listeners = all
	return r.serveMonitor(ctx, alive)
}

// guardUpdatePorts refuses to hand out a private release folder to everybody by the update ports, which have no tokens: they have to be on
// this machine only.
func guardUpdatePorts(at config.Addresses, inherited server.Sockets, tokens string) error {
	if tokens == "" {
		return nil
	}
	addresses := []string{at.TCP, at.TLS, at.WebSocket, at.SecureWebSocket}
	for _, listener := range []net.Listener{inherited.TCP, inherited.TLS, inherited.WebSocket, inherited.SecureWebSocket} {
		if listener != nil {
			addresses = append(addresses, listener.Addr().String())
		}
	}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if address != "" && (err != nil || !config.IsLoopback(host)) {
			return &config.Error{Key: "Release.TokensFile", Text: fmt.Sprintf("the update port %s gives the same releases to everybody, because it has no tokens: "+
				"keep it on this machine with --listen 127.0.0.1:%d, and without --listen-tls and --listen-ws", address, config.DefaultPort)}
		}
	}
	return nil
}

// serveMonitor serves HTTP and metrics, if configured, until alive ends.
func (r *running) serveMonitor(ctx, alive context.Context) (err error) {
	if err := errors.Join(
		openSocket(ctx, &r.sockets.http, r.set.MonitorAddress(), "--http or Operations.HTTPAddress"),
		openSocket(ctx, &r.sockets.metrics, r.set.MetricsAddress(), "--metrics or Operations.MetricsAddress"),
		r.monitor.Configure(r.set, r.log),
	); err != nil {
		r.sockets.close()
		return err
	}
	if listener := r.sockets.http; listener != nil {
		r.monitor.Mount(admin.Owns, admin.New(&r.monitor))
		about := aboutServer(r.set)
		if err := r.openFigures(alive, about.Releases); err != nil {
			r.sockets.close()
			return err
		}
		if about.SignIn, err = signInFor(r.set.SignIn); err != nil {
			r.sockets.close()
			return err
		}
		about.ClientsOf = r.monitor.ClientsOf
		r.monitor.Mount(dashboard.Owns, dashboard.New(&r.monitor, about, r.log))
		r.runHelper("serve HTTP", func() error { return r.monitor.ServeMonitor(alive, listener, r.log) })
	}
	if listener := r.sockets.metrics; listener != nil {
		r.runHelper("serve metrics", func() error { return r.monitor.ServeMetrics(alive, listener, r.log) })
	}
	return nil
}

// aboutServer is what the dashboard says of this server: the name of the settings, or else those of the game and of the machine.
func aboutServer(set config.Settings) dashboard.About {
	about := dashboard.About{Name: set.Operations.Name}
	if about.Name == "" {
		machine, _ := os.Hostname() // without one it is left out
		about.Name = strings.Trim(set.Release.Product+" "+machine, " ")
	}
	if set.Release.Folder != "" {
		about.Releases = &releases.Board{Folder: set.Release.Folder, Proposals: set.Operations.Proposals}
	}
	return about
}

// signInFor is the provider of the settings for signing in, or nil.
func signInFor(set config.SignIn) (*signin.Provider, error) {
	if set.Issuer == "" {
		return nil, nil
	}
	secret, err := signin.Secret(set, os.Getenv)
	if err != nil {
		return nil, err
	}
	return signin.New(set, secret), nil
}

// openSocket listens at the address that option sets, unless it is empty or a socket was inherited for it.
func openSocket(ctx context.Context, socket *net.Listener, addr, option string) error {
	if *socket != nil || addr == "" {
		return nil
	}
	listener, err := server.Listen(ctx, addr)
	var fault *server.ListenError
	if errors.As(err, &fault) {
		fault.Option = option
	}
	if err == nil {
		*socket = listener
	}
	return err
}

// createFirstToken tells how the first token of the admin API is made, or makes it where the control socket can't.
func (r *running) createFirstToken(o *operator.Operator) error {
	switch socket := r.set.Operations.ControlSocket; {
	case o.Tokens.Exist() || r.sockets.http == nil:
		return nil
	case socket != "":
		r.log.Info().Msgf("There is no token for the dashboard and the admin API yet: collet compat token NAME --control %s makes one", socket)
		return nil
	}
	secret, err := o.Tokens.CreateFirst()
	if err != nil {
		return err
	}
	r.log.Warn().Str("token", secret).Msg("Made the first token for the dashboard and the admin API, because there is no control socket to make one with. It is shown only here: keep it")
	return nil
}

// startReloads starts the triggers of a reload: control socket, watcher and SIGHUP.
func (r *running) startReloads(ctx context.Context, hangup <-chan os.Signal, stamp uint64) error {
	if path := r.set.Operations.ControlSocket; path != "" {
		listener, err := admin.ListenControl(path)
		if err != nil {
			return err
		}
		r.runHelper("serve the control socket", func() error { return admin.ServeControl(ctx, listener, r.server.Operator(), r.reload, r.log) })
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
				r.reload(ctx) // reload logs its failure
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

// runHelper runs a helper whose failure is only logged.
func (r *running) runHelper(what string, helper func() error) {
	r.helpers.Go(func() {
		if err := helper(); err != nil {
			r.log.Error().Err(err).Msgf("Could not %s any longer", what)
		}
	})
}

// close closes the listeners, also after a failed start.
func (r *running) close() {
	if r.listeners != nil {
		r.listeners.Close()
	}
}
