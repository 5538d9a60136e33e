/**
 * rebuild makes the program again of what bundle/pack.go made of it, which says
 * what stands where.
 */
export function rebuild(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new DataView(packed.buffer, packed.byteOffset)
  const size = head.getUint32(0, true)
  const functions = head.getUint32(4, true)
  const first = head.getUint32(8, true)
  const rest = new Stream(packed.subarray(12 + 16 * streams))
  const [front, back, ...parts] = Array.from({ length: streams }, (_, i) => {
    const number = (n: number): number => head.getUint32(12 + 16 * i + 4 * n, true)
    return new Stream(unfold(rest, number(0), number(1), number(2), number(3)))
  }) as [Stream, Stream, ...Parts]

  const out = new Writer(size + room)
  out.bytes(front.take(front.data.length))
  for (let f = 0; f < functions; f++) {
    const start = out.at
    out.at += room
    body(out, parts, (first + f) * 0x10000)
    out.measured(start)
  }
  out.bytes(back.take(back.data.length))
  if (out.at !== size) throw new Error('the engine is damaged')
  return out.data.subarray(0, size)
}

type Parts = [
  ops: Stream, locals: Stream, jumps: Stream, labels: Stream, calls: Stream, offsets: Stream, ints: Stream, longs: Stream,
  floats: Stream, blocks: Stream,
]

/** body writes a function whose code begins at an address. */
function body(out: Writer, parts: Parts, here: number): void {
  const [ops, locals, jumps, labels, calls, offsets, ints, longs, floats, blocks] = parts
  for (let n = out.unsigned(locals.unsigned()); n > 0; n--) {
    out.number(locals)
    out.byte(locals.byte())
  }
  let block = 0
  for (let depth = 1; depth > 0; ) {
    const op = ops.byte()
    if (op === address) {
      block += blocks.signed()
      out.byte(0x42)
      out.positive(here + block)
      continue
    }
    out.byte(op)
    switch (after[op]) {
      case hasLocal:
        out.number(ops)
        break
      case hasOffset:
        out.byte(alignments[op - 0x28]!)
        out.number(offsets)
        break
      case hasInt:
        out.number(ints)
        break
      case hasLong:
        out.number(longs)
        break
      case isEnd:
        depth--
        break
      case hasBlock:
        depth++
        out.byte(ops.byte())
        break
      case hasByte:
        out.byte(ops.byte())
        break
      case hasLabel:
        out.number(jumps)
        break
      case hasLabels: {
        let label = 0
        for (let n = out.unsigned(labels.unsigned()); n >= 0; n--) out.unsigned((label += labels.signed()))
        break
      }
      case hasCall:
        out.number(calls)
        break
      case hasType:
        out.number(calls)
        out.number(calls)
        break
      case hasFloat:
        out.bytes(floats.take(op === 0x43 ? 4 : 8))
        break
      case hasMore: {
        const second = ops.byte()
        out.byte(second)
        if (second === 10) out.byte(ops.byte())
        if (second >= 10) out.byte(ops.byte())
      }
    }
  }
}

/** unfold puts repeats where bundle/fold.go took them out. */
function unfold(from: Stream, size: number, steps: number, literals: number, bits: number): Uint8Array {
  const out = new Uint8Array(size)
  const plain = from.take(literals)
  const [runs, lengths, distances] = [from.take(steps), from.take(steps), from.take(steps)]
  const extra = new Bits(from.take(bits))
  let [d0, d1, d2] = [1, 2, 4]
  let at = 0
  let taken = 0
  for (let i = 0; i < steps; i++) {
    for (let n = extra.count(runs[i]!); n > 0; n--) out[at++] = plain[taken++]!
    const n = extra.count(lengths[i]!) + 2
    const code = distances[i]!
    const distance = code === 0 ? d0 : code === 1 ? d1 : code === 2 ? d2 : extra.distance(code)
    if (code > 1) d2 = d1
    if (code > 0) {
      d1 = d0
      d0 = distance
    }
    if (n > 64 && n <= distance) out.copyWithin(at, at - distance, at - distance + n)
    else for (let k = at; k < at + n; k++) out[k] = out[k - distance]!
    at += n
  }
  out.set(plain.subarray(taken), at)
  return out
}

