package chunk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"

	"collet/netproto/chunk"
)

// folder is a release folder in memory: packs by digest.
type folder map[[32]byte][]byte

// pack is a pack that is being written.
type pack struct {
	bytes.Buffer
	into folder
}

// Close gives the pack its name.
func (p *pack) Close() error {
	p.into[sha256.Sum256(p.Bytes())] = p.Bytes()
	return nil
}

// disk has one old file and builds one new file.
type disk struct {
	old []byte
	new bytes.Buffer
}

func (d *disk) Source(int) (io.ReaderAt, error) { return bytes.NewReader(d.old), nil }

func (d *disk) Create(int) (chunk.Output, error) { return d, nil }

func (d *disk) Written(int) (io.ReaderAt, error) { return d, nil }

func (d *disk) Write(p []byte) (int, error) { return d.new.Write(p) }

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(d.new.Bytes()).ReadAt(p, at)
}

// A publisher packs a file once. A client that has any earlier version of it fetches only the chunks that this one lacks.
func Example() {
	ctx := context.Background()
	fresh := make([]byte, 1_000_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(fresh) // never fails
	old := bytes.Clone(fresh)
	copy(old[400_000:], "what the player has changed")

	published := folder{}
	packer, err := chunk.NewPacker(chunk.PackOptions{Create: func() (io.WriteCloser, error) { return &pack{into: published}, nil }})
	if err != nil {
		fmt.Println(err)
		return
	}
	index, err := packer.Add(ctx, chunk.GrainFor(int64(len(fresh))), bytes.NewReader(fresh))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := packer.Close(); err != nil {
		fmt.Println(err)
		return
	}

	plan, err := chunk.NewPlan([]*chunk.Index{index})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := plan.OfferFile(ctx, 0, index.Grain, bytes.NewReader(old)); err != nil {
		fmt.Println(err)
		return
	}
	fetched := int64(0)
	for _, r := range plan.Missing(0) {
		fetched += r.Size
	}
	fmt.Println("less than a tenth is fetched:", fetched < int64(len(fresh))/10)

	here := &disk{old: old}
	err = plan.Assemble(ctx, here, func(_ context.Context, r chunk.Range) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(published[r.Pack.Digest][r.Offset : r.Offset+r.Size])), nil
	})
	fmt.Println("the new file is complete:", bytes.Equal(here.new.Bytes(), fresh), err)
	// Output:
	// less than a tenth is fetched: true
	// the new file is complete: true <nil>
}
