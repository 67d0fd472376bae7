// A server of the 2025 revisions has one log level for all of a connection, and many agents of one person may share that. So it
// is asked for as much as the most talkative wish, and each hears what it wants itself.
import type { Connection } from '../connection/connection.ts';
import { type LogLevel, showsAllOf } from '../wire/log-level.ts';

const asked = new WeakMap<Connection, LogLevel>();

/** Never rejects: who does not get its log gets its answer. */
export async function askForLog(connection: Connection, level: LogLevel, signal: AbortSignal): Promise<void> {
  const known = asked.get(connection);
  const isServed = connection.era === 'legacy' && connection.capabilities['logging'] !== undefined;
  if (!isServed || (known !== undefined && showsAllOf(known, level))) return;
  asked.set(connection, level);
  await connection.request({ method: 'logging/setLevel', params: { level }, signal }).catch(() => undefined);
}
