import { usePage, usePicked, usePickedTab } from './context'
import { Icon } from './icons'
import type { Gap } from './protocol'
import { LinkList, Panel, Pinned, Section, useMoment } from './side'
import type { Mark } from './store'
import { duration, plural, share } from './time'

/** What is worth a look, and what was marked. */
export function FindingsPanel() {
  const f = usePicked((s) => s.findings)
  const whole = usePickedTab((t) => t.info.duration) ?? 0
  if (!f) return null
  const damage = [...(f.damage ?? []), ...(f.notes ?? [])]
  const nothing = f.failed.total + f.unresolved.total + f.gaps.total + f.gc.total + f.lost + damage.length === 0
  return (
    <Panel label="Findings" title="Findings">
      {nothing && <p class="note">Nothing stands out: all threads were resolved, and there are no failures, long gaps or collections.</p>}
      {f.failed.total > 0 && (
        <Section title="Failed" total={f.failed.total} shown={f.failed.items?.length ?? 0}>
          <LinkList items={f.failed.items ?? []} />
        </Section>
      )}
      {f.unresolved.total > 0 && (
        <Section title="Never resolved" total={f.unresolved.total} shown={f.unresolved.items?.length ?? 0}>
          <LinkList items={f.unresolved.items ?? []} />
        </Section>
      )}
      {f.gaps.longest.length > 0 && (
        <Section title="Longest gaps" total={0} shown={0}>
          <p class="note">
            Idle for {duration(f.gaps.idle)} in all, {share(f.gaps.idle, whole)} of the time
            {f.gaps.total > 0 && `; ${plural(f.gaps.total, 'gap')} of ${duration(f.gaps.over)} or more`}.
          </p>
          <Gaps gaps={f.gaps.longest} />
        </Section>
      )}
      {f.gc.total > 0 && (
        <Section title="Garbage collection" total={f.gc.total} shown={f.gc.total}>
          <p class="note">{duration(f.gc.time)} in all, {share(f.gc.time, whole)} of the time. The longest:</p>
          <Gaps gaps={f.gc.longest} />
        </Section>
      )}
      {f.lost > 0 && (
        <Section title="Lost" total={0} shown={0}>
          <p class="note">{plural(f.lost, 'packet')} of the trace {f.lost === 1 ? 'is' : 'are'} missing: the recorder was faster than its buffer.</p>
        </Section>
      )}
      {damage.length > 0 && (
        <Section title="Damage" total={damage.length} shown={damage.length}>
          <ul class="damage">
            {damage.map((d, i) => (
              <li key={i}><bdi>{d.what}</bdi> at offset {d.offset}</li>
            ))}
          </ul>
        </Section>
      )}
      <MarkList />
      <Pinned />
    </Panel>
  )
}

function Gaps({ gaps }: { gaps: Gap[] }) {
  const { viewer } = usePage()
  const at = useMoment()
  return (
    <ul class="links">
      {gaps.map((g, i) => (
        <li key={i}>
          <button class="link" onClick={() => viewer.frameTimes(g.from, g.to)}>
            <span class="link-title">{duration(g.to - g.from)}</span>
            <span class="link-time">{at(g.from)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function MarkList() {
  const { viewer, store } = usePage()
  const marks = usePickedTab((t) => t.marks) ?? []
  const at = useMoment()
  if (marks.length === 0) return null
  const rename = (m: Mark, name: string) => store.setTab({ marks: marks.map((o) => (o === m ? { ...m, name } : o)) })
  const show = (m: Mark) => {
    const c = viewer.camera
    const half = (c.to - c.from) / 2
    const at = viewer.folded(m.time)
    viewer.look({ ...c, from: at - half, to: at + half }, { glide: true })
  }
  return (
    <Section title="Marks" total={marks.length} shown={marks.length}>
      <ul class="links">
        {marks.map((m) => (
          <li key={m.time} class="with-remove">
            <input
              class="mark-name" value={m.name} aria-label={`Name of the mark at ${at(m.time)}`} maxLength={40}
              onChange={(e) => rename(m, (e.target as HTMLInputElement).value)}
            />
            <button class="link" onClick={() => show(m)}>
              <span class="link-time">{at(m.time)}</span>
            </button>
            <button class="remove" aria-label={`Remove mark ${m.name}`} title="Remove" onClick={() => store.setTab({ marks: marks.filter((o) => o !== m) })}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** The findings in a line, at the foot of the page. */
export function FindingsLine() {
  const { store } = usePage()
  const f = usePicked((s) => s.findings)
  const whole = usePickedTab((t) => t.info.duration) ?? 0
  if (!f) return null
  const parts = [
    f.failed.total > 0 && { text: `${f.failed.total} failed`, bad: true },
    f.unresolved.total > 0 && { text: `${f.unresolved.total} never resolved`, bad: false },
    f.gaps.total > 0 && { text: `${plural(f.gaps.total, 'gap')} ≥ ${duration(f.gaps.over)}`, bad: false },
    f.gc.total > 0 && { text: `GC ${share(f.gc.time, whole)}`, bad: false },
    f.lost > 0 && { text: `${plural(f.lost, 'packet')} lost`, bad: true },
    (f.damage?.length ?? 0) > 0 && { text: 'damaged', bad: true },
  ].filter((p) => p !== false)
  return (
    <button class="findings-line" title="Findings (I)" onClick={() => store.set({ panel: 'findings' })}>
      {parts.length === 0 && <span>Nothing stands out</span>}
      {parts.map((p) => (
        <span key={p.text} class={p.bad ? 'bad' : ''}>{p.text}</span>
      ))}
    </button>
  )
}
