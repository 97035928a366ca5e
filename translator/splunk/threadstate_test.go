// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// firstSampleOf returns the attributes of the first sample.
func firstSampleOf(pd pprofile.Profiles) map[string]any {
	return attributesOf(pd, profilesOf(pd)[0].Samples().At(0).AttributeIndices())
}

// TestJVMThreadState: the first word of the state in lower case, for Java, if the option is on.
func TestJVMThreadState(t *testing.T) {
	for _, test := range []struct {
		language, state string
		on              bool
		want            map[string]any
	}{
		{"java", "TIMED_WAITING (sleeping)", true, map[string]any{"jvm.thread.state": "timed_waiting"}},
		{"java", "RUNNABLE", true, map[string]any{"jvm.thread.state": "runnable"}},
		{"java", "BLOCKED (on object monitor)", true, map[string]any{"jvm.thread.state": "blocked"}},
		{"java", "PARKED", true, map[string]any{"thread.state": "PARKED"}},
		{"java", "RUNNABLE", false, map[string]any{"thread.state": "RUNNABLE"}},
		{"dotnet", "RUNNABLE", true, map[string]any{"thread.state": "RUNNABLE"}},
		{"java", "", true, map[string]any{}},
	} {
		p := newPayload("")
		p.sample([]uint64{p.location("f", "A.java", 1)}, nil, at(1), label{key: "thread.state", text: test.state})
		p.sample([]uint64{p.location("g", "A.java", 1)}, nil, at(1), label{key: "thread.state", text: test.state})
		r := newRequest(test.language)
		r.addPprof(p.body(t))
		pd, _ := mustDecode(t, r.logs, Options{JVMThreadState: test.on})
		assert.Equal(t, test.want, firstSampleOf(pd), test.state)

		if test.state != "" {
			r = newRequest(test.language)
			r.addText("\"main\" #1 prio=0\n   java.lang.Thread.State: " + test.state + "\n\tat a.B.c(B.java:1)\n")
			pd, _ = mustDecode(t, r.logs, Options{JVMThreadState: test.on})
			got := firstSampleOf(pd)
			for key, value := range test.want {
				assert.Equal(t, value, got[key], "text: "+test.state)
			}
		}
	}
}

// TestNativeMethod: native methods of Java have the frame type native.
func TestNativeMethod(t *testing.T) {
	p := newPayload("")
	p.sample([]uint64{p.location("sleep", "Native Method", 0), p.location("run", "Thread.java", 7)}, nil, at(1))
	r := newRequest("java")
	r.addPprof(p.body(t))
	r.addText("\"main\" #1 prio=0\n   java.lang.Thread.State: RUNNABLE\n" +
		"\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat a.B.c(B.java:1)\n")
	pd, _ := mustDecode(t, r.logs, Options{})
	types := map[string]any{}
	for i, l := range pd.Dictionary().LocationTable().All() {
		if i > 0 {
			function := pd.Dictionary().FunctionTable().At(int(l.Lines().At(0).FunctionIndex()))
			types[stringAt(pd, function.NameStrindex())] = attributesOf(pd, l.AttributeIndices())["profile.frame.type"]
		}
	}
	assert.Equal(t, map[string]any{"sleep": "native", "run": "jvm", "java.lang.Thread.sleep": "native", "a.B.c": "jvm"}, types)
}
