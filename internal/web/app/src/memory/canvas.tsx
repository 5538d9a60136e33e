import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePicked } from '../context'
import { envelope } from '../protocol'
import { paintsOf, Picture } from '../painter'
import { dark, type State } from '../store'

const dashLimit = 400
const font = 'Go, system-ui, sans-serif'

type Context = OffscreenCanvasRenderingContext2D

/** paint draws a list, as an answer carries it, onto a canvas, and returns what the list says about itself. */
export function paint<M>(canvas: HTMLCanvasElement | OffscreenCanvas, answer: ArrayBuffer, s: State, ratio: number): M {
  const picture = new Picture(answer, envelope)
  canvas.width = Math.max(1, Math.round(picture.width * ratio))
  canvas.height = Math.max(1, Math.round(picture.height * ratio))
  const ctx = canvas.getContext('2d', { alpha: false }) as Context
  picture.paint(ctx, paintsOf(s.palettes[dark(s) ? 'dark' : 'light'], dashLimit, font), ratio)
  return picture.meta as unknown as M
}

/** metaOf returns what a list says about itself. */
export function metaOf<M>(answer: ArrayBuffer | null): M | null {
  return answer ? (new Picture(answer, envelope).meta as unknown as M) : null
}

let frames = 0

/** A picture that the engine made, or makes anew while it is busy. */
export function List({ answer, busy, store, label }: { answer: ArrayBuffer | null; busy: boolean; store: { state: State }; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const theme = usePicked(dark)
  const palettes = usePicked((s) => s.palettes)
  const ratio = usePicked((s) => s.ratio)
  const [fonts, setFonts] = useState(0)
  useEffect(() => {
    void document.fonts.load(`12px Go`).then(() => setFonts(1), () => {})
  }, [])
  useLayoutEffect(() => {
    const el = canvas.current
    if (!el || !answer || palettes.light.length === 0) return
    paint(el, answer, store.state, devicePixelRatio || 1)
    const p = new Picture(answer, envelope)
    el.style.width = `${p.width}px`
    el.style.height = `${p.height}px`
    el.dataset['frame'] = String(++frames)
  }, [answer, theme, palettes, ratio, fonts])
  return <canvas ref={canvas} role="img" aria-label={label} aria-busy={busy} />
}

/** useSize tells how large an element is, in whole px. */
export function useSize(ref: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const el = ref.current
    if (!el) return
    const measure = () => {
      const width = Math.floor(el.clientWidth)
      const height = Math.floor(el.clientHeight)
      setSize((s) => (s.width === width && s.height === height ? s : { width, height }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(el)
    measure()
    return () => observer.disconnect()
  }, [])
  return size
}
