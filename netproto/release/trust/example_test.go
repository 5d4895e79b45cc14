package trust_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// A publisher signs a list of releases. A client that was built with the root follows the list, and takes no other.
func ExampleClient_Refresh() {
	ctx := context.Background()
	plan := trust.RootPlan{}
	var keys []*trust.PrivateKey
	for _, role := range append(trust.KeyRoles(), trust.RoleRoot, trust.RoleRoot) { // two of three root keys sign a root
		key, err := trust.GenerateKey(false)
		if err != nil {
			fmt.Println(err)
			return
		}
		keys = append(keys, key)
		plan[role] = trust.RolePlan{Keys: append(plan[role].Keys, key.Public())}
	}
	folder := &trust.MemoryStore{} // the publisher's release folder, which a web server serves as it is
	repo, err := trust.CreateRepo(folder, plan, keys, trust.RepoOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	head := release.ObjectOf([]byte("what release 8 consists of"))
	list := []release.Entry{{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: 8, Percent: 100, Head: head}}
	if err := repo.SetEntries(list, keys); err != nil {
		fmt.Println(err)
		return
	}

	client, err := trust.Open(repo.Root(), &trust.MemoryStore{}, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	query := release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "an id that stays"}
	now, err := client.Refresh(ctx, trust.StoreFetcher{Store: folder}, query)
	fmt.Println("release", now.Number, "fresh:", now.Fresh, err)

	// A mirror that changes a byte of the list is found out. The client stays with what it knows.
	forged := &trust.MemoryStore{}
	for _, name := range folder.Names() {
		data, err := folder.Load(name, 1<<20)
		if err != nil {
			fmt.Println(err)
			return
		}
		if name == "metadata/timestamp.json" {
			data[len(data)/2] ^= 1
		}
		if err := forged.Save(name, data); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err = client.Refresh(ctx, trust.StoreFetcher{Store: forged}, query)
	var fault *trust.Error
	fmt.Println("rejected:", errors.As(err, &fault))
	now, err = client.Known(query)
	fmt.Println("release", now.Number, err)
	// Output:
	// release 8 fresh: true <nil>
	// rejected: true
	// release 8 <nil>
}
