// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"cmp"
	"container/list"
	"crypto/sha256"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// The cost of an entry beside its bytes and text: the struct, its elements in the lists, and its share of the maps.
// attributeOverhead is the cost of an attribute beside its text, and gaugeOverhead that of a gauge.
const (
	entryOverhead     = 640
	attributeOverhead = 32
	gaugeOverhead     = 40
)

// Entry is one profile. It must not be changed after it is added.
type Entry struct {
	Tenant, Service, Type string
	// Attributes are the resource attributes, sorted by name.
	Attributes []Attribute
	// Begin and End are the time of the profile, or its arrival if it has no time.
	Begin, End time.Time
	// ID is the profile ID, zero for none. The store drops a profile whose ID it has already.
	ID [16]byte
	// Compressed is the pprof, see Compress. Inflated is its uncompressed size.
	Compressed []byte
	Inflated   int
	// Gauges are the sample types whose values are a state at one time. CPU is set for profiles of CPU time. PGO is set for
	// profiles that go build accepts: CPU time, with the start lines of functions.
	Gauges   []Gauge
	CPU, PGO bool

	// Sequence is the number of the entry in its store.
	Sequence uint64
	arrived  time.Time
	// seenBegin and seenEnd are Begin and End, or the arrival if these are far from it.
	seenBegin, seenEnd time.Time
	identity           identity
	cost               int64
	place              *list.Element
}

// farFromArrival is the maximum difference between the end of a profile and its arrival. Above it, the profile counts by its
// arrival in times that are counted back from now.
const farFromArrival = 10 * time.Minute

// arrive sets the time of arrival.
func (e *Entry) arrive(now time.Time) {
	e.arrived = now
	e.seenBegin, e.seenEnd = e.Begin, e.End
	if now.Sub(e.End).Abs() > farFromArrival {
		e.seenEnd = now.Round(0)
		e.seenBegin = e.seenEnd.Add(-e.End.Sub(e.Begin))
	}
}

// Arrived returns the time of arrival.
func (e *Entry) Arrived() time.Time { return e.arrived }

// Far returns whether the time of the profile is far from its arrival.
func (e *Entry) Far() bool { return !e.seenEnd.Equal(e.End) }

// span returns the time of an entry: its own, or for relative times the one that counts back from now.
func (e *Entry) span(relative bool) (begin, end time.Time) {
	if relative {
		return e.seenBegin, e.seenEnd
	}
	return e.Begin, e.End
}

// Attribute is a resource attribute as text.
type Attribute struct{ Name, Value string }

// Gauge is a sample type whose values are a state at one time, and its position in the pprof.
type Gauge struct {
	Position   int
	Type, Unit string
}

func (e *Entry) key() key { return key{tenant: e.Tenant, service: e.Service, profileType: e.Type} }

// Instance is a hash of the attributes of a resource.
type Instance [sha256.Size]byte

// Instance identifies the resource among those of a service.
func (e *Entry) Instance() (instance Instance) {
	digest := sha256.New()
	for _, a := range e.Attributes {
		_, _ = digest.Write(strconv.AppendInt(nil, int64(len(a.Name)), 10))
		_, _ = io.WriteString(digest, ":"+a.Name+"="+a.Value+"\x00")
	}
	digest.Sum(instance[:0])
	return instance
}

// identity returns a hash of the properties that make two uploads equal: the tenant, the series, the resource and the profile
// ID. It is zero for profiles without an ID.
type identity [sha256.Size / 2]byte

func identityOf(e *Entry) (id identity) {
	if e.ID == ([16]byte{}) {
		return id
	}
	instance := e.Instance()
	digest := sha256.New()
	_, _ = digest.Write(instance[:])
	_, _ = digest.Write(e.ID[:])
	_, _ = io.WriteString(digest, strconv.Itoa(len(e.Tenant))+":"+e.Tenant+strconv.Itoa(len(e.Service))+":"+e.Service+e.Type)
	copy(id[:], digest.Sum(nil))
	return id
}

// Attribute returns the value of an attribute, or an empty text.
func (e *Entry) Attribute(name string) (value string, found bool) {
	i, found := slices.BinarySearchFunc(e.Attributes, name, func(a Attribute, name string) int { return cmp.Compare(a.Name, name) })
	if !found {
		return "", false
	}
	return e.Attributes[i].Value, true
}

// Has returns whether the attributes of an entry match all selectors.
func (e *Entry) Has(wanted []selector.Selector) bool {
	for i := range wanted {
		value, found := e.Attribute(wanted[i].Key)
		if !wanted[i].Wants(found, found && wanted[i].Names([]byte(value))) {
			return false
		}
	}
	return true
}

// pack moves all text into one string, so that the entry does not keep other memory alive, such as that of its message. It
// returns the cost of the entry in bytes.
func (e *Entry) pack() int64 {
	e.Attributes = slices.Clip(e.Attributes)
	texts := []*string{&e.Tenant, &e.Service, &e.Type}
	for i := range e.Attributes {
		texts = append(texts, &e.Attributes[i].Name, &e.Attributes[i].Value)
	}
	for i := range e.Gauges {
		texts = append(texts, &e.Gauges[i].Type, &e.Gauges[i].Unit)
	}
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	var all strings.Builder
	all.Grow(size)
	for _, text := range texts {
		all.WriteString(*text)
	}
	packed := all.String()
	for _, text := range texts {
		*text, packed = packed[:len(*text)], packed[len(*text):]
	}
	return int64(cap(e.Compressed)+all.Cap()+attributeOverhead*cap(e.Attributes)+gaugeOverhead*cap(e.Gauges)) + entryOverhead
}
