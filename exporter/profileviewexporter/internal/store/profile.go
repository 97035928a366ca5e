// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/gaugetypes"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Profile is a profile in the store. It does not change.
type Profile struct {
	*Head
	Resource *Resource
	// Begin and End are the time of the profile, or its arrival if it has no time.
	Begin, End time.Time
	Arrived    time.Time
	// Sequence is the number of the profile in its store.
	Sequence uint64
	Samples  Samples

	// Block has the symbols of the samples.
	Block *Block

	identity identity
	cost     int64
	evicted  bool
	place    *list.Element // in the order of the store
}

// Head has the fields of a pprof that say what it measures. Profiles share it.
type Head struct {
	// Kind is the name of the profile in paths, such as cpu or heap. Type is the type that was sent, such as inuse_space.
	Kind, Type string
	// Columns are the sample types.
	Columns []Column
	// Name is the name of the profile in Pyroscope, such as process_cpu.
	Name        string
	PeriodType  pprof.SampleType
	Period      int64
	DefaultType string
	DropFrames  string
	KeepFrames  string
	DocURL      string
	Comments    []string
	// Labels is a digest of the name, the sample types and the period type. Others with it differ in what is no label.
	Labels string
	// CPU is set for profiles of CPU time, and PGO for those that go build accepts: with the start lines of functions.
	CPU, PGO bool
}

// Column is a sample type.
type Column struct {
	pprof.SampleType
	// ID is the ID of the profile type in Pyroscope.
	ID string
	// IsGauge is set for values that are a state at one time.
	IsGauge bool
}

// farFromArrival is the maximum difference between the end of a profile and its arrival. A profile above it is found at both times.
const farFromArrival = 10 * time.Minute

// isFar returns whether the time of the profile is far from its arrival.
func (p *Profile) isFar() bool { return p.Arrived.Sub(p.End).Abs() > farFromArrival }

// span returns the time of the profile: its own, or that of its arrival if it is relative and the profile is far from it.
func (p *Profile) span(relative bool) (begin, end time.Time) {
	if relative && p.isFar() {
		end = p.Arrived.Round(0)
		return end.Add(-p.End.Sub(p.Begin)), end
	}
	return p.Begin, p.End
}

// Within returns the time of the profile if it is from start to end: its begin, or its arrival if it is far from that.
func (p *Profile) Within(start, end time.Time) (at time.Time, found bool) {
	if !p.Begin.Before(start) && !p.Begin.After(end) {
		return p.Begin, true
	}
	return p.Arrived, p.isFar() && !p.Arrived.Before(start) && !p.Arrived.After(end)
}

// The memory of a profile, a head and a resource beside their texts, with their parts of the maps and lists of the store.
const (
	profileBytes  = int64(unsafe.Sizeof(Profile{})) + 128
	headBytes     = 512
	columnBytes   = 96
	resourceBytes = 512
	labelBytes    = 64
)

func (h *Head) bytes() int64 {
	bytes := headBytes + len(h.Type) + len(h.Name) + len(h.DefaultType) + len(h.DropFrames) + len(h.KeepFrames) + len(h.DocURL)
	for _, c := range h.Columns {
		bytes += columnBytes + len(c.Name) + len(c.Unit) + len(c.ID)
	}
	for _, c := range h.Comments {
		bytes += len(c) + labelBytes
	}
	return int64(bytes)
}

// CommentPrefix is the start of the comments that are not part of a profile: they describe it in a file.
const CommentPrefix = "otelpprof profile_view "

// The memory of a head while it is made: of a sample type and a comment without their texts, and of each text with its copies.
const (
	newColumnBytes  = 1 << 10
	newCommentBytes = 256
	newTextFactor   = 2 * dictionary.ValidFactor
)

// headMemory returns the memory that [headOf] needs. The ID of each column repeats the name and the period type.
func headMemory(p *pprofwire.Profile, profileType string) int64 {
	size := func(v pprofwire.ValueType) int64 { return int64(len(p.String(v.Type)) + len(p.String(v.Unit))) }
	name, period := int64(2*len(profileType)), size(p.PeriodType)
	texts := name + period
	for _, index := range append([]uint32{p.DefaultSampleType, p.DropFrames, p.KeepFrames, p.DocURL}, p.Comments...) {
		texts += int64(len(p.String(index)))
	}
	for _, t := range p.SampleTypes {
		name = max(name, size(t)) // It can be that of a type.
	}
	for _, t := range p.SampleTypes {
		texts += 2*size(t) + name + period
	}
	return newTextFactor*texts + newColumnBytes*int64(len(p.SampleTypes)+1) + newCommentBytes*int64(len(p.Comments))
}

