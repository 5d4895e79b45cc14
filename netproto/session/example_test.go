package session_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/session"
)

// pretendServer answers one client as a server does that offers one file of 9 bytes.
func pretendServer(conn net.Conn) {
	defer conn.Close()
	data := []byte("nine byte")
	wire := netproto.NewConn(conn, netproto.ServerSide, netproto.DefaultServerLimits())
	for {
		message, err := wire.Read()
		if err != nil {
			return // the client has closed
		}
		var answers []netproto.Message
		switch m := message.(type) {
		case *netproto.Handshake:
			verdict := netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdateResources})
			verdict.MaxPortion, verdict.MaxInFlight = 1000, 1
			file := netproto.ListedFile{Path: "Core.zip", Size: uint64(len(data)), SHA256: sha256.Sum256(data)}
			answers = []netproto.Message{verdict, &netproto.FileList{Files: []netproto.ListedFile{file}}}
		case *netproto.GetRange:
			answers = []netproto.Message{&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: data[m.Offset:]}}
		}
		if wire.Write(answers...) != nil {
			return
		}
	}
}

// A client session: the verdict, what is on offer, and the bytes of its first file. Names and bytes are data of the server until
// release.CheckPath and the digest vouched for them.
func ExampleDial() {
	ctx := context.Background()
	client, err := session.Dial(ctx, session.Options{
		Addr: "game.example.org:4000", Compatibility: "1.4", Target: string(product.TargetFor("linux", "amd64")),
		// Leave this out to dial Addr.
		Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go pretendServer(far)
			return near, nil
		},
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
		fmt.Println(len(data), "bytes of", offers[0].Path)
		return nil
	})
	fmt.Println(err)
	// Output:
	// UPDATE_RESOURCES
	// 9 bytes of Core.zip
	// <nil>
}
