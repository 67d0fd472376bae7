// What one server lists to one person beside its tools, over that person's connection, and kept with it for a while: what
// another person, or another key, may see is another connection's.
import { ITEMS, type ItemKind } from '../catalog/list-kind.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Connection } from '../connection/connection.ts';
import type { PrincipalId } from '../shared/id.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { type DiscoverToolsDeps, listAll, listInTime } from './discover-tools.ts';

/** So old a list may be that is answered from memory. */
export const KEPT_MS = 30_000;

/**
 * Each item as JSON text. The same array until it is read again. `signal` ends the wait and not the reading, which others
 * may wait for as well. Rejects as `WithUpstream` and `listAll` do.
 */
export type ServerItemsOf = (
  server: UpstreamServer,
  principalId: PrincipalId,
  kind: ItemKind,
  signal: AbortSignal,
) => Promise<readonly string[]>;

interface Kept {
  readonly items: readonly string[];
  readonly at: number;
}

export function createServerItems(deps: DiscoverToolsDeps): ServerItemsOf {
  const kept = new WeakMap<Connection, Partial<Record<ItemKind, Kept>>>();
  const readings = new SingleFlight<readonly string[]>();
  const root = new AbortController().signal;

  const over = async (connection: Connection, kind: ItemKind, signal: AbortSignal): Promise<readonly string[]> => {
    const known = kept.get(connection)?.[kind];
    if (known !== undefined && deps.clock.now() - known.at < KEPT_MS) return known.items;
    const items = await listAll(connection, signal, ITEMS[kind]);
    kept.set(connection, { ...kept.get(connection), [kind]: { items, at: deps.clock.now() } });
    return items;
  };

  return (server, principalId, kind, signal) => {
    const key = [server.tenantId, server.id, server.revision, principalId, kind].join('\u0000');
    const read = (): Promise<readonly string[]> =>
      listInTime(deps, server, principalId, ITEMS[kind], root, (connection, within) => over(connection, kind, within));
    return readings.run(key, read, signal);
  };
}
