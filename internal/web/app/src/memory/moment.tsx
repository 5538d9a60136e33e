import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import type { Tab } from '../store'
import { moment } from '../time'
import { add, look } from './acts'
import { useAnswer } from './ask'
import { amount, type Amounts } from './model'

/** What is known of a moment that was picked, and where one can go from it. */
export function Moment({ time, x, width, round }: { time: number; x: number; width: number; round: number }) {
  const page = usePage()
  const { store } = page
  const tabs = usePicked((s) => s.tabs)
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook
  const all = useAnswer<Amounts>('memory', { memory: { filter: [{ what: 'alive', from: time, to: time }] } })
  const rest = o?.filter.filter((c) => c.what !== 'alive') ?? []
  const part = useAnswer<Amounts>(rest.length > 0 ? 'memory' : null, { memory: { filter: [...rest, { what: 'alive', from: time, to: time }] } })
  if (!tab || !o) return null
  const unit = tab.info.memory!.unit
  const close = () => look(store, { at: null }, true)
  const left = x + 272 < width ? Math.max(8, x + 10) : Math.max(8, x - 270)
  const threads = tabs.map((t, i) => ({ t, i })).filter(({ t }) => !t.info.memory)
  return (
    <div class="moment" style={{ left: `${left}px` }} role="dialog" aria-label="A moment">
      <div class="moment-head">
        <strong>{moment(time, round, tab.info.duration)}</strong>
        <button class="tool small-tool" aria-label="Close" onClick={close}><Icon name="close" /></button>
      </div>
      <p>
        {all.value ? `${amount(all.value.samples, unit)} alive` : '…'}
        {rest.length > 0 && part.value ? `, ${amount(part.value.samples, unit)} of it selected` : ''}
      </p>
      <div class="moment-acts">
        <button
          class="action primary"
          onClick={() => {
            look(store, { at: null }, true)
            add(store, { what: 'alive', from: time, to: time })
          }}
        >
          Show what was alive
        </button>
        {threads.map(({ t, i }) => <Then key={i} from={tab} to={t} time={time} go={(at) => goTo(page, i, at)} />)}
      </div>
    </div>
  )
}

/** Then leads to what another trace's threads did at a moment, if its clock can be told. */
function Then({ from, to, time, go }: { from: Tab; to: Tab; time: number; go: (at: number) => void }) {
  const name = to.info.name
  if (!from.info.start || !to.info.start) return <p class="note">{name} does not say what time it was: it cannot be shown beside this</p>
  const at = from.info.start + time - to.info.start
  if (at < 0 || at > to.info.duration) return <p class="note">{name} was not recorded at this time</p>
  return <button class="action" onClick={() => go(at)}>What ran then: {name}</button>
}

function goTo(page: ReturnType<typeof usePage>, tab: number, at: number): void {
  const { viewer, store } = page
  viewer.switchTo(tab)
  const long = store.tab!.info.duration
  const half = Math.min(long / 2, Math.max(long / 200, 1e-4))
  // The picture's size is not known before it is seen.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      viewer.lookAt(at - half, at + half)
      store.setTab({ marks: [...store.tab!.marks.filter((m) => m.name !== 'memory'), { time: at, name: 'memory' }] })
    }),
  )
}
