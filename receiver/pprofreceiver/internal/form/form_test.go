// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parts parses a form in which \n stands for line breaks.
func parts(text, boundary string, limit int) (all []Part, err error) {
	r := NewReader([]byte(strings.ReplaceAll(text, "\n", "\r\n")), boundary, limit)
	for {
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, part)
	}
}

func TestParts(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []Part
	}{
		{
			name: "field and file",
			text: "--b\nContent-Disposition: form-data; name=\"a\"\n\none\n--b\nContent-Disposition: form-data; name=\"f\"; filename=\"x.pprof\"\nContent-Type: application/octet-stream\n\ntwo\n--b--\n",
			want: []Part{{Name: "a", Content: []byte("one")}, {Name: "f", FileName: "x.pprof", Content: []byte("two")}},
		},
		{name: "nothing behind the end", text: "--b\nContent-Disposition: form-data; name=a\n\n1\n--b--", want: []Part{{Name: "a", Content: []byte("1")}}},
		{name: "preamble and epilogue", text: "ignored\n--b\n\n1\n--b--\nignored\n--b\n\n2\n--b--", want: []Part{{Content: []byte("1")}}},
		{name: "empty content", text: "--b\nContent-Disposition: form-data; name=a\n\n\n--b--", want: []Part{{Name: "a", Content: []byte{}}}},
		{name: "empty content, one line break", text: "--b\nContent-Disposition: form-data; name=a\n\n--b--", want: []Part{{Name: "a", Content: []byte{}}}},
		{name: "no header, no content", text: "--b\n\n--b--", want: []Part{{Content: []byte{}}}},
		{name: "blanks behind the delimiter", text: "--b \t\n\n1\n--b--", want: []Part{{Content: []byte("1")}}},
		{name: "longer boundaries are content", text: "--b\n\n1\n--bb\n2\n--b--", want: []Part{{Content: []byte("1\r\n--bb\r\n2")}}},
		{name: "content of line breaks", text: "--b\n\n\n\n\n--b--", want: []Part{{Content: []byte("\r\n\r\n")}}},
		{name: "no parts", text: "--b--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parts(c.text, "b", 10)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want error
		says string
	}{
		{name: "nothing", want: ErrMalformed, says: `boundary "b" does not occur`},
		{name: "another boundary", text: "--c\n\n1\n--c--", want: ErrMalformed, says: "does not occur"},
		{name: "truncated content", text: "--b\nContent-Disposition: form-data; name=profile\n\n1", want: ErrMalformed, says: `ends within part "profile"`},
		{name: "truncated header", text: "--b\nContent-Disposition: form-data", want: ErrMalformed, says: "ends within a header"},
		{name: "no header line", text: "--b\nnonsense\n\n1\n--b--", want: ErrMalformed, says: "header"},
		{name: "bad disposition", text: "--b\nContent-Disposition: form-data; name=\"a\n\n1\n--b--", want: ErrMalformed, says: "Content-Disposition"},
		{name: "long header", text: "--b\nX: " + strings.Repeat("x", maxHeaderBytes) + "\n\n1\n--b--", want: ErrTooLarge, says: "8192 bytes of header"},
		{name: "many parts", text: strings.Repeat("--b\n\n1\n", 11) + "--b--", want: ErrTooLarge, says: "more than 10 parts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parts(c.text, "b", 10)
			require.ErrorIs(t, err, c.want)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestErrorStays(t *testing.T) {
	r := NewReader([]byte("--b\r\n\r\n1"), "b", 10)
	_, first := r.Next()
	_, second := r.Next()
	require.Error(t, first)
	assert.Equal(t, first, second)
}

func TestBoundary(t *testing.T) {
	for _, c := range []struct {
		contentType string
		want        string
		isForm      bool
		isError     bool
	}{
		{contentType: "multipart/form-data; boundary=b", want: "b", isForm: true},
		{contentType: `Multipart/Form-Data; charset=utf-8; boundary="a b"`, want: "a b", isForm: true},
		{contentType: "multipart/form-data", isForm: true, isError: true},
		{contentType: "multipart/form-data; boundary=" + strings.Repeat("b", 71), isForm: true, isError: true},
		{contentType: "multipart/form-data; boundary", isForm: true, isError: true},
		{contentType: "multipart/mixed; boundary=b"},
		{contentType: "application/octet-stream"},
		{contentType: ""},
		{contentType: "binary/octet-stream+trie"},
	} {
		got, isForm, err := Boundary(c.contentType)
		assert.Equal(t, c.isForm, isForm, c.contentType)
		assert.Equal(t, c.isError, err != nil, c.contentType)
		assert.Equal(t, c.want, got, c.contentType)
	}
}

// FuzzReader parses a form that the standard library wrote, and any bytes. The result equals what was written, or lies
// within the bytes.
func FuzzReader(f *testing.F) {
	f.Add("name", "file", []byte("content"), []byte("--b\r\n\r\n1\r\n--b--"), "b")
	f.Add("", "a\"b\\c", []byte("\r\n--b--"), []byte("--b\r\nContent-Disposition: x; name=y\r\n\r\n--b--"), "b")
	f.Add("ä", "", []byte{}, []byte("\r\n--"), "")
	f.Fuzz(func(t *testing.T, name, file string, content, anything []byte, boundary string) {
		for r, n := NewReader(anything, boundary, 50), 0; ; n++ {
			part, err := r.Next()
			if err != nil {
				break
			}
			require.LessOrEqual(t, n, 50)
			require.True(t, bytes.Contains(anything, part.Content))
		}

		var body bytes.Buffer
		writer := multipart.NewWriter(&body)
		field, err := writer.CreateFormField("first")
		require.NoError(t, err)
		_, err = field.Write(content)
		require.NoError(t, err)
		field, err = writer.CreateFormFile(name, file)
		require.NoError(t, err)
		_, err = field.Write(content)
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		if bytes.Contains(content, []byte(writer.Boundary())) {
			return
		}
		want := multipart.NewReader(bytes.NewReader(body.Bytes()), writer.Boundary())
		r := NewReader(body.Bytes(), writer.Boundary(), 2)
		for {
			wanted, wantErr := want.NextRawPart()
			got, err := r.Next()
			require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
			if err != nil {
				break
			}
			wantedContent, err := io.ReadAll(wanted)
			require.NoError(t, err)
			require.True(t, bytes.Equal(wantedContent, got.Content))
			require.Equal(t, wanted.FormName(), got.Name)
		}
	})
}
