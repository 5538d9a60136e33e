import type { ComponentChildren } from 'preact'
import { Provide, usePicked, type Context } from './context'
import { Dialogs } from './dialogs'
import { Drop } from './drop'
import { Header } from './header'
import { Memory } from './memory/memory'
import { isMemory } from './memory/model'
import { Overview } from './overview'
import { Ended, Picture } from './picture'
import { Side } from './side'
import { Announce, Status } from './status'
import { Table } from './table'
import { Telling } from './telling'

/** The whole page. */
export function App({ page, start }: { page: Context; start: (canvas: HTMLCanvasElement) => void }) {
  return (
    <Provide value={page}>
      <Frame>
        <Header />
        <Ended />
        <Telling />
        <Timeline start={start} />
        <Memory />
        <Announce />
        <Dialogs />
        <Drop />
      </Frame>
    </Provide>
  )
}

function Frame({ children }: { children: ComponentChildren }) {
  const told = usePicked((s) => s.story !== null && s.telling)
  return <div class={told ? 'page told' : 'page'}>{children}</div>
}

/** The timeline stays, hidden, while a trace of memory is shown: its canvas cannot be made twice. */
function Timeline({ start }: { start: (canvas: HTMLCanvasElement) => void }) {
  const memory = usePicked(isMemory)
  return (
    <>
      {!memory && <Overview />}
      <main class="stage" id="stage" hidden={memory}>
        <Picture start={start} />
        {!memory && <TableIfShown />}
        {!memory && <Side />}
      </main>
      {!memory && <Status />}
    </>
  )
}

function TableIfShown() {
  return usePicked((s) => s.mode) === 'table' ? <Table /> : null
}
