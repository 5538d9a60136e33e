package input

import "errors"

// In a page there are no files to open, and what the page is given it unpacks
// itself: the decoders would be half of the engine's size.

func gunzip([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }

func unzstd([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }
