// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows a profile on the web pages of google/pprof, those of them that open no file and run no program.
package viewer // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// Pages are the names of the pages. All others of google/pprof are left out: source and disasm open local files that a
// profile names, saveconfig and deleteconfig write to the disk, graph runs a program.
var Pages = []string{"flamegraph", "top", "peek"}

var (
	// links are those to pages that are left out.
	links = regexp.MustCompile(`<a [^>]*href="\./(graph|source|disasm|download)"[^>]*>[^<]*</a>`)
	// saving is what would save a configuration. The scripts of the pages want it to be there.
	saving = regexp.MustCompile(`<a [^>]*id="save-config"[^>]*>[^<]*</a>\s*<hr>`)
)

// ErrTooLarge says that a page is larger than it may be.
var ErrTooLarge = errors.New("the page is too large")

var (
	errNoFiles   = errors.New("files are not opened here")
	errNoNetwork = errors.New("nothing is fetched here")
)

// creating is held while the pages of a profile are made: google/pprof has one configuration for all of them, and asks
// the environment for the user's own.
var creating sync.Mutex

// Additions are what a page has beside that of google/pprof.
type Additions struct {
	// Title is the text of the page's title, Bar the HTML above its menu, Notice a text below that. All may be empty.
	Title  string
	Bar    []byte
	Notice string
	// Layout is the class of a flame graph's page, and Beside the HTML that stands beside the graph.
	Layout string
	Beside []byte
}

// Render answers a request for a page with what it says about p: a status, and HTML or, with another status than 200, the
// text of an error. p belongs to the viewer then. A page of more than limit bytes is the error [ErrTooLarge]. Rendering
// cannot be ended early: what it takes is to be bounded before, by [CostsOf].
func Render(r *http.Request, p *profile.Profile, page string, additions Additions, limit int64) (status int, body []byte, err error) {
	if !cheap(p.DropFrames) || !cheap(p.KeepFrames) {
		p.DropFrames, p.KeepFrames = "", ""
	}
	handlers, err := handlersOf(p)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot make the page: %w", err)
	}
	handler := handlers["/"+page]
	if handler == nil || !slices.Contains(Pages, page) {
		return 0, nil, fmt.Errorf("cannot make the page: there is none of the name %q", page)
	}
	answer := &recorder{header: http.Header{}, status: http.StatusOK, limit: limit}
	handler.ServeHTTP(answer, r)
	if answer.tooLarge {
		return 0, nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limit)
	}
	if answer.status != http.StatusOK {
		return answer.status, answer.body, nil
	}
	return answer.status, adapt(withoutPlaces(answer.body), additions), nil
}

//go:embed head.html
var head []byte

// Head is what stands in the head of all pages: the style of the bar, among others.
func Head() string { return string(head) }

// errorsOfPage is where the pages of google/pprof tell what went wrong, below their menu.
const errorsOfPage = `<div id="errors">`

// graph is where google/pprof draws a flame graph.
const graph = `<div id="stack-holder">
    <div id="stack-chart"></div>
  </div>
`

// adapt takes the links out of a page that lead nowhere, has its title lead to the list of profiles, and adds our style
// and what else it is to have.
func adapt(page []byte, additions Additions) []byte {
	if additions.Notice != "" {
		shown := `<section id="notice" aria-label="Notice">` + html.EscapeString(additions.Notice) + `</section>` + errorsOfPage
		page = replaceFirst(page, errorsOfPage, shown)
	}
	if additions.Title != "" {
		page = replaceTitle(page, additions.Title)
	}
	page = replaceFirst(page, "<body>", "<body>\n"+string(additions.Bar))
	page = replaceFirst(page, "<html>", `<html lang="en" class="`+html.EscapeString(additions.Layout)+`">`)
	if len(additions.Beside) > 0 {
		page = replaceFirst(page, graph, `<div id="both">`+graph+string(additions.Beside)+"</div>")
	}
	page = accessible(page)
	page = replaceMatches(page, links, "")
	page = replaceMatches(page, saving, `<a id="save-config" hidden></a>`)
	page = replaceFirst(page, `<a href="./">pprof</a>`, `<a href="../../../" title="All profiles">pprof</a>`)
	return replaceFirst(page, "</head>", string(head)+"</head>")
}

// replaceTitle changes the title of a page. The first one there is its own: names of others are escaped.
func replaceTitle(page []byte, title string) []byte {
	before, rest, found := bytes.Cut(page, []byte("<title>"))
	text, _, ended := bytes.Cut(rest, []byte("</title>"))
	if !found || !ended {
		return page
	}
	begin := len(before) + len("<title>")
	return slices.Replace(page, begin, begin+len(text), []byte(html.EscapeString(title))...)
}

// recorder keeps an answer, up to a limit.
type recorder struct {
	header   http.Header
	status   int
	body     []byte
	limit    int64
	tooLarge bool
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }
func (r *recorder) Write(data []byte) (int, error) {
	if r.tooLarge = r.tooLarge || int64(len(r.body)+len(data)) > r.limit; r.tooLarge {
		return 0, ErrTooLarge
	}
	r.body = append(r.body, data...)
	return len(data), nil
}

func handlersOf(p *profile.Profile) (handlers map[string]http.Handler, err error) {
	creating.Lock()
	defer creating.Unlock()
	defer withoutSettings()()
	source := &source{profile: p}
	source.hideFiles()
	err = driver.PProf(&driver.Options{
		Flagset:       newFlags("--symbolize", "none", "--http", "localhost:0", "--no_browser", "profile"),
		Fetch:         source,
		Sym:           source,
		Obj:           noFiles{},
		UI:            silence{},
		Writer:        noOutput{},
		HTTPTransport: noNetwork{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			handlers = args.Handlers
			return nil
		},
	})
	return handlers, err
}

// withoutSettings makes google/pprof find no settings of a user, neither where there is no home nor where there is one: a
// page would show them. What it returns undoes it.
func withoutSettings() func() {
	name := "XDG_CONFIG_HOME"
	switch runtime.GOOS {
	case "windows":
		name = "AppData"
	case "darwin", "ios":
		name = "HOME"
	case "plan9":
		name = "home"
	}
	before, had := os.LookupEnv(name)
	// No file can be below a device. On Windows the name is one that has no drive.
	_ = os.Setenv(name, os.DevNull)
	return func() {
		if had {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

// source gives google/pprof the profile. It hides the names of files from it while it could look for them.
type source struct {
	profile *profile.Profile
	files   []hidden
}

type hidden struct{ file, buildID string }

func (s *source) hideFiles() {
	for _, m := range s.profile.Mapping {
		s.files = append(s.files, hidden{file: m.File, buildID: m.BuildID})
		m.File, m.BuildID = "", ""
	}
}

// Fetch returns the profile.
func (s *source) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return s.profile, "", nil
}

// Symbolize comes after the search for files, and brings the names back.
func (s *source) Symbolize(_ string, _ driver.MappingSources, p *profile.Profile) error {
	for i, f := range s.files {
		if i < len(p.Mapping) {
			p.Mapping[i].File, p.Mapping[i].BuildID = f.file, f.buildID
		}
	}
	return nil
}

// silence is a user who says nothing and hears nothing: errors are on the pages.
type silence struct{}

func (silence) ReadLine(string) (string, error)     { return "", errNoFiles }
func (silence) Print(...any)                        {}
func (silence) PrintErr(...any)                     {}
func (silence) IsTerminal() bool                    { return false }
func (silence) WantBrowser() bool                   { return false }
func (silence) SetAutoComplete(func(string) string) {}

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }
