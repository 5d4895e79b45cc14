package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"collet/netproto/server/operator"
)

// tabTo goes on with the Tab key until something has the focus, as a reader without a mouse does.
func tabTo(selector string) step {
	const most = 120 // stops of a page
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		for range most {
			if _, err := chromedp.KeyEvent(kb.Tab)(ctx, tab); err != nil {
				return err
			}
			there, err := chromedp.Evaluate[bool](`document.activeElement.matches(`+"`"+selector+"`"+`)`)(ctx, tab)
			if there || err != nil {
				return err
			}
		}
		return fmt.Errorf("the Tab key does not lead to %s", selector)
	})
}

// TestDashboardByKeyboard lowers the range, raises a floor and tries a client without a mouse; what has the focus can be seen.
func TestDashboardByKeyboard(t *testing.T) {
	ctx := chromium(t)
	quiet(t, ctx)
	h, o, at := busy(t)
	h.enters(t, ctx)
	floors(t, o, map[string]int32{"ann": 6})
	var outline, skipped, told string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("#range")),
		chromedp.KeyEvent(kb.Tab), script(`document.activeElement.className`, &skipped), picture("keyboard-skip"), chromedp.KeyEvent(kb.Enter), // to the content
		tabTo("#range input[name=active_max]"), script(`getComputedStyle(document.activeElement).outlineStyle`, &outline), chromedp.KeyEvent(kb.ArrowDown),
		tabTo("#range button.primary"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("form.lowers")),
		tabTo("form.lowers textarea"), chromedp.KeyEvent("8 loses items"), tabTo("form.lowers select"), chromedp.KeyEvent(kb.ArrowDown), tabTo("form.lowers [name=confirm]"), chromedp.KeyEvent(" "),
		picture("keyboard-lowering"),
		tabTo("form.lowers button.danger"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(".note.good")),
	)
	if s := o.Settings(); s.ActiveMax != 7 || skipped != "skip" || outline == "none" {
		t.Fatalf("%+v; first %q, outline %q", s, skipped, outline)
	}
	does(t, ctx,
		tabTo(`nav a[href="/admin/players"]`), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(".list")),
		tabTo(`a[href^="/admin/player?id=ann"]`), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("input[name=floor]:not([type=hidden])")),
		tabTo("input[name=floor]"), chromedp.KeyEvent(kb.ArrowUp+kb.Enter), chromedp.WaitVisible(chromedp.CSS("form.apply")),
		tabTo("form.apply button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(".note.good")),
		tabTo(`nav a[href="/admin/try"]`), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#try")),
		tabTo("input[name=logic]"), chromedp.KeyEvent(kb.ArrowUp), chromedp.WaitVisible(chromedp.CSS("#answer .verdict.bad")), into(&told, chromedp.Text(chromedp.CSS("#answer h2"))), picture("try-answer"),
	)
	if floor, err := o.Floors.Get("ann"); floor != 7 || err != nil || !strings.Contains(told, "Newer than this server") {
		t.Errorf("%d, %v; told %q", floor, err, told)
	}
}

// TestDashboardTwoOperators change the same thing at once in two browsers: one is told what the other has done, and nothing is lost.
func TestDashboardTwoOperators(t *testing.T) {
	first := chromium(t)
	h, o, at := busy(t)
	h.enters(t, first)
	second, closeTab := chromedp.NewContext(first, chromedp.WithNewBrowserContext())
	defer closeTab()
	if err := chromedp.Do(second); err != nil { // it starts here, so that it outlives the first step
		t.Fatal(err)
	}
	h.enters(t, second)
	var conflict, comment string
	for _, who := range []struct {
		ctx     context.Context
		key     string
		comment string
	}{{first, kb.ArrowDown, "mine, from the first"}, {second, kb.ArrowUp, "mine, from the second"}} {
		field := chromedp.CSS("#range input[name=active_min]")
		does(t, who.ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(field), chromedp.Focus(field), chromedp.KeyEvent(who.key+kb.Enter),
			chromedp.WaitVisible(chromedp.CSS("form.apply textarea")), chromedp.SendKeys(chromedp.CSS("form.apply textarea"), who.comment))
	}
	does(t, second, chromedp.Click(chromedp.CSS("form.apply button")), chromedp.WaitVisible(chromedp.CSS(".note.good")))
	does(t, first, chromedp.Click(chromedp.CSS("form.apply [name=confirm]")), chromedp.Click(chromedp.CSS("form.apply button")), chromedp.WaitVisible(chromedp.CSS(".conflict")),
		into(&conflict, chromedp.Text(chromedp.CSS(".conflict"))), into(&comment, chromedp.Value(chromedp.CSS("form.apply textarea"))), picture("conflict"))
	if s := o.Settings(); s.ActiveMin != 7 || s.Revision != 3 || !strings.Contains(conflict, "mine, from the second") || comment != "mine, from the first" {
		t.Fatalf("%+v; told %q, kept %q", s, conflict, comment)
	}
	does(t, first, chromedp.Click(chromedp.CSS("form.apply [name=confirm]")), chromedp.Click(chromedp.CSS("form.apply button")), chromedp.WaitVisible(chromedp.CSS(".note.good")))
	if s := o.Settings(); s.ActiveMin != 5 || s.Revision != 4 {
		t.Errorf("%+v", s)
	}
}

