import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import { count, plural, share } from '../time'
import { invert, look, zoom } from './acts'
import { useAnswer } from './ask'
import { Chart } from './chart'
import { Chips } from './chips'
import { metaOf } from './canvas'
import { Compare } from './compare'
import { Flame } from './flame'
import { amount, asked, isMemory, outlook, type FlameMeta, type MemoryPanel } from './model'
import { Functions } from './table'
import { GroupsPanel, Histograms, Spots, Ways } from './panels'

/** A trace of memory, instead of a timeline. */
export function Memory() {
  const memory = usePicked(isMemory)
  return memory ? <Inner /> : null
}

function Inner() {
  const panel = usePicked((s) => s.tabs[s.tab]?.outlook.panel) ?? 'functions'
  return (
    <main class="memory" data-panel={panel === 'flame' ? 'flame' : 'table'}>
      <Chips />
      <Chart />
      <div class="lower">
        <section class="flame-place" aria-label="Flame graph">
          <FlameBar />
          <Flame />
        </section>
        <section class="tables" aria-label="Tables">
          <Tabs />
          <PanelShown panel={panel} />
        </section>
      </div>
      <Foot />
    </main>
  )
}

/** Foot says what the trace says about itself. */
function Foot() {
  const tab = usePicked((s) => s.tabs[s.tab])
  if (!tab) return null
  const m = tab.info.memory!
  const damage = tab.info.damage?.length ?? 0
  return (
    <footer class="status memory-status">
      <div class="status-view">
        {m.executable && <span class="clip"><bdi>{m.executable.replace(/^.*\//, '')}</bdi></span>}
        {m.host && <span class="quiet clip">on <bdi>{m.host}</bdi></span>}
        <span class="quiet">{m.rate > 0 ? `1 word of ${count(Math.round(1 / m.rate))} sampled` : 'the rate of sampling is not told'}</span>
        {m.samples > 0 && <span class="quiet" title="The standard deviation of the whole">±{(100 / Math.sqrt(m.samples)).toPrecision(2)} %</span>}
        {m.cycles > 0 && <span class="quiet">{plural(m.cycles, 'collection')}</span>}
        {m.context && <span class="clip"><bdi>{m.context}</bdi></span>}
      </div>
      {m.lost > 0 && <span class="bad">{plural(m.lost, 'sampled event')} lost</span>}
      {damage > 0 && <span class="bad" title={tab.info.damage!.slice(0, 20).map((d) => `offset ${d.offset}: ${d.what}`).join('\n')}>{plural(damage, 'damaged place')}</span>}
    </footer>
  )
}

const panels: { id: MemoryPanel; title: string }[] = [
  { id: 'flame', title: 'Flame' },
  { id: 'functions', title: 'Functions' },
  { id: 'spots', title: 'Places' },
  { id: 'ways', title: 'Hot paths' },
  { id: 'histograms', title: 'Histograms' },
  { id: 'groups', title: 'Who' },
]

export function Tabs() {
  const { store } = usePage()
  const panel = usePicked((s) => s.tabs[s.tab]?.outlook.panel) ?? 'functions'
  return (
    <div class="panel-tabs" role="group" aria-label="Show">
      {panels.map((p) => (
        <button
          key={p.id} class={`panel-tab ${p.id === 'flame' ? 'only-narrow' : ''}`} aria-pressed={panel === p.id || (panel === 'flame' && p.id === 'functions' ? undefined : false)}
          onClick={() => look(store, { panel: p.id, marked: p.id === 'functions' ? '' : (store.tab?.outlook.marked ?? '') }, true)}
        >
          {p.title}
        </button>
      ))}
    </div>
  )
}

function PanelShown({ panel }: { panel: MemoryPanel }) {
  switch (panel) {
    case 'spots':
      return <Spots />
    case 'ways':
      return <Ways />
    case 'histograms':
      return <Histograms />
    case 'groups':
      return <GroupsPanel />
  }
  return <Functions />
}

/** What is said of the flame graph, and how it is shown. */
function FlameBar() {
  const { store } = usePage()
  const o = usePicked((s) => s.tabs[s.tab]?.outlook) ?? outlook
  const { value } = useAnswer<ArrayBuffer>('flame', { view: { width: 64, height: 1, scroll: 0 }, query: o.query, ...asked({ ...o, marked: '' }) })
  const meta = metaOf<FlameMeta>(value)
  return (
    <div class="flame-bar">
      <span class="flame-total" role="status">
        {meta && !meta.compared && <><strong data-flame-total={meta.whole}>{amount(meta.whole, meta.unit)}</strong>{o.focus ? `, ${amount(meta.shown, meta.unit)} shown` : ''}</>}
        {meta?.compared && (
          <>
            <strong>{amount(meta.base, meta.unit)} → {amount(meta.whole - meta.base, meta.unit)}</strong>
            <span class="flame-legend">boxes are as wide as both together: <i class="more" /> more <i class="less" /> less than before</span>
          </>
        )}
      </span>
      {meta && o.query !== '' && !meta.compared && (
        <span class="flame-found">found in {share(meta.found, meta.whole)}</span>
      )}
      {o.focus && (
        <button class="crumb" onClick={() => zoom(store, null)} title="Show all (Backspace)">
          <bdi>{o.focus.func}</bdi>
          <Icon name="close" />
        </button>
      )}
      <span class="gap" />
      <button class="action" aria-pressed={o.inverted} title="From the functions that allocate to their callers (I)" onClick={() => invert(store)}>Inverted</button>
      <button class="action" aria-pressed={o.flipped} title="Grow upwards, as flames do (F)" onClick={() => look(store, { flipped: !o.flipped }, true)}>Flipped</button>
      <Compare />
    </div>
  )
}
