// Asks a server for all its tools, or for another of its lists, page by page, within bounds: a server that pages for ever, repeats a
// cursor or sends too much is reported as such, and only it.
import { type Listing, TOOLS } from '../catalog/list-kind.ts';
import { listedTools, writtenTool } from '../catalog/tool.ts';
import type { ToolSource } from '../catalog/tool-source.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Connection } from '../connection/connection.ts';
import { startBreathing } from '../shared/breathe.ts';
import type { Clock } from '../shared/clock.ts';
import { startDeadline } from '../shared/deadline.ts';
import { ProxyError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';
import type { WithUpstream } from './with-upstream.ts';

const MAX_PAGES = 100;
const MAX_TOOLS = 5_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MESSAGE_BYTES = 4 * 1024;
/** A longer one is taken for none: the list ends there. */
const CURSOR_BYTES = 64 * 1024;

export interface DiscoverToolsDeps {
  /** Asks nobody to sign in. */
  readonly withUpstream: WithUpstream;
  readonly clock: Clock;
}

export function createToolSource(deps: DiscoverToolsDeps): ToolSource {
  return (server, principalId, signal) => listInTime(deps, server, principalId, TOOLS, signal, listAll);
}

/** Lists over the principal's connection; one bound for the whole listing, connecting included. */
export async function listInTime(
  { withUpstream, clock }: DiscoverToolsDeps,
  server: UpstreamServer,
  principalId: PrincipalId | undefined,
  list: Listing,
  signal: AbortSignal,
  read: (connection: Connection, signal: AbortSignal) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const ms = server.connectTimeoutMs + Math.min(server.timeoutMs, 60_000);
  const deadline = startDeadline(
    clock,
    signal,
    ms,
    ms,
    () => new ProxyError('upstream_timeout', `The server did not list its ${list.many} within ${ms} ms.`),
  );
  try {
    return await withUpstream(server, principalId, deadline.signal, ({ connection }) =>
      read(connection, deadline.signal),
    );
  } finally {
    deadline.end();
  }
}

/** Every page once; an empty-string cursor is a cursor (2026-07-28 §server/utilities/pagination). */
export async function listAll(
  connection: Connection,
  signal: AbortSignal,
  list: Listing = TOOLS,
): Promise<readonly string[]> {
  if (connection.capabilities[list.capability] === undefined) return [];
  const tools: string[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  const breathe = startBreathing();
  for (let page = 0; page < MAX_PAGES; page++) {
    const reply = await connection.request({
      method: list.method,
      params: cursor === undefined ? {} : { cursor },
      signal,
    });
    if (reply.isError) throw refusal(list, reply.smallMember('message', MESSAGE_BYTES));
    bytes += reply.bytes.length;
    // Before anything is parsed: a parse of that much would hold up everybody else.
    if (bytes > MAX_BYTES) throw tooMuch(`more than ${MAX_BYTES} bytes of ${list.many}`);
    // Each of these looks at all of it, as reading it did.
    await breathe(reply.bytes.length);
    const at = reply.memberAt(list.member);
    await breathe(reply.bytes.length);
    const listed = at === undefined ? undefined : listedTools(reply.bytes, at);
    for (;;) {
      const one = listed?.next();
      if (one === undefined || one.value === false)
        throw new ProxyError('upstream_protocol', `The server answered ${list.method} without a list of ${list.many}.`);
      if (one.value === true) break;
      // What is behind the first that is too many is not looked at.
      if (tools.length === MAX_TOOLS) throw tooMuch(`more than ${MAX_TOOLS} ${list.many}`);
      const item = parsed(list, one.value);
      const read = breathe(one.value.size);
      if (read !== undefined) await read;
      tools.push(writtenTool(item));
      const written = breathe(one.value.size);
      if (written !== undefined) await written;
    }
    await breathe(reply.bytes.length);
    const next = reply.smallMember('nextCursor', CURSOR_BYTES);
    // A cursor that came before would bring the same page again: that is the end.
    if (typeof next !== 'string' || seen.has(next)) return tools;
    seen.add(next);
    cursor = next;
  }
  throw tooMuch(`more than ${MAX_PAGES} pages of ${list.many}`);
}

function parsed({ one }: Listing, item: { parse(): unknown }): unknown {
  try {
    return item.parse();
  } catch {
    throw new ProxyError('upstream_protocol', `The server listed a ${one} that is not JSON.`);
  }
}

function refusal({ many }: Listing, message: unknown): ProxyError {
  const why = typeof message === 'string' ? message.slice(0, 200) : 'no reason given';
  return new ProxyError('upstream_protocol', `The server refused to list its ${many}: ${why}`);
}

const tooMuch = (what: string): ProxyError => new ProxyError('upstream_protocol', `The server lists ${what}.`);
