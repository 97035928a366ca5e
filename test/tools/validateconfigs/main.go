// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command validateconfigs is `make validate`: it validates each YAML file under config/, and each YAML block with a
// Collector configuration in a Markdown file, with the distribution that has all components. So no example in the documents
// is out of date. The smaller distribution must accept a file under config/ too, unless its header says that it needs all.
//
// A block without a service section, as in the README of a component, is completed with a pipeline: the Collector checks
// the configuration of all components, used or not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

func main() {
	binary := flag.String("binary", fullBinary, "the distribution with all components")
	small := flag.String("small", "_build/otelcol-pprof", "the distribution without Kubernetes, Kafka and OTTL")
	root := flag.String("root", ".", "the directory whose configurations are checked")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	err := run(ctx, *binary, *small, *root)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "validateconfigs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, small, root string) error {
	found, err := find(os.DirFS(root))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("cannot find a configuration below %s", root)
	}
	failed := 0
	for _, c := range found {
		output, err := validate(ctx, binary, c)
		if err == nil && c.distribution != withAll {
			output, err = validateSmall(ctx, small, c)
		}
		if err != nil {
			failed++
			fmt.Printf("%s: %v\n%s\n", c.place, err, output)
		}
	}
	fmt.Printf("%d configurations valid, %d not\n", len(found)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d configurations are not valid", failed, len(found))
	}
	return nil
}

// validateSmall also fails if a file says without need that it needs all components.
func validateSmall(ctx context.Context, binary string, c configuration) (string, error) {
	output, err := validate(ctx, binary, c)
	switch {
	case c.distribution == both:
		return output, err
	case err != nil:
		return "", nil
	default:
		return "", errors.New("the header names " + fullBinary + ", but the smaller distribution has all components that the file needs")
	}
}

// validate runs the binary and returns its output.
func validate(ctx context.Context, binary string, c configuration) (string, error) {
	arguments := []string{"validate", "--feature-gates=service.profilesSupport", "--config", "yaml:" + c.text}
	if !c.hasPipelines {
		arguments = append(arguments, "--config", "yaml:"+pipeline)
	}
	output, err := exec.CommandContext(ctx, binary, arguments...).CombinedOutput()
	return string(output), err
}

// pipeline completes a configuration that has no pipelines.
const pipeline = `
receivers: {otlp/validate: {protocols: {grpc: {}}}}
exporters: {nop/validate: {}}
service: {pipelines: {profiles/validate: {receivers: [otlp/validate], exporters: [nop/validate]}}}
`
