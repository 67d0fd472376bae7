// Names as agents see them: `prefix__name`, at most 64 characters that model APIs accept. Routing goes
// by a table of listed names, never by taking a name apart, so two readings cannot arise.
import { createHash } from 'node:crypto';

export const MAX_NAME = 64;
const ALLOWED = /^[A-Za-z0-9_.-]+$/;

/** What parts server and tool; server names never hold it. */
export const SEPARATOR = '__';
export const CONNECT = 'connect';

export const connectName = (prefix: string): string => `${prefix}${SEPARATOR}${CONNECT}`;

/**
 * The server that a prefix belongs to: of several the first by name, whether it has answered or not. A name
 * must not lead to one server now and to another when that one comes up.
 * @param servers in the order of their names
 */
export function prefixHolders(
  servers: Iterable<{ readonly prefix: string; readonly name: string }>,
): ReadonlyMap<string, string> {
  const holders = new Map<string, string>();
  for (const { prefix, name } of servers) if (!holders.has(prefix)) holders.set(prefix, name);
  return holders;
}

/** A short stable fingerprint of the server and its own name for the tool. */
function fingerprint(serverName: string, toolName: string): string {
  return createHash('sha256')
    .update(JSON.stringify([serverName, toolName]))
    .digest('hex')
    .slice(0, 8);
}

/** `wanted` shortened and made plain, with a fingerprint that keeps it apart from others. */
export function distinctName(wanted: string, serverName: string, toolName: string): string {
  const plain = wanted.replace(/[^A-Za-z0-9_.-]/g, '_');
  return `${plain.slice(0, MAX_NAME - 9)}-${fingerprint(serverName, toolName)}`;
}

/** The name for one tool; `isTaken` tells of names given earlier in the same view. */
export function exposedName(
  prefix: string | undefined,
  serverName: string,
  toolName: string,
  isTaken: (name: string) => boolean,
): string {
  const wanted = prefix === undefined ? toolName : `${prefix}${SEPARATOR}${toolName}`;
  const isPlain = wanted.length <= MAX_NAME && ALLOWED.test(wanted);
  return isPlain && !isTaken(wanted) ? wanted : distinctName(wanted, serverName, toolName);
}