// TestDashboardSessionEnds while a page is read and typed into: its reader is told, and what was typed is there again after the login.
func TestDashboardSessionEnds(t *testing.T) {
	ctx := chromium(t)
	_, o, at := busy(t)
	secret, err := o.Tokens.Create(editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	var away, again, comment string
	does(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), secret+kb.Enter),
		chromedp.WaitVisible(chromedp.CSS("#range")))
	secret = ends(t, o)
	does(t, ctx, chromedp.Focus(chromedp.CSS("#range input[name=active_min]")), chromedp.KeyEvent(kb.ArrowUp), chromedp.WaitVisible(chromedp.CSS("#away a")),
		into(&away, chromedp.Text(chromedp.CSS("#away"))), picture("session-ended"),
		chromedp.Focus(chromedp.CSS("#range input[name=active_min]")), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), picture("session-login"),
		chromedp.SendKeys(chromedp.CSS("input[name=token]"), secret+kb.Enter), chromedp.WaitVisible(chromedp.CSS("form.apply textarea")), into(&again, chromedp.Text(chromedp.CSS("main"))),
		chromedp.SendKeys(chromedp.CSS("form.apply textarea"), "after a break"))
	if !strings.Contains(away, "no longer logged in") || !strings.Contains(again, "You are logged in again") || o.Settings().ActiveMin != 6 {
		t.Fatalf("told %q, then %q", away, again)
	}
	if _, err := o.Tokens.Create(editor(), "third", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if err := o.Tokens.Drop(editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	if secret, err = o.Tokens.Create(editor(), "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	does(t, ctx, chromedp.Click(chromedp.CSS("form.apply button")), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), secret+kb.Enter),
		chromedp.WaitVisible(chromedp.CSS("form.apply textarea")), into(&comment, chromedp.Value(chromedp.CSS("form.apply textarea"))),
		chromedp.Click(chromedp.CSS("form.apply button")), chromedp.WaitVisible(chromedp.CSS("#range")))
	if s := o.Settings(); comment != "after a break" || s.ActiveMin != 7 {
		t.Errorf("kept %q; %+v", comment, s)
	}
}

// TestDashboardGuessedAt slows down whose tokens are wrong, and says so.
func TestDashboardGuessedAt(t *testing.T) {
	ctx := chromium(t)
	_, o, at := busy(t)
	if _, err := o.Tokens.Create(editor(), "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	var told string
	does(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin/login"), chromedp.WaitVisible(chromedp.CSS("input[name=token]")))
	for i := range 60 {
		does(t, ctx, script(`document.querySelector("h1").id = "before"`, new(string)), chromedp.SendKeys(chromedp.CSS("input[name=token]"), fmt.Sprintf("collet_guess-%d", i)+kb.Enter),
			chromedp.WaitVisible(chromedp.CSS(".note.bad")), chromedp.WaitNotPresent(chromedp.CSS("#before")), into(&told, chromedp.Text(chromedp.CSS(".note.bad"))))
		if strings.Contains(told, "Too many wrong tokens") {
			if i < 9 {
				t.Errorf("slowed down after %d", i)
			}
			does(t, ctx, picture("login-slowed"))
			return
		}
	}
	t.Errorf("60 guesses, and told %q", told)
}
