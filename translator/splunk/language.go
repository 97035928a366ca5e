// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"slices"

	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// language is what a producer writes in its own way.
type language struct {
	// frameType is the value of profile.frame.type.
	frameType string
	grammar   grammar
	// hasJVMStates says that the states of threads are those of jvm.thread.state.
	hasJVMStates bool
}

// languages are by telemetry.sdk.language.
var languages = map[string]language{
	"java":   {frameType: semconv.FrameTypeJVM, grammar: grammarJava, hasJVMStates: true},
	"nodejs": {frameType: "v8js"},
	"node":   {frameType: "v8js"},
	"webjs":  {frameType: "v8js"},
	"python": {frameType: "cpython"},
	"dotnet": {frameType: "dotnet", grammar: grammarDotnet},
	"go":     {frameType: "go"},
	"php":    {frameType: "php"},
	"ruby":   {frameType: "ruby"},
}

// frameType returns the attribute with the type of a frame, or -1. The type follows from the language of the resource,
// except for native code.
func (t *decoding) frameType(native bool) int32 {
	if t.opts.OmitFrameType {
		return -1
	}
	known, name := &t.resource.frameType, t.resource.language.frameType
	if native {
		known, name = &t.native, semconv.FrameTypeNative
	}
	if name == "" {
		return -1
	}
	if *known == 0 {
		*known = t.dict.StringAttribute(t.dict.String(semconv.LocationFrameType), name) + 1
	}
	return *known - 1
}

// isNative reports whether a frame is native code, the function of which .NET cannot resolve.
func isNative(function, file []byte) bool {
	return string(file) == nativeMethod || string(bytes.TrimSuffix(function, []byte("(unknown)"))) == "Unknown_Native_Function"
}

// nativeMethod is what Java agents write instead of the file of a native method.
const nativeMethod = "Native Method"

// isNoFile reports whether a file name is a placeholder for an unknown file.
func isNoFile(name []byte) bool {
	switch string(name) {
	case "unknown", "Unknown Source", nativeMethod, "native":
		return true
	default:
		return false
	}
}

// jvmThreadStates are the values of jvm.thread.state.
var jvmThreadStates = []string{"blocked", "new", "runnable", "terminated", "timed_waiting", "waiting"}

// hasJVMStates reports whether states of threads become jvm.thread.state.
func (t *decoding) hasJVMStates() bool {
	return t.opts.JVMThreadState && t.resource.language.hasJVMStates
}

// addJVMState appends jvm.thread.state to t.attributes, if the text of a state begins with one of its values:
// "TIMED_WAITING (sleeping)".
func (t *decoding) addJVMState(text []byte) bool {
	word, _, _ := bytes.Cut(text[:min(len(text), maxNumberText)], []byte(" "))
	i := slices.IndexFunc(jvmThreadStates, func(state string) bool { return bytes.EqualFold([]byte(state), word) })
	if i < 0 {
		return false
	}
	if key := t.dict.String(attributeJVMThreadState); t.isNewKey(key) {
		t.attributes = append(t.attributes, t.dict.StringAttribute(key, jvmThreadStates[i]))
	}
	return true
}
