package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"collet/build/lab/dentest"
	"collet/build/qa/process"
	"collet/netproto/launcher/wire"
)

const (
	treeFiles     = 5000
	leastOfRsync  = 0.3 // speed, ratio to rsync
	unchangedMost = 1.5 // time, ratio to rsync
	changedBlocks = 2   // of a file with one changed byte
)

// remoteTree pushes a tree of 5000 files and Transfer MB between our own peers over loopback, in turn with rsync from its
// daemon; then once more with nothing changed. Every push begins with a desk and a device that have never seen a file, so
// its time has the hashing of everything on both ends in it; rsync hashes nothing.
func (b *bench) remoteTree(ctx context.Context) error {
	there, _ := installed([]peer{{name: "rsync", needs: []string{"rsync"}}})
	if len(there) == 0 {
		fmt.Fprintln(b.out, "own device against rsync: not measured: rsync is not installed")
		return nil
	}
	root := filepath.Join(b.dir, "tree")
	if err := writeTree(root, treeFiles, b.Transfer<<20); err != nil {
		return err
	}
	defer os.RemoveAll(root)
	daemon, address, err := b.rsyncDaemon(root)
	if err != nil {
		return err
	}
	defer daemon.Stop(stopGrace)
	var fresh, again, theirFresh, theirAgain []time.Duration
	for range b.Pairs {
		first, second, err := b.treePush(ctx, root)
		if err != nil {
			return err
		}
		fresh, again = append(fresh, first), append(again, second)
		if first, second, err = b.treeRsync(ctx, root, address); err != nil {
			return err
		}
		theirFresh, theirAgain = append(theirFresh, first), append(theirAgain, second)
	}
	fmt.Fprintf(b.out, "own device, %d files, %d MB, loopback, medians of %d: push %.2f s, rsync %.2f s; nothing changed: push %.3f s, rsync %.3f s\n",
		treeFiles, b.Transfer, b.Pairs, median(fresh).Seconds(), median(theirFresh).Seconds(), median(again).Seconds(), median(theirAgain).Seconds())
	b.atLeast("push of a tree, speed ratio to rsync", median(theirFresh).Seconds()/median(fresh).Seconds(), leastOfRsync)
	b.verdict("nothing changed, push ÷ rsync", median(again).Seconds()/median(theirAgain).Seconds(), unchangedMost, "")
	return nil
}

// writeTree makes files of sizes that differ by up to sixteen times and add up to about size bytes.
func writeTree(root string, files int, size int64) error {
	random, noise := rand.New(rand.NewPCG(1, 2)), rand.NewChaCha8([32]byte{})
	data := make([]byte, 2*size/int64(files))
	for i := range files {
		folder := filepath.Join(root, fmt.Sprintf("folder %02d", i%50))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		n := len(data)/16 + random.IntN(len(data)-len(data)/16*2)
		noise.Read(data[:n])
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("file %04d.bin", i)), data[:n], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// treePush pushes into a new folder, and again.
func (b *bench) treePush(ctx context.Context, root string) (first, second time.Duration, err error) {
	folder := filepath.Join(b.dir, "pushed")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	s, err := startStation(root, "127.0.0.1:0", here)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	end, err := follow(folder, s.address, here)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if _, first, err = s.push(ctx); err != nil {
		return 0, 0, err
	}
	if err := dentest.SameTrees(root, folder, wire.StateFolder); err != nil {
		return 0, 0, err
	}
	_, second, err = s.push(ctx)
	return first, second, err
}

// treeRsync does the same with rsync.
func (b *bench) treeRsync(ctx context.Context, root, address string) (first, second time.Duration, err error) {
	folder := filepath.Join(b.dir, "synced")
	defer os.RemoveAll(folder)
	var times [2]time.Duration
	for i := range times {
		r, err := runProgram(ctx, "rsync", "-a", "--delete", "rsync://"+address+"/new/", folder+"/")
		if err != nil {
			return 0, 0, err
		}
		times[i] = r.wall
	}
	return times[0], times[1], dentest.SameTrees(root, folder)
}

// rsyncDaemon serves a folder as "new".
func (b *bench) rsyncDaemon(root string) (*process.Process, string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := free.Addr().String()
	free.Close()
	dir := filepath.Join(b.dir, "rsync")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	options, err := rsyncServer(dir, address, root)
	if err != nil {
		return nil, "", err
	}
	daemon, err := process.Start(options)
	if err != nil {
		return nil, "", err
	}
	for end := time.Now().Add(listenTime); time.Now().Before(end); time.Sleep(lookEvery) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return daemon, address, nil
		}
	}
	daemon.Stop(stopGrace)
	return nil, "", fmt.Errorf("rsync does not listen on %s within %v", address, listenTime)
}

// remoteByte changes one byte of a large file and counts the blocks that are sent.
func (b *bench) remoteByte(ctx context.Context) (err error) {
	root, folder := filepath.Join(b.dir, "large"), filepath.Join(b.dir, "large pushed")
	for _, dir := range []string{root, folder} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	file := filepath.Join(root, "large.pak")
	if err := writeNoise(file, b.Transfer<<20); err != nil {
		return err
	}
	s, err := startStation(root, "127.0.0.1:0", here)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	end, err := follow(folder, s.address, here)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	_, whole, err := s.push(ctx)
	if err != nil {
		return err
	}
	if err := flipByte(file, b.Transfer<<19); err != nil {
		return err
	}
	result, took, err := s.push(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "a file of %d MB: push %.2f s; with one byte changed: push %.2f s, %d bytes\n", b.Transfer, whole.Seconds(), took.Seconds(), result.BytesSent)
	b.verdict("blocks sent for one changed byte", float64(result.Blocks), changedBlocks, "")
	return dentest.SameTrees(root, folder, wire.StateFolder)
}

func flipByte(name string, at int64) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var one [1]byte
	if _, err := f.ReadAt(one[:], at); err != nil {
		return err
	}
	one[0] ^= 1
	_, err = f.WriteAt(one[:], at)
	return err
}
