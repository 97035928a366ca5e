// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package javaframe normalizes the names of frames of classes that a JVM generates. Their names have addresses and counters, which
// differ between processes, so that equal frames would differ.
package javaframe // import "github.com/otelpprof/otelpprof/translator/internal/javaframe"

import "bytes"

// Normalizer normalizes names of frames. The zero value is ready to use. It is not safe for concurrent use.
type Normalizer struct {
	buffer []byte
}

// Name returns the name of a frame with "_" in place of the addresses and counters of generated classes: lambdas, method handles,
// accessors and proxies of reflection, and proxies of CGLIB. name is a class, or a class and a method. Packages are separated by dots or
// slashes.
//
//	App$$Lambda$75.0x00007ff44c0c4208.call         App$$Lambda_.call
//	App$$Lambda$75+0x00007ff44c0c4208/1283928880   App$$Lambda_
//	jdk.internal.reflect.GeneratedMethodAccessor31 jdk.internal.reflect.GeneratedMethodAccessor_
//
// The result is name itself if it has no such class. Otherwise, it is shorter or as long, and valid until the next call.
func (n *Normalizer) Name(name []byte) []byte {
	if bytes.IndexByte(name, '$') < 0 && !bytes.Contains(name, accessor) {
		return name
	}
	for i := range rules {
		if rule := &rules[i]; bytes.Contains(name, rule.marker) {
			// The result is never longer, so name can be in the buffer.
			n.buffer = rule.apply(n.buffer[:0], name)
			name = n.buffer
		}
	}
	return name
}

// rule finds one kind of generated classes.
type rule struct {
	// marker precedes what is generated.
	marker []byte
	// generated returns the position of what is generated in the text after the marker. end is 0 if there is nothing.
	generated func(after []byte) (start, end int)
	// qualified is true if the marker must be at the beginning of the name of a class.
	qualified bool
}

var accessor = []byte("Accessor")

var rules = []rule{
	{marker: []byte("$$Lambda"), generated: lambda},
	{marker: []byte("LambdaForm$"), generated: methodHandle},
	{marker: []byte("GeneratedMethodAccessor"), generated: counter},
	{marker: []byte("GeneratedConstructorAccessor"), generated: counter},
	{marker: []byte("GeneratedSerializationConstructorAccessor"), generated: counter},
	{marker: []byte("jdk.proxy"), generated: counter, qualified: true},
	{marker: []byte("jdk/proxy"), generated: counter, qualified: true},
	{marker: []byte("$Proxy"), generated: counter, qualified: true},
	{marker: []byte("ByCGLIB$$"), generated: hash},
	{marker: []byte("BySpringCGLIB$$"), generated: hash},
}

// apply appends name to result, which may be the same memory.
func (r *rule) apply(result, name []byte) []byte {
	for {
		at := bytes.Index(name, r.marker)
		if at < 0 {
			return append(result, name...)
		}
		after := name[at+len(r.marker):]
		start, end := 0, 0
		if !r.qualified || at == 0 || isSeparator(name[at-1]) {
			start, end = r.generated(after)
		}
		result = append(result, name[:at+len(r.marker)+start]...)
		if end > 0 {
			result = append(result, '_')
		}
		name = after[max(start, end):]
	}
}

// lambda finds the counter and the address of the class of a lambda: $75.0x00007ff44c0c4208, $4/1283928880, /0x00007ff44c0c4208.
// A counter alone can be that of a class in a file.
func lambda(after []byte) (start, end int) {
	if n := digits(after); n > 0 && isEnd(after[n:]) {
		return 0, n
	}
	counter := 0
	if len(after) > 0 && after[0] == '$' {
		counter = 1 + digits(after[1:])
	}
	if length := address(after[counter:]); length > 0 {
		return 0, counter + length
	}
	return 0, 0
}

// methodHandle finds the address of the class of a method handle: MH.0x0000000800c01220, DMH/1283928880.
func methodHandle(after []byte) (start, end int) {
	for start < len(after) && isLetter(after[start]) {
		start++
	}
	length := address(after[start:])
	if start == 0 || length == 0 {
		return 0, 0
	}
	return start, start + length
}

func counter(after []byte) (start, end int) { return generated(after, digits(after)) }

func hash(after []byte) (start, end int) { return generated(after, hexDigits(after)) }

// generated returns the first n bytes as generated, if the name of a class ends after them. It can be that of a class from which another
// one is generated: Config$$EnhancerBySpringCGLIB$$155ee6c5$$FastClassBySpringCGLIB$$25271246.
func generated(after []byte, n int) (start, end int) {
	if !isEnd(after[n:]) && !bytes.HasPrefix(after[n:], []byte("$$")) {
		return 0, 0
	}
	return 0, n
}

// address returns the length of the separator and the address at the beginning of text, or 0 if there is none. In its own recordings, JDK
// 17 writes + before the address, and the hash of the class after it. Without 0x, an address
// begins with a digit: a method cannot.
func address(text []byte) int {
	if len(text) < 2 || !isSeparator(text[0]) && text[0] != '+' {
		return 0
	}
	number := text[1:]
	prefix := 0
	if bytes.HasPrefix(number, []byte("0x")) {
		prefix = 2
	} else if digits(number[:1]) == 0 {
		return 0
	}
	n := hexDigits(number[prefix:])
	if n == 0 {
		return 0
	}
	length := 1 + prefix + n
	if hash := text[length:]; text[0] == '+' && len(hash) > 0 && hash[0] == '/' {
		length += 1 + digits(hash[1:])
	}
	if !isEnd(text[length:]) {
		return 0
	}
	return length
}

func digits(text []byte) (n int) {
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

func hexDigits(text []byte) (n int) {
	for n < len(text) && ('0' <= text[n] && text[n] <= '9' || 'a' <= text[n] && text[n] <= 'f') {
		n++
	}
	return n
}

// isEnd reports whether the name of a class ends before text.
func isEnd(text []byte) bool {
	return len(text) == 0 || !isLetter(text[0]) && digits(text[:1]) == 0 && text[0] != '$'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSeparator(c byte) bool { return c == '.' || c == '/' }