// headOf returns the head of a pprof. Its texts are new.
func headOf(p *pprofwire.Profile, profileType string) *Head {
	text := func(index uint32) string {
		text := p.String(index)
		if !utf8.Valid(text) {
			text = dictionary.ValidText(text)
		}
		return string(text)
	}
	h := &Head{
		Kind: segment(series.Kind(profileType), unknownType), Type: segment(profileType, unknownType),
		Period: p.Period, DefaultType: text(p.DefaultSampleType),
		DropFrames: text(p.DropFrames), KeepFrames: text(p.KeepFrames), DocURL: text(p.DocURL),
	}
	if p.HasPeriodType {
		h.PeriodType = pprof.SampleType{Name: text(p.PeriodType.Type), Unit: text(p.PeriodType.Unit)}
	}
	var types []pprof.SampleType
	for _, t := range p.SampleTypes {
		types = append(types, pprof.SampleType{Name: text(t.Type), Unit: text(t.Unit)})
	}
	h.CPU = isCPU(types, h.PeriodType)
	h.PGO = h.CPU && slices.ContainsFunc(p.Functions, func(f pprofwire.Function) bool { return f.StartLine > 0 })
	h.Name = series.MetricName(profileType, types)
	for _, t := range types {
		id := strings.Join([]string{h.Name, t.Name, t.Unit, h.PeriodType.Name, h.PeriodType.Unit}, ":")
		h.Columns = append(h.Columns, Column{SampleType: t, ID: id, IsGauge: gaugetypes.IsDefault(t.Name, t.Unit)})
	}
	h.Labels = h.labels()
	for _, c := range p.Comments {
		if comment := text(c); !strings.HasPrefix(comment, CommentPrefix) {
			h.Comments = append(h.Comments, comment)
		}
	}
	return h
}

// isCPU reports whether a pprof is a CPU profile, as go build accepts it: its values are CPU time, or numbers of samples that were
// taken per CPU time.
func isCPU(types []pprof.SampleType, period pprof.SampleType) bool {
	cpu := pprof.SampleType{Name: "cpu", Unit: "nanoseconds"}
	return slices.Contains(types, cpu) || period == cpu && slices.Contains(types, pprof.SampleType{Name: "samples", Unit: "count"})
}

// labels returns the digest for Labels.
func (h *Head) labels() string {
	digest := sha256.New()
	for _, text := range []string{h.Name, h.PeriodType.Name, h.PeriodType.Unit} {
		addText(digest, text)
	}
	for _, c := range h.Columns {
		addText(digest, c.Name)
		addText(digest, c.Unit)
	}
	return string(digest.Sum(nil))
}

// key returns a digest that only equal heads have. The other fields follow from those in it.
func (h *Head) key() string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%d %t %d ", h.Period, h.PGO, len(h.Comments))
	for _, text := range append([]string{h.Type, h.Labels, h.DefaultType, h.DropFrames, h.KeepFrames, h.DocURL}, h.Comments...) {
		addText(digest, text)
	}
	return string(digest.Sum(nil))
}

// addText adds a text with its length to a digest, so that it cannot equal several others.
func addText(digest hash.Hash, text string) {
	_, _ = fmt.Fprintf(digest, "%d ", len(text))
	_, _ = digest.Write(unsafe.Slice(unsafe.StringData(text), len(text))) //nolint:gosec // It is only read. A copy would need memory.
}

const (
	unknownType = "unknown"
	// maxSegment limits the length of the name of a service or type, which lists repeat many times.
	maxSegment = 512
)

// segment returns a name that can be a part of a path. Browsers resolve "." and "..", so these get an underscore. Long names are cut.
func segment(name, unknown string) string {
	switch name {
	case "":
		return unknown
	case ".", "..":
		return name + "_"
	}
	return attributevalue.Cut(name, maxSegment)
}
