import type { ComponentChildren } from 'preact'
import { ArrowPanel } from './arrow'
import { run, usePage, usePicked, usePickedTab } from './context'
import { FindingsPanel } from './findings'
import { hows } from './hows'
import { Icon, type IconName } from './icons'
import type { Detail, Link, Links } from './protocol'
import { count, duration, moment, plural, quantity, share } from './time'

/** The panel at the side: a thread, an arrow, findings, counters or a range. */
export function Side() {
  const panel = usePicked((s) => s.panel)
  switch (panel) {
    case 'thread':
      return <ThreadPanel />
    case 'arrow':
      return <ArrowPanel />
    case 'findings':
      return <FindingsPanel />
    case 'counters':
      return <CountersPanel />
    case 'range':
      return <RangePanel />
  }
  return null
}

export function Panel(p: { title: ComponentChildren; label: string; children: ComponentChildren; close?: () => void }) {
  const { store } = usePage()
  return (
    <aside class="panel" aria-label={p.label}>
      <div class="panel-head">
        <h2>{p.title}</h2>
        <button class="tool" aria-label="Close the panel" title="Close (Esc)" onClick={p.close ?? (() => store.set({ panel: 'none' }))}>
          <Icon name="close" />
        </button>
      </div>
      <div class="panel-body" tabIndex={0} role="group" aria-label={p.label}>{p.children}</div>
    </aside>
  )
}

/** useMoment writes times as exactly as the view can show them. */
export function useMoment(): (t: number) => string {
  const camera = usePickedTab((t) => t.camera)
  const reach = usePickedTab((t) => t.info.duration) ?? 1
  const step = camera ? Math.pow(10, Math.floor(Math.log10((camera.to - camera.from) / 2000))) : 1e-6
  return (t) => moment(t, Math.max(step, 1e-9), reach)
}

