// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"
	"math"
	"strconv"
)

// header is the first line of a sample: comm pid/tid [cpu] time: period event: rest. Missing numbers are negative,
// missing flags false.
type header struct {
	comm, event, rest []byte
	pid, tid, cpu     int64
	// time is in nanoseconds.
	time      uint64
	period    int64
	hasPeriod bool
}

// parseHeader parses a line. The name of a thread can contain anything, spaces included. So the parser searches for the
// time first: the first word with the form of a time that has a thread, and optionally a CPU, before it, and an event
// after it. There can be many words with this form, so each one is only compared with the words next to it.
func (r *reader) parseHeader(line []byte) (h header, ok bool) {
	for at := 0; at < len(line) && r.Err() == nil; {
		start := at + spaces(line[at:])
		end := start + wordLength(line[start:])
		r.Advance(int64(end - at))
		at = end
		var isTime bool
		if h.time, isTime = parseTime(line[start:end]); isTime && h.parseThread(line[:start]) && h.parseEvent(line[end:]) {
			h.comm, h.rest = bytes.TrimSpace(h.comm), bytes.TrimSpace(h.rest)
			return h, true
		}
	}
	return header{}, false
}

// maxDigits is the number of digits of the largest number.
const maxDigits = 19

// parseTime parses seconds with a fraction, followed by a colon.
func parseTime(word []byte) (nanoseconds uint64, ok bool) {
	seconds, fraction, found := bytes.Cut(word, []byte("."))
	fraction, ends := bytes.CutSuffix(fraction, []byte(":"))
	if !found || !ends || len(fraction) == 0 || len(fraction) > 9 {
		return 0, false
	}
	whole, wholeOK := parseNumber(seconds)
	part, partOK := parseNumber(fraction)
	if !wholeOK || !partOK || whole >= math.MaxInt64/1_000_000_000 {
		return 0, false
	}
	for range 9 - len(fraction) {
		part *= 10
	}
	return uint64(whole*1e9 + part), true
}

// parseThread parses the text before the time. A single number is the thread id.
func (h *header) parseThread(text []byte) bool {
	rest, word := cutLast(text)
	h.cpu = -1
	if number, found := bytes.CutPrefix(word, []byte("[")); found {
		var ok bool
		if h.cpu, ok = parseNumber(bytes.TrimSuffix(number, []byte("]"))); !ok {
			return false
		}
		rest, word = cutLast(rest)
	}
	h.pid = -1
	process, thread, both := bytes.Cut(word, []byte("/"))
	if !both {
		thread = process
	} else if pid, ok := parseID(process); ok {
		h.pid = pid
	} else {
		return false
	}
	var ok bool
	h.tid, ok = parseID(thread)
	h.comm = rest
	return ok
}

// parseEvent parses the text after the time.
func (h *header) parseEvent(text []byte) bool {
	word, rest := cutFirst(text)
	h.period, h.hasPeriod = parseNumber(word)
	if h.hasPeriod {
		word, rest = cutFirst(rest)
	}
	event, ok := bytes.CutSuffix(word, []byte(":"))
	h.event, h.rest = event, rest
	return ok && len(event) > 0 && !bytes.HasPrefix(event, []byte("PERF_RECORD_"))
}

// parseID parses the id of a process or thread. perf prints -1 for an unknown id.
func parseID(word []byte) (int64, bool) {
	if string(word) == "-1" {
		return -1, true
	}
	return parseNumber(word)
}

func parseNumber(word []byte) (int64, bool) {
	if len(word) > maxDigits {
		return 0, false
	}
	number, err := strconv.ParseUint(string(word), 10, 63)
	return int64(number), err == nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func spaces(text []byte) (n int) {
	for n < len(text) && isSpace(text[n]) {
		n++
	}
	return n
}

func wordLength(text []byte) (n int) {
	for n < len(text) && !isSpace(text[n]) {
		n++
	}
	return n
}

// cutFirst returns the first word and the rest.
func cutFirst(text []byte) (word, rest []byte) {
	text = text[spaces(text):]
	n := wordLength(text)
	return text[:n], text[n:]
}

// cutLast returns the last word and the rest.
func cutLast(text []byte) (rest, word []byte) {
	text = bytes.TrimRight(text, " \t")
	start := bytes.LastIndexAny(text, " \t") + 1
	return text[:start], text[start:]
}
