package netproto

import (
	"encoding/binary"
	"errors"
	"fmt"

	"collet/netproto/compat"
	"collet/netproto/wire"
)

// tagCoder codes the tags of a hello or an answer in ascending order. Values are coded like fields of messages, so one
// that is too short, too long or out of range is a fault.
type tagCoder struct {
	reading bool
	tags    Tags // reading: the remaining tags; writing: those written so far
	err     error
}

// tag codes one value. When writing, a tag is omitted if its absence means the same.
func (t *tagCoder) tag(number uint16, name string, there bool, code func(*wire.Coder)) {
	if t.err != nil {
		return
	}
	c := wire.Writer(nil)
	if t.reading {
		var value []byte
		value, there = t.next(number)
		c = wire.Reader(value)
	}
	if !there {
		return
	}
	code(c)
	c.End()
	if err := c.Err(); err != nil {
		t.err = fmt.Errorf("tag %d, %s: %w", number, name, err)
	} else if !t.reading {
		t.tags = t.tags.add(number, c.Written())
	}
}

// next skips tags up to number and returns its value.
func (t *tagCoder) next(number uint16) (value []byte, found bool) {
	for n, v := range t.tags.All() {
		if n > number {
			break
		}
		t.tags = t.tags[tagHeader+len(v):]
		if n == number {
			return v, true
		}
	}
	return nil, false
}

func (t *tagCoder) u8(number uint16, name string, v *uint8) {
	t.tag(number, name, *v != 0, func(c *wire.Coder) { c.U8("value", v) })
}

func (t *tagCoder) u16(number uint16, name string, v *uint16) {
	t.tag(number, name, *v != 0, func(c *wire.Coder) { c.U16("value", v) })
}

func (t *tagCoder) u32(number uint16, name string, v *uint32) {
	t.tag(number, name, *v != 0, func(c *wire.Coder) { c.U32("value", v) })
}

func (t *tagCoder) u64(number uint16, name string, v *uint64) {
	t.tag(number, name, *v != 0, func(c *wire.Coder) { c.U64("value", v) })
}

func (t *tagCoder) i64(number uint16, name string, v *int64) {
	t.tag(number, name, *v != 0, func(c *wire.Coder) { c.I64("value", v) })
}

// i32 codes a number; an absent tag means usual.
func (t *tagCoder) i32(number uint16, name string, v *int32, usual int32) {
	t.tag(number, name, *v != usual, func(c *wire.Coder) { c.I32("value", v) })
}

// boolean codes a bool.
func (t *tagCoder) boolean(number uint16, name string, v *bool) {
	t.tag(number, name, *v, func(c *wire.Coder) { c.Bool("value", v) })
}

// text codes a text that fills the tag, of at most most bytes.
func (t *tagCoder) text(number uint16, name string, v *string, most int) {
	t.tag(number, name, *v != "", func(c *wire.Coder) {
		n := len(*v)
		if c.Reading() {
			n = c.Left()
		}
		if c.Require("value", n <= most, wire.TooLarge(uint64(n), uint64(most))); c.Err() == nil {
			c.Chars("value", v, n)
		}
	})
}

// rangeOf codes both ends of a range of logic versions.
func (t *tagCoder) rangeOf(number uint16, name string, v *compat.Range, there bool) {
	t.tag(number, name, there, func(c *wire.Coder) {
		c.I32("from", &v.Min)
		c.I32("to", &v.Max)
		c.Require("to", v.Min <= v.Max, fmt.Errorf("the range ends at %d, before it begins at %d", v.Max, v.Min))
	})
}

