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
	"sync/atomic"
	"syscall"
	"time"

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
	"collet/platform/interrupt"
)

// running is a running server with its listeners, its monitor and its helpers.
type running struct {
	opt       options
	set       config.Settings
	log       zerolog.Logger
	from      *predecessor // nil: no process hands over to this one
	sockets   sockets
	taken     map[string]string // where the sockets were opened, by name; fromManager: by the service manager
	control   *admin.ControlListener
	store     operator.Store     // nil without one
	operator  *operator.Operator // nil without a store
	program   string             // the file that an upgrade starts
	stop      context.CancelFunc // ends serving
	leave     context.CancelFunc // ends HTTP and metrics, which go on otherwise until the last session has ended
	upgrading sync.Mutex
	gone      atomic.Bool           // another program serves
	reloading sync.Mutex            // also while the store is handed over
	fault     atomic.Pointer[error] // that ended serving; nil: none
	monitor   origin.Monitor
	server    *server.Server
	listeners *server.Listeners // nil until they are open
	figures   *figures.Figures  // nil without Operations.Figures
	counting  *counting         // nil without Operations.Figures
	helpers   sync.WaitGroup
}

// serve runs a server until ctx ends, or until another program has taken over.
func serve(ctx context.Context, opt options, set config.Settings, from *predecessor, log zerolog.Logger) (err error) {
	ctx, stop := context.WithCancel(ctx)
	alive, end := context.WithCancel(context.WithoutCancel(ctx)) // for the monitor, which reports the stopping server
	r := &running{opt: opt, set: set, from: from, program: ownProgram(), stop: stop, leave: end, log: log}
	defer r.helpers.Wait()
	defer stop()
	defer end()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	renew := make(chan os.Signal, 1)
	if asked := upgradeSignals(); len(asked) > 0 {
		signal.Notify(renew, asked...)
		defer signal.Stop(renew)
	}
	defer r.close()
	if err := r.listen(ctx); err != nil {
		return err
	}
	if err := r.mountPages(); err != nil {
		return err
	}
	if from == nil { // health is told from the start; a successor tells it when it serves
		if err := r.openFigures(alive); err != nil {
			return err
		}
		r.serveMonitor(alive)
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
	if from != nil { // whatever can fail comes before
		if err := r.openControl(); err != nil {
			return err
		}
		if err := from.waitForStore(); err != nil {
			return err
		}
		if err := r.openFigures(alive); err != nil {
			return err
		}
	}
	if r.figures != nil {
		r.server.Metrics().Register(r.figures)
	}
	defer func() {
		r.upgrading.Lock() // for good
		r.closeOperator()
	}()
	if err := r.govern(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	r.monitor.Watch(r.server)
	upgrade := func(ctx context.Context) error {
		err := r.upgrade(ctx, alive)
		select {
		case <-renew:
			r.log.Warn().Msg("A signal that asks for an upgrade came during one, and is left out")
		default:
		}
		return err
	}
	if err := r.startControl(ctx, upgrade); err != nil {
		return err
	}
	r.startReloads(ctx, stamp)
	r.onSignal(ctx, hangup, r.reload)
	r.onSignal(ctx, renew, upgrade)
	r.server.OnReady(func() {
		if from == nil {
			notifyManager("READY=1")
		} else { // the manager has been told, and hears of this process from the old one
			r.serveMonitor(alive)
			from.serving()
		}
	})
	r.helpers.Go(func() {
		<-ctx.Done()
		if !r.gone.Load() {
			notifyManager("STOPPING=1")
		}
	})
	err = r.server.Serve(ctx, r.listeners)
	if fault := r.fault.Load(); fault != nil {
		err = errors.Join(err, *fault)
	}
	return err
}

// govern opens the store of the settings, if there is one, and lets the server judge by it: at the start, and when a store was handed
// over in vain.
func (r *running) govern(ctx context.Context) error {
	if r.set.Compat.Store == "" {
		return nil
	}
	c := r.server.HoldCatalogue()
	defer c.Release()
	o, err := r.openOperator(ctx, c.Declared(), operator.Options{AcceptRollback: r.opt.AcceptRollback, Figures: r.reports(), After: r.operator})
	if ctx.Err() != nil && err != nil {
		return nil // the server was asked to stop
	}
	if err != nil {
		return err
	}
	again := r.operator != nil
	r.operator = o
	if !again {
		if err := r.createFirstToken(o); err != nil {
			return err
		}
	}
	r.server.Govern(o)
	return nil
}

// closeOperator closes the store, if there is one.
func (r *running) closeOperator() {
	if r.operator == nil {
		return
	}
	if err := r.operator.Close(); err != nil {
		r.log.Error().Err(err).Msg("The compatibility store can't be closed")
	}
}

// openOperator opens the store: that of the settings, which is the server's own or that of a cluster, or again what this process had.
func (r *running) openOperator(ctx context.Context, d *compat.Declared, opt operator.Options) (*operator.Operator, error) {
	handed := r.from != nil || r.operator != nil // clients wait meanwhile
	store, err := r.openStore(ctx)
	if err != nil {
		return nil, err
	}
	o, err := operator.New(store, d, opt, r.log)
	for end := time.Now().Add(cluster.Patience); handed && isReadOnly(err) && time.Now().Before(end) && ctx.Err() == nil; { // the build changes the settings
		_ = interrupt.Sleep(ctx, writableTime) // the loop looks at ctx
		o, err = operator.New(store, d, opt, r.log)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r.store = store
	return o, nil
}

// openStore opens the store for openOperator.
func (r *running) openStore(ctx context.Context) (operator.Store, error) {
	if r.store != nil {
		return cluster.ReopenNode(ctx, r.store, clusterTime)
	}
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
		c, err = cluster.FromSettings(set, os.Getenv, r.log)
		if r.from != nil {
			c.Patience = clusterTime
		}
		return c, err
	}, r.set.Compat.Store, r.log)
	started = true
	return store, err
}

func isReadOnly(err error) bool {
	var fault *operator.ReadOnlyError
	return errors.As(err, &fault)
}

// listen opens all ports. It runs before the hashing of gigabytes, so an occupied port fails early.
func (r *running) listen(ctx context.Context) error {
	var err error
	if r.from != nil {
		r.sockets, r.taken, err = r.from.inherit(r.places())
	} else if r.sockets, err = inheritSockets(os.Getenv, os.Getpid()); err == nil {
		r.taken = map[string]string{}
		for name, place := range r.sockets.byName() {
			if *place != nil {
				r.taken[name] = fromManager
			}
		}
	}
	if err != nil {
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
	r.listeners, r.sockets.players = all, all.Sockets()
	if err := errors.Join(
		openSocket(ctx, &r.sockets.http, r.set.MonitorAddress(), "--http or Operations.HTTPAddress"),
		openSocket(ctx, &r.sockets.metrics, r.set.MetricsAddress(), "--metrics or Operations.MetricsAddress"),
		r.monitor.Configure(r.set, r.log),
	); err != nil {
		r.sockets.close()
		return err
	}
	return nil
}

// guardUpdatePorts refuses a private release folder on public update ports: these have no tokens, so they have to be on this machine
// only.
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

// mountPages prepares what the HTTP port answers beside health, files and beacons, if it is configured.
func (r *running) mountPages() (err error) {
	if r.sockets.http == nil {
		return nil
	}
	r.monitor.Mount(admin.Owns, admin.New(&r.monitor))
	about := aboutServer(r.set)
	if about.SignIn, err = signInFor(r.set.SignIn); err != nil {
		r.sockets.close()
		return err
	}
	about.ClientsOf = r.monitor.ClientsOf
	r.monitor.Mount(dashboard.Owns, dashboard.New(&r.monitor, about, r.log))
	return nil
}

// serveMonitor serves HTTP and metrics, if configured, until alive ends.
func (r *running) serveMonitor(alive context.Context) {
	if listener := r.sockets.http; listener != nil {
		r.runHelper("serve HTTP", func() error { return r.monitor.ServeMonitor(alive, listener, r.log) })
	}
	if listener := r.sockets.metrics; listener != nil {
		r.runHelper("serve metrics", func() error { return r.monitor.ServeMetrics(alive, listener, r.log) })
	}
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

// openControl opens the control socket, if the settings have one, or takes over that of another process.
func (r *running) openControl() (err error) {
	path := r.set.Operations.ControlSocket
	switch {
	case path == "", r.control != nil:
	case r.sockets.control != nil:
		r.control = admin.InheritControl(r.sockets.control, path)
	default:
		if r.control, err = admin.ListenControl(path); err != nil {
			return err
		}
		r.sockets.control = r.control.Listener
	}
	return nil
}

// startControl answers at the control socket, if there is one.
func (r *running) startControl(ctx context.Context, upgrade func(context.Context) error) error {
	if err := r.openControl(); err != nil || r.control == nil {
		return err
	}
	do := admin.Commands{Operator: r.server.Operator, Reload: r.reload, Upgrade: upgrade}
	r.runHelper("serve the control socket", func() error { return admin.ServeControl(ctx, r.control, do, r.log) })
	return nil
}

// startReloads starts the watcher for changed files.
func (r *running) startReloads(ctx context.Context, stamp uint64) {
	if period := r.set.Operations.WatchTime; period > 0 {
		r.helpers.Go(func() { server.Watch(ctx, period, stamp, r.opt.settings, r.reload) })
	}
}

// onSignal obeys a command that comes as a signal. The command logs its failure.
func (r *running) onSignal(ctx context.Context, signals <-chan os.Signal, command func(context.Context) error) {
	r.helpers.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				_ = command(ctx)
			}
		}
	})
}

// reload reads settings, files and certificates again.
func (r *running) reload(ctx context.Context) error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
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
