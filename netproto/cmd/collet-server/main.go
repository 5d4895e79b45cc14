// Command collet-server offers resource packs and native modules to clients. Package server describes its behaviour, --help its
// options.
//
// Exit codes: 0 stopped on request, replaced by a new program, or the command succeeded; 1 failed; 2 invalid command line. Logs go to
// standard error; only check, --print-config, --help and --version write to standard output.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/cluster"
	"collet/netproto/server/config"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opt, err := parseOptions(args)
	if errors.Is(err, errAnswered) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "collet-server: %v\ncollet-server --help tells more\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // hands the signals back, so that a second one ends the process at once
	from, err := inheritedFrom(os.Getenv)
	if err == nil {
		err = runCommand(ctx, opt, from, newLog(opt))
		from.end(err)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "collet-server: %v\n", err)
		return 1
	}
	return 0
}

// runCommand does what the command line asks for.
func runCommand(ctx context.Context, opt options, from *predecessor, log zerolog.Logger) error {
	if opt.asks() && opt.Control != "" {
		return ask(ctx, opt.Control, opt.Command)
	}
	if at := opt.healthAddress(); opt.Command == askHealth && at.HTTPAddress != "" {
		return checkHealth(ctx, at)
	}
	if opt.Command == askDrill {
		return drill(ctx, opt.Backup, log)
	}
	set, origins, err := opt.effectiveSettings()
	if err != nil {
		return err
	}
	switch {
	case opt.PrintConfig:
		return set.Print(os.Stdout, origins)
	case opt.Command == askHealth:
		return checkHealth(ctx, set.Operations)
	case opt.Check || opt.Command == askCheck:
		return checkOffer(ctx, opt, set, log)
	case opt.asks() && set.Operations.ControlSocket == "":
		return errNoControl
	case opt.asks():
		return ask(ctx, set.Operations.ControlSocket, opt.Command)
	default:
		return serve(ctx, opt, set, from, log)
	}
}

// ask asks the running server for a reload or an upgrade, and says what an upgrade did.
func ask(ctx context.Context, socket, command string) error {
	err := admin.Ask(ctx, socket, command)
	if err == nil && command == admin.Upgrade {
		fmt.Println("upgraded: the new program has the ports, and the one before ends after its pending answers")
	}
	return err
}

// checkCluster reads the files that a node of a cluster needs. A token in the environment is the service's, and need not be here.
func checkCluster(set config.Settings, log zerolog.Logger) error {
	if set.Cluster.Name == "" {
		return nil
	}
	env := func(name string) string { return cmp.Or(os.Getenv(name), strings.Repeat("-", cluster.MinToken)) }
	_, err := cluster.FromSettings(set, env, log)
	return err
}

// checkOffer prints what would be offered and where.
func checkOffer(ctx context.Context, opt options, set config.Settings, log zerolog.Logger) error {
	certificates := server.CheckCertificates(opt.addresses(set), set, log)
	catalogue, err := catalogue.Open(ctx, set, log)
	if err == nil {
		defer catalogue.Close()
	}
	_, secret := signInFor(set.SignIn)
	if err := errors.Join(certificates, secret, checkCluster(set, log), err); err != nil {
		return err
	}
	if err := guardUpdatePorts(opt.addresses(set), server.Sockets{}, set.Release.TokensFile); err != nil {
		log.Warn().Err(err).Msg("The server will not start like this, unless the service manager has a socket for that port")
	}
	set.CompatibilityVersion = catalogue.Compatibility()
	fmt.Print(set.Summary(opt.address(set)))
	return catalogue.Describe(os.Stdout)
}
