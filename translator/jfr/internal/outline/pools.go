// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

import "slices"

// readPools follows the constant pools of the chunk. The last one comes first; each names the position of the one before it,
// relative to its own. The parser would follow them in circles, and read what they share many times.
func (r *reader) readPools(pos int) error {
	end := len(r.data)
	for {
		before, next, err := r.readPool(pos)
		if err != nil {
			return err
		}
		if next > end {
			return r.fail(pos, "constant pools overlap")
		}
		if before == 0 {
			return nil
		}
		end = pos
		if before >= 0 || before < int64(headerBytes-pos) {
			return r.fail(pos, "the constant pool before this one is %d bytes away, it must be from %d to -1", before, headerBytes-pos)
		}
		pos += int(before)
	}
}

// readPool returns the distance to the pool before it, and the position of its end.
func (r *reader) readPool(pos int) (before int64, next int, err error) {
	next = pos
	for range 4 { // size, type, start, duration
		if next = skipLong(r.data, next); next < 0 {
			return 0, 0, r.cut(pos, "the header of a constant pool")
		}
	}
	delta, next := readLong(r.data, next)
	if next >= 0 {
		next = skipInt(r.data, next, maxIntBytes) // the mask
	}
	count := uint32(0)
	if next >= 0 {
		count, next = readInt(r.data, next)
	}
	if next < 0 || int64(count) > int64(len(r.data)-next)/2 {
		return 0, 0, r.cut(pos, "the header of a constant pool")
	}
	for range count {
		if r.pools++; r.pools > maxPools {
			return 0, 0, TooLarge("constant pools", maxPools+1, maxPools)
		}
		id, after := readLong(r.data, next)
		if after < 0 {
			return 0, 0, r.cut(next, "a constant pool")
		}
		c := r.byID[int64(id)]
		if c == nil {
			return 0, 0, r.fail(next, "a constant pool is of class %d, which does not exist", id)
		}
		if next, err = r.readConstants(c, after); err != nil {
			return 0, 0, err
		}
	}
	return int64(delta), next, nil
}

// readConstants reads the constants of one class.
func (r *reader) readConstants(c *class, pos int) (next int, err error) {
	if c.name == "jdk.types.ChunkHeader" {
		if next = pos + headerBytes; next > len(r.data) {
			return 0, r.cut(pos, "a constant pool")
		}
		return next, nil
	}
	count, next := readInt(r.data, pos)
	if next < 0 || int64(count) > int64(len(r.data)-next) {
		return 0, r.fail(pos, "a constant pool has %d entries, and there are not as many bytes", count)
	}
	if err := r.countConstants(c, int(count)); err != nil {
		return 0, err
	}
	if c.table == tableStackTrace {
		return r.readStacks(c, int(count), next)
	}
	for range count {
		if next = skipLong(r.data, next); next < 0 {
			return 0, r.cut(pos, "a constant pool")
		}
		if c.table == tableString {
			next, err = r.skipString(next, len(r.data))
		} else {
			next, err = r.skipFields(c, next, len(r.data))
		}
		if err != nil {
			return 0, err
		}
	}
	return next, nil
}

// readStacks reads stacks and notes the types of their frames.
func (r *reader) readStacks(c *class, count, next int) (_ int, err error) {
	r.chunk.Stacks = slices.Grow(r.chunk.Stacks, count)
	for range count {
		start := next
		if next = skipLong(r.data, next); next < 0 {
			return 0, r.cut(start, "a stack")
		}
		r.chunk.Stacks = append(r.chunk.Stacks, uint32(len(r.chunk.FrameTypes)))
		for i := range c.fields {
			f := &c.fields[i]
			if f.nested == r.frame && !f.pool {
				next, err = r.readFrames(f, next)
			} else {
				next, err = r.skipField(f, next, len(r.data))
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return next, nil
}

func (r *reader) readFrames(f *field, pos int) (next int, err error) {
	count, next := uint32(1), pos
	if f.array {
		count, next = readInt(r.data, pos)
	}
	if next < 0 || int64(count) > int64(len(r.data)-next) {
		return 0, r.fail(pos, "a stack has %d frames, and there are not as many bytes", count)
	}
	if int64(count) > int64(r.limits.FramesPerStack) {
		return 0, TooLarge("frames of a stack", int(count), r.limits.FramesPerStack)
	}
	r.chunk.tables.frames += int(count)
	if r.chunk.tables.frames%framesStep < int(count) {
		if err := r.reserve(2 * framesStep); err != nil {
			return 0, err
		}
	}
	types := slices.Grow(r.chunk.FrameTypes, int(count))
	for range count {
		if next, err = r.skipFields(r.frame, next, len(r.data)); err != nil {
			return 0, err
		}
		kind := byte(NoFrameType)
		if r.frameType && r.data[next-2] < 0x80 {
			kind = r.data[next-1]
		}
		types = append(types, kind)
	}
	r.chunk.FrameTypes = types
	return next, nil
}

// skipFields skips an object of a class, which must end before end.
func (r *reader) skipFields(c *class, pos, end int) (next int, err error) {
	if c.steps != nil {
		if next = c.steps.skip(r.data[:end], pos); next < 0 {
			return 0, r.cut(pos, "an object of class "+c.name)
		}
		return next, nil
	}
	next = pos
	for i := range c.fields {
		if next, err = r.skipField(&c.fields[i], next, end); err != nil {
			return 0, err
		}
	}
	return next, nil
}

func (r *reader) skipField(f *field, pos, end int) (next int, err error) {
	data := r.data[:end]
	if !f.array {
		if !f.pool && f.value != valueLong {
			return r.skipValue(f, pos, end)
		}
		if next = skipLong(data, pos); next < 0 {
			return 0, r.cut(pos, "field "+f.name)
		}
		return next, nil
	}
	count, next := readInt(data, pos)
	if next < 0 || int64(count) > int64(len(data)-next) {
		return 0, r.fail(pos, "field %.64q has %d values, and there are not as many bytes", f.name, count)
	}
	for range count {
		if f.pool {
			if next = skipLong(data, next); next < 0 {
				return 0, r.cut(pos, "field "+f.name)
			}
		} else if next, err = r.skipValue(f, next, end); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// skipValue skips one value of a field that is no reference to a constant pool.
func (r *reader) skipValue(f *field, pos, end int) (next int, err error) {
	data := r.data[:end]
	switch f.value {
	case valueString:
		return r.skipString(pos, end)
	case valueInt:
		next = skipInt(data, pos, maxIntBytes)
	case valueLong:
		next = skipLong(data, pos)
	case valueShort:
		next = skipInt(data, pos, maxShortBytes)
	case valueBoolean:
		if next = pos + 1; next > len(data) {
			next = -1
		}
	case valueObject:
		return r.skipObjects(f, pos, end)
	}
	if next < 0 {
		return 0, r.cut(pos, "field "+f.name)
	}
	return next, nil
}

// skipObjects skips the objects of a field. As the parser has it, an array of objects has its length again in each of them,
// and objects have neither arrays nor objects in them.
func (r *reader) skipObjects(f *field, pos, end int) (next int, err error) {
	data := r.data[:end]
	if f.nested == nil || len(f.nested.fields) == 0 {
		return 0, r.fail(pos, "field %.64q is of class %d, which does not exist or has no fields", f.name, f.typ)
	}
	count, next := uint32(1), pos
	if f.array {
		count, next = readInt(data, pos)
	}
	if next < 0 || int64(count) > int64(len(data)-next) {
		return 0, r.cut(pos, "field "+f.name)
	}
	for range count {
		for i := range f.nested.fields {
			inner := &f.nested.fields[i]
			switch {
			case inner.pool:
				next = skipInt(data, next, maxIntBytes)
			case inner.value == valueObject:
				return 0, r.fail(next, "field %.64q has an object of class %d in an object", f.name, inner.typ)
			default:
				if next, err = r.skipValue(inner, next, end); err != nil {
					return 0, err
				}
			}
			if next < 0 {
				return 0, r.cut(pos, "field "+f.name)
			}
		}
	}
	return next, nil
}
