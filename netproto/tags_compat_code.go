package netproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"collet/netproto/compat"
)

// tagCoder codes the tags of a hello or an answer in ascending order. Values are coded like fields of messages, so one
// that is too short, too long or out of range is a fault.
type tagCoder struct {
	mode mode      // reading or writing
	tags Tags      // reading: the remaining tags; writing: those written so far
	ks   keystream // values are not enciphered
	err  error
}

// tag codes one value. When writing, a tag is omitted if its absence means the same.
func (t *tagCoder) tag(number uint16, name string, there bool, code func(*coder)) {
	if t.err != nil {
		return
	}
	c, out := &coder{mode: t.mode, ks: &t.ks, lim: Limits{String: maxString}}, bytes.Buffer{}
	if t.mode == reading {
		value, found := t.next(number)
		if !found {
			return
		}
		c.buf = value
	} else if !there {
		return
	}
	c.out = &out
	code(c)
	if err := c.finish(); err != nil {
		t.err = fmt.Errorf("tag %d, %s: %w", number, name, unframed(err))
	} else if t.mode == writing {
		t.tags = t.tags.add(number, out.Bytes())
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

// unframed is the fault of a value without its position, which is unknown in the stream.
func unframed(err error) error {
	var format *FormatError
	if errors.As(err, &format) {
		return fmt.Errorf("%s: %w", format.Field, format.Err)
	}
	return err
}

func (t *tagCoder) u8(number uint16, name string, v *uint8) {
	t.tag(number, name, *v != 0, func(c *coder) { c.u8("value", v) })
}

func (t *tagCoder) u16(number uint16, name string, v *uint16) {
	t.tag(number, name, *v != 0, func(c *coder) { c.u16("value", v) })
}

func (t *tagCoder) u32(number uint16, name string, v *uint32) {
	t.tag(number, name, *v != 0, func(c *coder) { c.u32("value", v) })
}

func (t *tagCoder) u64(number uint16, name string, v *uint64) {
	t.tag(number, name, *v != 0, func(c *coder) { c.u64("value", v) })
}

func (t *tagCoder) i64(number uint16, name string, v *int64) {
	t.tag(number, name, *v != 0, func(c *coder) { c.i64("value", v) })
}

// i32 codes a number; an absent tag means usual.
func (t *tagCoder) i32(number uint16, name string, v *int32, usual int32) {
	t.tag(number, name, *v != usual, func(c *coder) { c.i32("value", v) })
}

// boolean codes a bool.
func (t *tagCoder) boolean(number uint16, name string, v *bool) {
	t.tag(number, name, *v, func(c *coder) { c.boolean("value", v) })
}

// text codes a text that fills the tag, of at most most bytes.
func (t *tagCoder) text(number uint16, name string, v *string, most int) {
	t.tag(number, name, *v != "", func(c *coder) { c.filling("value", v, c.left(), most) })
}

// rangeOf codes both ends of a range of logic versions.
func (t *tagCoder) rangeOf(number uint16, name string, v *compat.Range, there bool) {
	t.tag(number, name, there, func(c *coder) {
		c.i32("from", &v.Min)
		c.i32("to", &v.Max)
		c.require("to", v.Min <= v.Max, fmt.Errorf("the range ends at %d, before it begins at %d", v.Max, v.Min))
	})
}

// i32 codes a number.
func (c *coder) i32(field string, v *int32) { *v = int32(c.number(field, 4, uint64(uint32(*v)))) }

// filling codes a text without a length field. When reading, it takes n bytes.
func (c *coder) filling(field string, v *string, n, most int) {
	if c.mode != reading {
		n = len(*v)
	}
	c.require(field, n <= most, tooLarge(uint64(n), uint64(most)))
	if c.err == nil {
		c.chars(field, v, n)
	}
}

// capped codes a string of at most most bytes.
func (c *coder) capped(field string, v *string, most int) {
	n := c.length(field, len(*v), most)
	c.require(field, n <= most, tooLarge(uint64(n), uint64(most)))
	if c.err == nil {
		c.chars(field, v, n)
	}
}

// code defines the tags of a hello for reading and writing.
func (t *HelloTags) code(c *tagCoder) error {
	if c.mode == reading {
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
	if c.mode == reading {
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
	c.tag(TagMessage, "message", t.Message != "" || t.MessageKey != "", func(c *coder) {
		c.capped("key", &t.MessageKey, maxKey)
		c.capped("text", &t.Message, maxMessage)
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
func (t *AnswerTags) redirect(c *coder) {
	e := compat.Endpoint{}
	if t.Redirect != nil {
		e = *t.Redirect
	}
	c.capped("host", &e.Host, maxHost)
	c.u16("port", &e.Port)
	c.boolean("tls", &e.TLS)
	c.capped("base url", &e.BaseURL, maxURL)
	c.require("host", e.Host != "" && e.Port != 0, errNowhere)
	t.Redirect = &e
}

// checkTags rejects malformed tags of a hello or an answer. Those of another minor version are not checked, since they are ignored.
func (c *coder) checkTags(version uint32, tags Tags, code func(*tagCoder) error) {
	if c.err != nil || version != VersionC1 || len(tags) < tagHeader || binary.LittleEndian.Uint16(tags) > lastCompatTag {
		return
	}
	if err := code(&tagCoder{mode: reading, tags: tags}); err != nil {
		c.fail("tail", err)
	}
}
