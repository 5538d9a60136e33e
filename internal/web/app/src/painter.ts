import type { Meta, Style } from './protocol'

const magic = 0x314c444d
const header = 32
const opaque = 16

/** Paints are the styles of a theme, by number, with the fonts that they ask for. */
export interface Paints {
  styles: Style[]
  fonts: string[]
  dashLimit: number
}

/** Picture is a draw list that has been looked over and can be painted. */
export class Picture {
  readonly width: number
  readonly height: number
  readonly meta: Meta
  private readonly words: Uint32Array
  private readonly floats: Float32Array
  private readonly ops: number
  private readonly strings: string[]

  constructor(buffer: ArrayBuffer, offset: number) {
    const head = new DataView(buffer, offset)
    if (head.getUint32(0, true) !== magic) throw new Error('not a draw list')
    const size = head.getUint32(4, true)
    this.width = head.getFloat32(8, true)
    this.height = head.getFloat32(12, true)
    this.ops = head.getUint32(16, true)
    this.words = new Uint32Array(buffer, offset, size >> 2)
    this.floats = new Float32Array(buffer, offset, size >> 2)
    this.strings = readStrings(buffer, offset + head.getUint32(20, true))
    const meta = new Uint8Array(buffer, offset + head.getUint32(24, true), head.getUint32(28, true))
    this.meta = JSON.parse(utf8.decode(meta)) as Meta
  }

  /** paint draws the picture; ratio is how many device pixels a px takes. */
  paint(ctx: OffscreenCanvasRenderingContext2D, paints: Paints, ratio: number): void {
    const { words, floats } = this
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    ctx.globalAlpha = 1
    ctx.fillStyle = paints.styles[0]?.color ?? '#000'
    ctx.fillRect(0, 0, this.width, this.height)
    ctx.textBaseline = 'alphabetic'
    ctx.lineJoin = 'round'
    let at = header >> 2
    for (let op = 0; op < this.ops; op++) {
      const word = words[at]!
      const n = words[at + 1]!
      at += 2
      const style = (word >> 8) & 0xff
      const paint = paints.styles[style]
      if (!paint) throw new Error('a style that is not known')
      ctx.globalAlpha = ((word >> 16) & 0xff) / opaque
      const width = (word >>> 24) / 4 || paint.width
      switch (word & 0xff) {
        case 1:
          ctx.fillStyle = paint.color
          for (let i = 0; i < n; i++, at += 4) {
            ctx.fillRect(floats[at]!, floats[at + 1]!, floats[at + 2]!, floats[at + 3]!)
          }
          break
        case 2:
          if (paint.dash.length > 0 && n <= paints.dashLimit) dashed(ctx, paint, floats, at, n, width, ratio)
          else lines(ctx, paint.color, floats, at, n, width, ratio)
          at += 4 * n
          break
        case 3:
          polyline(ctx, paint.color, floats, at, n, width)
          at += 2 * n
          break
        case 4:
          ctx.fillStyle = paint.color
          ctx.beginPath()
          for (let i = 0; i < n; i++, at += 6) {
            ctx.moveTo(floats[at]!, floats[at + 1]!)
            ctx.lineTo(floats[at + 2]!, floats[at + 3]!)
            ctx.lineTo(floats[at + 4]!, floats[at + 5]!)
          }
          ctx.fill()
          break
        case 5:
          ctx.fillStyle = paint.color
          ctx.font = paints.fonts[style]!
          for (let i = 0; i < n; i++, at += 5) this.text(ctx, at)
          break
        default:
          throw new Error('an operation that is not known')
      }
    }
    ctx.globalAlpha = 1
  }

  private text(ctx: OffscreenCanvasRenderingContext2D, at: number): void {
    const { floats } = this
    const x = floats[at]!
    const y = floats[at + 1]!
    const from = floats[at + 2]!
    const to = floats[at + 3]!
    const s = this.strings[this.words[at + 4]!] ?? ''
    if (to === 0) {
      ctx.fillText(s, x, y)
      return
    }
    ctx.save()
    ctx.beginPath()
    ctx.rect(from, y - 100, to - from, 200)
    ctx.clip()
    ctx.fillText(s, x, y)
    ctx.restore()
  }
}

/**
 * lines draws n lines. Level and upright ones, which most are, are rectangles
 * of whole device pixels: that is sharp, and several times faster than a path.
 */
