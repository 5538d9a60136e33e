package gotrace

import "encoding/binary"

// generations says where the generations of a trace lie. A generation is a run
// of batches:
//
//	batch = kind u8 | experiment u8, if the kind is 49 | generation | M | time | size | bytes
//
// all numbers but the first two LEB128. From Go 1.26 on a byte 52 ends a
// generation; before, the next one's number does.
type generations struct {
	starts []int64 // offsets
	end    int64   // of the last whole batch
}

const (
	eventBatch        = 1
	experimentalBatch = 49
	endOfGeneration   = 52
)

// findGenerations looks at the batches' headers only.
func findGenerations(data []byte) generations {
	g := generations{end: headerSize}
	last, begun := uint64(0), false
	for pos := headerSize; pos < len(data); {
		start := pos
		kind := data[pos]
		pos++
		if kind == endOfGeneration {
			begun, g.end = false, int64(pos)
			continue
		}
		if kind == experimentalBatch {
			pos++
		} else if kind != eventBatch {
			break
		}
		var fields [4]uint64 // generation, M, time, size
		for i := range fields {
			v, n := binary.Uvarint(data[min(pos, len(data)):])
			if n <= 0 {
				return g
			}
			fields[i] = v
			pos += n
		}
		if fields[3] > uint64(len(data)-pos) {
			break
		}
		if pos += int(fields[3]); !begun || fields[0] != last {
			g.starts = append(g.starts, int64(start))
			last, begun = fields[0], true
		}
		g.end = int64(pos)
	}
	return g
}

// start returns where a generation begins, which is where those before it end.
func (g *generations) start(i int) int64 {
	if i < len(g.starts) {
		return g.starts[i]
	}
	return g.end
}
