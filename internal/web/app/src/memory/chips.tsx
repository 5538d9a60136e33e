import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import { bytes, count, digits, parse, share } from '../time'
import { add, look, replace, show } from './acts'
import { useAnswer } from './ask'
import { amount, fields, outlook, tell, titles, whats, type Amounts, type Clause, type What } from './model'

/** The filter as chips, and how much it selects. */
export function Chips() {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const [edit, setEdit] = useState<number | 'new' | null>(null)
  const number = usePicked((s) => s.tab)
  useEffect(() => setEdit(null), [number])
  if (!tab) return null
  const o = tab.outlook
  const long = tab.info.duration
  const close = () => setEdit(null)
  return (
    <div class="chips" role="group" aria-label="Filter">
      {o.filter.map((c, i) => (
        <span class="chip" key={i}>
          <button class="chip-text" onClick={() => setEdit(edit === i ? null : i)} title="Change this clause" aria-expanded={edit === i}>
            <bdi>{tell(c, long)}</bdi>
          </button>
          <button class="chip-remove" aria-label={`Take away: ${tell(c, long)}`} onClick={() => { close(); replace(store, i, null) }}>
            <Icon name="close" />
          </button>
          {edit === i && <Editor clause={c} close={close} use={(n) => replace(store, i, n)} />}
        </span>
      ))}
      {o.hidden.map((h) => (
        <span class="chip plain" key={h}>
          <span class="chip-text"><bdi>{h}</bdi> is hidden</span>
          <button class="chip-remove" aria-label={`Do not hide ${h} any more`} onClick={() => show(store, h)}><Icon name="close" /></button>
        </span>
      ))}
      <span class="chip-new">
        <button class="action" aria-expanded={edit === 'new'} onClick={() => setEdit(edit === 'new' ? null : 'new')} id="add-clause">
          + Filter
        </button>
        {edit === 'new' && <Editor clause={null} close={close} use={(c) => add(store, c)} />}
      </span>
      {(o.filter.length > 1 || o.hidden.length > 0) && (
        <button class="small" onClick={() => { close(); look(store, { filter: [], hidden: [] }) }}>Clear</button>
      )}
      <Selected />
    </div>
  )
}

/** How much the filter selects: the same as the flame graph's whole. */
function Selected() {
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const { value, error } = useAnswer<Amounts>('memory', { memory: { filter: o.filter } })
  if (error) return <span class="selected bad" role="alert">{error}</span>
  if (!tab || !value) return <span class="selected" />
  const info = tab.info.memory!
  const some = o.filter.length > 0
  return (
    <span class="selected" role="status">
      <strong data-total={value.samples}>{amount(value.samples, info.unit)}</strong>
      <span class="selected-of">{some ? `of ${amount(info.samples, info.unit)} allocated, ${share(value.samples, info.samples)}` : 'allocated'}</span>
      <span class="selected-more">{count(value.blocks)} sampled blocks</span>
      <span class="selected-more">peak {amount(value.peak.samples, info.unit)}</span>
      <span class="selected-more">{amount(value.end, info.unit)} alive at the end</span>
    </span>
  )
}

const sources = ['minor', 'major', 'external']

