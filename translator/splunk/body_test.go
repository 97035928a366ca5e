// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func diff(a, b pprofile.Profiles) string {
	return profiletest.Diff(a, b, profiletest.IgnoreProfileID())
}

// TestBodyForms: one pprof in every form of body becomes the same profile.
func TestBodyForms(t *testing.T) {
	p := onePayload(str("a", strings.Repeat("text with many letters ", 20)))
	want, _ := decodePayload(t, p, Options{})
	encoded := p.body(t)
	require.Contains(t, encoded, "/", "the two alphabets must differ")
	lines := encoded[:40] + "\r\n" + encoded[40:80] + "\n\t" + encoded[80:]
	for name, body := range map[string]any{
		"standard":                 encoded,
		"without padding":          strings.TrimRight(encoded, "="),
		"URL alphabet":             base64.URLEncoding.EncodeToString(p.gzip(t)),
		"URL alphabet, no padding": base64.RawURLEncoding.EncodeToString(p.gzip(t)),
		"lines":                    lines,
		"blanks around":            "  " + encoded + "\n",
		"more blanks than base64":  strings.Repeat(" ", 2*len(encoded)) + encoded,
		"bytes of gzip":            p.gzip(t),
		"bytes of base64":          []byte(encoded),
		"bytes of a pprof":         p.bytes(),
		"gzip in gzip":             base64.StdEncoding.EncodeToString(profiletest.Gzip(t, p.gzip(t))),
		"base64 of a pprof":        base64.StdEncoding.EncodeToString(p.bytes()),
	} {
		for _, format := range []string{"pprof-gzip-base64", ""} {
			t.Run(name+" "+format, func(t *testing.T) {
				if name == "base64 of a pprof" && format == "" {
					t.Skip("nothing tells it from a text")
				}
				r := newRequest("nodejs")
				record := r.add("", "profiling.data.type", "cpu")
				require.NoError(t, record.Body().FromRaw(body))
				if format != "" {
					record.Attributes().PutStr("profiling.data.format", format)
				}
				// A limit on the decoded body must not count the characters of base64.
				pd, _ := mustDecode(t, r.logs, Options{Limits: Limits{BodyBytes: max(len(p.bytes()), 3*len(encoded)/2+2)}})
				assert.Empty(t, diff(want, pd))
			})
		}
	}
}

func TestBodyWithoutFormatIsText(t *testing.T) {
	for _, body := range []string{
		"\n\nH4sIfunction(app.js:1:2)\n", // begins like gzip in base64, but has a parenthesis later
		"H4sI.run(app.js:1)",
		"a.b.C:12",
		"\"a bell\x07\" #1\n\n\tat a.b.C(C.java:12)", // a name can have any character
	} {
		r := newRequest("java")
		r.add(body)
		pd, result := mustDecode(t, r.logs, Options{})
		assert.Equal(t, 1, result.TextRecords)
		assert.Len(t, framesOf(pd, onlySample(t, pd)), 1)
	}
}

// TestRefusedBodies checks the reason and the text of each refusal. The other records of the request are accepted.
func TestRefusedBodies(t *testing.T) {
	good := onePayload().body(t)
	compressed := onePayload().gzip(t)
	damaged := append([]byte(nil), compressed...)
	damaged[len(damaged)-6] ^= 1
	encode := base64.StdEncoding.EncodeToString
	for _, test := range []struct {
		name   string
		format string
		body   any
		reason Reason
		want   string
	}{
		{"empty", "pprof-gzip-base64", "", ReasonBody, "the body is empty"},
		{"empty text", "text", "", ReasonBody, "the body is empty"},
		{"nothing but padding", "pprof-gzip-base64", "==\n", ReasonBody, "the body is empty"},
		{"none", "text", nil, ReasonBody, "the body is of type Empty, neither text nor bytes"},
		{"a number", "text", 7, ReasonBody, "the body is of type Int, neither text nor bytes"},
		{"a map", "pprof-gzip-base64", map[string]any{"a": "b"}, ReasonBody, "the body is of type Map, neither text nor bytes"},
		{"another format", "jfr", "H4Y=", ReasonFormat, `profiling.data.format must be "pprof-gzip-base64" or "text", is "jfr"`},
		{"no base64", "pprof-gzip-base64", "H4sI!!!!", ReasonBase64, "cannot decode the base64 of the body: illegal base64 data at input byte 4"},
		{"cut base64", "pprof-gzip-base64", good[:41], ReasonBase64, "illegal base64 data"},
		{"cut gzip", "pprof-gzip-base64", encode(compressed[:40]), ReasonCompression, "cannot inflate gzip"},
		{"cut gzip without a format", "", encode(compressed[:40]), ReasonCompression, "cannot inflate gzip"},
		{"damaged gzip", "pprof-gzip-base64", encode(damaged), ReasonCompression, "cannot inflate gzip"},
		{"gzip of a text", "pprof-gzip-base64", encode(profiletest.Gzip(t, []byte("com.acme.Order.charge:123"))), ReasonPprof, "malformed pprof"},
		{"gzip of nothing", "pprof-gzip-base64", encode(profiletest.Gzip(t, nil)), ReasonPprof, "malformed pprof: the payload is empty"},
		{"a text as a pprof", "pprof-gzip-base64", "com.acme.Order.charge(Order.java:123)", ReasonBase64, "illegal base64 data"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest("nodejs")
			r.addPprof(good)
			record := r.add("", "profiling.data.format", test.format)
			require.NoError(t, record.Body().FromRaw(test.body))
			r.addPprof(good)
			pd, result := decodeAndCheck(t, r.logs, Options{})
			require.Len(t, result.Refused, 1)
			refused := result.Refused[0]
			assert.Equal(t, test.reason, refused.Reason)
			require.ErrorContains(t, refused.Err, test.want)
			assert.Equal(t, []int{0, 0, 1}, []int{refused.Resource, refused.Scope, refused.Record})
			assert.Equal(t, 3, result.Records)
			assert.Equal(t, 2, result.PprofRecords)
			assert.Len(t, profilesOf(pd), 2)
		})
	}
}

// TestBase64OfInvalidBytes: a body of bytes that are no text needs no more memory than another one.
func TestBase64OfInvalidBytes(t *testing.T) {
	const size = 1 << 20
	body := bytes.Repeat([]byte{0xff}, size)
	allocated := memorytest.Allocated(func() {
		_, err := appendBase64(make([]byte, 0, size), body)
		assert.Error(t, err)
	})
	assert.Less(t, allocated, int64(3*size))
}
