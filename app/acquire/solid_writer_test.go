package acquire

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/update"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
)

// keeper keeps what is delivered, and fails if it should.
type keeper struct {
	data    map[int][]byte
	restart []int
	err     error
}

func (k *keeper) Deliver(i int, data []byte) error {
	k.data[i] = append(k.data[i], data...)
	return k.err
}

func (k *keeper) Restart(i int) error {
	k.restart = append(k.restart, i)
	delete(k.data, i)
	return nil
}

// deflatedFile is an archive of one text, with its recipe and its form.
func deflatedFile(t *testing.T) (file, form []byte, recipe deflate.Recipe) {
	t.Helper()
	var text []byte
	for i := range 9000 {
		text = fmt.Appendf(text, "line %d is deflated. ", i*i)
	}
	var packed, archive, plain bytes.Buffer
	w := zip.NewWriter(&archive)
	err := deflate.Encode(&packed, bytes.NewReader(text), deflate.Params{Level: 6, MemLevel: 8})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.CreateRaw(&zip.FileHeader{Name: "text", Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(text))})
	if err == nil {
		_, err = out.Write(packed.Bytes())
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	file = archive.Bytes()
	recipe, size, err := deflate.AnalyzeForm(t.Context(), bytes.NewReader(file), int64(len(file)), 1<<20, 1)
	if err == nil {
		err = deflate.Expand(t.Context(), &plain, bytes.NewReader(file), int64(len(file)), size, recipe)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, plain.Bytes(), recipe
}

// writing is a fetch of contents that are in one group.
func writing(to *keeper, contents ...[]byte) *executing {
	var wants []update.Want
	var form solid.Form
	for _, data := range contents {
		sum, size := release.ObjectOf(data).Sum, int64(len(data))
		wants = append(wants, update.WantFrom(release.File{Size: size, Digest: sum}, 0))
		form.Contents = append(form.Contents, solid.Content{Sum: sum, Size: size})
	}
	e := &executing{planning{
		resources: &resources{o: Options{Log: zerolog.Nop()}, progress: &progress{report: Report{Bytes: map[Strategy]int64{}}}, failures: failures{}},
		delivery:  newDelivery(wants, to),
	}}
	e.solid.form = form
	return e
}

// TestSolidWriterCalls has a call at each place relative to the end of what is decoded, and to the end of a step of delivery.
func TestSolidWriterCalls(t *testing.T) {
	t.Parallel()
	for shift := range 6 {
		code, note := make([]byte, deliverStep+shift), []byte("a note behind the code")
		code[0] = 0xe8 // the first byte can't be delivered alone
		for len(code) < 2*deliverStep {
			code = append(code, 0xe8, byte(len(code)), 1, 0, 0)
		}
		coded := bytes.Clone(code)
		solid.EncodeCalls(coded)
		if bytes.Equal(coded, code) {
			t.Fatal("no call was translated")
		}
		data := append(coded, note...)
		for _, steps := range [][]int{
			{1, deliverStep - 1, deliverStep, deliverStep + shift + 1, deliverStep + shift + 2, deliverStep + 7777, len(code) - 1, len(code) + 1, len(data)},
			{len(data)},
		} {
			to := &keeper{data: map[int][]byte{}}
			w := &solidWriter{e: writing(to, code, note), members: []solid.Member{{Content: 0, Size: int64(len(code)), Calls: true}, {Content: 1, Size: int64(len(note))}}}
			w.from = bytes.NewReader(data)
			for _, n := range steps {
				if err := w.write(t.Context(), int64(n)); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(to.data[0], code) || !bytes.Equal(to.data[1], note) {
				t.Errorf("shift %d, %d steps: %d and %d bytes, or others", shift, len(steps), len(to.data[0]), len(to.data[1]))
			}
		}
	}
}

// TestSolidWriterForms: a form that does not make its content fails alone, and the disk's errors end the writing.
func TestSolidWriterForms(t *testing.T) {
	t.Parallel()
	file, form, recipe := deflatedFile(t)
	note := []byte("a note behind the pack")
	other, _, err := deflate.ReadRecipe([]byte{1, 1, 0x19})
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := deflate.ReadRecipe([]byte{1, 2, 0x16})
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(form)
	changed[len(changed)/2]++
	full := errors.New("the disk is full")
	for _, test := range []struct {
		name   string
		recipe deflate.Recipe
		form   []byte
		disk   error
		made   bool
	}{
		{"the form", recipe, form, nil, true},
		{"a changed form", recipe, changed, nil, false},
		{"parameters of another encoder", other, form, nil, false},
		{"more streams", two, form, nil, false},
		{"a full disk", recipe, form, &update.Fault{Cause: update.DiskFull, Err: full}, false},
	} {
		to := &keeper{data: map[int][]byte{}, err: test.disk}
		e := writing(to, file, note)
		w := &solidWriter{e: e, members: []solid.Member{{Content: 0, Size: int64(len(form)), Recipe: test.recipe}, {Content: 1, Size: int64(len(note))}}}
		data := append(bytes.Clone(test.form), note...)
		w.from = bytes.NewReader(data)
		for n := 0; n < len(data) && err == nil; n += 30_000 {
			err = w.write(context.Background(), int64(n))
		}
		if err == nil {
			err = w.write(context.Background(), int64(len(data)))
		}
		if test.disk != nil {
			if !errors.Is(err, full) {
				t.Errorf("%s: %v", test.name, err)
			}
			err = nil
			continue
		}
		if err != nil || !bytes.Equal(to.data[1], note) || bytes.Equal(to.data[0], file) != test.made {
			t.Errorf("%s: %v, %d and %d bytes", test.name, err, len(to.data[0]), len(to.data[1]))
		}
		if failed := e.failures.count(release.ObjectOf(file).Sum, Solid) > 0; failed == test.made || !test.made && len(to.data[0]) > 0 {
			t.Errorf("%s: failed is %v, and %d bytes stay", test.name, failed, len(to.data[0]))
		}
	}
}
