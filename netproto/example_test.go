package netproto_test

import (
	"context"
	"fmt"
	"net"

	"collet/netproto"
	"collet/netproto/product"
)

// A client session: the verdict, what is on offer, and the bytes of its first file. Names and bytes are data of the server until
// release.CheckPath and the digest vouched for them.
func ExampleDial() {
	ctx := context.Background()
	client, err := netproto.Dial(ctx, netproto.ClientOptions{
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
	first := netproto.FetchRange{Index: offers[0].Index, Size: offers[0].Size}
	err = client.Fetch(ctx, []netproto.FetchRange{first}, func(_ int, data []byte) error {
		fmt.Println(len(data), "bytes more of", offers[0].Path)
		return nil
	})
	fmt.Println(err)
}

// A Conn carries messages over any stream. Here a server reads what a client of C1 says first.
func ExampleConn() {
	near, far := net.Pipe()
	server := netproto.NewConn(far, netproto.ServerSide, netproto.DefaultServerLimits())
	defer server.Close()
	client := netproto.NewConn(near, netproto.ClientSide, netproto.DefaultClientLimits())
	go func() {
		defer client.Close()
		if err := client.SetGeneration(netproto.C1); err != nil {
			fmt.Println(err)
			return
		}
		err := client.Write(&netproto.Handshake{Version: netproto.VersionC1, Compatibility: "1.4", Target: "Linux-x64"})
		if err != nil {
			fmt.Println(err)
		}
	}()
	message, err := server.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := message.(*netproto.Handshake)
	fmt.Println(server.Generation(), hello.Compatibility, hello.Target)
	// Output: C1 1.4 Linux-x64
}
