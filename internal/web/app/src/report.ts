import type { Packed } from './wasm'

/**
 * Report is what a page that stands by itself brings along, instead of a
 * server: each an element of the page that holds text.
 */
export interface Report {
  worker: string // the worker's program
  engine: string // packed, as are the fonts
  regular: string
  medium: string
  traces: Packed[]
  title: string // of the page; '' when the traces give it one
}

/** report takes out of the page what it brings along; null when a server stands behind it. */
export function report(): Report | null {
  const take = (name: string): string => {
    const found = document.querySelector(`script[data-report="${name}"]`)
    const text = found?.textContent ?? ''
    found?.remove() // lest it be in memory twice
    return text
  }
  if (!document.querySelector('script[data-report]')) return null
  const names = JSON.parse(take('names')) as string[]
  return {
    title: JSON.parse(take('title')) as string,
    worker: take('worker'),
    engine: take('engine'),
    regular: take('regular'),
    medium: take('medium'),
    traces: names.map((name, i) => ({ name, data: take('trace-' + i) })),
  }
}
