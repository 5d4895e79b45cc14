package advice_test

import (
	"errors"
	"io/fs"
	"testing"

	"collet/build/advice"
)

func TestText(t *testing.T) {
	for want, err := range map[string]error{
		"write a.zip: file does not exist; make the folder": advice.Because(fs.ErrNotExist, "make the folder", "write %s", "a.zip"),
		"write a.zip: file does not exist":                  advice.Because(fs.ErrNotExist, "", "write %s", "a.zip"),
		"2 keys are wanted; make another one":               advice.Wrong("make another one", "%d keys are wanted", 2),
		"2 keys are wanted":                                 advice.Wrong("", "2 keys are wanted"),
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		var a *advice.Error
		if !errors.As(err, &a) {
			t.Errorf("%q is no *Error", err)
		}
	}
	if err := advice.Because(fs.ErrNotExist, "", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}
