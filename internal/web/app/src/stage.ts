// The stage is the worker's side of the picture. It shows at each moment the
// newest picture that there is, moved to where one looks by now, and asks for
// a sharp one as soon as the engine is free: there is never more than one
// frame under way, and never nothing to see.

import { envelope, type Hello, type Meta, type View } from './protocol'
import { Picture, paintsOf, type Paints } from './painter'
import type { Transport } from './transport'

/** What the page wants to be shown. */
export interface Scenery {
  trace: number
  generation: number
  view: View
  from: number // the camera's times at the edges: folded ones, where time is folded
  to: number
  ratio: number // device pixels per px
  theme: 'light' | 'dark'
}

export interface Drawn {
  trace: number
  frame: number
  view: View
  meta: Meta
  took: number // ms from the question to the picture
}

export class Stage {
  private readonly canvas: OffscreenCanvas
  private readonly ctx: OffscreenCanvasRenderingContext2D
  private readonly back = new OffscreenCanvas(1, 1)
  private readonly backCtx: OffscreenCanvasRenderingContext2D
  private readonly transport: Transport
  private readonly onDrawn: (d: Drawn) => void
  private readonly onFail: (e: Error) => void

  private paints: Record<'light' | 'dark', Paints> | null = null
  private want: Scenery | null = null
  private asked: Scenery | null = null // the newest that was asked for
  private shown: Scenery | null = null // what the back canvas holds
  private picture: Picture | null = null
  private underWay = false
  private ticking = false
  private frames = 0
  private untold: Drawn | null = null // what is shown next

  constructor(canvas: OffscreenCanvas, transport: Transport, onDrawn: (d: Drawn) => void, onFail: (e: Error) => void) {
    this.canvas = canvas
    this.ctx = canvas.getContext('2d', { alpha: false })!
    this.backCtx = this.back.getContext('2d', { alpha: false })!
    this.transport = transport
    this.onDrawn = onDrawn
    this.onFail = onFail
  }

  styles(hello: Hello, font: string): void {
    this.paints = {
      light: paintsOf(hello.light, hello.dashLimit, font),
      dark: paintsOf(hello.dark, hello.dashLimit, font),
    }
  }

  show(want: Scenery): void {
    const before = this.want
    this.want = want
    if (before?.theme !== want.theme && this.picture && this.shown?.trace === want.trace) {
      this.repaint(want) // the same list in other colours
    }
    this.ask()
    this.tick()
  }

  /** file makes a PNG file of a picture. */
  async file(scenery: Scenery): Promise<Blob> {
    if (!this.paints) throw new Error('there is no picture yet')
    const answer = await this.transport.ask({ ask: 'frame', trace: scenery.trace, view: scenery.view })
    const { width, height } = pixels(scenery)
    const canvas = new OffscreenCanvas(width, height)
    new Picture(answer.body, envelope).paint(canvas.getContext('2d', { alpha: false })!, this.paints[scenery.theme], scenery.ratio)
    return canvas.convertToBlob({ type: 'image/png' })
  }

  /** tick shows what there is at the next frame of the screen. */
  private tick(): void {
    if (this.ticking) return
    this.ticking = true
    requestAnimationFrame(() => {
      this.ticking = false
      this.compose()
      if (this.untold) this.onDrawn(this.untold)
      this.untold = null
    })
  }

  private ask(): void {
    const want = this.want
    if (!want || this.underWay || !this.paints || (this.asked && sameQuestion(this.asked, want))) return
    this.underWay = true
    this.asked = want
    const start = performance.now()
    this.transport
      .ask({ ask: 'frame', trace: want.trace, view: want.view })
      .then((answer) => {
        this.underWay = false
        if (answer.trace === this.want?.trace) {
          this.picture = new Picture(answer.body, envelope)
          this.repaint({ ...want, theme: this.want.theme })
          this.tick()
          this.frames++
          const took = performance.now() - start
          this.untold = { trace: want.trace, frame: this.frames, view: want.view, meta: this.picture.meta, took }
        }
        this.ask()
      })
      .catch((e: Error) => {
        this.underWay = false
        this.onFail(e)
      })
  }

  /** repaint paints the newest picture onto the back canvas. */
  private repaint(as: Scenery): void {
    const picture = this.picture!
    const { width, height } = pixels(as)
    if (this.back.width !== width || this.back.height !== height) {
      this.back.width = width
      this.back.height = height
    }
    picture.paint(this.backCtx, this.paints![as.theme], as.ratio)
    this.shown = as
  }

  /** compose shows the back canvas, stretched and moved to where one looks now. */
  private compose(): void {
    const { want, shown, ctx, canvas } = this
    if (!want || !shown || shown.trace !== want.trace) return
    const { width, height } = pixels(want)
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width
      canvas.height = height
    }
    const a = shown.view
    const b = want.view
    const span = want.to - want.from
    const refolded = a.fold !== b.fold
    const left = refolded ? 0 : (width * (shown.from - want.from)) / span
    const wide = refolded ? width : (width * (shown.to - shown.from)) / span
    const down = a.rows === 'linear' && b.rows === 'linear' ? (a.scroll - b.scroll) * want.ratio : 0
    const exact = Math.abs(left) < 0.01 && Math.abs(wide - width) < 0.01 && down === 0 && height === this.back.height
    ctx.setTransform(1, 0, 0, 1, 0, 0)
    if (exact) {
      ctx.drawImage(this.back, 0, 0)
      return
    }
    ctx.fillStyle = this.paints?.[want.theme].styles[0]?.color ?? '#fff'
    ctx.fillRect(0, 0, width, height)
    ctx.imageSmoothingEnabled = wide !== width
    ctx.imageSmoothingQuality = 'low'
    ctx.drawImage(this.back, left, down, wide, this.back.height)
  }
}

function pixels(s: Scenery): { width: number; height: number } {
  return { width: Math.max(1, Math.round(s.view.width * s.ratio)), height: Math.max(1, Math.round(s.view.height * s.ratio)) }
}

function sameQuestion(a: Scenery, b: Scenery): boolean {
  return a.trace === b.trace && a.generation === b.generation && JSON.stringify(a.view) === JSON.stringify(b.view)
}
