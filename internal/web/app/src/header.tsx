import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { run, usePage, usePicked, usePickedTab } from './context'
import { OpenFile } from './drop'
import { Icon, type IconName } from './icons'
import { isMemory } from './memory/model'
import { MemorySearch } from './memory/search'
import type { Hits } from './protocol'
import { dark } from './store'
import { count, moment } from './time'

export function Header() {
  const page = usePage()
  const memory = usePicked(isMemory)
  const mode = usePicked((s) => s.mode)
  const panel = usePicked((s) => s.panel)
  const isDark = usePicked(dark)
  const counters = usePickedTab((t) => t.info.counters.length) ?? 0
  const story = usePicked((s) => s.story !== null)
  const telling = usePicked((s) => s.telling)
  const findings = usePicked((s) => s.findings)
  const alarms = findings ? findings.failed.total + findings.unresolved.total : 0
  return (
    <header class="header">
      <Brand />
      <Tabs />
      {memory ? <MemorySearch /> : <Search />}
      {!memory && <div class="segments" role="group" aria-label="Show as">
        <Segment icon="timeline" text="Timeline" on={mode === 'timeline'} press={() => page.store.set({ mode: 'timeline' })} />
        <Segment icon="table" text="Table" on={mode === 'table'} press={() => page.store.set({ mode: 'table', hover: null })} />
      </div>}
      <div class="tools">
        {story && <Tool icon="story" label="Story" hint="Y" on={telling} press={() => run(page, 'story')} />}
        {counters > 0 && <Tool icon="counters" label="Counters" hint="V" on={panel === 'counters'} press={() => run(page, 'counter-list')} />}
        {!memory && (
          <Tool icon="findings" label="Findings" hint="I" on={panel === 'findings'} press={() => run(page, 'findings')}>
            {alarms > 0 && <span class="dot" />}
          </Tool>
        )}
        <Tool icon="export" label="Export" hint="E" press={() => run(page, 'export')} />
        <Tool icon={isDark ? 'sun' : 'moon'} label={isDark ? 'Light theme' : 'Dark theme'} press={() => run(page, 'theme')} />
        <Tool icon="help" label="Help" hint="?" press={() => run(page, 'help')} />
      </div>
    </header>
  )
}

/** Brand is also the way to all that the page can do, for who has no keyboard. */
function Brand() {
  const page = usePage()
  return (
    <button class="brand" title="All commands (Ctrl K)" aria-label="All commands" aria-haspopup="dialog" onClick={() => run(page, 'palette')}>
      <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
        <rect width="32" height="32" rx="8" class="brand-plate" />
        <path d="M6 10h20M6 16h9M19 16h7M6 22h14" class="brand-line" />
        <path d="M15 16l5 6" class="brand-arrow" />
      </svg>
    </button>
  )
}

function Segment(p: { icon: IconName; text: string; on: boolean; press: () => void }) {
  return (
    <button class="segment" aria-pressed={p.on} onClick={p.press} title={p.text}>
      <Icon name={p.icon} />
      <span>{p.text}</span>
    </button>
  )
}

export function Tool(p: {
  icon: IconName; label: string; hint?: string; on?: boolean; press: () => void; children?: ComponentChildren
}) {
  const title = p.hint ? `${p.label} (${p.hint})` : p.label
  return (
    <button class="tool" title={title} aria-label={p.label} {...(p.on === undefined ? {} : { 'aria-pressed': p.on })} onClick={p.press}>
      <Icon name={p.icon} />
      {p.children}
    </button>
  )
}

function Tabs() {
  const { viewer } = usePage()
  const tabs = usePicked((s) => s.tabs)
  const current = usePicked((s) => s.tab)
  const follow = usePicked((s) => s.follow)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current, tabs.length])
  const go = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
    if (!step || tabs.length < 2) return
    e.preventDefault()
    const next = (current + step + tabs.length) % tabs.length
    viewer.switchTo(next)
    const row = (e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')
    row[next]?.focus()
  }
  return (
    <div class="tabs-place">
      <div class="tabs" ref={list} role="tablist" aria-label="Traces" data-arrows onKeyDown={go}>
        {tabs.map((t, i) => (
          <button
            key={i} class="tab" role="tab" aria-selected={i === current} tabIndex={i === current ? 0 : -1}
            aria-controls="stage" onClick={() => viewer.switchTo(i)} title={about(t.info.name, t.info.format, t.info.events, t.info.threads, t.info.memory?.blocks)}
          >
            <bdi>{t.info.name}</bdi>
            {t.changed && <span class="tab-new" aria-label="new data" />}
          </button>
        ))}
      </div>
      <OpenFile />
      {tabs[current]?.changed ? (
        <button class="fresh" onClick={() => void viewer.reload()} title="The file has changed: load it again (F5)">
          <Icon name="reload" />
          New data
        </button>
      ) : (
        follow && (
          <span class="live" title="The file is loaded again whenever it changes (R)">
            live
          </span>
        )
      )}
    </div>
  )
}

