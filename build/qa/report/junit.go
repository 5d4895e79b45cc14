package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The elements of JUnit's XML as continuous integration systems read it. There is no official schema; these names originate from Ant and
// are read by Jenkins, GitLab and others.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitReason `xml:"failure"`
		Skipped *junitReason `xml:"skipped"`
		Output  string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit's XML, one testsuite for each suite: a violation is a failure. The error is w's.
func (r *Report) JUnit(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(r.visible().junit()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junit() junitSuites {
	n := r.Count()
	all := junitSuites{Name: r.Title, Tests: n.Cases(), Failures: n.Violations, Skipped: n.Skipped}
	at := map[string]int{}
	var total time.Duration
	times := map[string]time.Duration{}
	for _, c := range r.Cases {
		if _, known := at[c.Suite]; !known {
			at[c.Suite] = len(all.Suites)
			all.Suites = append(all.Suites, r.junitSuite(c.Suite))
		}
		s := &all.Suites[at[c.Suite]]
		s.addCase(c)
		total, times[c.Suite] = total+c.Took, times[c.Suite]+c.Took
		s.Time = junitTime(times[c.Suite])
	}
	all.Time = junitTime(total)
	return all
}

func (r *Report) junitSuite(name string) junitSuite {
	s := junitSuite{Name: name, Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
	for _, p := range []junitProperty{{"product", r.Product}, {"target", r.Target}, {"command", r.Command}} {
		if p.Value != "" {
			s.Properties = append(s.Properties, p)
		}
	}
	return s
}

func (s *junitSuite) addCase(c Case) {
	out := junitCase{Class: "collet." + c.Suite, Name: c.Title(), Time: junitTime(c.Took)}
	first, _, _ := strings.Cut(c.Detail, "\n")
	s.Tests++
	switch c.State {
	case Violation:
		s.Failures++
		out.Failure = &junitReason{Message: first, Type: string(Violation), Text: c.Detail}
	case Skipped:
		s.Skipped++
		out.Skipped = &junitReason{Message: first}
	default:
		out.Output = c.Detail
	}
	s.Cases = append(s.Cases, out)
}

// junitTime is seconds, as the format has it.
func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
