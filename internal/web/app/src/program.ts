/**
 * rebuild makes the program again of what bundle/pack.go made of it, which says
 * what stands where.
 *
 * It runs once, and much of that time the browser has not compiled it yet. So
 * what is done for each byte is short loops without calls, and what is rare is
 * done elsewhere: a way never taken before makes the browser compile a loop anew.
 */
export function rebuild(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new DataView(packed.buffer, packed.byteOffset)
  const word = (n: number): number => head.getUint32(4 * n, true)
  const length = (stream: number): number => word(3 + 4 * stream)
  const next = new Int32Array(streams)
  for (let s = 1; s < streams; s++) next[s] = next[s - 1]! + length(s - 1)

  const parts = new Uint8Array(next[streams - 1]! + length(streams - 1))
  let from = 12 + 16 * streams
  for (let s = 0; s < streams; s++) {
    const [steps, literals, bits] = [word(4 + 4 * s), word(5 + 4 * s), word(6 + 4 * s)]
    const end = from + literals + 3 * steps + bits
    unfold(packed.subarray(from, end), steps, literals, parts.subarray(next[s]!, next[s]! + length(s)))
    from = end
  }

  const [size, functions, first] = [word(0), word(1), word(2)]
  const program = new Program(size, parts, next)
  program.take(front, length(front))
  for (let f = 0; f < functions; f++) program.body((first + f) * 0x10000)
  program.take(back, length(back))
  if (program.at !== size) throw new Error('the engine is damaged')
  return program.data
}

/** unfold puts repeats where bundle/fold.go took them out, and fills out with it. */
function unfold(folded: Uint8Array, steps: number, literals: number, out: Uint8Array): void {
  const extra = new Bits(folded.subarray(literals + 3 * steps))
  let [d0, d1, d2] = [1, 2, 4]
  let at = 0
  let taken = 0
  for (let i = literals; i < literals + steps; i++) {
    for (let end = at + extra.count(folded[i]!); at < end; ) out[at++] = folded[taken++]!
    const n = extra.count(folded[i + steps]!) + 2
    const code = folded[i + 2 * steps]!
    const distance = code === 0 ? d0 : code === 1 ? d1 : code === 2 ? d2 : extra.distance(code)
    if (code > 1) d2 = d1
    if (code > 0) {
      d1 = d0
      d0 = distance
    }
    for (let end = at + n; at < end; at++) out[at] = out[at - distance]!
  }
  out.set(folded.subarray(taken, literals), at)
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

/** Program is written from its beginning to its end, of streams that are read so. */
class Program {
  readonly data: Uint8Array<ArrayBuffer>
  at = 0
  private readonly parts: Uint8Array // the streams, one behind the other
  private readonly next: Int32Array // where each is read
  private block = 0
  private depth = 0

  constructor(size: number, parts: Uint8Array, next: Int32Array) {
    this.data = new Uint8Array(size)
    this.parts = parts
    this.next = next
  }

  /** body writes a function whose code begins at an address, behind its size. */
  body(here: number): void {
    const start = this.at
    this.at += room
    for (let n = this.number(this.unsigned(locals)); n > 0; n--) {
      this.copy(locals)
      this.take(locals, 1)
    }
    this.block = 0
    this.depth = 1
    for (let op = this.plain(); op !== finished; op = this.plain()) this.rare(op, here)

    const size = this.at - start - room
    const digits = size < 0x80 ? 1 : size < 0x4000 ? 2 : size < 0x200000 ? 3 : 4
    if (digits !== room) this.data.copyWithin(start + digits, start + room, this.at)
    this.at = start
    this.number(size)
    this.at += size
  }

  /** plain writes instructions that are no more than themselves and a number, and returns the first other one. */
  private plain(): number {
    const { data, parts, next } = this
    let { at, depth } = this
    let op = 0
    while (depth > 0) {
      op = parts[next[ops]!++]!
      const from = numbers[op]!
      if (from === other) break
      data[at++] = op
      depth += deeper[op]!
      if (from === none) continue
      if (from === offsets) data[at++] = alignments[op - 0x28]!
      for (let more = 0x80; more & 0x80; at++) data[at] = more = parts[next[from]!++]!
    }
    this.at = at
    this.depth = depth
    return depth > 0 ? op : finished
  }

  /** rare writes one of the other instructions. */
  private rare(op: number, here: number): void {
    this.data[this.at++] = op === address ? 0x42 : op
    switch (op) {
      case address:
        this.block += this.signed(blocks)
        this.positive(here + this.block)
        break
      case 0x0e: {
        let label = 0
        for (let n = this.number(this.unsigned(labels)); n >= 0; n--) this.number((label += this.signed(labels)))
        break
      }
      case 0x11:
        this.copy(calls)
        this.copy(calls)
        break
      case 0x43:
        this.take(floats, 4)
        break
      case 0x44:
        this.take(floats, 8)
        break
      case 0xfc: {
        const second = this.parts[this.next[ops]!]!
        this.take(ops, second === 10 ? 3 : second === 11 ? 2 : 1)
      }
    }
  }

  /** take copies the next n bytes of a stream. */
  take(from: number, n: number): void {
    const at = this.next[from]!
    this.data.set(this.parts.subarray(at, at + n), this.at)
    this.next[from] = at + n
    this.at += n
  }

  /** copy copies a number as it is written. */
  private copy(from: number): void {
    for (let more = 0x80; more & 0x80; ) this.data[this.at++] = more = this.parts[this.next[from]!++]!
  }

  private unsigned(from: number): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const b = this.parts[this.next[from]!++]!
      value |= (b & 0x7f) << shift
      if (!(b & 0x80)) return value
    }
  }

  private signed(from: number): number {
    const n = this.unsigned(from)
    return (n >>> 1) ^ -(n & 1)
  }

  /** number writes a number, and returns it. */
  private number(n: number): number {
    let rest = n
    for (; rest > 0x7f; rest >>>= 7) this.data[this.at++] = (rest & 0x7f) | 0x80
    this.data[this.at++] = rest
    return n
  }

  /** positive writes a number that may be negative, and is not. */
  private positive(n: number): void {
    for (; n > 0x3f; n >>>= 7) this.data[this.at++] = (n & 0x7f) | 0x80
    this.data[this.at++] = n
  }
}

const room = 2 // for the size of a function, which most often has two bytes

// The streams, in their order.
const front = 0
const back = 1
const ops = 2
const locals = 3
const jumps = 4
const labels = 5
const calls = 6
const offsets = 7
const ints = 8
const longs = 9
const floats = 10
const blocks = 11
const streams = 12

const address = 0xff
const finished = -1 // instead of an instruction: the function's end
const alignments = new Uint8Array([2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2])

/** numbers says which stream has the number behind an instruction. */
const none = -1
const other = -2 // more than one, or no number
const numbers = new Int8Array(256).fill(none)
numbers.fill(ops, 0x02, 0x05) // a block's type is one, too
numbers.fill(jumps, 0x0c, 0x0e)
numbers[0x10] = calls
numbers.fill(ops, 0x20, 0x25)
numbers.fill(offsets, 0x28, 0x3f)
numbers.fill(ops, 0x3f, 0x41)
numbers[0x41] = ints
numbers[0x42] = longs
for (const op of [0x0e, 0x11, 0x43, 0x44, 0xfc, address]) numbers[op] = other

/** deeper says by how much an instruction opens or closes blocks. */
const deeper = new Int8Array(256)
deeper.fill(1, 0x02, 0x05)
deeper[0x0b] = -1
