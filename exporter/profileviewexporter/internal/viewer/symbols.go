// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"path"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// NameFunctions names each function without a name, and adds a function to each location without one. The name is the binary
// and the offset in it. NameFunctions returns the number of locations without symbols.
func NameFunctions(p *profile.Profile) (unnamed int) {
	names := names{profile: p, byName: map[string]*profile.Function{}}
	for _, f := range p.Function {
		names.lastID = max(names.lastID, f.ID)
	}
	for _, l := range p.Location {
		if len(l.Line) == 0 {
			l.Line = []profile.Line{{Function: names.function(l)}}
			unnamed++
			continue
		}
		missing := false
		for i := range l.Line {
			f := l.Line[i].Function
			if f != nil && f.Name == "" {
				f.Name = f.SystemName
			}
			if f == nil || f.Name == "" {
				l.Line[i].Function = names.function(l)
				missing = true
			}
		}
		if missing {
			unnamed++
		}
	}
	return unnamed
}

// names makes functions for locations.
type names struct {
	profile *profile.Profile
	byName  map[string]*profile.Function
	lastID  uint64
}

// function returns the function for a location.
func (n *names) function(l *profile.Location) *profile.Function {
	name := placeName(l)
	if f := n.byName[name]; f != nil {
		return f
	}
	n.lastID++
	f := &profile.Function{ID: n.lastID, Name: name}
	n.byName[name] = f
	n.profile.Function = append(n.profile.Function, f)
	return f
}

// placeName returns the binary of a location and the offset in it.
func placeName(l *profile.Location) string {
	offset, binary := l.Address, ""
	if m := l.Mapping; m != nil && m.File != "" {
		binary = path.Base(strings.ReplaceAll(m.File, `\`, "/"))
		if l.Address >= m.Start && (l.Address < m.Limit || m.Limit == 0) {
			offset += m.Offset - m.Start
		}
	}
	switch {
	case l.Address == 0 && binary == "":
		return "[no symbols]"
	case l.Address == 0:
		return binary
	case binary == "":
		return "0x" + strconv.FormatUint(offset, 16)
	}
	return binary + "+0x" + strconv.FormatUint(offset, 16)
}
