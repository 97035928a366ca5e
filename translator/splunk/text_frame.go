// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"slices"
)

// grammar is the syntax of frames.
type grammar int

const (
	grammarCommon grammar = iota
	// grammarJava can have a module before the file and before the class.
	grammarJava
	// grammarDotnet has parameter types in the parentheses, and neither file nor line.
	grammarDotnet
)

// readFrame reads a line after the lines about the thread, and reports whether it is a frame.
func (x *text) readFrame(line []byte, g grammar) bool {
	line = trimBlanks(line)
	if len(line) == 0 || bytes.HasPrefix(line, []byte("- ")) || string(line) == "No compile task" {
		return false // An empty line, or a line of a thread dump about locks and compilers.
	}
	line = trimBlanks(bytes.TrimPrefix(line, []byte("at ")))
	f, ok := parseFrame(line, g)
	if !ok {
		x.skipped++
		return false
	}
	x.frames = append(x.frames, f)
	return true
}

// trimBlanks removes blanks and tabs from both ends.
func trimBlanks(line []byte) []byte {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	for len(line) > 0 && (line[len(line)-1] == ' ' || line[len(line)-1] == '\t') {
		line = line[:len(line)-1]
	}
	return line
}

// parseFrame reads a frame.
//
//	function(file:line)
//	function(file:line:column)
//	function(file:line[:lastLine] column[:lastColumn])
//	function(file)
//	function:line
func parseFrame(line []byte, g grammar) (frame, bool) {
	if len(line) == 0 || line[len(line)-1] != ')' {
		return parseBareFrame(line)
	}
	if g == grammarDotnet {
		if function := bytes.TrimSuffix(line, []byte("(unknown)")); len(function) > 0 {
			line = function
		}
		return frame{function: line}, true
	}
	open := openingParenthesis(line)
	if open < 0 {
		return frame{}, false
	}
	function, position := line[:open], line[open+1:len(line)-1]
	if g == grammarJava {
		function = withoutModule(function)
		position = position[bytes.IndexByte(position, '/')+1:] // It can have the module, too: java.base@17.0.15/Thread.java:840.
	}
	f := parsePosition(position)
	f.function = function
	return f, true
}

// parseBareFrame parses the form of splunk-otel-java up to 1.6.
func parseBareFrame(line []byte) (frame, bool) {
	colon := bytes.LastIndexByte(line, ':')
	if colon <= 0 || bytes.ContainsAny(line[:colon], " \t(") {
		return frame{}, false
	}
	number, ok := parseNumber(line[colon+1:])
	return frame{function: line[:colon], line: max(number, 0)}, ok
}

// openingParenthesis returns the index of the parenthesis that the last one closes; files and functions can contain
// parentheses, too. If they are not balanced, it is the first one. It is -1 if there is none.
func openingParenthesis(line []byte) int {
	inside := line[:len(line)-1]
	open := bytes.LastIndexByte(inside, '(')
	if open < 0 || bytes.IndexByte(inside[open:], ')') < 0 {
		return open // The usual case: one pair.
	}
	depth := 0
	for i, c := range slices.Backward(line) {
		switch c {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return bytes.IndexByte(line, '(')
}

// withoutModule removes the module, its version and its loader from a function: java.base@17/java.lang.Thread.sleep,
// app//com.acme.Main.main. Other slashes are part of the function, for example in lambdas.
func withoutModule(function []byte) []byte {
	if rest, found := bytes.CutPrefix(function, []byte("app//")); found {
		return rest
	}
	if version := bytes.IndexByte(function, '@'); version > 0 {
		if _, class, found := bytes.Cut(function[version:], []byte("/")); found {
			return class
		}
	}
	return function
}

// parsePosition parses file, line and column. An unknown line or column is 0 or negative.
func parsePosition(position []byte) frame {
	if f, ok := parseOldPosition(position); ok {
		return f
	}
	file, last, ok := cutNumber(position)
	if !ok {
		return frame{file: position}
	}
	before, line, ok := cutNumber(file)
	if !ok {
		return frame{file: file, line: max(last, 0)}
	}
	return frame{file: before, line: max(line, 0), column: max(last, 0)}
}

// parseOldPosition parses the form file:line[:lastLine] column[:lastColumn] of the first convention. It ignores lastLine
// and lastColumn.
func parseOldPosition(position []byte) (frame, bool) {
	space := bytes.LastIndexByte(position, ' ')
	if space < 0 {
		return frame{}, false
	}
	column, ok := firstOfRange(position[space+1:])
	if !ok {
		return frame{}, false
	}
	file, line, ok := cutNumber(position[:space])
	if !ok {
		return frame{}, false
	}
	if before, first, ok := cutNumber(file); ok {
		file, line = before, first
	}
	return frame{file: file, line: max(line, 0), column: max(column, 0)}, true
}

// firstOfRange parses n or n:m.
func firstOfRange(text []byte) (int64, bool) {
	first, last, isRange := bytes.Cut(text, []byte(":"))
	if isRange {
		if _, ok := parseNumber(last); !ok {
			return 0, false
		}
	}
	return parseNumber(first)
}

// cutNumber removes the number after the last colon.
func cutNumber(text []byte) (before []byte, number int64, ok bool) {
	colon := bytes.LastIndexByte(text, ':')
	if colon < 0 {
		return text, 0, false
	}
	number, ok = parseNumber(text[colon+1:])
	if !ok {
		return text, 0, false
	}
	return text[:colon], number, true
}