// code defines the tags of a hello for reading and writing.
func (t *HelloTags) code(c *tagCoder) error {
	if c.reading {
		*t = HelloTags{Build: compat.Build{Logic: compat.NoLogic}}
	}
	c.i32(TagLogic, "logic version", &t.Build.Logic, compat.NoLogic)
	c.u32(TagPatch, "patch", &t.Patch)
	c.u64(TagComponents, "components hash", &t.Build.Components)
	c.u16(TagCount, "component count", &t.Count)
	c.i64(TagBuildTime, "build time", &t.Build.Time)
	c.u64(TagBuildSeq, "build number", &t.Build.Seq)
	c.text(TagBuildID, "build id", &t.Build.ID, compat.MaxBuildID)
	c.text(TagBranch, "branch", &t.Build.Branch, compat.MaxBranch)
	c.text(TagContent, "content version", &t.Content, MaxContent)
	c.text(TagAccount, "account", &t.Account, MaxAccount)
	c.u32(TagFlags, "flags", (*uint32)(&t.Flags))
	return c.err
}

// code defines the tags of an answer for reading and writing.
func (t *AnswerTags) code(c *tagCoder) error {
	if c.reading {
		*t = AnswerTags{Server: compat.Build{Logic: compat.NoLogic}}
		_, supported := c.tags.Get(TagSupported)
		_, active := c.tags.Get(TagActive)
		t.Versioned = supported && active
	}
	c.u32(TagReasons, "reasons", (*uint32)(&t.Reasons))
	c.u32(TagWarnings, "warnings", (*uint32)(&t.Warnings))
	c.rangeOf(TagSupported, "supported versions", &t.Supported, t.Versioned)
	c.rangeOf(TagActive, "active versions", &t.Active, t.Versioned)
	if !t.Versioned { // one without the other is meaningless
		t.Supported, t.Active = compat.Range{}, compat.Range{}
	}
	c.i32(TagFloor, "floor", &t.Floor, 0)
	c.u32(TagMinPatch, "least patch", &t.MinPatch)
	c.tag(TagRedirect, "redirect", t.Redirect != nil, t.redirect)
	c.text(TagStoreURL, "store link", &t.StoreURL, maxURL)
	c.tag(TagMessage, "message", t.Message != "" || t.MessageKey != "", func(c *wire.Coder) {
		c.Text("key", &t.MessageKey, 4, maxKey)
		c.Text("text", &t.Message, 4, maxMessage)
	})
	c.u64(TagRevision, "settings revision", &t.Revision)
	c.u32(TagRetryAfter, "retry after", &t.RetryAfter)
	c.u8(TagAge, "age", (*uint8)(&t.Age))
	c.boolean(TagManifest, "manifest follows", &t.Manifest)
	c.boolean(TagFetch, "files may be fetched", &t.Fetch)
	c.text(TagServed, "content version served", &t.Content, MaxContent)
	c.i32(TagServerLogic, "server's logic version", &t.Server.Logic, compat.NoLogic)
	c.u64(TagServerComponents, "server's components hash", &t.Server.Components)
	c.i64(TagServerTime, "server's build time", &t.Server.Time)
	c.u64(TagServerSeq, "server's build number", &t.Server.Seq)
	c.text(TagServerID, "server's build id", &t.Server.ID, compat.MaxBuildID)
	c.text(TagServerBranch, "server's branch", &t.Server.Branch, compat.MaxBranch)
	return c.err
}

var errNowhere = errors.New("it leads nowhere")

// redirect codes the endpoint of TagRedirect.
func (t *AnswerTags) redirect(c *wire.Coder) {
	e := compat.Endpoint{}
	if t.Redirect != nil {
		e = *t.Redirect
	}
	c.Text("host", &e.Host, 4, maxHost)
	c.U16("port", &e.Port)
	c.Bool("tls", &e.TLS)
	c.Text("base url", &e.BaseURL, 4, maxURL)
	c.Require("host", e.Host != "" && e.Port != 0, errNowhere)
	t.Redirect = &e
}

// checkTags rejects malformed tags of a hello or an answer. Those of another minor version are not checked, since they are ignored.
func (c *coder) checkTags(version uint32, tags Tags, code func(*tagCoder) error) {
	if c.Err() != nil || version != VersionC1 || len(tags) < tagHeader || binary.LittleEndian.Uint16(tags) > lastCompatTag {
		return
	}
	if err := code(&tagCoder{reading: true, tags: tags}); err != nil {
		c.Fail("tail", err)
	}
}