/** Bits are what is left of numbers, the lowest first. */
class Bits {
  at = 0
  have = 0 // bits of value
  value = 0
  readonly data: Uint8Array
  constructor(data: Uint8Array) {
    this.data = data
  }

  take(width: number): number {
    for (; this.have < width; this.have += 8) this.value |= this.data[this.at++]! << this.have
    const taken = this.value & ((1 << width) - 1)
    this.value >>>= width
    this.have -= width
    return taken
  }

  count(code: number): number {
    return code < 224 ? code : (1 << (code - 224)) + 223 + this.take(code - 224)
  }

  distance(code: number): number {
    const width = (code >> 3) - 3
    return (((8 | (code & 7)) << width) | this.take(width)) - 7
  }
}

const streams = 12
const room = 5 // for the size of a function
const address = 0xff
const alignments = [2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2]

// What stands behind an instruction.
const isEnd = 1
const hasBlock = 2
const hasByte = 3
const hasLocal = 4
const hasOffset = 5
const hasLabel = 6
const hasLabels = 7
const hasCall = 8
const hasType = 9
const hasInt = 10
const hasLong = 11
const hasFloat = 12
const hasMore = 13

const after = new Uint8Array(256)
after.fill(hasBlock, 0x02, 0x05)
after[0x0b] = isEnd
after.fill(hasLabel, 0x0c, 0x0e)
after[0x0e] = hasLabels
after[0x10] = hasCall
after[0x11] = hasType
after.fill(hasLocal, 0x20, 0x25)
after.fill(hasOffset, 0x28, 0x3f)
after.fill(hasByte, 0x3f, 0x41)
after[0x41] = hasInt
after[0x42] = hasLong
after.fill(hasFloat, 0x43, 0x45)
after[0xfc] = hasMore

/** Stream is read from its beginning to its end; behind that there is nothing. */
class Stream {
  at = 0
  readonly data: Uint8Array
  constructor(data: Uint8Array) {
    this.data = data
  }

  byte(): number {
    return this.data[this.at++]!
  }

  take(n: number): Uint8Array {
    this.at += n
    return this.data.subarray(this.at - n, this.at)
  }

  unsigned(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const b = this.byte()
      value |= (b & 0x7f) << shift
      if (!(b & 0x80)) return value
    }
  }

  signed(): number {
    const n = this.unsigned()
    return (n >>> 1) ^ -(n & 1)
  }
}

class Writer {
  readonly data: Uint8Array<ArrayBuffer>
  at = 0
  constructor(size: number) {
    this.data = new Uint8Array(size)
  }

  byte(b: number): void {
    this.data[this.at++] = b
  }

  bytes(all: Uint8Array): void {
    this.data.set(all, this.at)
    this.at += all.length
  }

  /** number copies a number as it is written. */
  number(from: Stream): void {
    const { data } = this
    let { at } = this
    for (let i = from.at; ; ) {
      const b = from.data[i++]!
      data[at++] = b
      if (b & 0x80) continue
      from.at = i
      this.at = at
      return
    }
  }

  unsigned(n: number): number {
    let rest = n
    for (; rest > 0x7f; rest >>>= 7) this.byte((rest & 0x7f) | 0x80)
    this.byte(rest)
    return n
  }

  /** positive writes a number that may be negative, and is not. */
  positive(n: number): void {
    for (; n > 0x3f; n >>>= 7) this.byte((n & 0x7f) | 0x80)
    this.byte(n)
  }

  /** measured puts what was written since start, and the room there, behind its size. */
  measured(start: number): void {
    const end = this.at
    this.at = start
    this.unsigned(end - start - room)
    this.data.copyWithin(this.at, start + room, end)
    this.at += end - start - room
  }
}
