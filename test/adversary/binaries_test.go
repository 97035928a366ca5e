// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
)

// symbolSettings name addresses by the files of a directory. Some of the files take as long as they may.
const symbolSettings = "yaml:{processors: {profile_symbolizer: {directories: ['${env:DIRECTORY}/binaries'], index_timeout: 10s}}, " +
	"service: {pipelines: {profiles: {processors: [memory_limiter, profile_symbolizer]}}}}"

// binaryBodies are profiles whose binaries are hostile.
func binaryBodies() []body {
	return []body{{name: "binaries", to: otlpHTTP, only: "ebpf", settings: symbolSettings, times: 1, attack: binaries}}
}

// indexedWithin is how long the indices of all binaries may take.
const indexedWithin = 3 * time.Minute

// binaries writes so many variants of each hostile file, and sends a profile with an address in each of them. It ends when each has been read.
func binaries(ctx context.Context, p *process, _ []byte, times int) *tally {
	var answers tally
	profiles, err := writeBinaries(filepath.Join(p.directory, "binaries"), times)
	if err != nil {
		answers.fault("cannot write the binaries: %s", err)
		return &answers
	}
	wire, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	if err != nil {
		answers.fault("cannot marshal the profile: %s", err)
		return &answers
	}
	answers.add(request(ctx, "http://"+p.listening(otlpHTTP)+profilesPath, []string{"Content-Type", "application/x-protobuf"}, wire))
	within, cancel := context.WithTimeout(ctx, busyMachine*indexedWithin)
	defer cancel()
	want, begin := profiles.Dictionary().MappingTable().Len()-1, now()
	for p.running.Running() {
		read, err := fetches(within, p.metrics)
		if read >= want && err == nil {
			break
		}
		if within.Err() != nil || begin.granted() > indexedWithin {
			answers.fault("of %d binaries, %d have been read within %s: %v", want, read, indexedWithin, err)
			break
		}
		sleep(within)
	}
	return &answers
}

// writeBinaries writes the files. Each is found by the hash of its content.
func writeBinaries(directory string, times int) (pprofile.Profiles, error) {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "samples", "count", "process.executable.build_id.htlhash")
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	stack := d.StackTable().AppendEmpty()
	for _, file := range elftest.Hostile() {
		for range times {
			name := strconv.Itoa(d.MappingTable().Len())
			file = append(file, 0)
			if err := errors.Join(os.MkdirAll(directory, 0o700), os.WriteFile(filepath.Join(directory, name), file, 0o600)); err != nil {
				return pd, err
			}
			id := d.AttributeTable().AppendEmpty()
			id.SetKeyStrindex(3)
			id.Value().SetStr(hashOf(file))
			stack.LocationIndices().Append(int32(d.LocationTable().Len()))
			l := d.LocationTable().AppendEmpty()
			l.SetAddress(elftest.CodeAddress)
			l.SetMappingIndex(int32(d.MappingTable().Len()))
			m := d.MappingTable().AppendEmpty()
			m.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
			m.SetFilenameStrindex(int32(d.StringTable().Len()))
			d.StringTable().Append(name)
		}
	}
	profile := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SetTime(1)
	profile.SetDurationNano(1)
	profile.SampleType().SetTypeStrindex(1)
	profile.SampleType().SetUnitStrindex(2)
	sample := profile.Samples().AppendEmpty()
	sample.SetStackIndex(1)
	sample.Values().Append(1)
	return pd, nil
}

// hashOf is the htlhash of a file: of its first and last 4 KiB and its length.
func hashOf(file []byte) string {
	hash := sha256.New()
	hash.Write(file[:min(len(file), 4096)])
	hash.Write(file[max(0, len(file)-4096):])
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(file))))
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

var fetchesIn = regexp.MustCompile(`(?m)^otelcol_processor_profile_symbolizer_fetches\{.*result="(?:found|failed|no_symbols)".*\} (\d+)$`)

// fetches returns how many binaries were found and read.
func fetches(ctx context.Context, address string) (n int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/metrics", address), http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	for _, found := range fetchesIn.FindAllSubmatch(text, -1) {
		count, _ := strconv.Atoi(string(found[1]))
		n += count
	}
	return n, err
}
