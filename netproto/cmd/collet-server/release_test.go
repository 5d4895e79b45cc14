package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/session"
)

// folders finds a script's release folders in its environment.
type folders struct{}

// folder is a release folder of the script, which is set up with the first call.
func folder(ts *testscript.TestScript, name string) *releasetest.Folder {
	all := ts.Value(folders{}).(map[string]*releasetest.Folder)
	if all[name] == nil {
		made, err := releasetest.New(ts.MkAbs(name))
		ts.Check(err)
		all[name] = made
	}
	return all[name]
}

func publish(ts *testscript.TestScript, neg bool, args []string) {
	number, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	r := releasetest.Release{Number: number, Compatibility: args[2], Percent: 100, Files: map[string]map[string]string{}}
	tree := ts.MkAbs(args[3])
	ts.Check(filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(tree, path)
		target, name, _ := strings.Cut(filepath.ToSlash(name), "/")
		content, err := os.ReadFile(path)
		if r.Files[target] == nil {
			r.Files[target] = map[string]string{}
		}
		r.Files[target][name] = string(content)
		return err
	}))
	for _, word := range args[4:] {
		if r.Plain = word == "plain"; !r.Plain {
			percent, err := strconv.ParseUint(word, 10, 8)
			ts.Check(err)
			r.Percent = uint8(percent)
		}
	}
	ts.Check(folder(ts, args[0]).Publish(r))
}

func expired(ts *testscript.TestScript, neg bool, args []string) {
	f := folder(ts, args[0])
	repo, err := trust.OpenRepo(releasetest.Store(f.Dir), trust.RepoOptions{Now: func() time.Time { return time.Now().AddDate(0, -1, 0) }})
	ts.Check(err)
	ts.Check(repo.Refresh(f.Keys))
}

func object(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := session.Dial(ctx, session.Options{Addr: ts.Getenv("ADDR"), Compatibility: args[0], Target: "Linux-x64", Unlisted: true})
	ts.Check(err)
	defer client.Close()
	var got bytes.Buffer
	err = client.Object(ctx, args[1], 0, -1, func(data []byte) error { got.Write(data); return nil })
	if (err != nil) != neg {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if want := ts.ReadFile(args[2]); !neg && got.String() != want {
		ts.Fatalf("got %d bytes, want %d", got.Len(), len(want))
	}
}
