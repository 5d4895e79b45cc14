// Command collet-server offers resource packs and native modules to clients. See package server for what it does and
// --help for how to ask for it.
//
// It ends with 0 when it was asked to stop or had nothing to complain about, 1 when it could not do its work, and 2 when
// the command line makes no sense. Logs go to standard error; only --check, --help and --version write to standard
// output.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"collet/netproto/server"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opt, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "collet-server: %v\ncollet-server --help tells more\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once: the first one hands the signals back.
	defer context.AfterFunc(ctx, stop)()
	if err := serve(ctx, opt, newLog(opt)); err != nil {
		fmt.Fprintf(os.Stderr, "collet-server: %v\n", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, opt options, log zerolog.Logger) error {
	set, err := opt.settings()
	if err != nil {
		return err
	}
	if opt.Check {
		return check(ctx, opt, set, log)
	}
	// The port comes first: hashing gigabytes to learn that it is taken wastes the operator's time.
	listener, err := server.Listen(ctx, opt.address(set))
	if err != nil {
		return err
	}
	defer listener.Close()
	catalogue, err := server.Open(ctx, set, log)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	s := server.New(catalogue, set, log)
	ctx, stop := context.WithCancel(ctx)
	var reloader sync.WaitGroup
	reloader.Go(func() { reloadOnHangup(ctx, s, opt, log) })
	defer reloader.Wait()
	defer stop()
	return s.Serve(ctx, listener)
}

// reloadOnHangup reads settings and files again on SIGHUP, until ctx ends.
func reloadOnHangup(ctx context.Context, s *server.Server, opt options, log zerolog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		set, err := opt.settings()
		if err == nil {
			err = s.Reload(ctx, set)
		}
		if err != nil {
			log.Error().Err(err).Msg("Could not reload; what was offered before stays")
		}
	}
}

// check prints what would be offered and where.
func check(ctx context.Context, opt options, set server.Settings, log zerolog.Logger) error {
	catalogue, err := server.Open(ctx, set, log)
	if err != nil {
		return err
	}
	fmt.Print(set.Summary(opt.address(set)))
	return catalogue.Describe(os.Stdout)
}
