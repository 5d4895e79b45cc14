// Command collet-server offers resource packs and native modules to clients. See package server for what it does and
// --help for how to ask for it.
//
// Exit codes: 0 asked to stop or checked, 1 could not do its work, 2 the command line makes no sense. Logs go to standard
// error; only --check, --help and --version write to standard output.
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
	defer context.AfterFunc(ctx, stop)() // hands the signals back, so that a second one ends the process at once
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
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	// The port comes before hashing gigabytes, which would be for nothing if it is taken.
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
	reloader.Go(func() { reload(ctx, hangup, s, opt, log) })
	defer reloader.Wait()
	defer stop()
	return s.Serve(ctx, listener)
}

// reload reads settings and files again at each signal, until ctx ends.
func reload(ctx context.Context, hangup <-chan os.Signal, s *server.Server, opt options, log zerolog.Logger) {
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
