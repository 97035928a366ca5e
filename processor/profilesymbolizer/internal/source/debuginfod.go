// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// Debuginfod asks one server of elfutils' debuginfod.
type Debuginfod struct {
	URL    string
	Client *http.Client
	// MaxBytes limits a file.
	MaxBytes int64
	// Directory is for the file while it is read.
	Directory string

	breaker breaker
}

// Name returns the name of the source.
func (*Debuginfod) Name() string { return "debuginfod" }

// Find downloads the debug information, or else the executable: a stripped program of Go has all in there.
func (d *Debuginfod) Find(ctx context.Context, b Binary, use func(*os.File) bool) error {
	if b.Kind != GNU {
		return ErrNotFound
	}
	if err := d.breaker.allow(); err != nil {
		return fmt.Errorf("%s: %w", d.URL, err)
	}
	missing := 0
	for _, artifact := range []string{"debuginfo", "executable"} {
		file, err := d.download(ctx, b, artifact)
		switch {
		case errors.Is(err, ErrNotFound):
			missing++
			continue
		case errors.Is(err, ErrTooLarge):
			return err
		case err != nil:
			d.breaker.failed()
			return err
		}
		d.breaker.succeeded()
		more := use(file)
		_ = file.Close()
		if !more {
			return nil
		}
	}
	if missing == 2 {
		d.breaker.succeeded()
		return ErrNotFound
	}
	return nil
}

// download downloads a file. It has no name: nothing is left if the process ends.
func (d *Debuginfod) download(ctx context.Context, b Binary, artifact string) (*os.File, error) {
	url := strings.TrimSuffix(d.URL, "/") + "/buildid/" + b.ID + "/" + artifact
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := d.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return nil, ErrNotFound
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: status %d", url, response.StatusCode)
	case response.ContentLength > d.MaxBytes:
		return nil, fmt.Errorf("%s: %w: %w: %d bytes, at most %d are allowed", url, errUnusable, ErrTooLarge, response.ContentLength, d.MaxBytes)
	}
	file, err := os.CreateTemp(d.Directory, "download-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	size, err := io.Copy(file, io.LimitReader(response.Body, d.MaxBytes+1))
	if err == nil && size > d.MaxBytes {
		err = fmt.Errorf("%w: %w: more than %d bytes", errUnusable, ErrTooLarge, d.MaxBytes)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return file, nil
}
