// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile

import "github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"

// reader reads one file.
type reader struct {
	profilebuilder.JSON
	// nodes are sorted by id.
	nodes   []node
	samples []sample
	// stack is the stack of the current node, leaf first.
	stack []int32
}

// field is the position of a field of the file, 0 if it is missing. count is the number of values of an array.
type field struct{ at, count int }

// fields are the fields of the file, all of which it must have.
type fields struct{ nodes, samples, timeDeltas, startTime, endTime field }

// readFile reads the file. It can return an error that the builder already has.
func (r *reader) readFile() error {
	f, err := r.readFields()
	if err == nil {
		err = r.readNodes(f.nodes)
	}
	if err == nil {
		err = r.readParents()
	}
	if err == nil {
		err = r.checkCycles()
	}
	if err == nil {
		err = r.readSamples(&f)
	}
	return err
}

// readFields finds the fields. They come in any order.
func (r *reader) readFields() (f fields, err error) {
	byName := map[string]*field{
		"nodes": &f.nodes, "samples": &f.samples, "timeDeltas": &f.timeDeltas, "startTime": &f.startTime, "endTime": &f.endTime,
	}
	err = r.Object(func(key []byte) error {
		one, known := byName[string(key)]
		switch {
		case !known:
			return r.Skip()
		case one.at > 0:
			return profilebuilder.Malformed("the file has the field %q twice", key)
		case r.Peek() == '[':
			return r.MarkArray(&one.at, &one.count)
		default:
			return r.Mark(&one.at)
		}
	})
	if err == nil {
		err = r.End()
	}
	for _, name := range []string{"nodes", "samples", "timeDeltas", "startTime", "endTime"} {
		if err == nil && byName[name].at == 0 {
			err = profilebuilder.Malformed("the file has no field %q", name)
		}
	}
	return f, err
}
