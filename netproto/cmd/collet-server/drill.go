package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
)

// drill rehearses in a temporary folder how a backup brings a cluster back (cluster.Drill), and prints each step with the time that it took. The
// store and the server that the backup is of have no part in it.
func drill(ctx context.Context, backup string, log zerolog.Logger) (err error) {
	folder, err := os.MkdirTemp("", "collet-drill-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	began := time.Now()
	sum, err := cluster.Drill(ctx, backup, folder, func(step string) {
		fmt.Printf("%6.1f s  %s\n", time.Since(began).Seconds(), step)
	}, log.Level(zerolog.ErrorLevel))
	if err != nil {
		return fmt.Errorf("drill: %w", err)
	}
	fmt.Printf("revision %d, %d records, %d floors: this backup founds a cluster anew\n", sum.Revision, sum.Records, sum.Floors)
	return nil
}
