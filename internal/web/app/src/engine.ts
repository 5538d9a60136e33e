import type { Notice, Question } from './protocol'
import type { Drawn, Scenery } from './stage'
import type { FromWorker, Place, ToWorker } from './worker'
import { Refused } from './transport'
import type { Start } from './wasm'

/** Engine is the page's way to its worker: it asks questions and has pictures shown. */
export class Engine {
  onStarted: (took: Start) => void = () => {}
  onDrawn: (d: Drawn) => void = () => {}
  onNotice: (n: Notice) => void = () => {}
  onEnd: (why: string) => void = () => {}
  onFail: (message: string) => void = () => {}
  private readonly worker: Worker
  private readonly waiting = new Map<number, { resolve: (v: unknown) => void; reject: (e: Error) => void }>()
  private last = 0

  constructor(worker: Worker) {
    this.worker = worker
    worker.addEventListener('message', (e: MessageEvent<FromWorker>) => this.receive(e.data))
    worker.addEventListener('error', (e) => this.onFail(e.message))
  }

  start(canvas: HTMLCanvasElement, place: Place): void {
    const offscreen = canvas.transferControlToOffscreen()
    this.post({ do: 'start', canvas: offscreen, place }, [offscreen])
  }

  show(scenery: Scenery): void {
    this.post({ do: 'show', scenery })
  }

  ask<T>(ask: string, trace: number, fields: Record<string, unknown> = {}): Promise<T> {
    const id = ++this.last
    const question: Question = { ...fields, ask, trace }
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject })
      this.post({ do: 'ask', id, question })
    })
  }

  /** picture makes a PNG file of a picture, with device pixels. */
  picture(scenery: Scenery): Promise<Blob> {
    const id = ++this.last
    return new Promise<Blob>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject })
      this.post({ do: 'picture', id, scenery })
    })
  }

  /** open opens one more trace; the data is gone afterwards. */
  open(name: string, data: ArrayBuffer): Promise<void> {
    const id = ++this.last
    return new Promise<void>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject })
      this.post({ do: 'open', id, name, data }, [data])
    })
  }

  private post(m: ToWorker, transfer: Transferable[] = []): void {
    this.worker.postMessage(m, transfer)
  }

  private receive(m: FromWorker): void {
    switch (m.did) {
      case 'answer':
        this.waiting.get(m.id)?.resolve(m.value)
        this.waiting.delete(m.id)
        break
      case 'refuse':
        this.waiting.get(m.id)?.reject(new Refused(m.code, m.message))
        this.waiting.delete(m.id)
        break
      case 'start':
        this.onStarted(m.took)
        break
      case 'draw':
        this.onDrawn(m.drawn)
        break
      case 'notice':
        this.onNotice(m.notice)
        break
      case 'end':
        this.onEnd(m.why)
        break
      case 'fail':
        this.onFail(m.message)
        break
    }
  }
}
