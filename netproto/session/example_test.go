package session_test

import (
	"context"
	"fmt"

	"collet/netproto/product"
	"collet/netproto/session"
)

// A client session: the verdict, what is on offer, and the bytes of its first file. Names and bytes are data of the server until
// release.CheckPath and the digest vouched for them.
func ExampleDial() {
	ctx := context.Background()
	client, err := session.Dial(ctx, session.Options{
		Addr: "game.example.org:4000", Compatibility: "1.4", Target: string(product.TargetFor("linux", "amd64")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(client.Judgement().Verdict)
	offers, err := client.List(ctx)
	if err != nil || len(offers) == 0 {
		fmt.Println(err)
		return
	}
	first := session.FetchRange{Index: offers[0].Index, Size: offers[0].Size}
	err = client.Fetch(ctx, []session.FetchRange{first}, func(_ int, data []byte) error {
		fmt.Println(len(data), "bytes more of", offers[0].Path)
		return nil
	})
	fmt.Println(err)
}
