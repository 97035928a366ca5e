// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command sizetable writes the part of docs/performance.md about sizes: what the levels of compression cost; and, for the profiles
// in testdata and in the corpus that OTELPPROF_CORPUS names, OTLP messages before and after deduplication, plain and in gzip.
// Without a corpus it writes only the levels. Run it in the root of the repository.
package main

import (
	"bytes"
	stdgzip "compress/gzip" //nolint:depguard // it is what gRPC uses by itself, and measured against the other
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// english groups the digits of numbers.
var english = message.NewPrinter(language.English)

func main() {
	var out strings.Builder
	err := levelTable(&out, "testdata")
	if corpus := os.Getenv("OTELPPROF_CORPUS"); corpus == "" {
		fmt.Fprintln(os.Stderr, "sizetable: OTELPPROF_CORPUS is not set, sizes are left out")
	} else if err == nil {
		err = messageSizes(&out, corpus, "testdata")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizetable:", err)
		os.Exit(1)
	}
	fmt.Print(out.String())
}

// compressor is what an exporter of the Collector compresses with, used again for each message.
type compressor struct {
	name   string
	writer interface {
		io.WriteCloser
		Reset(to io.Writer)
	}
}

func compressors() ([]compressor, error) {
	var all []compressor
	for _, level := range []int{1, 3, 6} {
		writer, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			return nil, err
		}
		all = append(all, compressor{fmt.Sprintf("gzip, level %d", level), writer})
	}
	all = append(all, compressor{"`compress/gzip`, level 6", stdgzip.NewWriter(nil)})
	for _, level := range []int{1, 3} {
		// The window is that of the exporters for gRPC.
		writer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512<<10),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		if err != nil {
			return nil, err
		}
		all = append(all, compressor{fmt.Sprintf("zstd, level %d", level), writer})
	}
	return all, nil
}

// tries is how often a message is compressed. The fastest one counts.
const tries = 5

// compress returns the compressed size of a message, and the CPU time.
func (c *compressor) compress(message []byte) (size int, fastest time.Duration, err error) {
	var out bytes.Buffer
	for i := range tries {
		out.Reset()
		before, err := ownTime()
		if err != nil {
			return 0, 0, err
		}
		c.writer.Reset(&out)
		if _, err = c.writer.Write(message); err == nil {
			err = c.writer.Close()
		}
		if err != nil {
			return 0, 0, err
		}
		after, err := ownTime()
		if err != nil {
			return 0, 0, err
		}
		if took := after - before; i == 0 || took < fastest {
			fastest = took
		}
	}
	return out.Len(), fastest, nil
}

// ownTime is the CPU time of this process.
func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// levelTable writes what the levels of compression cost and save.
func levelTable(out *strings.Builder, testdata string) error {
	all, err := compressors()
	if err != nil {
		return err
	}
	out.WriteString(`
## Levels of compression

Compressed bytes and CPU time. Over gRPC, of records for Kafka and in files, otelpprof compresses with level 1. ` + "`compress/gzip`" + ` is Go's own,
which gRPC and ` + "`otlp_http`" + ` have; for ` + "`otlp_http`" + `, ` + "`compression_params::level`" + ` sets the level.

| message | bytes |`)
	for _, c := range all {
		fmt.Fprintf(out, " %s |", c.name)
	}
	out.WriteString("\n|---|---:|" + strings.Repeat("---:|", len(all)) + "\n")
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, name := range []string{"cpu", "heap"} {
		payload, err := os.ReadFile(filepath.Join(testdata, "pprof", name+".pb.gz"))
		if err != nil {
			return err
		}
		plain, _, err := inflate.Into(nil, payload, pprof.DefaultPprofBytes, nil)
		if err != nil {
			return err
		}
		pd, _, err := decoder.Decode(plain, pprof.Source{})
		if err != nil {
			return err
		}
		message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
		if err != nil {
			return err
		}
		if err := errors.Join(levelRow(out, name+", OTLP", message, all), levelRow(out, name+", pprof", plain, all)); err != nil {
			return err
		}
	}
	return nil
}

func levelRow(out *strings.Builder, name string, content []byte, all []compressor) error {
	fmt.Fprintf(out, "| %s | %s |", name, english.Sprint(len(content)))
	for i := range all {
		size, took, err := all[i].compress(content)
		if err != nil {
			return fmt.Errorf("cannot compress with %s: %w", all[i].name, err)
		}
		fmt.Fprintf(out, " %.0f %%, %.2f ms |", 100*float64(size)/float64(len(content)), float64(took)/float64(time.Millisecond))
	}
	out.WriteString("\n")
	return nil
}
