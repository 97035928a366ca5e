// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"slices"
)

// jvmThreadStates are the values of jvm.thread.state.
var jvmThreadStates = []string{"blocked", "new", "runnable", "terminated", "timed_waiting", "waiting"}

// hasJVMStates reports whether states of threads become jvm.thread.state.
func (t *decoding) hasJVMStates() bool {
	return t.opts.JVMThreadState && t.resource.language == languageJava
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
		t.attributes = append(t.attributes, t.dict.StringAttribute(key, 0, jvmThreadStates[i]))
	}
	return true
}
