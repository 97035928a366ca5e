// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// namer adds the names of frames to a dictionary. Entries that it has already are not added again.
type namer struct {
	dictionary pprofile.ProfilesDictionary
	texts      map[string]int32
	functions  map[function]int32
}

// function is an entry of the dictionary.
type function struct {
	name, systemName, filename int32
	startLine                  int64
}

// knownFunction is a function of an index, in a file of the index: OTLP has the file with the function, not with the line.
type knownFunction struct{ function, file uint32 }

// newNamer returns a namer that adds at most this number of functions.
func newNamer(dictionary pprofile.ProfilesDictionary, functions int) *namer {
	n := &namer{
		dictionary: dictionary,
		texts:      make(map[string]int32, dictionary.StringTable().Len()+2*functions),
		functions:  make(map[function]int32, dictionary.FunctionTable().Len()+functions),
	}
	for i, text := range dictionary.StringTable().All() {
		if _, found := n.texts[text]; !found {
			n.texts[text] = int32(i)
		}
	}
	for i, f := range dictionary.FunctionTable().All() {
		key := function{f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex(), f.StartLine()}
		if _, found := n.functions[key]; !found {
			n.functions[key] = int32(i)
		}
	}
	return n
}

func (n *namer) text(s string) int32 {
	s = strings.ToValidUTF8(s, "\uFFFD")
	i, found := n.texts[s]
	if !found {
		i = int32(n.dictionary.StringTable().Len())
		n.dictionary.StringTable().Append(s)
		n.texts[s] = i
	}
	return i
}

// function returns the index of the function of a frame.
func (n *namer) function(m *mapping, table *index.Table, frame index.Frame) int32 {
	key := knownFunction{frame.Function, frame.File}
	if i := m.functions[key]; i != notAdded {
		return i
	}
	name, systemName, startLine := table.Function(frame.Function)
	f := function{n.text(name), n.text(systemName), n.text(table.Text(frame.File)), int64(startLine)}
	i, found := n.functions[f]
	if !found {
		i = int32(n.dictionary.FunctionTable().Len())
		added := n.dictionary.FunctionTable().AppendEmpty()
		added.SetNameStrindex(f.name)
		added.SetSystemNameStrindex(f.systemName)
		added.SetFilenameStrindex(f.filename)
		added.SetStartLine(f.startLine)
		n.functions[f] = i
	}
	m.functions[key] = i
	return i
}

// setMapping writes the frames of the locations of a mapping.
func (n *namer) setMapping(m *mapping, table *index.Table) {
	var all flags
	for _, u := range m.locations {
		if frames := m.frames[u.begin:u.end]; len(frames) > 0 {
			n.setLines(m, n.dictionary.LocationTable().At(int(u.location)), table, frames)
			all.add(frames)
		}
	}
	n.setFlags(n.dictionary.MappingTable().At(int(m.index)), all)
}

// setLines replaces the lines of a location. What was said of the old ones does not hold any more.
func (n *namer) setLines(m *mapping, location pprofile.Location, table *index.Table, frames []index.Frame) {
	lines := location.Lines()
	lines.RemoveIf(func(pprofile.Line) bool { return true })
	lines.EnsureCapacity(len(frames))
	for _, frame := range frames {
		function := n.function(m, table, frame)
		line := lines.AppendEmpty()
		line.SetFunctionIndex(function)
		line.SetLine(int64(frame.Line))
		line.SetColumn(int64(frame.Column))
	}
	n.removeAttribute(location.AttributeIndices(), attributeIsFolded)
}

func (n *namer) removeAttribute(list pcommon.Int32Slice, key string) {
	has := func(a int32) bool {
		found, _, ok := attributeAt(n.dictionary, a)
		return ok && found == key
	}
	for _, a := range list.All() {
		if has(a) {
			list.FromRaw(slices.DeleteFunc(list.AsRaw(), has))
			return
		}
	}
}

// flag returns the index of an attribute whose value is true.
func (n *namer) flag(key string) int32 {
	at, attributes := n.text(key), n.dictionary.AttributeTable()
	for i, a := range attributes.All() {
		if i > 0 && a.KeyStrindex() == at && a.UnitStrindex() == 0 && a.Value().Type() == pcommon.ValueTypeBool && a.Value().Bool() {
			return int32(i)
		}
	}
	added := attributes.AppendEmpty()
	added.SetKeyStrindex(at)
	added.Value().SetBool(true)
	return int32(attributes.Len() - 1)
}

// flags are what the names of a mapping have.
type flags struct{ functions, filenames, lines, inlined bool }

func (f *flags) add(frames []index.Frame) {
	f.functions = true
	f.inlined = f.inlined || len(frames) > 1
	for _, frame := range frames {
		f.filenames = f.filenames || frame.File != 0
		f.lines = f.lines || frame.Line != 0
	}
}

// setFlags says what the lines of a mapping have.
func (n *namer) setFlags(mapping pprofile.Mapping, f flags) {
	list := mapping.AttributeIndices()
	for _, flag := range []struct {
		key string
		set bool
	}{
		{attributeHasFunctions, f.functions},
		{attributeHasFilenames, f.filenames},
		{attributeHasLineNumbers, f.lines},
		{attributeHasInlineFrames, f.inlined},
	} {
		if flag.set {
			n.removeAttribute(list, flag.key)
			list.Append(n.flag(flag.key))
		}
	}
}
