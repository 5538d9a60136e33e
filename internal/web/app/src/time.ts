// Times and durations as people read and write them. All are in seconds.

const units: [string, number][] = [
  ['s', 1],
  ['ms', 1e-3],
  ['µs', 1e-6],
  ['ns', 1e-9],
]

function unitFor(size: number): [string, number] {
  for (const u of units) if (size >= u[1] * 0.9999999) return u
  return units[units.length - 1]!
}

/** duration writes a length of time with three digits: "1.25 ms". */
export function duration(s: number): string {
  if (s === 0) return '0 s'
  if (s < 0) return '−' + duration(-s)
  if (s >= 120) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`
  const [name, size] = unitFor(s)
  return `${digits(s / size, 3)} ${name}`
}

/** digits writes a number with so many significant digits, or all of its whole ones unless there are too many. */
export function digits(v: number, n: number): string {
  if (Math.abs(v) >= 1e9) return v.toExponential(2).replace('e+', 'e')
  const whole = Math.max(1, Math.ceil(Math.log10(Math.abs(v) + 1e-12)))
  return String(Number(v.toFixed(Math.max(0, n - whole))))
}

/**
 * moment writes a point in time so that a difference of step can be seen;
 * reach is the greatest time around, which chooses the unit.
 */
export function moment(t: number, step: number, reach: number): string {
  const [name, size] = unitFor(Math.max(reach, step))
  const decimals = Math.max(0, Math.min(12, Math.ceil(-Math.log10(step / size) - 1e-9)))
  const text = (Math.abs(t) < step / 1e6 ? 0 : t / size).toFixed(decimals)
  return `${group(text)} ${name}`
}

/** group puts a thin space between each three decimals of a number that has many. */
function group(text: string): string {
  const dot = text.indexOf('.')
  if (dot < 0 || text.length - dot < 6) return text
  return text.slice(0, dot + 1) + text.slice(dot + 1).replace(/(\d{3})(?=\d)/g, '$1\u2009')
}

/** parse reads "12ms", "3 us", "1.5s" or a plain number of seconds; NaN for what is none. */
export function parse(text: string): number {
  const m = /^\s*(-?[\d.,]+(?:e-?\d+)?)\s*(s|ms|us|µs|μs|ns|min)?\s*$/i.exec(text)
  if (!m) return NaN
  const scale: Record<string, number> = { s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, μs: 1e-6, ns: 1e-9, min: 60 }
  return Number(m[1]!.replace(',', '.')) * (scale[(m[2] ?? 's').toLowerCase()] ?? NaN)
}

/** share writes a part of a whole: "7 %", "<1 %". */
export function share(part: number, whole: number): string {
  if (!(whole > 0) || part <= 0) return '0 %'
  const p = (100 * part) / whole
  if (p < 0.1) return '<0.1 %'
  if (p < 10) return `${Number(p.toFixed(1))} %`
  return p > 99 && p < 100 ? `${(Math.floor(10 * p) / 10).toFixed(1)} %` : `${Math.round(p)} %`
}

/** count writes a number with thin spaces: "1 234 567". */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u2009')
}

/** plural writes "1 thread", "2 threads". */
export function plural(n: number, one: string, many = one + 's'): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** bytes writes a number of bytes: "1.9 GiB", as the engine does. */
export function bytes(v: number): string {
  if (v < 0) return '−' + bytes(-v)
  let unit = 0
  for (; v >= 1023.95 && unit < 6; unit++) v /= 1024
  return unit === 0 ? `${v.toFixed(0)} B` : `${v.toFixed(1)} ${'KMGTPE'[unit - 1]}iB`
}

/** quantity writes a counter's value, with its unit if it counts bytes. */
export function quantity(v: number, inBytes: boolean): string {
  return inBytes ? bytes(v) : digits(v, 4)
}
