// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const (
	corpusVariable  = "OTELPPROF_CORPUS"
	requireVariable = "OTELPPROF_REQUIRE_CORPUS"
)

// Corpus returns the folder that OTELPPROF_CORPUS names: real profiles, which belong to others and are not part of
// this repository. Without it the test is skipped; with OTELPPROF_REQUIRE_CORPUS=1 it fails.
func Corpus(tb testing.TB) string {
	tb.Helper()
	folder := os.Getenv(corpusVariable)
	switch {
	case folder == "" && os.Getenv(requireVariable) == "1":
		tb.Fatalf("%s is not set, and this run must not go without the corpus of real profiles", corpusVariable)
	case folder == "":
		tb.Skipf("%s is not set: no corpus of real profiles here", corpusVariable)
	}
	info, err := os.Stat(filepath.Join(folder, "pprof"))
	require.NoErrorf(tb, err, "%s must name the folder that holds pprof and otlp", corpusVariable)
	require.True(tb, info.IsDir(), "%s is not a folder", folder)
	return folder
}

// CorpusPprofs returns the files of the corpus below pprof in these folders, by default real, edge and synth, in order
// of their names. It skips or fails as [Corpus] does.
func CorpusPprofs(tb testing.TB, folders ...string) []PprofFile {
	tb.Helper()
	if len(folders) == 0 {
		folders = []string{"real", "edge", "synth"}
	}
	root := filepath.Join(Corpus(tb), "pprof")
	var files []PprofFile
	for _, folder := range folders {
		files = append(files, pprofFiles(tb, root, folder)...)
	}
	return files
}

// OwnPprofs returns the files of testdata/pprof, which need no corpus.
func OwnPprofs(tb testing.TB) []PprofFile {
	tb.Helper()
	return pprofFiles(tb, Testdata(tb), "pprof")
}

func pprofFiles(tb testing.TB, root, folder string) []PprofFile {
	tb.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(root, folder)))(tb)
	require.NotEmpty(tb, entries, "%s holds no profiles", folder)
	files := make([]PprofFile, 0, len(entries))
	for _, entry := range entries {
		files = append(files, PprofFile{Name: folder + "/" + entry.Name(), path: filepath.Join(root, folder, entry.Name())})
	}
	return files
}

// Message is an OTLP message of the corpus.
type Message struct {
	Name     string
	Profiles pprofile.Profiles
}

// CorpusMessages returns the OTLP messages of the corpus that pdata reads: each line of a .jsonl file, each .pb file,
// and each .json file. It skips or fails as [Corpus] does.
func CorpusMessages(tb testing.TB) []Message {
	tb.Helper()
	var messages []Message
	add := func(name string, pd pprofile.Profiles, err error) {
		require.NoError(tb, err, name)
		messages = append(messages, Message{Name: name, Profiles: pd})
	}
	fromJSON, fromProto := &pprofile.JSONUnmarshaler{}, &pprofile.ProtoUnmarshaler{}
	err := filepath.WalkDir(filepath.Join(Corpus(tb), "otlp"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		switch name := entry.Name(); filepath.Ext(name) {
		case ".pb":
			pd, err := fromProto.UnmarshalProfiles(content)
			add(name, pd, err)
		case ".json":
			pd, err := fromJSON.UnmarshalProfiles(content)
			add(name, pd, err)
		case ".jsonl":
			lines := bufio.NewScanner(strings.NewReader(string(content)))
			lines.Buffer(nil, len(content)+1)
			for line := 1; lines.Scan(); line++ {
				pd, err := fromJSON.UnmarshalProfiles(lines.Bytes())
				add(name+":"+strconv.Itoa(line), pd, err)
			}
		}
		return err
	})
	require.NoError(tb, err)
	require.NotEmpty(tb, messages)
	return messages
}

// Testdata returns the path of an element of the repository's testdata folder.
func Testdata(tb testing.TB, elements ...string) string {
	tb.Helper()
	folder := must.Get(os.Getwd())(tb)
	for {
		if _, err := os.Stat(filepath.Join(folder, "builder-config.yaml")); err == nil {
			return filepath.Join(append([]string{folder, "testdata"}, elements...)...)
		}
		parent := filepath.Dir(folder)
		require.NotEqual(tb, folder, parent, "no builder-config.yaml above the working directory")
		folder = parent
	}
}

// Form is what google/pprof makes of a file.
type Form int

const (
	// Refused means that google/pprof does not accept the file.
	Refused Form = iota
	// Proto is profile.proto, plain or gzipped, that satisfies CheckValid.
	Proto
	// Legacy is one of the older text and binary formats.
	Legacy
)

// PprofFile is a file with a profile.
type PprofFile struct {
	// Name is the folder and the name of the file.
	Name string

	path string
}

// Bytes returns the file as it stands.
func (f PprofFile) Bytes(tb testing.TB) []byte {
	tb.Helper()
	content := must.Get(os.ReadFile(f.path))(tb)
	return content
}

// Parse returns what google/pprof reads from the file, nil where it refuses it.
func (f PprofFile) Parse(tb testing.TB) (*profile.Profile, Form) {
	tb.Helper()
	return ParsePprof(f.Bytes(tb))
}

// ParsePprof reads a payload with google/pprof and tells its form, nil where it is refused.
func ParsePprof(payload []byte) (*profile.Profile, Form) {
	if plain, err := gunzip(payload); err == nil {
		p, err := profile.ParseUncompressed(plain)
		if err == nil && p.CheckValid() == nil {
			return p, Proto
		}
	}
	p, err := profile.ParseData(payload)
	if err != nil {
		return nil, Refused
	}
	return p, Legacy
}

func gunzip(payload []byte) ([]byte, error) {
	if !bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		return payload, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
