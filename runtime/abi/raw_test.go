package abi_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"collet/runtime/abi"
)

// text lays a string out as C has it and pins it until the test ends.
func text(t *testing.T, s string) uintptr {
	t.Helper()
	data := append([]byte(s), 0)
	var pins runtime.Pinner
	pins.Pin(&data[0])
	t.Cleanup(pins.Unpin)
	return uintptr(unsafe.Pointer(&data[0]))
}

// good is a table with nothing wrong.
func good(t *testing.T, version uint32) abi.RawExports {
	t.Helper()
	return abi.RawExports{
		StructSize: abi.ExportsSize, Run: 1,
		Metadata: abi.RawMetadata{
			StructSize: abi.MetadataSize, AbiVersion: version,
			RuntimeName: text(t, "Lathe"), BuildHash: text(t, ""), CompatibilityVersion: text(t, "lathe-1 ä"),
		},
	}
}

func TestAsk(t *testing.T) {
	tests := []struct {
		name   string
		speaks []uint32
		spoil  func(*abi.RawExports)
		asked  []uint32
		err    error
	}{
		{"newest", []uint32{3}, nil, []uint32{3}, nil},
		{"both", []uint32{2, 3}, nil, []uint32{3}, nil},
		{"oldest only", []uint32{2}, nil, []uint32{3, 2}, nil},
		{"a later one", []uint32{4}, nil, []uint32{3, 2}, abi.ErrRefused},
		{"none", nil, nil, []uint32{3, 2}, abi.ErrRefused},
		{"no version", []uint32{3}, func(e *abi.RawExports) { e.Metadata.AbiVersion = 0 }, []uint32{3}, abi.ErrZeroABI},
		{"says 2 to 3", []uint32{2, 3}, func(e *abi.RawExports) { e.Metadata.AbiVersion = 2 }, []uint32{3}, abi.ErrWrongABI},
		{"short", []uint32{3}, func(e *abi.RawExports) { e.StructSize-- }, []uint32{3}, abi.ErrStructSize},
		{"long", []uint32{3}, func(e *abi.RawExports) { e.StructSize++ }, []uint32{3}, abi.ErrStructSize},
		{"short inside", []uint32{3}, func(e *abi.RawExports) { e.Metadata.StructSize = 0 }, []uint32{3}, abi.ErrStructSize},
		{"no run", []uint32{3}, func(e *abi.RawExports) { e.Run = 0 }, []uint32{3}, abi.ErrNullRun},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked []uint32
			table, err := abi.Ask(func(version uint32, table *abi.RawExports) bool {
				asked = append(asked, version)
				fresh := abi.RawExports{StructSize: abi.ExportsSize, Metadata: abi.RawMetadata{StructSize: abi.MetadataSize}}
				if *table != fresh {
					t.Errorf("asked with %d, the table is %+v", version, *table)
				}
				table.Run = 7 // what is left behind by a refusal
				for _, v := range test.speaks {
					if v == version {
						*table = good(t, version)
						if test.spoil != nil {
							test.spoil(table)
						}
						return true
					}
				}
				return false
			})
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("got %v, want %v", err, test.err)
			}
			if len(asked) != len(test.asked) || asked[len(asked)-1] != test.asked[len(test.asked)-1] {
				t.Errorf("asked %v, want %v", asked, test.asked)
			}
			if err == nil && table.Metadata.AbiVersion != asked[len(asked)-1] {
				t.Errorf("table of version %d", table.Metadata.AbiVersion)
			}
		})
	}
}

func TestMetadataCopy(t *testing.T) {
	raw := good(t, 3).Metadata
	got, err := raw.Copy()
	want := abi.Metadata{ABIVersion: 3, RuntimeName: "Lathe", CompatibilityVersion: "lathe-1 ä"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	endless := text(t, strings.Repeat("x", abi.MaxString))
	for _, field := range []struct {
		name string
		at   *uintptr
	}{
		{"runtime name", &raw.RuntimeName}, {"build hash", &raw.BuildHash}, {"compatibility version", &raw.CompatibilityVersion},
	} {
		whole := *field.at
		for value, fault := range map[uintptr]error{0: abi.ErrNullString, endless: abi.ErrUnterminated} {
			*field.at = value
			got, err := raw.Copy()
			if !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), field.name+": ") || got != (abi.Metadata{}) {
				t.Errorf("%s: got %+v, %v; want %v", field.name, got, err, fault)
			}
		}
		*field.at = whole
	}
}

