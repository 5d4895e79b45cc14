// Command gameserver is the game server of the sample game: it plays in lockstep with each client (package protocol), prints the result of
// each game, and tells a collet-server how many are played, if it is given one. It is an example of a game server, not made for load.
//
//	go run ./runtime/sample/gameserver --listen 127.0.0.1:4100 --dashboard http://127.0.0.1:8080 --token-file token --name eu-1
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"collet/runtime/sample/protocol"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gameserver:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context) error {
	listen := flag.String("listen", "127.0.0.1:4100", "`HOST:PORT` for games")
	to := protocol.Dashboard{}
	flag.StringVar(&to.URL, "dashboard", "", "`URL` of the collet-server that shows the number of games; empty: none")
	flag.StringVar(&to.Name, "name", "sample", "`NAME` of this game server there")
	token := flag.String("token-file", "", "`FILE` with a token of that server; a role that may view is enough")
	flag.Parse()
	if to.URL != "" {
		data, err := os.ReadFile(*token)
		if err != nil {
			return fmt.Errorf("--token-file: %w; collet compat token NAME --role view makes a token", err)
		}
		to.Token, to.URL = strings.TrimSpace(string(data)), strings.TrimRight(to.URL, "/")
	}
	host, err := protocol.Open(*listen, func(p protocol.Played, err error) {
		fmt.Printf("a game in logic version %d ended after %d steps, checksum %016x, %v\n", p.Logic, p.Steps, p.Sum, err)
	})
	if err != nil {
		return err
	}
	fmt.Printf("listens on %s\n", host.Addr())
	var telling sync.WaitGroup
	if to.URL != "" {
		telling.Go(func() { host.Tell(ctx, to, func(err error) { fmt.Fprintln(os.Stderr, "gameserver:", err) }) })
	}
	<-ctx.Done()
	err = host.Close()
	telling.Wait()
	return err
}
