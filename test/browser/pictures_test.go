// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// shrinkAll rewrites the pictures of a directory with the 256 colours that most of their pixels have: the documents load them,
// and the repository keeps them for ever.
func shrinkAll(t *testing.T, directory string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.png"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		file, err := os.Open(path)
		require.NoError(t, err)
		picture, err := png.Decode(file)
		require.NoError(t, file.Close())
		require.NoError(t, err, path)
		out, err := os.Create(path)
		require.NoError(t, err)
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		require.NoError(t, encoder.Encode(out, paletted(picture)))
		require.NoError(t, out.Close())
	}
}

// paletted returns a picture of few colours.
func paletted(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	pixels := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			pixels[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int { return cmp.Compare(pixels[b], pixels[a]) })
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			index, known := nearest[c]
			if !known {
				index = uint8(palette.Index(c))
				nearest[c] = index
			}
			few.SetColorIndex(x, y, index)
		}
	}
	return few
}
