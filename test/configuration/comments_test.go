// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/otelpprof/otelpprof/"
	root   = "../.."
)

// source is what the source of a package says about its types.
type source struct {
	// comments are those of types and of their fields, "Config" and "Config.Field".
	comments map[string]string
	// words are the values of constants, by their type.
	words map[string][]any
}

var sources = map[string]*source{}

// sourceOf reads the package of one of our types.
func sourceOf(t *testing.T, of reflect.Type) *source {
	t.Helper()
	directory := strings.TrimPrefix(of.PkgPath(), module)
	if s, read := sources[directory]; read {
		return s
	}
	s := &source{comments: map[string]string{}, words: map[string][]any{}}
	sources[directory] = s
	files, err := filepath.Glob(filepath.Join(root, directory, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				s.read(t, general)
			}
		}
	}
	return s
}

func (s *source) read(t *testing.T, declaration *ast.GenDecl) {
	t.Helper()
	for _, spec := range declaration.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.comments[spec.Name.Name] = sentence(declaration.Doc)
			if section, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range section.Fields.List {
					for _, name := range field.Names {
						s.comments[spec.Name.Name+"."+name.Name] = sentence(field.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			named, isNamed := spec.Type.(*ast.Ident)
			if !isNamed || declaration.Tok != token.CONST || len(spec.Values) == 0 {
				continue
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				word, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				s.words[named.Name] = append(s.words[named.Name], word)
			}
		}
	}
}

func sentence(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
