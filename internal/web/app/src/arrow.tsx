import { run, usePage, usePickedTab } from './context'
import { told } from './hows'
import type { Link } from './protocol'
import { Action, LinkList, Panel, Pinned, Section, useMoment } from './side'
import { duration } from './time'

/** ArrowPanel tells of the selected arrow, and leads to both of its ends. */
export function ArrowPanel() {
  const page = usePage()
  const at = useMoment()
  const a = usePickedTab((t) => t.arrow)
  if (!a || a.from.thread < 0) return null // it is not known yet
  const { sign, how, from, to } = told(a)
  const [left, came] = [a.from.time ?? a.time, a.to.time ?? a.time]
  return (
    <Panel label="Selected arrow" title={how[0]!.toUpperCase() + how.slice(1)} close={() => page.inquiry.unselect()}>
      <p class="sub">
        <span class={`how long ${sign}`} aria-hidden="true" />
        <span>arrow</span>
        <span>{at(a.time)}</span>
      </p>
      <div class="actions">
        <Action icon="back" text="From" hint="[" press={() => run(page, 'cause')} />
        <Action icon="forth" text="To" hint="]" press={() => run(page, 'effect')} />
        <Action icon="fit" text="Fit" hint="F" press={() => run(page, 'fit')} />
        <span class="gap" />
        <Action icon="link" text="Copy link" hint="C" bare press={() => run(page, 'copy')} />
      </div>
      <End title={from} link={a.from} />
      <End title={to} link={a.to} />
      {left !== came && (
        <dl class="facts">
          <dt>Left</dt><dd>{at(left)}</dd>
          <dt>Arrived</dt><dd>{at(came)}</dd>
          <dt>Took</dt><dd>{duration(came - left)}</dd>
        </dl>
      )}
      <Pinned />
    </Panel>
  )
}

function End({ title, link }: { title: string; link: Link }) {
  return (
    <Section title={title} total={1} shown={1}>
      <LinkList items={[link]} />
    </Section>
  )
}
