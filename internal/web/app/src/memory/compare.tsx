import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import { look } from './acts'
import { outlook, tell, type Base } from './model'

/** What the trace is compared with: another one, or another filter of it. */
export function Compare() {
  const { store } = usePage()
  const tabs = usePicked((s) => s.tabs)
  const number = usePicked((s) => s.tab)
  const [open, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const o = tabs[number]?.outlook ?? outlook
  useEffect(() => setOpen(false), [number])
  useEffect(() => {
    if (!open) return
    place.current?.querySelector<HTMLElement>('.menu button')?.focus()
    const away = (e: Event) => !place.current?.contains(e.target as Node) && setOpen(false)
    addEventListener('pointerdown', away, true)
    return () => removeEventListener('pointerdown', away, true)
  }, [open])
  const use = (base: Base | null) => {
    setOpen(false)
    look(store, { base, focus: null })
  }
  const long = tabs[number]?.info.duration ?? 1
  const named = (b: Base) => {
    const name = tabs[b.trace]?.info.name ?? 'a trace'
    const clauses = b.filter.map((c) => tell(c, tabs[b.trace]?.info.duration ?? long)).join(', ')
    return b.trace === number ? clauses || 'the whole trace' : clauses ? `${name}: ${clauses}` : name
  }
  const bases: Base[] = tabs.flatMap((t, i) => (t.info.memory && i !== number ? [{ trace: i, filter: t.outlook.filter }] : []))
  bases.push({ trace: number, filter: o.filter })
  const presets: Base[] = [
    { trace: number, filter: [] },
    { trace: number, filter: [{ what: 'peak' }] },
    { trace: number, filter: [{ what: 'allocated', from: 0, to: long / 2 }] },
  ]
  if (o.base) {
    return (
      <button class="crumb compare" onClick={() => use(null)} title="Do not compare any more">
        <span>against <bdi>{named(o.base)}</bdi></span>
        <Icon name="close" />
      </button>
    )
  }
  return (
    <div class="compare-place" ref={place}>
      <button class="action" aria-expanded={open} onClick={() => setOpen(!open)}>Compare…</button>
      {open && (
        <ul
          class="menu compare-menu" aria-label="Compare with"
          onKeyDown={(e) => {
            if (e.key !== 'Escape') return
            e.stopPropagation()
            setOpen(false)
          }}
        >
          {bases.map((b, i) => (
            <li key={i}>
              <button onClick={() => use(b)}>
                <bdi>{b.trace === number ? (b.filter.length > 0 ? 'What is selected now: then change the filter' : 'The whole trace: then add a filter') : named(b)}</bdi>
              </button>
            </li>
          ))}
          {presets.slice(1).map((b, i) => (
            <li key={`p${i}`}><button onClick={() => use(b)}><bdi>What was {named(b)}</bdi></button></li>
          ))}
        </ul>
      )}
    </div>
  )
}
