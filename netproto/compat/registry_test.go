package compat_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"collet/netproto/compat"
)

var (
	cameraPart = compat.Component{Entry: entry("Camera", 1, camera), Form: cameraForm}
	walletPart = compat.Component{Entry: entry("Wallet", 2, wallet), Form: `(component "Wallet" (prop 1 "Gold" i64))`}
	secretPart = compat.Component{Entry: entry("Secret", 3, 99), ServerOnly: true}
)

// TestT15Registry checks that no handshake can have a manifest before Seal, in whichever order the components come, and that
// nothing gets in after it.
func TestT15Registry(t *testing.T) {
	for _, order := range [][]compat.Component{{cameraPart, walletPart, secretPart}, {secretPart, walletPart, cameraPart}} {
		var r compat.Registry
		for _, c := range order {
			if _, err := r.Manifest(compat.Build{}); !errors.Is(err, compat.ErrUnsealed) {
				t.Errorf("before %s: %v", c.Name, err)
			}
			r.Register(c)
		}
		select {
		case <-r.Sealed():
			t.Error("it is sealed before Seal")
		default:
		}
		if err := r.Seal(0x4c37681f163b1204); err != nil {
			t.Fatal(err)
		}
		m, err := r.Manifest(compat.Build{Logic: 7, ID: "x"})
		if err != nil || m.Build.Components != 0x4c37681f163b1204 || m.Build.ID != "x" || len(m.Entries) != 2 {
			t.Errorf("%v: %+v", err, m)
		}
		m.Entries[0].Hash = 5
		if again, _ := r.Manifest(compat.Build{}); again.Entries[0].Hash == 5 {
			t.Error("who gets a manifest can change the registry")
		}
		<-r.Sealed()
		if err := r.Seal(0x4c37681f163b1204); err != nil {
			t.Errorf("sealing again: %v", err)
		}
		mustPanic(t, "the registry is sealed", func() { r.Register(compat.Component{Entry: entry("Late", 9, 9)}) })
	}
}

// TestRegistryRefuses is the table of a program's mistakes.
func TestRegistryRefuses(t *testing.T) {
	for want, c := range map[string]compat.Component{
		"a component of this name":                  {Entry: entry("Camera", 9, 9)},
		`its id 1 is that of "Camera"`:              {Entry: entry("Other", 1, 9)},
		`its id 3 is that of "Secret"`:              {Entry: entry("Shared", 3, 9)},
		"is no name":                                {Entry: entry("Cam era", 9, 9)},
		"a name has 1 to":                           {Entry: entry("", 9, 9)},
		"it needs a hash":                           {Entry: entry("Other", 9, 0)},
		"and no hash of the name":                   {Entry: compat.Entry{Name: "Other", NameHash: 5, WireID: 9, Hash: 9}},
		"is not that of its form, a64fc12a8e0c1b84": {Entry: entry("Other", 9, 9), Form: cameraForm},
	} {
		var r compat.Registry
		r.Register(cameraPart)
		r.Register(secretPart)
		mustPanic(t, want, func() { r.Register(c) })
		if err := r.Seal(compat.SetHash([]compat.Entry{cameraPart.Entry})); err != nil {
			t.Errorf("after %q: %v", want, err)
		}
	}
	var full compat.Registry
	for i := range compat.MaxEntries {
		full.Register(compat.Component{Entry: entry(fmt.Sprintf("C%d", i), uint16(i), 1)})
	}
	mustPanic(t, "there are 4096 already", func() { full.Register(compat.Component{Entry: entry("More", 5000, 1)}) })
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, want) {
			t.Errorf("panic says %q, want %q", said, want)
		}
	}()
	f()
}

// TestRegistrySealMismatch checks that a component that was forgotten keeps the registry open, and that it can be added.
func TestRegistrySealMismatch(t *testing.T) {
	var r compat.Registry
	r.Register(cameraPart)
	err := r.Seal(0x4c37681f163b1204)
	if err == nil || !strings.Contains(err.Error(), "1 shared ones") || !strings.Contains(err.Error(), "4c37681f163b1204 was generated") {
		t.Fatalf("%v", err)
	}
	if _, err := r.Manifest(compat.Build{}); !errors.Is(err, compat.ErrUnsealed) {
		t.Errorf("%v", err)
	}
	r.Register(walletPart)
	if err := r.Seal(0x4c37681f163b1204); err != nil {
		t.Error(err)
	}
	var own compat.Registry
	if err := own.Seal(0); err != nil {
		t.Errorf("an empty one that was not generated: %v", err)
	}
	if m, err := own.Manifest(compat.Build{}); err != nil || m.Build.Components != 0x30cc2710ed48aa5c {
		t.Errorf("%v: %+v", err, m)
	}
}

// TestRegistryConcurrent registers from many goroutines while others wait for the end of it.
func TestRegistryConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r compat.Registry
		var registering, waiting sync.WaitGroup
		var told [3]error
		for i := range told {
			waiting.Go(func() {
				<-r.Sealed()
				_, told[i] = r.Manifest(compat.Build{})
			})
		}
		for i := range 50 {
			registering.Go(func() {
				r.Register(compat.Component{Entry: entry(fmt.Sprintf("C%02d", i), uint16(i), uint64(i)+1)})
			})
		}
		registering.Wait()
		synctest.Wait()
		if err := r.Seal(0); err != nil {
			t.Error(err)
		}
		waiting.Wait()
		if err := errors.Join(told[:]...); err != nil {
			t.Error(err)
		}
		if m, err := r.Manifest(compat.Build{}); err != nil || len(m.Entries) != 50 {
			t.Errorf("%v: %d entries", err, len(m.Entries))
		}
	})
}
