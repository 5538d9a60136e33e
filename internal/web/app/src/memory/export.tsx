import { usePage } from '../context'
import { save } from './save'

const choices: ['chart' | 'flame', 'svg' | 'png', string, string][] = [
  ['flame', 'svg', 'Flame graph, SVG', 'Sharp at any size, for documents'],
  ['flame', 'png', 'Flame graph, PNG', 'As it is on the screen, for a message'],
  ['chart', 'svg', 'Chart, SVG', 'Sharp at any size, for documents'],
  ['chart', 'png', 'Chart, PNG', 'As it is on the screen, for a message'],
]

/** What can be saved of a trace of memory. */
export function MemoryChoices() {
  const { viewer, store } = usePage()
  return (
    <div class="choices">
      {choices.map(([what, format, title, about]) => (
        <button
          class="choice" key={title}
          onClick={() => {
            store.set({ dialog: 'none' })
            void save(viewer, what, format)
          }}
        >
          <strong>{title}</strong>
          <span>{about}</span>
        </button>
      ))}
    </div>
  )
}
