import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Command, Page } from './commands'
import type { Teller } from './story'
import { useStore, useTab, type State, type Tab } from './store'

/** What every component may use. */
export interface Context extends Page {
  commands: Command[]
  teller: Teller
}

const context = createContext<Context | null>(null)
export const Provide = context.Provider

export function usePage(): Context {
  return useContext(context)!
}

export function usePicked<T>(pick: (s: State) => T): T {
  return useStore(usePage().store, pick)
}

export function usePickedTab<T>(pick: (t: Tab) => T): T | undefined {
  return useTab(usePage().store, pick)
}

/** run runs a command by its id. */
export function run(page: Context, id: string): void {
  page.commands.find((c) => c.id === id)?.run()
}
