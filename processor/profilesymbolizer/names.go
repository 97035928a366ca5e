// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// names are the functions of the frames of a message, and their texts. Only these are looked for in the dictionary: a map of all that it
// has would cost more than the look-ups.
type names struct {
	// known has the number of each function of an index, numbers that of each text.
	known     map[knownFunction]uint32
	functions []function
	numbers   map[string]int32
	texts     []text
	copies    strings.Builder
	// added has the index in the dictionary of each function, or notAdded.
	added map[function]int32
}

// knownFunction is a function of the index of a mapping, in a file of that index: OTLP has the file with the function, not with the line.
type knownFunction struct {
	mapping        int32
	function, file uint32
}

// function is a function of a dictionary. Its texts are numbers of texts first, then indices of the dictionary.
type function struct {
	startLine                  int64
	name, systemName, filename int32
}

// text has its index in the dictionary, or notAdded.
type text struct {
	text  string
	index int32
}

const notAdded = -1

// copiesBytes is the size of an allocation for texts.
const copiesBytes = 2 << 10

// pool has names that are used again, so that their maps need no growth.
var pool = sync.Pool{New: func() any {
	return &names{known: map[knownFunction]uint32{}, numbers: map[string]int32{}, added: map[function]int32{}}
}}

// maxPooled limits the texts of names that are used again.
const maxPooled = 4 << 10

// release gives names back to the pool.
func (n *names) release() {
	if len(n.texts) <= maxPooled {
		n.reset()
		pool.Put(n)
	}
}

func (n *names) reset() {
	clear(n.known)
	clear(n.numbers)
	clear(n.added)
	clear(n.texts)
	n.functions, n.texts, n.copies = n.functions[:0], n.texts[:0], strings.Builder{}
}

// number returns the number of a text.
func (n *names) number(s []byte) int32 {
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	number, found := n.numbers[string(s)]
	if !found {
		number = int32(len(n.texts))
		copied := n.copy(s)
		n.texts = append(n.texts, text{copied, notAdded})
		n.numbers[copied] = number
	}
	return number
}

// copy returns a copy of a text. Many of them share an allocation.
func (n *names) copy(s []byte) string {
	if n.copies.Cap()-n.copies.Len() < len(s) {
		n.copies = strings.Builder{}
		n.copies.Grow(max(copiesBytes, len(s)))
	}
	begin := n.copies.Len()
	n.copies.Write(s)
	return n.copies.String()[begin:]
}

// add adds a function, and returns its number.
func (n *names) add(key knownFunction, f index.Names) uint32 {
	number := uint32(len(n.functions))
	n.known[key] = number
	n.functions = append(n.functions, function{int64(f.StartLine), n.number(f.Name), n.number(f.SystemName), n.number(f.Filename)})
	return number
}

// write adds to a dictionary what it has not yet, and returns the index of each function.
func (n *names) write(dictionary pprofile.ProfilesDictionary) []int32 {
	n.findTexts(dictionary.StringTable().All())
	old, mayBeOld := int32(dictionary.StringTable().Len()), false
	for i := range n.functions {
		f := &n.functions[i]
		for _, at := range []*int32{&f.name, &f.systemName, &f.filename} {
			*at = n.texts[*at].write(dictionary)
		}
		n.added[*f] = notAdded
		mayBeOld = mayBeOld || max(f.name, f.systemName, f.filename) < old
	}
	table := dictionary.FunctionTable()
	if mayBeOld {
		n.findFunctions(table.All())
	}
	indices := make([]int32, len(n.functions))
	table.EnsureCapacity(table.Len() + len(n.functions))
	for i, f := range n.functions {
		at := n.added[f]
		if at == notAdded {
			at = int32(table.Len())
			n.added[f] = at
			f.write(table.AppendEmpty())
		}
		indices[i] = at
	}
	return indices
}

// findTexts finds the texts that a dictionary has.
func (n *names) findTexts(all func(func(int, string) bool)) {
	var lengths [256]bool // of the texts, modulo 256: most texts of a dictionary need no look-up
	for _, t := range n.texts {
		lengths[uint8(len(t.text))] = true
	}
	for i, s := range all {
		if !lengths[uint8(len(s))] {
			continue
		}
		if number, found := n.numbers[s]; found && n.texts[number].index == notAdded {
			n.texts[number].index = int32(i)
		}
	}
}

// findFunctions finds the functions that a dictionary has.
func (n *names) findFunctions(all func(func(int, pprofile.Function) bool)) {
	for i, f := range all {
		key := function{f.StartLine(), f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex()}
		if at, found := n.added[key]; found && at == notAdded {
			n.added[key] = int32(i)
		}
	}
}

// write returns the index of a text in a dictionary.
func (t *text) write(dictionary pprofile.ProfilesDictionary) int32 {
	if t.index == notAdded {
		t.index = int32(dictionary.StringTable().Len())
		dictionary.StringTable().Append(t.text)
	}
	return t.index
}

func (f *function) write(added pprofile.Function) {
	added.SetNameStrindex(f.name)
	added.SetSystemNameStrindex(f.systemName)
	added.SetFilenameStrindex(f.filename)
	added.SetStartLine(f.startLine)
}