func TestResultCopy(t *testing.T) {
	path, compatibility, empty := text(t, "/games/Lathe.so"), text(t, "lathe-2"), text(t, "")
	endless := text(t, strings.Repeat("x", abi.MaxString))
	tests := []struct {
		name string
		raw  abi.RawResult
		want abi.Result
		err  error
	}{
		{"untouched", abi.RawResult{}, abi.Result{}, nil},
		{"shutdown", abi.RawResult{Success: 1}, abi.Result{Success: true}, nil},
		{"any true", abi.RawResult{Success: 0x80}, abi.Result{Success: true}, nil},
		{"fatal", abi.RawResult{ResultKind: 2}, abi.Result{Kind: abi.FatalError}, nil},
		{
			"reload", abi.RawResult{ResultKind: 1, Success: 1, RequestedRuntimePath: path, RequestedCompatibilityVersion: compatibility},
			abi.Result{
				Kind: abi.ReloadRequested, Success: true,
				RequestedRuntimePath: "/games/Lathe.so", RequestedCompatibilityVersion: "lathe-2",
			}, nil,
		},
		{
			"reload of whatever fits", abi.RawResult{ResultKind: 1, RequestedRuntimePath: path},
			abi.Result{Kind: abi.ReloadRequested, RequestedRuntimePath: "/games/Lathe.so"}, nil,
		},
		{"reload, null", abi.RawResult{ResultKind: 1}, abi.Result{}, abi.ErrNoPath},
		{"reload, empty", abi.RawResult{ResultKind: 1, RequestedRuntimePath: empty}, abi.Result{}, abi.ErrNoPath},
		{"kind 3", abi.RawResult{ResultKind: 3}, abi.Result{}, abi.ErrUnknownKind},
		{"kind -1", abi.RawResult{ResultKind: 1<<32 - 1}, abi.Result{}, abi.ErrUnknownKind},
		{"endless path", abi.RawResult{RequestedRuntimePath: endless}, abi.Result{}, abi.ErrUnterminated},
		{"endless version", abi.RawResult{RequestedCompatibilityVersion: endless}, abi.Result{}, abi.ErrUnterminated},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.raw.StructSize = abi.ResultSize
			got, err := test.raw.Copy()
			if got != test.want || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, test.want, test.err)
			}
			for _, size := range []uint32{0, abi.ResultSize - 1, abi.ResultSize + 1} {
				test.raw.StructSize = size
				if got, err := test.raw.Copy(); !errors.Is(err, abi.ErrStructSize) || got != (abi.Result{}) {
					t.Errorf("size %d: got %+v, %v", size, got, err)
				}
			}
		})
	}
}

// TestSpare writes all that a module of another time may write. Under the race detector, which checks pointers, or with
// a smaller Spare than promised, this does not come back.
func TestSpare(t *testing.T) {
	spoil := func(start unsafe.Pointer, size uint32) {
		for i := range abi.Spare {
			*(*byte)(unsafe.Add(start, int(size)+i)) = 0xAA
		}
	}
	for range 100 {
		result := abi.NewResult()
		if *result != (abi.RawResult{StructSize: abi.ResultSize}) {
			t.Fatalf("a new result is %+v", *result)
		}
		spoil(unsafe.Pointer(result), abi.ResultSize)
		if _, err := result.Copy(); err != nil {
			t.Fatal(err)
		}
		if _, err := abi.Ask(func(version uint32, table *abi.RawExports) bool {
			spoil(unsafe.Pointer(table), abi.ExportsSize)
			*table = good(t, version)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
}

func TestResultKindString(t *testing.T) {
	for kind, want := range map[abi.ResultKind]string{
		abi.Shutdown: "shutdown", abi.ReloadRequested: "reload requested", abi.FatalError: "fatal error", 77: "unknown kind 77",
	} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", uint32(kind), got, want)
		}
	}
}