/** Editor makes a clause, or changes one. */
function Editor({ clause, close, use }: { clause: Clause | null; close: () => void; use: (c: Clause) => void }) {
  const form = useRef<HTMLFormElement>(null)
  const tab = usePicked((s) => s.tabs[s.tab])
  const [what, setWhat] = useState<What>(clause?.what ?? 'inside')
  const [bad, setBad] = useState('')
  const kind = fields[what]
  useLayoutEffect(() => {
    const el = form.current?.querySelector<HTMLElement>('input')
    ;((clause && el) || form.current?.querySelector('select'))?.focus()
  }, [])
  useEffect(() => {
    const away = (e: Event) => {
      const place = form.current?.parentElement
      if (place && !place.contains(e.target as Node)) close()
    }
    addEventListener('pointerdown', away, true)
    return () => removeEventListener('pointerdown', away, true)
  }, [])
  const same = clause && fields[clause.what] === kind ? clause : null
  const write = (v: number | undefined) => (v === undefined ? '' : kind === 'size' ? bytesText(v) : secondsText(v))
  const submit = (e: Event) => {
    e.preventDefault()
    const data = new FormData(form.current!)
    const c = read(what, (name) => String(data.get(name) ?? '').trim())
    if (typeof c === 'string') return setBad(c)
    close()
    use(c)
  }
  const info = tab?.info.memory
  const offered = whats.filter((w) => w !== 'end' && (w !== 'goroutine' || info?.goroutines))
  return (
    <form class="editor" ref={form} onSubmit={submit} onKeyDown={(e) => e.key === 'Escape' && (e.stopPropagation(), close())} aria-label="A clause of the filter">
      <label>
        <span>Only blocks</span>
        <select value={what} onChange={(e) => { setWhat((e.target as HTMLSelectElement).value as What); setBad('') }}>
          {offered.map((w) => <option key={w} value={w}>{titles[w]}</option>)}
        </select>
      </label>
      {(kind === 'time' || kind === 'lifetime' || kind === 'size') && (
        <div class="editor-range" key={what}>
          <label><span>From</span><input name="from" defaultValue={write(same?.from)} placeholder={kind === 'size' ? '64 B' : '1.5 s'} autocomplete="off" /></label>
          <label><span>To</span><input name="to" defaultValue={write(same?.to)} placeholder={kind === 'size' ? '4 KiB' : '200 ms'} autocomplete="off" /></label>
        </div>
      )}
      {kind === 'text' && (
        <label key={what}>
          <span>Function, Module.* or /regexp/</span>
          <input name="text" defaultValue={same?.text ?? ''} placeholder="Stdlib.List.*" autocomplete="off" spellcheck={false} />
        </label>
      )}
      {kind === 'source' && (
        <label>
          <span>Heap</span>
          <select name="text" value={same?.text ?? 'major'}>{sources.map((s) => <option key={s} value={s}>{s}</option>)}</select>
        </label>
      )}
      {kind === 'number' && (
        <label key={what}><span>Number</span><input name="from" inputMode="numeric" defaultValue={String(same?.from ?? 0)} autocomplete="off" /></label>
      )}
      {bad && <p class="bad" role="alert">{bad}</p>}
      <div class="buttons">
        <button type="button" class="action" onClick={close}>Cancel</button>
        <button class="action primary">{clause ? 'Change' : 'Add'}</button>
      </div>
    </form>
  )
}

/** read makes a clause of what was typed; a text says what is wrong with it. */
function read(what: What, value: (name: string) => string): Clause | string {
  const c: Clause = { what }
  switch (fields[what]) {
    case 'time':
    case 'lifetime':
    case 'size': {
      const number = fields[what] === 'size' ? parseBytes : parse
      for (const end of ['from', 'to'] as const) {
        if (value(end) === '') continue
        const v = number(value(end))
        if (!Number.isFinite(v)) return fields[what] === 'size' ? 'A size is 64, 4 KiB or 1.5 MB' : 'A time is 1.5 s, 200 ms or 10 µs'
        c[end] = v
      }
      if (c.from === undefined && c.to === undefined) return 'One of the two is needed'
      if (c.from !== undefined && c.to !== undefined && c.from > c.to) return 'It ends before it begins'
      return c
    }
    case 'text':
      if (value('text') === '') return 'The name is missing'
      return { what, text: value('text') }
    case 'source':
      return { what, text: value('text') }
    case 'number':
      if (!/^\d+$/.test(value('from'))) return 'A number is needed'
      return { what, from: Number(value('from')) }
  }
  return c
}

function secondsText(v: number): string {
  const [name, size] = v >= 1 || v === 0 ? ['s', 1] : v >= 1e-3 ? ['ms', 1e-3] : ['µs', 1e-6]
  return `${digits(v / (size as number), 9)} ${name}`
}

function bytesText(v: number): string {
  return v >= 1024 && v % 1024 === 0 ? bytes(v).replace('.0 ', ' ') : `${v} B`
}

/** parseBytes reads "64", "4 KiB", "1.5 MB"; NaN for what is none. */
export function parseBytes(text: string): number {
  const m = /^([\d.]+)\s*(b|k|kb|kib|m|mb|mib|g|gb|gib)?$/i.exec(text)
  if (!m) return NaN
  const unit = (m[2] ?? 'b').toLowerCase()
  const power = 'bkmg'.indexOf(unit[0]!)
  return Math.round(Number(m[1]) * Math.pow(unit.length === 2 ? 1000 : 1024, power))
}
