package linux_test

import (
	"os"
	"testing"
	"time"

	"collet/build/pack/bundle"
	"collet/build/pack/linux"
)

func TestSmoke(t *testing.T) {
	d := os.Getenv("SMOKE")
	if d == "" {
		t.Skip()
	}
	tree, err := bundle.NewTree(
		bundle.Entry{Path: "Lathe", Mode: bundle.Program, From: "/tmp/h-e-bin/collet-client"},
		bundle.Entry{Path: "Lathe.so", Mode: bundle.Plain, From: "/tmp/h-e-bin/modules/release-1/Lathe.so"},
		bundle.Entry{Path: "Resources/Core.zip", Mode: bundle.Plain, From: "/tmp/h-e-bin/modules/release-1/Resources/Core.zip"},
		bundle.Entry{Path: "Resources/Art.zip", Mode: bundle.Plain, From: "/tmp/h-e-bin/modules/release-1/Resources/Art.zip"},
	)
	if err != nil {
		t.Fatal(err)
	}
	b := bundle.Bundle{Product: bundle.Product{Name: "Lathe", NiceName: "The Lathe", ID: "org.example.lathe", Version: "1.4.2", Publisher: "Example Games",
		Maintainer: "Ada Example <ada@example.org>", Summary: "Turn things on a lathe", Description: "A game about turning.\n\nIt has a lathe, and more lathes, and a quite long line of text so that something has to be wrapped somewhere by somebody.",
		Homepage: "https://lathe.example.org", License: "LicenseRef-proprietary", Icon: "../../../assets/icon.png", URIScheme: "lathe", Categories: []string{"Game", "ArcadeGame"},
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}, Target: "Linux-x64", Name: "Lathe-Client-Linux-x64", Base: "Lathe", Tree: tree}
	for name, f := range map[string]func() error{
		"x.deb": func() error { return linux.Deb(t.Context(), b, d+"/x.deb") },
		"x.rpm": func() error { return linux.RPM(t.Context(), b, d+"/x.rpm") },
	} {
		if err := f(); err != nil {
			t.Error(name, err)
		}
	}
	t.Log(linux.DebName(b))
	t.Log(linux.RPMName(b))
}
