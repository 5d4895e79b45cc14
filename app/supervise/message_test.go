package supervise

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// vectors are one line of each message, exactly as on the pipe.
var vectors = []struct {
	line string
	m    message
}{
	{`{"update":{"version":"1.2"}}`, message{Update: &newer{"1.2"}}},
	{`{"hello":{"protocol":5}}`, message{Hello: &hello{5}}},
	{`{"run":{"args":["--x","","/\u003c\u0026"]}}`, message{Run: &run{[]rawString{"--x", "", "/<&"}}}},
	{`{"run":{"args":[{"base64":"//4="}]}}`, message{Run: &run{[]rawString{"\xff\xfe"}}}},
	{`{"leave":{}}`, message{Leave: &struct{}{}}},
	{`{"stop":{}}`, message{Stop: &struct{}{}}},
	{`{"metadata":{"abi":3,"name":"n","build":"b","compatibility":"c"}}`, message{Metadata: &metadata{3, "n", "b", "c", nil}}},
	{`{"metadata":{"abi":3,"name":"n","build":"b","compatibility":"c","components":{"logic":7,"set":18446744073709551615,"time":5,"seq":6,"id":"i","branch":"m","entries":[{"n":"Camera","i":1,"h":9,"c":4,"s":6}]}}}`,
		message{Metadata: &metadata{3, "n", "b", "c", &components{Logic: 7, Set: 1<<64 - 1, BuildTime: 5, BuildSeq: 6, BuildID: "i", Branch: "m", Entries: []component{{"Camera", 1, 9, 4, 6}}}}}},
	{`{"load-failed":{"stage":"open","text":"no"}}`, message{LoadFailed: &loadFailed{"open", "no"}}},
	{`{"progress":{"text":"shaders"}}`, message{Progress: &progress{"shaders"}}},
	{`{"ready":{}}`, message{Ready: &struct{}{}}},
	{`{"log":{"level":-1,"text":"длинно"}}`, message{Log: &logEntry{-1, "длинно"}}},
	{`{"result":{"kind":1,"success":true,"path":"/p","compatibility":"c"}}`, message{Result: &result{1, true, "/p", "c", ""}}},
	{`{"result":{"kind":0,"success":false,"fault":"f"}}`, message{Result: &result{Fault: "f"}}},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		got, err := decode([]byte(v.line))
		if err != nil || !reflect.DeepEqual(got, v.m) {
			t.Errorf("%s: %+v, %v", v.line, got, err)
		}
		line, err := encode(v.m)
		if err != nil || string(line) != v.line+"\n" {
			t.Errorf("encoded as %q, %v; want %q", line, err, v.line)
		}
	}
}

func TestLinesHaveALimit(t *testing.T) {
	args := func(n int) message { return message{Run: &run{[]rawString{rawString(strings.Repeat("x", n))}}} }
	overhead := len(`{"run":{"args":[""]}}`) + 1 // with the end of line
	fits, err := encode(args(maxLine - overhead))
	if err != nil || len(fits) != maxLine {
		t.Fatalf("%d bytes, %v", len(fits), err)
	}
	if _, err := encode(args(maxLine - overhead + 1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("one more: %v", err)
	}
	lines := newLines(bytes.NewReader(append(fits, fits...)))
	for range 2 {
		if m, err := lines.nextMessage(); err != nil || len(m.Run.Args[0]) != maxLine-overhead {
			t.Errorf("reading the longest line: %v", err)
		}
	}
	if _, err := lines.nextMessage(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	endless := &counter{r: io.MultiReader(strings.NewReader("{"), blanks{})}
	var broken *ControlError
	if _, err := newLines(endless).nextMessage(); !errors.As(err, &broken) || broken.Fault != TooLong {
		t.Errorf("endless line: %v", err)
	}
	if endless.n > 2*maxLine {
		t.Errorf("%d bytes were read to find that out", endless.n)
	}
}

// blanks is an endless stream of spaces.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestErrorsQuoteTheBeginning(t *testing.T) {
	_, err := decode([]byte("\x1b[2J" + strings.Repeat("x", 1000)))
	if got := err.Error(); len(got) > 300 || !strings.HasPrefix(got, `malformed message "\x1b[2Jxxx`) || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"", 10, ""}, {"short", 5, "short"}, {"abcdef", 5, "ab…"}, {"ééééé", 8, "éé…"}, {"\xff\xff\xff\xff\xff", 4, "\xff…"},
		{"\x80\x80\x80\x80\x80", 4, "…"},
	}
	for _, test := range tests {
		if got := cut(test.in, test.limit); got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}

// FuzzLines feeds a pipe with arbitrary bytes. Nothing panics, accepted messages keep their meaning when they are encoded
// again, and errors name their fault.
func FuzzLines(f *testing.F) {
	for _, v := range vectors {
		f.Add([]byte(v.line + "\n"))
	}
	for _, line := range []string{"", "\n", "{}", "{}\n", "null\n", "[]\n", "1\n", `{"ready":null}` + "\n", `{"ready":{}}{}` + "\n",
		`{"run":{"args":[null,{"base64":""}]}}` + "\n", `{"READY":{}}` + "\n", strings.Repeat("[", 20_000) + "\n"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := newLines(bytes.NewReader(data))
		for {
			m, err := lines.nextMessage()
			var broken *ControlError
			if errors.As(err, &broken) && broken.Fault != "" && broken.Error() != "" || err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("unnamed fault %v", err)
			}
			line, err := encode(m)
			if err != nil {
				continue // escapes can make the encoded line longer than the original
			}
			again, err := decode(bytes.TrimSuffix(line, []byte{'\n'}))
			if err != nil || !reflect.DeepEqual(again, m) {
				t.Fatalf("%q became %q: %v", data, line, err)
			}
		}
	})
}
