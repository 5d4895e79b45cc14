//go:build !nocluster

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/operator"
)

// drillTime is the longest time that a step of a drill waits: ten million floors take minutes.
const drillTime = time.Hour

// Drill rehearses what brings a cluster back whose engine has lost all of its files: a founder restores a backup and makes the engine's files
// anew, and then a node with an empty store fills itself from these. Both have the backup's history, settings and floors in the end, and one
// record more, of the founding. All of it happens in a folder, which has about four times the size of the backup then, without a port. done is
// called after each step. The result is what the second node has. The errors are *operator.StoreError for a backup that is damaged, and those of
// the disk and the engine.
func Drill(ctx context.Context, backup, folder string, done func(step string), log zerolog.Logger) (operator.Summary, error) {
	const node = "drill"
	founder, filled := filepath.Join(folder, "founder.db"), filepath.Join(folder, "filled.db")
	was, err := operator.Restore(operator.Restoring{Backup: backup, Path: founder, Aside: ".before", Founder: node})
	if err != nil {
		return was, err
	}
	done("the backup is whole, and a founder has it as its store")
	c := Config{Name: node, Members: []string{node}, Folder: filepath.Join(folder, "engine"), Token: rand.Text(), Patience: drillTime}
	for _, step := range []struct{ store, done string }{
		{founder, "the founder has made the engine's files anew"},
		{filled, "a node with an empty store has filled itself from them"},
	} {
		if err := visit(ctx, c, step.store, log); err != nil {
			return was, err
		}
		done(step.done)
	}
	sum, err := compareStores(founder, filled, log)
	if err == nil && (sum.Revision != was.Revision || sum.Floors != was.Floors || sum.Records != was.Records+1) {
		err = fmt.Errorf("the backup has %+v, and the node %+v: it has lost something", was, sum)
	}
	if err == nil {
		done("both have the same history, settings and floors, and the chain holds")
	}
	return sum, err
}

// visit opens a store in a cluster until it has what the cluster has, the floors included, and the cluster what it has.
func visit(ctx context.Context, c Config, path string, log zerolog.Logger) error {
	ctx, stop := context.WithTimeout(ctx, drillTime)
	defer stop()
	opened, err := OpenNode(ctx, func() (Config, error) { return c, nil }, path, log)
	if err != nil {
		return err
	}
	return errors.Join(opened.Writable(), opened.Close())
}

// compareStores reads two closed stores, which must have the same, and sums up the second.
func compareStores(one, other string, log zerolog.Logger) (operator.Summary, error) {
	sum, err := operator.Inspect(other) // its chain holds, so the last record stands for the history
	if err != nil {
		return sum, err
	}
	a, err := contentOf(one, log)
	if err != nil {
		return sum, err
	}
	b, err := contentOf(other, log)
	switch {
	case err != nil:
		return sum, err
	case a.last != b.last:
		return sum, errors.New("the two nodes have different histories")
	case a.document != b.document:
		return sum, errors.New("the two nodes have different settings")
	case !maps.Equal(a.floors, b.floors):
		return sum, errors.New("the two nodes have different floors")
	}
	return sum, nil
}

// content is what a store has: the digest of its last record, the document of its settings, and how many accounts have each floor.
type content struct {
	last, document string
	floors         map[int32]int
}

func contentOf(path string, log zerolog.Logger) (c content, err error) {
	s, err := operator.OpenStore(path, log)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	records, err := s.Records(0, 1)
	if err != nil {
		return c, err
	}
	for _, record := range records {
		c.last = record.Sum
	}
	document, _, err := s.Settings()
	c.document, c.floors = string(document), s.Floors()
	return c, err
}
