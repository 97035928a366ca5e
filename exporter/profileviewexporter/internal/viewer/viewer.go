// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows a profile on those web pages of google/pprof that open no file and start no program.
package viewer // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// Pages are the names of the available pages. The others of google/pprof are left out: source and disasm open local files that
// a profile names, saveconfig and deleteconfig write to the disk, graph starts a program.
var Pages = []string{"flamegraph", "top", "peek"}

var (
	// links matches the links to pages that are left out.
	links = regexp.MustCompile(`<a [^>]*href="\./(graph|source|disasm|download)"[^>]*>[^<]*</a>`)
	// saving matches the form that saves a configuration. The scripts of the pages need such an element.
	saving = regexp.MustCompile(`<a [^>]*id="save-config"[^>]*>[^<]*</a>\s*<hr>`)
)

// ErrTooLarge is the error for a page that exceeds its limit.
var ErrTooLarge = errors.New("the page is too large")

var (
	errNoFiles   = errors.New("the viewer opens no files")
	errNoNetwork = errors.New("the viewer uses no network")
)

// creating is locked while google/pprof creates the pages of a profile: it has one configuration for all profiles, and reads
// the configuration directory of the user from the environment.
var creating sync.Mutex

// Additions are the parts of a page that google/pprof does not have.
type Additions struct {
	// Notice is a text below the menu. It can be empty.
	Notice string
	// Beside is the HTML beside a flame graph. It can be empty.
	Beside []byte
}

// Render draws a page of p for a request. It returns an HTTP status, and for the status 200 the HTML that follows the result of
// [Begin], else the text of an error. It takes ownership of p. A page of more than limit bytes returns [ErrTooLarge]. Rendering
// cannot be interrupted: the caller must limit its cost before, by [CostsOf].
func Render(r *http.Request, p *profile.Profile, page string, additions Additions, limit int64) (status int, rest []byte, err error) {
	status, body, err := draw(r, p, page, limit)
	if err != nil || status != http.StatusOK {
		return status, body, err
	}
	_, rest, _ = bytes.Cut(body, []byte(beginOfBody))
	return status, adapt(withoutPlaces(rest), r.URL.Query(), additions), nil
}

// draw returns a page of google/pprof without changes.
func draw(r *http.Request, p *profile.Profile, page string, limit int64) (status int, body []byte, err error) {
	Prune(p)
	handlers, err := handlersOf(p)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot make the page: %w", err)
	}
	handler := handlers["/"+page]
	if handler == nil || !slices.Contains(Pages, page) {
		return 0, nil, fmt.Errorf("cannot make the page: there is no page %q", page)
	}
	answer := &recorder{header: http.Header{}, status: http.StatusOK, limit: limit}
	handler.ServeHTTP(answer, r)
	if answer.tooLarge {
		return 0, nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limit)
	}
	return answer.status, answer.body, nil
}

// errorsOfPage is the element below the menu in which google/pprof shows errors.
const errorsOfPage = `<div id="errors">`

// graph is the element in which google/pprof draws a flame graph.
const graph = `<div id="stack-holder">
    <div id="stack-chart"></div>
  </div>
`

// In the scripts of google/pprof, copyParameters copies the parameters of the page to a link. Of several values of one parameter, it
// keeps only the last. copyAllParameters keeps all.
const (
	copyParameters = `for (const p of new URLSearchParams(window.location.search)) {
      params.set(p[0], p[1]);
    }`
	copyAllParameters = `const given = new URLSearchParams(window.location.search);
    for (const p of given) params.delete(p[0]);
    for (const p of given) params.append(p[0], p[1]);`
)

// adapt removes the links to pages that are left out, links the title to the list of profiles, keeps the parameters of the page in
// its links, and adds the additions.
func adapt(body []byte, values url.Values, additions Additions) []byte {
	if additions.Notice != "" {
		shown := `<section id="notice" aria-label="Notice">` + html.EscapeString(additions.Notice) + `</section>` + errorsOfPage
		body = replaceFirst(body, errorsOfPage, shown)
	}
	if len(additions.Beside) > 0 {
		body = replaceFirst(body, graph, `<div id="both">`+graph+string(additions.Beside)+"</div>")
	}
	body = accessible(body)
	body = replaceAll(body, copyParameters, copyAllParameters)
	body = keepParameters(body, values)
	body = replaceMatches(body, links, "")
	body = replaceMatches(body, saving, `<a id="save-config" hidden></a>`)
	return replaceFirst(body, `<a href="./">pprof</a>`, `<a href="../../../" title="All profiles">pprof</a>`)
}

// recorder keeps an answer in memory, up to a limit.
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
		UI:            nullUI{},
		Writer:        noOutput{},
		HTTPTransport: noNetwork{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			handlers = args.Handlers
			return nil
		},
	})
	return handlers, err
}

// withoutSettings makes google/pprof ignore the settings of the user, which a page would show. The result restores the
// environment.
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
	// No file can be below the null device. On Windows, the name has no drive.
	_ = os.Setenv(name, os.DevNull)
	return func() {
		if had {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

// source gives the profile to google/pprof. It hides the file names of mappings while google/pprof searches for these files.
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

// Symbolize restores the file names. It is called after the search for files.
func (s *source) Symbolize(_ string, _ driver.MappingSources, p *profile.Profile) error {
	for i, f := range s.files {
		if i < len(p.Mapping) {
			p.Mapping[i].File, p.Mapping[i].BuildID = f.file, f.buildID
		}
	}
	return nil
}

// nullUI discards prompts and output. The pages show the errors.
type nullUI struct{}

func (nullUI) ReadLine(string) (string, error)     { return "", errNoFiles }
func (nullUI) Print(...any)                        {}
func (nullUI) PrintErr(...any)                     {}
func (nullUI) IsTerminal() bool                    { return false }
func (nullUI) WantBrowser() bool                   { return false }
func (nullUI) SetAutoComplete(func(string) string) {}

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }
