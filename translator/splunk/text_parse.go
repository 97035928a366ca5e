// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"fmt"
	"strconv"
)

// text is the content of a text record. It refers to memory of the body.
type text struct {
	threadName, threadState []byte
	threadID, osThreadID    int64
	frames                  []frame
	// skipped counts lines that are neither frames nor known lines of a thread dump.
	skipped int
}

// frame is one line of the stack.
type frame struct {
	function, file []byte
	line, column   int64
}

// parse parses a text: a line about the thread, a line about its state, which can both be empty, then one line for each
// frame, leaf first. The oldest agents only write frames.
func (x *text) parse(body []byte, grammar grammar, maxLine, maxFrames int) *refusal {
	*x = text{frames: x.frames[:0]}
	current := partFirst
	for n := 1; len(body) > 0; n++ {
		line := body
		if end := bytes.IndexByte(body, '\n'); end >= 0 {
			line, body = body[:end], body[end+1:]
		} else {
			body = nil
		}
		if len(line) > maxLine {
			return tooLarge(fmt.Sprintf("bytes of line %d", n), len(line), maxLine)
		}
		for len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		if current < partFrames {
			var taken bool
			if current, taken = x.readMetadata(current, line, grammar); taken {
				continue
			}
		}
		if !x.readFrame(line, grammar) {
			continue
		}
		if len(x.frames) > maxFrames {
			return tooLarge("frames of the stack", len(x.frames), maxFrames)
		}
	}
	return nil
}

// part is the part of the text to which a line belongs.
type part int

const (
	partFirst  part = iota // the first line
	partState              // after a line about the thread, which can be empty
	partFrames             // the frames
)

// readMetadata reads a line before the frames. It returns false if the line is the first frame.
func (x *text) readMetadata(at part, line []byte, g grammar) (next part, taken bool) {
	if at == partFirst {
		switch {
		case len(line) == 0:
			return partState, true
		case line[0] != '"':
			return partFrames, false
		}
		x.parseHeader(line, g)
		return partState, true
	}
	line = bytes.TrimSpace(line)
	if _, state, found := bytes.Cut(line, []byte("Thread.State:")); found {
		x.threadState = bytes.TrimSpace(state)
		return partFrames, true
	}
	// The carrier of a virtual thread can have this line before its state.
	if bytes.HasPrefix(line, []byte("Carrying virtual thread")) {
		return partState, true
	}
	if len(line) > 0 && !isFrame(line) {
		x.skipped++ // It can be the state of another runtime.
		return partFrames, true
	}
	return partFrames, len(line) == 0
}

// isFrame reports whether a line in place of the state is certainly a frame: it begins with "at", or ends with the number of a line.
func isFrame(line []byte) bool {
	_, _, ok := cutNumber(bytes.TrimSuffix(line, []byte(")")))
	return ok || bytes.HasPrefix(line, []byte("at "))
}

// parseHeader parses the line about the thread. Free text can follow the ids.
//
// "name" #12 [345] daemon prio=5 os_prio=0 cpu=1.27ms elapsed=0.63s tid=0x00007f2f8c0f8000 nid=0x3e2d runnable.
func (x *text) parseHeader(line []byte, g grammar) {
	end := nameEnd(line)
	x.threadName = line[min(1, end):end]
	number := int64(0)
	word, rest := nextWord(line[end+1:])
	for i := 0; len(word) > 0; i++ {
		key, value, _ := bytes.Cut(word, []byte("="))
		switch {
		case i == 0 && word[0] == '#':
			number, _ = parseNumber(word[1:])
		case i == 1 && word[0] == '[' && word[len(word)-1] == ']':
			x.osThreadID, _ = parseNumber(word[1 : len(word)-1])
		case string(key) == "nid":
			x.osThreadID = parseID(value)
			rest = nil
		case string(key) == "tid" && g == grammarDotnet:
			x.threadID = parseID(value)
		}
		word, rest = nextWord(rest)
	}
	// In .NET it is the position in the batch.
	if g != grammarDotnet {
		x.threadID = number
	}
}

// nameEnd returns the index of the quotation mark that ends the name in a header. Names are not escaped, and free text can have
// quotation marks, too. So it is the last one before the number of the thread, or else before nid; without both, the last one.
func nameEnd(line []byte) int {
	if end := 1 + bytes.IndexByte(line[1:], '"'); bytes.IndexByte(line[end+1:], '"') < 0 {
		return end // The usual case: one pair.
	}
	ids := line
	if nid := bytes.LastIndex(line, []byte(" nid=")); nid >= 0 {
		ids = line[:nid]
	}
	for end := bytes.LastIndex(ids, []byte(`" #`)); end > 0; end = bytes.LastIndex(ids[:end], []byte(`" #`)) {
		word, _ := nextWord(line[end+len(`" #`):])
		if _, ok := parseNumber(word); ok {
			return end
		}
	}
	if end := bytes.LastIndexByte(ids, '"'); end > 0 {
		return end
	}
	return bytes.LastIndexByte(line, '"')
}

// nextWord returns the first word of line and the rest.
func nextWord(line []byte) (word, rest []byte) {
	line = bytes.TrimLeft(line, " \t")
	if end := bytes.IndexAny(line, " \t"); end >= 0 {
		return line[:end], line[end:]
	}
	return line, nil
}

// parseID parses a decimal number, or a hexadecimal one after 0x. It returns 0 if there is no number, and for the
// unsigned form of -1.
func parseID(text []byte) int64 {
	if digits, found := bytes.CutPrefix(text, []byte("0x")); found {
		n, err := strconv.ParseUint(string(digits), 16, 63)
		if err != nil || n == 0xffffffff {
			return 0
		}
		return int64(n)
	}
	n, _ := parseNumber(text)
	return n
}

// parseNumber parses a decimal number, with at most as many digits as always fit.
func parseNumber(text []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
