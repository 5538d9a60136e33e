import { envelope, kind, version, type Answer, type Notice, type Question, type Refusal } from './protocol'
import { Refused, type Transport } from './transport'

interface Waiting {
  resolve: (a: Answer) => void
  reject: (e: Error) => void
}

/** Socket is the transport to mirador's server. */
export class Socket implements Transport {
  onNotice: (notice: Notice) => void = () => {}
  onEnd: (why: string) => void = () => {}
  private readonly socket: WebSocket
  private readonly opened: Promise<void>
  private readonly waiting = new Map<number, Waiting>()
  private last = 0
  private ended = ''

  constructor(url: string) {
    this.socket = new WebSocket(url)
    this.socket.binaryType = 'arraybuffer'
    this.opened = new Promise((open) => this.socket.addEventListener('open', () => open()))
    this.socket.addEventListener('message', (e: MessageEvent<ArrayBuffer>) => this.receive(e.data))
    this.socket.addEventListener('close', (e) => this.end(e.reason || 'mirador has ended'))
  }

  async ask(question: Question): Promise<Answer> {
    if (this.ended) throw new Error(this.ended)
    const id = ++this.last
    const answer = new Promise<Answer>((resolve, reject) => this.waiting.set(id, { resolve, reject }))
    if (this.socket.readyState === WebSocket.CONNECTING) await this.opened
    this.socket.send(JSON.stringify({ ...question, v: version, id }))
    return answer
  }

  private receive(data: ArrayBuffer): void {
    const head = new DataView(data)
    const id = head.getUint32(0, true)
    const answer: Answer = {
      kind: head.getUint16(6, true),
      trace: head.getUint32(8, true),
      generation: head.getUint32(12, true),
      body: data,
    }
    if (id === 0 && answer.kind === kind.notice) {
      this.onNotice(json<Notice>(answer))
      return
    }
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    if (answer.kind === kind.refusal) {
      const r = json<Refusal>(answer)
      waiting?.reject(new Refused(r.code, r.message))
    } else {
      waiting?.resolve(answer)
    }
  }

  private end(why: string): void {
    this.ended = why
    for (const w of this.waiting.values()) w.reject(new Error(why))
    this.waiting.clear()
    this.onEnd(why)
  }
}

const utf8 = new TextDecoder()

/** json reads an answer's body. */
export function json<T>(a: Answer): T {
  return JSON.parse(utf8.decode(new Uint8Array(a.body, envelope))) as T
}