function ThreadPanel() {
  const page = usePage()
  const { inquiry } = page
  const d = usePicked((s) => s.detail)
  const at = useMoment()
  const pinned = usePickedTab((t) => t.pinned) ?? []
  if (!d) return null
  const lasted = d.end - d.start
  const isPinned = pinned.some((p) => p.tid === d.tid)
  const pin = () => {
    const rest = pinned.filter((p) => p.tid !== d.tid)
    page.store.setTab({ pinned: isPinned ? rest : [...rest, { tid: d.tid, title: d.title }] })
  }
  const state = d.failed ? 'failed' : d.resolved ? 'resolved' : 'never resolved'
  return (
    <Panel label="Selected thread" title={<bdi>{d.title}</bdi>} close={() => inquiry.unselect()}>
      <p class="sub">
        <span>{d.type}</span>
        <span>thread {d.tid}</span>
        <span class={`state ${state.replace(' ', '-')}`}>{state}</span>
      </p>
      {d.failure && <p class="failure"><bdi>{d.failure}</bdi></p>}
      <div class="actions">
        <Action icon="back" text="Cause" hint="[" press={() => run(page, 'cause')} />
        <Action icon="forth" text="Effect" hint="]" press={() => run(page, 'effect')} />
        <Action icon="fit" text="Fit" hint="F" press={() => run(page, 'fit')} />
        <span class="gap" />
        <Action icon="pin" text={isPinned ? 'Unpin' : 'Pin'} on={isPinned} bare press={pin} />
        <Action icon="link" text="Copy link" hint="C" bare press={() => run(page, 'copy')} />
      </div>
      <ShareBar ran={d.ran} lasted={lasted} runs={d.runs} />
      <dl class="facts">
        <dt>Start</dt><dd>{at(d.start)}</dd>
        <dt>End</dt><dd>{at(d.end)}</dd>
        <dt>Lasted</dt><dd>{duration(lasted)}</dd>
        <dt>Ran</dt><dd>{plural(d.runs, 'time')}, {duration(d.ran)}</dd>
      </dl>
      <Linked title="Woken by" links={d.wokenBy} />
      <Linked title="Waits for" links={d.waitsFor} />
      <Waits d={d} />
      <Linked title="Resolved by" links={d.resolvedBy} />
      <Linked title="Becomes" links={d.becomes} more={<Highlight d={d} />} />
      <Linked title="Was before" links={d.became} />
      {d.parent && d.parent.tid !== '-1' && <Linked title="Created by" links={{ total: 1, items: [d.parent] }} />}
      <Linked title="Created" links={d.children} />
      <Linked title="Waited for" links={d.waitedFor} />
      <Linked title="Woke" links={d.wakes} />
      {d.labels.total > 0 && (
        <Section title="Labels" total={d.labels.total} shown={d.labels.items?.length ?? 0}>
          <ul class="links">
            {d.labels.items?.map((l, i) => (
              <li key={i}>
                <button class="link" onClick={() => inquiry.select({ ...d, time: l.time }, true)}>
                  <bdi class="link-title">{l.text}</bdi>
                  <span class="link-time">{at(l.time)}</span>
                </button>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Pinned />
    </Panel>
  )
}

export function Action(p: { icon: IconName; text: string; hint?: string; on?: boolean; bare?: boolean; press: () => void }) {
  return (
    <button class="action" onClick={p.press} title={p.hint ? `${p.text} (${p.hint})` : p.text} {...(p.on === undefined ? {} : { 'aria-pressed': p.on })}>
      <Icon name={p.icon} />
      <span class={p.bare ? 'unseen' : ''}>{p.text}</span>
    </button>
  )
}

/** ShareBar shows how much of its life a thread ran. */
function ShareBar({ ran, lasted, runs }: { ran: number; lasted: number; runs: number }) {
  const part = lasted > 0 ? Math.min(1, ran / lasted) : runs > 0 ? 1 : 0
  return (
    <div class="share">
      <div class="share-bar" aria-hidden="true">
        <div style={{ width: `${Math.max(part > 0 ? 1 : 0, 100 * part)}%` }} />
      </div>
      <div class="share-text">
        <span>ran {share(part, 1)}</span>
        <span>waited {share(1 - part, 1)}</span>
      </div>
    </div>
  )
}

/** Waits are the longest stretches in which it waited, where the trace tells for what. */
function Waits({ d }: { d: Detail }) {
  const { viewer } = usePage()
  const at = useMoment()
  if (d.waits.total === 0) return null
  const shown = d.waits.items?.slice(0, 12) ?? []
  return (
    <Section title="Longest waits" total={d.waits.total} shown={d.waits.total}>
      <ul class="links">
        {shown.map((w) => (
          <li key={w.from}>
            <button class="link" onClick={() => viewer.frameTimes(w.from, w.to)}>
              <bdi class="link-title">{w.reason || 'unknown'}</bdi>
              <span class="link-type">{duration(w.to - w.from)}</span>
              <span class="link-time">{at(w.from)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Highlight({ d }: { d: Detail }) {
  const { inquiry } = usePage()
  return (
    <button class="small" onClick={() => inquiry.chain({ thread: d.thread, tid: d.tid })}>
      Highlight
    </button>
  )
}

export function Section(p: { title: string; total: number; shown: number; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>
        {p.title}
        {p.total > 1 && <span class="total">{count(p.total)}</span>}
        {p.more}
      </h3>
      {p.children}
      {p.total > p.shown && <p class="note">the first {count(p.shown)} of {count(p.total)}</p>}
    </section>
  )
}

function Linked({ title, links, more }: { title: string; links: Links; more?: ComponentChildren }) {
  if (links.total === 0) return null
  return (
    <Section title={title} total={links.total} shown={links.items?.length ?? 0} more={more}>
      <LinkList items={links.items ?? []} />
    </Section>
  )
}

export function LinkList({ items }: { items: Link[] }) {
  const { inquiry } = usePage()
  const at = useMoment()
  return (
    <ul class="links">
      {items.map((l, i) => (
        <li key={i}>
          <button class="link" onClick={() => inquiry.select(l, true)}>
            {l.how && <span class={`how ${l.how}`} aria-label={hows[l.how]} title={hows[l.how]} />}
            {l.failed && !l.how && <span class="how failed" aria-label="failed" role="img" />}
            <bdi class="link-title">{l.title}</bdi>
            <span class="link-type">{l.type}</span>
            {l.time !== undefined && <span class="link-time">{at(l.time)}</span>}
          </button>
        </li>
      ))}
    </ul>
  )
}

export function Pinned() {
  const { inquiry, store } = usePage()
  const pinned = usePickedTab((t) => t.pinned) ?? []
  if (pinned.length === 0) return null
  return (
    <Section title="Pinned" total={pinned.length} shown={pinned.length}>
      <ul class="links">
        {pinned.map((p) => (
          <li key={p.tid} class="with-remove">
            <button class="link" onClick={() => void inquiry.selectByNumber(p.tid, undefined, true)}>
              <bdi class="link-title">{p.title || `thread ${p.tid}`}</bdi>
            </button>
            <button
              class="remove" aria-label={`Unpin thread ${p.tid}`} title="Unpin"
              onClick={() => store.setTab({ pinned: pinned.filter((o) => o.tid !== p.tid) })}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function CountersPanel() {
  const { store } = usePage()
  const counters = usePickedTab((t) => t.info.counters) ?? []
  const hidden = usePickedTab((t) => t.hidden) ?? []
  const summary = usePicked((s) => s.summary)
  const flip = (name: string) =>
    store.setTab({ hidden: hidden.includes(name) ? hidden.filter((h) => h !== name) : [...hidden, name] })
  return (
    <Panel label="Counters" title="Counters">
      <div class="actions">
        <button class="action" onClick={() => store.setTab({ hidden: [] })}>All on</button>
        <button class="action" onClick={() => store.setTab({ hidden: counters.map((c) => c.name) })}>All off</button>
      </div>
      <ul class="switches">
        {counters.map((c) => {
          const now = summary?.counters.find((v) => v.name === c.name)
          return (
            <li key={c.name}>
              <label>
                <input type="checkbox" role="switch" checked={!hidden.includes(c.name)} onChange={() => flip(c.name)} />
                <span class="switch" aria-hidden="true" />
                <span class="swatch" style={{ background: `var(--counter-${c.style})` }} aria-hidden="true" />
                <bdi class="link-title">{c.name}</bdi>
                <span class="link-time">{`${quantity((now ?? c).min, c.bytes)} … ${quantity((now ?? c).max, c.bytes)}`}</span>
              </label>
            </li>
          )
        })}
      </ul>
      <p class="note">The values are the least and the greatest in what is seen.</p>
    </Panel>
  )
}

function RangePanel() {
  const page = usePage()
  const { store } = page
  const range = usePickedTab((t) => t.range)
  const s = usePicked((st) => st.rangeSummary)
  const at = useMoment()
  if (!range) return null
  const whole = s ? s.to - s.from : 0
  return (
    <Panel label="Selected range" title={duration(range.to - range.from)} close={() => store.setTab({ range: null }, undefined, { panel: 'none' })}>
      <div class="actions">
        <Action icon="fit" text="Zoom to it" hint="F" press={() => page.viewer.frameTimes(range.from, range.to)} />
      </div>
      <dl class="facts">
        <dt>From</dt><dd>{at(range.from)}</dd>
        <dt>To</dt><dd>{at(range.to)}</dd>
        {s && (
          <>
            <dt>Busy</dt><dd>{duration(s.busy)} · {share(s.busy, whole)}</dd>
            <dt>Idle</dt><dd>{duration(s.idle)} · {share(s.idle, whole)}</dd>
            <dt>GC</dt><dd>{duration(s.gc)} · {share(s.gc, whole)}</dd>
          </>
        )}
      </dl>
      {s && s.counters.length > 0 && (
        <Section title="Counters" total={s.counters.length} shown={s.counters.length}>
          <table class="values">
            <thead>
              <tr><th scope="col">Name</th><th scope="col">Min</th><th scope="col">Mean</th><th scope="col">Max</th></tr>
            </thead>
            <tbody>
              {s.counters.map((c) => (
                <tr key={c.name}>
                  <th scope="row"><bdi>{c.name}</bdi></th>
                  <td>{quantity(c.min, c.bytes)}</td>
                  <td>{quantity(c.mean, c.bytes)}</td>
                  <td>{quantity(c.max, c.bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </Panel>
  )
}
