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

// What an entry costs beside its bytes and text: the struct, its places in the lists, its share of the maps; and what
// each attribute costs beside its text.
const (
	entryOverhead     = 640
	attributeOverhead = 32
)

// Entry is one profile. It must not be changed once it is added.
type Entry struct {
	Tenant, Service, Type string
	// Attributes are those of the resource, sorted by name.
	Attributes []Attribute
	// Begin and End are the time that the profile says it is of, or when it came.
	Begin, End time.Time
	// ID is that of the profile, zero for none. One that is held already is not held again.
	ID [16]byte
	// Compressed is the pprof, see Compress; Inflated the size of it without compression.
	Compressed []byte
	Inflated   int
	// Gauges are the positions of the sample types that say how much there is at a time. CPU is for profiles of CPU time.
	// PGO is for those that go build takes: of CPU time, with the lines where functions start.
	Gauges   []int
	CPU, PGO bool

	// Sequence counts the entries of a store.
	Sequence uint64
	arrived  time.Time
	// seenBegin and seenEnd are Begin and End, or when it came if those are far from that.
	seenBegin, seenEnd time.Time
	identity           identity
	cost               int64
	place              *list.Element
}

// farFromArrival is by how much the end of a profile and its arrival may differ, so that it still counts as of its own time
// where times are counted back from now.
const farFromArrival = 10 * time.Minute

// arrive says when the entry came.
func (e *Entry) arrive(now time.Time) {
	e.arrived = now
	e.seenBegin, e.seenEnd = e.Begin, e.End
	if now.Sub(e.End).Abs() > farFromArrival {
		e.seenEnd = now.Round(0)
		e.seenBegin = e.seenEnd.Add(-e.End.Sub(e.Begin))
	}
}

// Arrived tells when the entry came.
func (e *Entry) Arrived() time.Time { return e.arrived }

// Far tells whether the entry says that it is of a time far from when it came.
func (e *Entry) Far() bool { return !e.seenEnd.Equal(e.End) }

// span is the time of an entry: its own, or the one by which times count that are counted back from now.
func (e *Entry) span(relative bool) (begin, end time.Time) {
	if relative {
		return e.seenBegin, e.seenEnd
	}
	return e.Begin, e.End
}

// Attribute is one of a resource, as text.
type Attribute struct{ Name, Value string }

func (e *Entry) key() key { return key{tenant: e.Tenant, service: e.Service, profileType: e.Type} }

// Instance is a digest of the attributes of a resource.
type Instance [sha256.Size]byte

// Instance tells the sources of a service from each other.
func (e *Entry) Instance() (instance Instance) {
	digest := sha256.New()
	for _, a := range e.Attributes {
		_, _ = digest.Write(strconv.AppendInt(nil, int64(len(a.Name)), 10))
		_, _ = io.WriteString(digest, ":"+a.Name+"="+a.Value+"\x00")
	}
	digest.Sum(instance[:0])
	return instance
}

// identity is a digest of what makes two uploads equal: the tenant, the series, the resource and the id of the profile. It
// is zero for profiles without an id.
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

// Attribute returns the value of an attribute.
func (e *Entry) Attribute(name string) (value string, found bool) {
	i, found := slices.BinarySearchFunc(e.Attributes, name, func(a Attribute, name string) int { return cmp.Compare(a.Name, name) })
	if !found {
		return "", false
	}
	return e.Attributes[i].Value, true
}

// Has tells whether the attributes of an entry are those that are wanted.
func (e *Entry) Has(wanted []selector.Selector) bool {
	for i := range wanted {
		value, found := e.Attribute(wanted[i].Key)
		if !wanted[i].Wants(found, found && wanted[i].Names([]byte(value))) {
			return false
		}
	}
	return true
}

// pack moves all text into one string, so that the entry keeps nothing else alive, such as the request that it came with.
// It returns what the entry costs.
func (e *Entry) pack() int64 {
	e.Attributes = slices.Clip(e.Attributes)
	texts := []*string{&e.Tenant, &e.Service, &e.Type}
	for i := range e.Attributes {
		texts = append(texts, &e.Attributes[i].Name, &e.Attributes[i].Value)
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
	return int64(cap(e.Compressed)+all.Cap()+attributeOverhead*cap(e.Attributes)) + entryOverhead
}
