package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// element is a piece of a declaration file, read from XML or from JSON: a name, attributes, and elements inside, in their order.
// Text, comments and formatting are gone.
type element struct {
	name     string
	attrs    []attr
	children []element
	line     int
}

type attr struct{ key, value string }

// maxDepth is how deep elements may be nested; declarations need three levels.
const maxDepth = 16

// readElement reads a declaration file by its content: JSON begins with a brace.
func readElement(data []byte) (element, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return readXML(data)
	}
	e, err := readJSON(data)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return e, err
}

func readXML(data []byte) (element, error) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	root, open := element{}, []*element{{}}
	for {
		token, err := dec.Token()
		line, _ := dec.InputPos()
		switch {
		case errors.Is(err, io.EOF) && len(open[0].children) == 1:
			root = open[0].children[0]
			return root, nil
		case errors.Is(err, io.EOF):
			return root, fmt.Errorf("%d root elements, want one", len(open[0].children))
		case err != nil:
			return root, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			e, err := startXML(t, line)
			if err != nil {
				return root, err
			}
			if len(open) > maxDepth {
				return root, fmt.Errorf("line %d: elements are nested deeper than %d", line, maxDepth)
			}
			within := open[len(open)-1]
			within.children = append(within.children, e)
			open = append(open, &within.children[len(within.children)-1])
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				return root, fmt.Errorf("line %d: the text %.40q stands between elements", line, text)
			}
		}
	}
}

// startXML takes the attributes over. Those of name spaces say nothing about components.
func startXML(t xml.StartElement, line int) (element, error) {
	e := element{name: t.Name.Local, line: line}
	for _, a := range t.Attr {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || strings.HasPrefix(a.Name.Space, "http://www.w3.org/") || a.Name.Space == "xsi" {
			continue
		}
		if err := e.addAttr(a.Name.Local, a.Value); err != nil {
			return e, err
		}
	}
	return e, nil
}

func (e *element) addAttr(key, value string) error {
	if _, there := e.attr(key); there {
		return fmt.Errorf("line %d: %s has two attributes %q", e.line, e.name, key)
	}
	e.attrs = append(e.attrs, attr{key, value})
	return nil
}

func (e *element) attr(key string) (string, bool) {
	for _, a := range e.attrs {
		if a.key == key {
			return a.value, true
		}
	}
	return "", false
}

// readJSON reads the same from JSON: {"Component": {"Name": "Camera", "NetworkProperty": [{…}, {…}]}}. Values are attributes,
// objects and lists of objects are elements.
func readJSON(data []byte) (element, error) {
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), data: data}
	r.dec.UseNumber()
	var root element
	if _, err := r.dec.Token(); err != nil {
		return root, err
	}
	if err := r.readObject(&root, 0); err != nil {
		return root, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return root, errors.New("something follows the document")
	}
	if len(root.attrs) != 0 || len(root.children) != 1 {
		return root, errors.New("the document has one key, the name of its root element")
	}
	return root.children[0], nil
}

type jsonReader struct {
	dec  *json.Decoder
	data []byte
}

func (r *jsonReader) lineNumber() int {
	return 1 + bytes.Count(r.data[:r.dec.InputOffset()], []byte("\n"))
}

// readObject reads what stands between braces, of which the first was read.
func (r *jsonReader) readObject(e *element, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("line %d: elements are nested deeper than %d", r.lineNumber(), maxDepth)
	}
	seen := make(map[string]bool)
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder takes nothing else for a key
		if seen[key] {
			return fmt.Errorf("line %d: %q is there twice", r.lineNumber(), key)
		}
		seen[key] = true
		if err := r.readValue(e, key, depth); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// readValue reads what belongs to a key.
func (r *jsonReader) readValue(e *element, key string, depth int) error {
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case string:
		return e.addAttr(key, t)
	case json.Number, bool:
		return e.addAttr(key, fmt.Sprint(t))
	case json.Delim:
		if t == '{' {
			return r.readChild(e, key, depth)
		}
		for r.dec.More() {
			if open, err := r.dec.Token(); err != nil {
				return err
			} else if open != json.Delim('{') {
				return fmt.Errorf("line %d: %q is a list of something else than objects", r.lineNumber(), key)
			}
			if err := r.readChild(e, key, depth); err != nil {
				return err
			}
		}
		_, err := r.dec.Token()
		return err
	default:
		return fmt.Errorf("line %d: %q is null", r.lineNumber(), key)
	}
}

func (r *jsonReader) readChild(e *element, name string, depth int) error {
	child := element{name: name, line: r.lineNumber()}
	if err := r.readObject(&child, depth+1); err != nil {
		return err
	}
	e.children = append(e.children, child)
	return nil
}
