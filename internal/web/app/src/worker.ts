// The page's worker: it owns the transport and the canvas, so that neither
// waits for the page's own work.

import { kind, type Hello, type Notice, type Question } from './protocol'
import { json, Socket } from './socket'
import { Stage, type Drawn, type Scenery } from './stage'
import { Refused, type Transport } from './transport'
import { Inside, unpack, type Packed, type Start } from './wasm'

/** Where the engine is: behind a socket, or in what a report brings along. */
export type Place = { socket: string; font: string } | { engine: string; traces: Packed[]; font: string }

/** What the page tells its worker. */
export type ToWorker =
  | { do: 'start'; canvas: OffscreenCanvas; place: Place }
  | { do: 'show'; scenery: Scenery }
  | { do: 'ask'; id: number; question: Question }
  | { do: 'open'; id: number; name: string; data: ArrayBuffer }
  | { do: 'picture'; id: number; scenery: Scenery }

/** What the worker tells its page. */
export type FromWorker =
  | { did: 'answer'; id: number; value: unknown }
  | { did: 'refuse'; id: number; code: string; message: string }
  | { did: 'start'; took: Start }
  | { did: 'draw'; drawn: Drawn }
  | { did: 'fail'; message: string }
  | { did: 'notice'; notice: Notice }
  | { did: 'end'; why: string }

interface Scope {
  postMessage(m: FromWorker, transfer?: Transferable[]): void
  addEventListener(type: 'message', f: (e: MessageEvent<ToWorker>) => void): void
  fonts: FontFaceSet
}
const scope = self as unknown as Scope

let transport: Transport
let stage: Stage

async function start(canvas: OffscreenCanvas, place: Place): Promise<void> {
  let font: string | Promise<Uint8Array<ArrayBuffer>>
  if ('socket' in place) {
    transport = new Socket(place.socket)
    font = `url(${place.font})`
  } else {
    font = unpack(place.font) // the engine measures with it
    const inside = new Inside(place.engine, font, place.traces)
    inside.onStarted = (took) => scope.postMessage({ did: 'start', took })
    transport = inside
  }
  transport.onNotice = (notice) => scope.postMessage({ did: 'notice', notice })
  transport.onEnd = (why) => scope.postMessage({ did: 'end', why })
  stage = new Stage(
    canvas,
    transport,
    (drawn) => scope.postMessage({ did: 'draw', drawn }),
    (e) => scope.postMessage({ did: 'fail', message: e.message }),
  )
  const face = new FontFace('Go', await font)
  scope.fonts.add(face)
  await face.load().catch(() => {}) // the browser's own font is better than none
}

let started: Promise<void>

async function ask(id: number, question: Question): Promise<void> {
  try {
    await started
    const answer = await transport.ask(question)
    if (answer.kind !== kind.json) {
      scope.postMessage({ did: 'answer', id, value: answer.body }, [answer.body])
      return
    }
    const value = json<unknown>(answer)
    if (question.ask === 'hello') stage.styles(value as Hello, 'Go, sans-serif')
    scope.postMessage({ did: 'answer', id, value })
  } catch (e) {
    const code = e instanceof Refused ? e.code : 'gone'
    scope.postMessage({ did: 'refuse', id, code, message: (e as Error).message })
  }
}

async function open(id: number, name: string, data: ArrayBuffer): Promise<void> {
  try {
    await started
    if (!transport.open) throw new Refused('no-open', `A page that is served cannot open files: run mirador view ${name}`)
    await transport.open(name, new Uint8Array(data))
    scope.postMessage({ did: 'answer', id, value: null })
  } catch (e) {
    const code = e instanceof Refused ? e.code : 'gone'
    scope.postMessage({ did: 'refuse', id, code, message: (e as Error).message })
  }
}

scope.addEventListener('message', ({ data: m }) => {
  switch (m.do) {
    case 'start':
      started = start(m.canvas, m.place)
      break
    case 'show':
      stage.show(m.scenery)
      break
    case 'ask':
      void ask(m.id, m.question)
      break
    case 'open':
      void open(m.id, m.name, m.data)
      break
    case 'picture':
      stage.file(m.scenery).then(
        (value) => scope.postMessage({ did: 'answer', id: m.id, value }),
        (e: Error) => scope.postMessage({ did: 'refuse', id: m.id, code: 'picture', message: e.message }),
      )
      break
  }
})
