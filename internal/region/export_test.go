package region

import "encoding/binary"

// Seal makes a header's checksum right, whatever it says.
func Seal(page []byte) {
	binary.LittleEndian.PutUint32(page[offChecksum:], checksum(page[offUUID:offClocks]))
}
