//go:build !unix

package input

import "os"

// mapFile reads the file: here a mapped one could not be replaced by its writer.
func mapFile(file *os.File, size int64) ([]byte, func() error, error) {
	data, err := readAll(file)
	return data, nil, err
}