function about(name: string, format: string, events: number, threads: number, blocks?: number): string {
  if (blocks !== undefined) return `${name}: ${format}, ${count(events)} events, ${count(blocks)} sampled blocks`
  return `${name}: ${format}, ${count(events)} events, ${count(threads)} threads`
}

function Search() {
  const page = usePage()
  const { inquiry, store } = page
  const query = usePickedTab((t) => t.query) ?? ''
  const hit = usePickedTab((t) => t.hit) ?? -1
  const only = usePickedTab((t) => t.only) ?? false
  const hits = usePicked((s) => s.hits)
  const error = usePicked((s) => s.queryError)
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const listed = open && !error && hits !== null && query !== '' ? hits : null

  const input = (e: Event) => {
    const value = (e.target as HTMLInputElement).value
    if (value.startsWith('>')) {
      store.set({ dialog: 'palette' })
      return
    }
    setOpen(true)
    setActive(-1)
    inquiry.search(value)
  }
  const key = (e: KeyboardEvent) => {
    const n = Math.min(listed?.items.length ?? 0, shownHits)
    if (e.key === 'Enter') {
      e.preventDefault()
      if (active >= 0 && listed) void inquiry.goToHit(listed.offset + active)
      else void inquiry.step(e.shiftKey)
      setOpen(false)
    } else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault()
      setOpen(true)
      if (n > 0) setActive(e.key === 'ArrowDown' ? (active + 1) % n : (Math.max(active, 0) - 1 + n) % n)
    } else if (e.key === 'Escape') {
      e.preventDefault()
      if (listed) setOpen(false)
      else {
        if (query) inquiry.search('', true)
        document.getElementById('picture')?.focus()
      }
    }
  }
  return (
    <div class="search" onFocusOut={(e) => !(e.currentTarget as HTMLElement).contains(e.relatedTarget as Node) && setOpen(false)}>
      <Icon name="search" />
      <input
        id="search" type="text" value={query} placeholder="Search labels, types, /regexp/" aria-label="Search labels, types and numbers"
        autocomplete="off" autocapitalize="off" spellcheck={false} onInput={input} onKeyDown={key} onFocus={() => setOpen(true)}
        role="combobox" aria-expanded={listed !== null} aria-controls="hits" aria-autocomplete="list" aria-invalid={error !== ''}
        {...(active >= 0 && listed ? { 'aria-activedescendant': `hit-${active}` } : {})}
      />
      {query === '' ? (
        <kbd>/</kbd>
      ) : (
        <>
          <span class="search-count" role="status">
            {error ? 'not a regexp' : hits ? (hit >= 0 ? `${count(hit + 1)} of ${count(hits.total)}` : count(hits.total)) : '…'}
          </span>
          <button
            class="search-only" aria-pressed={only} aria-label="Only what is found in the timeline" title="Only what is found in the timeline (X)"
            onClick={() => run(page, 'only')}
          >
            Only
          </button>
          <button class="search-clear" aria-label="Clear the search" onClick={() => inquiry.search('', true)}>
            <Icon name="close" />
          </button>
        </>
      )}
      {listed && <HitList hits={listed} active={active} pick={(i) => { setOpen(false); void inquiry.goToHit(listed.offset + i) }} />}
      {!listed && <ul id="hits" hidden role="listbox" aria-label="Hits" />}
    </div>
  )
}

const shownHits = 12

function HitList({ hits, active, pick }: { hits: Hits; active: number; pick: (i: number) => void }) {
  const camera = usePickedTab((t) => t.camera)
  const reach = usePickedTab((t) => t.info.duration) ?? 1
  const step = camera ? (camera.to - camera.from) / 1000 : 1e-6
  const round = Math.pow(10, Math.floor(Math.log10(step)))
  return (
    <div class="hits">
      <ul id="hits" role="listbox" aria-label="Hits">
        {hits.items.slice(0, shownHits).map((h, i) => (
          <li
            key={h.thread} id={`hit-${i}`} role="option" aria-selected={i === active}
            onPointerDown={(e) => { e.preventDefault(); pick(i) }}
          >
            <bdi class="link-title">{h.text}</bdi>
            <span class="link-type">{h.type}</span>
            <span class="link-time">{moment(h.time ?? 0, round, reach)}</span>
          </li>
        ))}
      </ul>
      <p class="hits-note">
        {hits.total === 0 ? 'Nothing found' : `${count(hits.total)} found · Enter for the next one in sight, Shift Enter for the previous`}
      </p>
    </div>
  )
}
