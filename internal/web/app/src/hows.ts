// In which words the page tells how one thread met another.

import type { Arrow, How } from './protocol'

/** hows are how the thread of a list met the one that the list is about. */
export const hows: Record<How | '', string> = { read: 'read its result', try_read: 'looked, and waits', resolve: 'resolved it', signal: 'signalled', '': '' }

/** Told is an arrow in words: how its first end met the other, and what each end is. */
export interface Told {
  sign: string // the class of its sign, as in the legend
  how: string
  from: string
  to: string
}

const arrows: Record<How | 'read-failed', Omit<Told, 'sign'>> = {
  read: { how: 'woken by its result', from: 'Whose result it was', to: 'Who was woken' },
  'read-failed': { how: 'woken by its failure', from: 'Whose failure it was', to: 'Who was woken' },
  try_read: { how: hows.try_read, from: 'Who looked, and waits', to: 'What it waits for' },
  resolve: { how: hows.resolve, from: 'Who resolved', to: 'What was resolved' },
  signal: { how: hows.signal, from: 'Who signalled', to: 'Who was woken' },
}

export function told(a: Arrow): Told {
  const sign = a.how === 'read' && a.from.failed ? 'read-failed' : a.how
  return { sign, ...arrows[sign] }
}
