package testscripts

import (
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/qa/proxy"
)

// links finds the proxy of a script by its work folder.
var links sync.Map

func link(ts *testscript.TestScript, _ bool, args []string) {
	options := proxy.Options{Target: ts.Getenv("SERVER")}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		Check(ts, err)
		switch name {
		case "cut":
			options.Faults = func(connection int) []proxy.Fault {
				if connection > 1 {
					return nil
				}
				return []proxy.Fault{{Kind: proxy.Cut, Direction: proxy.Down, At: n}}
			}
		case "rate":
			options.Link.Rate = n
		default:
			ts.Fatalf("link: unknown word %q", arg)
		}
	}
	link, err := proxy.Start(options)
	Check(ts, err)
	ts.Defer(func() { link.Close() })
	ts.Setenv("LINK", link.Addr())
	links.Store(ts.Getenv("WORK"), link)
}

func traffic(ts *testscript.TestScript, _ bool, args []string) {
	limit, err := strconv.ParseInt(args[1], 10, 64)
	Check(ts, err)
	found, _ := links.Load(ts.Getenv("WORK"))
	link, is := found.(*proxy.Proxy)
	if !is {
		ts.Fatalf("wire: no link")
	}
	records := link.Records()
	sums := map[string]int64{"connections": int64(len(records))}
	for _, r := range records {
		sums["down"] += r.Down
		sums["up"] += r.Up
	}
	got, known := sums[args[0]]
	switch {
	case !known:
		ts.Fatalf("wire: unknown word %q", args[0])
	case args[0] == "connections" && got != limit:
		ts.Fatalf("%d connections, want %d", got, limit)
	case args[0] != "connections" && got > limit:
		ts.Fatalf("%d bytes went %s, at most %d expected", got, args[0], limit)
	}
	ts.Logf("%s: %d", args[0], got)
}
