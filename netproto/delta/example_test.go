package delta_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"collet/netproto/delta"
)

// A publisher makes a patch once; every client that has the old content applies it.
func Example() {
	ctx := context.Background()
	old := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	fresh := strings.Replace(old, "brown", "red", 1)
	have := []delta.Old{{ReaderAt: strings.NewReader(old), Size: int64(len(old))}}

	var patch bytes.Buffer
	wanted := []delta.New{{ReaderAt: strings.NewReader(fresh), Size: int64(len(fresh)), Name: "fox.txt"}}
	if _, err := delta.MakePatch(ctx, &patch, have, wanted, delta.PatchOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("of", len(fresh), "bytes the patch has fewer than 100:", patch.Len() < 100)

	var got bytes.Buffer
	err := delta.ApplyPatch(ctx, &patch, have, []int64{int64(len(fresh))}, func(int) (io.Writer, error) { return &got, nil })
	fmt.Println("the new content came out:", got.String() == fresh, err)
	// Output:
	// of 8998 bytes the patch has fewer than 100: true
	// the new content came out: true <nil>
}
