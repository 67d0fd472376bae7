// An upstream as the world sees it, whatever transport it speaks.
import type { Seen } from '../support/upstreams/keyed-state.ts';

export interface Far {
  readonly url: string;
  /** key → whose it is, as the upstream says it: one person, or several with one key, joined by `+`. */
  readonly keys: Map<string, string>;
  readonly seen: readonly Seen[];
  readonly executed: ReadonlyMap<string, number>;
  /** Sessions used with the key of another; calls that ended unanswered. */
  readonly counters: { readonly crossed: number; readonly aborted: number };
  addTool(name: string): void;
  removeTool(name: string): void;
  until(holds: () => boolean, what?: string): Promise<void>;
  /** Forgets every session. */
  restart(): void;
  close(): Promise<void>;
}

/** Beside what everybody is shown: a tool of its own for each who holds the key. */
export const ownTools = (who: string): readonly string[] =>
  who.split('+').map((label) => `own_${label.replace('/', '-')}`);
