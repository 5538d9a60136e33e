import type { Answer, Notice, Question } from './protocol'

/**
 * Transport carries questions to an engine and answers back, wherever the
 * engine is: behind a socket, or in this very worker. The bytes are the same.
 */
export interface Transport {
  /** ask rejects with a Refused when the engine refuses, and with an Error when there is no engine any more. */
  ask(question: Question): Promise<Answer>
  /** open opens one more trace; it is not there where the engine takes no files from a page. */
  open?(name: string, data: Uint8Array<ArrayBuffer>): Promise<void>
  onNotice: (notice: Notice) => void
  /** onEnd is called once, when no question will be answered any more. */
  onEnd: (why: string) => void
}

/** Refused is the engine's refusal. */
export class Refused extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
