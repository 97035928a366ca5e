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
)

// What an entry costs beside its bytes and text: the struct, its places in the lists, its share of the maps; and what
// each attribute costs beside its text.
const (
	entryOverhead     = 512
	attributeOverhead = 32
)

// Entry is one profile. It must not be changed once it is added.
type Entry struct {
	Tenant, Service, Type string
	// Attributes are those of the resource, sorted by name.
	Attributes []Attribute
	// Begin and End are the time that the profile says it is of, or when it came.
	Begin, End time.Time
	// Compressed is the pprof, see Compress; Inflated the size of it without compression.
	Compressed []byte
	Inflated   int
	// Gauges are the positions of the sample types that say how much there is at a time. CPU is for profiles of CPU time.
	Gauges []int
	CPU    bool

	// Sequence counts the entries of a store.
	Sequence uint64
	arrived  time.Time
	cost     int64
	place    *list.Element
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

// attribute returns the value of an attribute.
func (e *Entry) attribute(name string) (value string, found bool) {
	i, found := slices.BinarySearchFunc(e.Attributes, name, func(a Attribute, name string) int { return cmp.Compare(a.Name, name) })
	if !found {
		return "", false
	}
	return e.Attributes[i].Value, true
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
