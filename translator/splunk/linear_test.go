// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestTextLinearTime: the time grows linearly with the text.
func TestTextLinearTime(t *testing.T) {
	tokens := []string{" ", "\t", "\v", "\r", "\n", `"`, `" #1 `, "#1", "=", "nid=1 ", "a", "(", ")", ":1", ": 1", "@1/", "at ", "at a(b:1)\n", "- x\n", "\n\n", "Thread.State:"}
	const maxLine = 1 << 20 // maxStringBytes is less than some of the texts, which have one line.
	var x text
	for _, language := range []string{languageJava, languageDotnet, ""} {
		for _, head := range []string{"", `"`, "\n\nat a("} {
			profiletest.CheckLinear(t, head, ")", tokens, func(body []byte) {
				_ = x.parse(body, language, maxLine, DefaultLimits().FramesPerStack)
			})
		}
	}
}

// TestBodyLinearTime: the time to decode base64 grows linearly with the body.
func TestBodyLinearTime(t *testing.T) {
	profiletest.CheckLinear(t, "H4sI", "=", []string{"A", " ", "\n", "=", "-", "(", "A A="}, func(body []byte) {
		beginsLikeGzip(body)
		_ = decodedLen(body, 1)
		_, _ = appendBase64(nil, body)
	})
}
