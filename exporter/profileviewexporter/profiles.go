// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// answerLevel is the gzip level of answers. It is the fastest, since the client waits.
const answerLevel = 1

// serveProfile answers with the merged profile of a service and type.
func (p *pages) serveProfile(w http.ResponseWriter, r *http.Request) error {
	return p.serveMerged(w, r, profileParameters, 0, "profile.pb.gz", gzipOf)
}

// serveMerged answers with the merged profiles that the path and known parameters select, with a number of frames at the leaf, 0 for all.
func (p *pages) serveMerged(w http.ResponseWriter, r *http.Request, known []string, frames int, name string, write func(*merge.Merger) ([]byte, error)) error {
	if err := checkParameters(r.URL.Query(), known); err != nil {
		return err
	}
	scraper, named := p.scraperOf(r)
	var chosen []*store.Profile
	body, err := working(p, r, func(work *meter.Meter) ([]byte, error) {
		var filter *query.Filter
		var err error
		if chosen, filter, err = p.choose(r, r.PathValue("type"), work); err != nil {
			return nil, err
		}
		if !named && p.notModified(w, r, chosen) {
			return nil, errNotModified
		}
		selection, err := query.Select(chosen, filter, query.All, work)
		if err != nil {
			return nil, err
		}
		return merged(selection, work, frames, write)
	})
	given := len(chosen) > 0 && errors.Is(err, errNoSamples) // A scraper goes on after profiles without the samples that it wants.
	if err == nil {
		err = writeProfile(w, name, body)
		given = err == nil
	}
	if named && given && r.Method == http.MethodGet {
		p.scrapers.remember(scraper, chosen, p.now())
	}
	return err
}

// choose returns the profiles that the path and the parameters of a request select, at least one. Without a type, these are those of CPU
// time.
func (p *pages) choose(r *http.Request, profileType string, work *meter.Meter) ([]*store.Profile, *query.Filter, error) {
	values, now := r.URL.Query(), p.now()
	filter, err := p.filterOf(values)
	if err != nil {
		return nil, nil, err
	}
	if err := work.Need(filter.Bytes()); err != nil {
		return nil, nil, err
	}
	// The name of a kind selects all its profiles, and another name those that were sent under it.
	kind := series.Kind(profileType)
	q := store.Query{Tenant: p.tenant(r.Header), Service: r.PathValue("service"), Kind: kind, Matches: func(one *store.Profile) bool {
		return (profileType != "" || one.CPU) && (profileType == kind || profileType == one.Type) && r.Context().Err() == nil && filter.Profile(one)
	}}
	if q.From, q.Until, err = bounds(values, "", now); err != nil {
		return nil, nil, err
	}
	if q.Window, err = window(values); err != nil {
		return nil, nil, err
	}
	if scraper, named := p.scraperOf(r); named {
		if q.After, err = p.scrapers.last(scraper, now); err != nil {
			return nil, nil, err
		}
	}
	found, known := p.store.Search(&q)
	switch {
	case filter.Err() != nil:
		return nil, nil, filter.Err()
	case len(found) > 0:
		return found, filter, nil
	case profileType == "":
		return nil, nil, fail(http.StatusNotFound, "there is no CPU profile of the service %q in that time with these attributes, see the list at /profiles", q.Service)
	case !known:
		return nil, nil, fail(http.StatusNotFound, "there is no profile of the service %q and type %q, see the list at /profiles", q.Service, profileType)
	case q.After > 0:
		return nil, nil, fail(http.StatusNotFound, "no profile of the service %q arrived since the last fetch", q.Service)
	}
	return nil, nil, fail(http.StatusNotFound, "no profile of the service %q is of that time and has these attributes", q.Service)
}

// errNoSamples is the error for profiles without the samples that a request selects.
var errNoSamples = &failure{http.StatusNotFound, "none of these profiles has a sample of this trace or span with these labels"}

// merged returns the merged samples of a selection, as write writes them. leafFrames is the number of locations of each stack, 0 for all.
func merged(s *query.Selection, work *meter.Meter, leafFrames int, write func(*merge.Merger) ([]byte, error)) ([]byte, error) {
	m := merge.New(work)
	m.LeafFrames = leafFrames
	s.KeepLatest()
	if err := m.Add(s); err != nil {
		return nil, err
	}
	if m.IsEmpty() {
		return nil, errNoSamples
	}
	return write(m)
}

// gzipOf returns the merged samples in gzip.
func gzipOf(m *merge.Merger) ([]byte, error) {
	body, err := m.Pprof()
	if err != nil {
		return nil, err
	}
	return compress(body)
}

func compress(body []byte) ([]byte, error) { return pprof.AppendGzip(nil, body, answerLevel) }

func writeProfile(w http.ResponseWriter, name string, body []byte) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body) //nolint:gosec // an attachment, which browsers do not render
	return err
}

// errNotModified ends a request that notModified has answered.
var errNotModified = errors.New("the client has the answer already")

// notModified answers 304 and returns true if the client has the answer already. The answer depends on the profiles and the URL.
func (p *pages) notModified(w http.ResponseWriter, r *http.Request, sides ...[]*store.Profile) bool {
	digest := sha256.New()
	_, _ = digest.Write(p.start[:])
	_, _ = digest.Write([]byte(r.URL.RequestURI() + "\x00"))
	for _, profiles := range sides {
		for _, one := range profiles {
			_, _ = fmt.Fprintf(digest, "%d,", one.Sequence)
		}
		_, _ = digest.Write([]byte{0})
	}
	tag := `"` + hex.EncodeToString(digest.Sum(nil)[:16]) + `"`
	w.Header().Set("ETag", tag)
	for candidate := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

const (
	// defaultDepth is the default number of frames at the leaf of each stack. go build decides on inlining between a caller and
	// its callee.
	defaultDepth = 5
	maxDepth     = 1000
	// depthParameter changes that number.
	depthParameter = "depth"
	// maxPGOSize limits default.pgo, which is kept in repositories of source code.
	maxPGOSize = 4 << 20
	pgoName    = "default.pgo"
)

// servePGO answers with a profile for go build -pgo.
func (p *pages) servePGO(w http.ResponseWriter, r *http.Request) error {
	depth := defaultDepth
	if text := r.URL.Query().Get(depthParameter); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > maxDepth {
			return fail(http.StatusBadRequest, "depth must be from 1 to %d, not %.40q", maxDepth, text)
		}
		depth = number
	}
	return p.serveMerged(w, r, pgoParameters, depth, pgoName, pgoOf)
}

func pgoOf(m *merge.Merger) ([]byte, error) { return m.PGO(maxPGOSize, compress) }
