import { rebuild } from './program'
import { kind, version, type Answer, type Notice, type Question, type Refusal } from './protocol'
import { json } from './socket'
import { Refused, type Transport } from './transport'

/** Packed is a file of a report: gzip in base64. */
export interface Packed {
  name: string
  data: string
}

/** Start is how many ms each step of the engine's start took. */
export type Start = Record<'unpack' | 'rebuild' | 'compile' | 'run', number>

/** Calls are the engine's functions, in the order in which it hands them out. */
type Calls = [
  font: (data: Uint8Array) => void,
  expect: (size: number) => void,
  more: (piece: Uint8Array) => void,
  open: (name: string) => string | null,
  handle: (request: Uint8Array) => Uint8Array<ArrayBuffer>,
]

/** Go is the glue of the Go distribution, which runs what its compiler made. */
declare class Go {
  importObject: WebAssembly.Imports
  run(instance: WebAssembly.Instance): Promise<void>
}

const utf8 = new TextEncoder()

/** Inside is the transport to an engine that runs in this worker. */
export class Inside implements Transport {
  onNotice: (notice: Notice) => void = () => {}
  onEnd: (why: string) => void = () => {}
  onStarted: (took: Start) => void = () => {}
  private readonly ready: Promise<Calls>
  private ended = ''

  constructor(engine: string, font: Promise<Uint8Array>, traces: Packed[]) {
    this.ready = this.start(engine, font, traces)
    this.ready.catch((e: Error) => this.end(e.message))
  }

  async ask(question: Question): Promise<Answer> {
    const [, , , , handle] = await this.ready
    if (this.ended) throw new Error(this.ended)
    if (question.ask === 'reload') throw new Refused('no-file', 'A report stays as it is: there is no file to load again')
    const body = handle(utf8.encode(JSON.stringify({ ...question, v: version, id: 0 }))).buffer
    const head = new DataView(body)
    const answer: Answer = {
      kind: head.getUint16(6, true),
      trace: head.getUint32(8, true),
      generation: head.getUint32(12, true),
      body,
    }
    if (answer.kind === kind.refusal) {
      const r = json<Refusal>(answer)
      throw new Refused(r.code, r.message)
    }
    return answer
  }

  /** open opens a file that somebody has at hand, which may be packed with gzip. */
  async open(name: string, data: Uint8Array<ArrayBuffer>): Promise<void> {
    const [, expect, more, open] = await this.ready
    if (this.ended) throw new Error(this.ended)
    if (begins(data, 0x28, 0xb5, 0x2f, 0xfd)) throw new Refused('packed', `${name} is packed with zstd: unpack it first`)
    const plain = begins(data, 0x1f, 0x8b) ? await unzip(name, data) : data
    expect(plain.length)
    more(plain)
    const refused = open(name)
    if (refused) throw new Refused('no-trace', refused)
  }

  private async start(engine: string, font: Promise<Uint8Array>, traces: Packed[]): Promise<Calls> {
    const running = this.run(engine, font)
    for (const t of traces) await load(t, running)
    return running
  }

  private async run(engine: string, font: Promise<Uint8Array>): Promise<Calls> {
    const go = new Go()
    const begun = performance.now()
    const packed = await unpack(engine)
    const unpacked = performance.now()
    const program = rebuild(packed)
    const rebuilt = performance.now()
    const { instance } = await WebAssembly.instantiate(program, go.importObject)
    const compiled = performance.now()
    const calls = await new Promise<Calls>((ready, fail) => {
      Object.assign(self, { miradorReady: (...all: Calls) => ready(all) })
      go.run(instance).then(() => {
        const why = 'the engine has ended'
        fail(new Error(why))
        this.end(why)
      }, fail)
    })
    const run = performance.now() - compiled
    this.onStarted({ unpack: unpacked - begun, rebuild: rebuilt - unpacked, compile: compiled - rebuilt, run })
    calls[0](await font)
    return calls
  }

  private end(why: string): void {
    if (this.ended) return
    this.ended = why
    this.onEnd(why)
  }
}

/**
 * load gives a trace to the engine, piece by piece, and unpacks it while the
 * engine is still made ready: nobody ever has it as a whole but the engine.
 */
async function load(trace: Packed, running: Promise<Calls>): Promise<void> {
  let calls: Calls | undefined
  running.then((c) => (calls = c)).catch(() => {}) // whoever waits for it is told
  const size = sizeOf(trace.data)
  const reader = unpacked(trace.data).getReader()
  trace.data = ''
  let begun = false
  let pieces: Uint8Array<ArrayBuffer>[] = []
  const give = ([, expect, more]: Calls): void => {
    if (!begun) expect(size)
    begun = true
    for (const p of pieces) {
      more(p)
      drop(p.buffer)
    }
    pieces = []
  }
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    pieces.push(next.value)
    if (calls) give(calls)
  }
  const ready = await running
  give(ready)
  const refused = ready[3](trace.name)
  if (refused) throw new Error(refused)
}

/** drop gives memory back that nobody needs, which the browser would do later; where it cannot, that is what it does. */
function drop(memory: ArrayBuffer): void {
  ;(memory as { transfer?: (size: number) => ArrayBuffer }).transfer?.(0)
}

/** maxOpened is how long an opened file may be, unpacked: the engine has 4 GiB for all. */
export const maxOpened = 512 << 20

function begins(data: Uint8Array, ...magic: number[]): boolean {
  return magic.every((b, i) => data[i] === b)
}

/** unzip unpacks a file of which nobody knows what it is. What is damaged at its end is left out. */
async function unzip(name: string, data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length
      if (size > maxOpened) break
      parts.push(next.value)
    }
  } catch {
    if (size === 0) throw new Refused('packed', `${name} cannot be unpacked`)
  }
  if (size > maxOpened) {
    void reader.cancel()
    throw new Refused('too-big', `${name} is too big for a page: use 'mirador view'`)
  }
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** unpack reads what a report has packed. */
export async function unpack(packed: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(unpacked(packed)).arrayBuffer())
}

function unpacked(packed: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const step = 1 << 20 // whole bytes
  let at = 0
  const plain = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(to) {
      if (at < packed.length) to.enqueue(bytes(packed.slice(at, at + step)))
      else to.close()
      at += step
    },
  })
  return plain.pipeThrough(new DecompressionStream('gzip'))
}

/** sizeOf returns how long something is unpacked, which gzip says at its end. */
function sizeOf(packed: string): number {
  const end = bytes(packed.slice(-8))
  return new DataView(end.buffer).getUint32(end.length - 4, true)
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64
  if (quick) return quick.call(Uint8Array, base64)
  const text = atob(base64)
  const out = new Uint8Array(text.length)
  for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i)
  return out
}