function lines(
  ctx: OffscreenCanvasRenderingContext2D, color: string, floats: Float32Array, at: number, n: number, width: number, ratio: number,
): void {
  const thick = Math.max(1, Math.round(width * ratio))
  const wide = thick / ratio
  const sharp = (v: number) => (Math.round(v * ratio - (thick % 2) / 2) + (thick % 2) / 2 - thick / 2) / ratio
  let slanted = false
  ctx.fillStyle = color
  for (let i = at; i < at + 4 * n; i += 4) {
    const x1 = floats[i]!
    const y1 = floats[i + 1]!
    const x2 = floats[i + 2]!
    const y2 = floats[i + 3]!
    if (y1 === y2) ctx.fillRect(Math.min(x1, x2), sharp(y1), Math.abs(x2 - x1), wide)
    else if (x1 === x2) ctx.fillRect(sharp(x1), Math.min(y1, y2), wide, Math.abs(y2 - y1))
    else slanted = true
  }
  if (!slanted) return
  ctx.strokeStyle = color
  ctx.lineWidth = width
  ctx.setLineDash([])
  ctx.beginPath()
  for (let i = at; i < at + 4 * n; i += 4) {
    if (floats[i] === floats[i + 2] || floats[i + 1] === floats[i + 3]) continue
    ctx.moveTo(floats[i]!, floats[i + 1]!)
    ctx.lineTo(floats[i + 2]!, floats[i + 3]!)
  }
  ctx.stroke()
}

/** dashed draws n lines with the dashes of their style. */
function dashed(
  ctx: OffscreenCanvasRenderingContext2D, paint: Style, floats: Float32Array, at: number, n: number, width: number, ratio: number,
): void {
  const half = (Math.max(1, Math.round(width * ratio)) % 2) / 2
  const sharp = (v: number) => (Math.round(v * ratio - half) + half) / ratio
  ctx.strokeStyle = paint.color
  ctx.lineWidth = width
  ctx.setLineDash(paint.dash)
  ctx.beginPath()
  for (let i = at; i < at + 4 * n; i += 4) {
    let x1 = floats[i]!
    let y1 = floats[i + 1]!
    let x2 = floats[i + 2]!
    let y2 = floats[i + 3]!
    if (y1 === y2) y1 = y2 = sharp(y1)
    else if (x1 === x2) x1 = x2 = sharp(x1)
    ctx.moveTo(x1, y1)
    ctx.lineTo(x2, y2)
  }
  ctx.stroke()
}

/**
 * polyline draws one line through n points. Its level and upright parts are
 * rectangles, as of a stepped line all are: a long path takes ten times longer.
 * Upright parts stop short of the level ones, lest corners shine through twice.
 */
function polyline(
  ctx: OffscreenCanvasRenderingContext2D, color: string, floats: Float32Array, at: number, n: number, width: number,
): void {
  const half = width / 2
  ctx.fillStyle = ctx.strokeStyle = color
  ctx.lineWidth = width
  ctx.setLineDash([])
  for (let i = at; i < at + 2 * n - 2; i += 2) {
    const x1 = floats[i]!
    const y1 = floats[i + 1]!
    const x2 = floats[i + 2]!
    const y2 = floats[i + 3]!
    if (y1 === y2) {
      ctx.fillRect(Math.min(x1, x2) - half, y1 - half, Math.abs(x2 - x1) + width, width)
    } else if (x1 === x2) {
      ctx.fillRect(x1 - half, Math.min(y1, y2) + half, width, Math.max(0, Math.abs(y2 - y1) - width))
    } else {
      ctx.beginPath()
      ctx.moveTo(x1, y1)
      ctx.lineTo(x2, y2)
      ctx.stroke()
    }
  }
}

const utf8 = new TextDecoder()

function readStrings(buffer: ArrayBuffer, offset: number): string[] {
  const count = new DataView(buffer, offset).getUint32(0, true)
  const ends = new Uint32Array(buffer, offset + 4, count + 1)
  const from = offset + 4 * (count + 2)
  const all: string[] = []
  for (let i = 0; i < count; i++) {
    all.push(utf8.decode(new Uint8Array(buffer, from + ends[i]!, ends[i + 1]! - ends[i]!)))
  }
  return all
}

export function paintsOf(styles: Style[], dashLimit: number, font: string): Paints {
  return { styles, dashLimit, fonts: styles.map((s) => `${s.font || 12}px ${font}`) }
}
