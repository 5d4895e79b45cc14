package compat_test

import (
	"math"
	"strings"
	"testing"

	"collet/netproto/compat"
)

// TestAgeOf is "Which build is older" of docs/COMPATIBILITY.md: numbers on one branch, then times that differ by more than a minute, then nothing.
func TestAgeOf(t *testing.T) {
	on := func(branch string, seq uint64, at int64) compat.Build {
		return compat.Build{Branch: branch, Seq: seq, Time: at}
	}
	for _, e := range []struct {
		name           string
		client, server compat.Build
		want           compat.Age
	}{
		{"numbers, older", on("main", 812, 900), on("main", 841, 100), compat.ClientOlder},
		{"numbers, newer", on("main", 842, 100), on("main", 841, 900), compat.ClientNewer},
		{"numbers, same", on("main", 841, 100), on("main", 841, 900), compat.AgeSame},
		{"numbers of no branch", on("", 2, 0), on("", 3, 0), compat.ClientOlder},
		{"another branch, older", on("fix", 999, 100), on("main", 841, 900), compat.ClientOlder},
		{"another branch, newer", on("fix", 1, 900), on("main", 841, 100), compat.ClientNewer},
		{"another branch, no time", on("fix", 1, 0), on("main", 841, 900), compat.AgeUnknown},
		{"one number only", on("main", 0, 900), on("main", 841, 100), compat.ClientNewer},
		{"a minute apart", on("", 0, 1000), on("", 0, 1060), compat.AgeUnknown},
		{"more than a minute older", on("", 0, 1000), on("", 0, 1061), compat.ClientOlder},
		{"more than a minute newer", on("", 0, 1061), on("", 0, 1000), compat.ClientNewer},
		{"equal times", on("", 0, 1000), on("", 0, 1000), compat.AgeUnknown},
		{"times as far apart as can be", on("", 0, math.MinInt64), on("", 0, math.MaxInt64), compat.ClientOlder},
		{"and the other way", on("", 0, math.MaxInt64), on("", 0, math.MinInt64), compat.ClientNewer},
		{"nothing", compat.Build{}, compat.Build{}, compat.AgeUnknown},
	} {
		if got := compat.AgeOf(e.client, e.server); got != e.want {
			t.Errorf("%s: %s, want %s", e.name, got, e.want)
		}
	}
}

// TestAgeNumbers are those on the wire, and their words in logs.
func TestAgeNumbers(t *testing.T) {
	for n, word := range []string{"unknown", "client_older", "client_newer", "same", "unknown"} {
		if got := compat.Age(n).String(); got != word {
			t.Errorf("%d is %q, want %q", n, got, word)
		}
	}
	if compat.AgeUnknown != 0 || compat.ClientOlder != 1 || compat.ClientNewer != 2 || compat.AgeSame != 3 {
		t.Error("a number has changed")
	}
}

// TestDerived: the string says number and hash, exactly one string says them, and nothing else looks like one.
func TestDerived(t *testing.T) {
	for _, e := range []struct {
		logic int32
		sum   uint64
		want  string
	}{
		{7, 0x4c37681f163b1204, "L7-4c37681f163b1204"}, // the set of docs/COMPATIBILITY.md, "What is hashed"
		{7, 0x536c49c90dc3ebf0, "L7-536c49c90dc3ebf0"},
		{0, 0, "L0-0000000000000000"}, {1, 0xf, "L1-000000000000000f"},
		{math.MaxInt32, math.MaxUint64, "L2147483647-ffffffffffffffff"},
	} {
		got := compat.Derived(e.logic, e.sum)
		logic, sum, ok := compat.ParseDerived(got)
		if got != e.want || !ok || logic != e.logic || sum != e.sum {
			t.Errorf("%q, want %q; it parses to %d, %x, %v", got, e.want, logic, sum, ok)
		}
	}
	const sum = "4c37681f163b1204"
	for _, s := range []string{
		"", "L", "L-", "L7", "7-" + sum, "l7-" + sum, "LL7-" + sum, "L7-" + sum + "0", "L7-" + sum[1:], "L7-" + strings.ToUpper(sum), "L7--" + sum[1:],
		"L-" + sum, "L-1-" + sum, "L+7-" + sum, "L07-" + sum, "L00-" + sum, "L2147483648-" + sum, "L7 -" + sum, "L7- " + sum[1:], "L7-" + sum + " ",
		"L7-+" + sum[1:], "L7-0x" + sum[2:], "L7-" + sum[:15] + "g", "L7-" + sum[:13] + "_12", "L٧-" + sum, "0123456789abcdef",
	} {
		if logic, sum, ok := compat.ParseDerived(s); ok {
			t.Errorf("%q is taken for %d and %x", s, logic, sum)
		}
	}
}

// FuzzDerived: what parses is what Derived writes, byte by byte.
func FuzzDerived(f *testing.F) {
	for _, s := range []string{"", "L7-4c37681f163b1204", "L0-0000000000000000", "L-1-4c37681f163b1204", "L07-4c37681f163b1204", "L7-4C37681F163B1204"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if logic, sum, ok := compat.ParseDerived(s); ok && compat.Derived(logic, sum) != s {
			t.Errorf("%q is taken for %q", s, compat.Derived(logic, sum))
		}
	})
}

// TestRange is about both ends, one version, and ranges that are none.
func TestRange(t *testing.T) {
	r := compat.Range{Min: 6, Max: 7}
	for v, want := range map[int32]bool{5: false, 6: true, 7: true, 8: false, compat.NoLogic: false} {
		if r.Has(v) != want {
			t.Errorf("%d in %s: %v", v, r, !want)
		}
	}
	for inner, want := range map[compat.Range]bool{{6, 7}: true, {6, 6}: true, {7, 7}: true, {5, 7}: false, {6, 8}: false, {7, 6}: false, {1, 2}: false} {
		if inner.Within(r) != want {
			t.Errorf("%s within %s: %v", inner, r, !want)
		}
	}
	if r.String() != "6-7" || (compat.Range{Min: 8, Max: 8}).String() != "8" {
		t.Error(r)
	}
}
