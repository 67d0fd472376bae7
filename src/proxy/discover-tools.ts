// Asks a server for all its tools, page by page, within bounds: a server that pages for ever, repeats a
// cursor or sends too much is reported as such, and only it.
import type { ToolSource } from '../catalog/tool-source.ts';
import type { Connection } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { startDeadline } from '../shared/deadline.ts';
import { ProxyError } from '../shared/errors.ts';
import { isJsonObject } from '../wire/reply.ts';
import type { WithUpstream } from './with-upstream.ts';

const MAX_PAGES = 100;
const MAX_TOOLS = 5_000;
const MAX_BYTES = 8 * 1024 * 1024;

export interface DiscoverToolsDeps {
  readonly withUpstream: WithUpstream;
  readonly clock: Clock;
}

export function createToolSource({ withUpstream, clock }: DiscoverToolsDeps): ToolSource {
  return async (server, principalId, signal) => {
    // One bound for the whole listing, connecting included.
    const ms = server.connectTimeoutMs + Math.min(server.timeoutMs, 60_000);
    const deadline = startDeadline(
      clock,
      signal,
      ms,
      ms,
      () => new ProxyError('upstream_timeout', `The server did not list its tools within ${ms} ms.`),
    );
    try {
      return await withUpstream(server, principalId, deadline.signal, ({ connection }) =>
        listAll(connection, deadline.signal),
      );
    } finally {
      deadline.end();
    }
  };
}

/** Every page once; an empty-string cursor is a cursor (2026-07-28 §server/utilities/pagination). */
export async function listAll(connection: Connection, signal: AbortSignal): Promise<readonly unknown[]> {
  if (connection.capabilities['tools'] === undefined) return [];
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const reply = await connection.request({
      method: 'tools/list',
      params: cursor === undefined ? {} : { cursor },
      signal,
    });
    const payload = reply.payload();
    if (reply.isError) throw refusal(payload);
    if (!isJsonObject(payload) || !Array.isArray(payload['tools']))
      throw new ProxyError('upstream_protocol', 'The server answered tools/list without a list of tools.');
    const listed: readonly unknown[] = payload['tools'];
    bytes += reply.bytes.length;
    if (tools.length + listed.length > MAX_TOOLS || bytes > MAX_BYTES)
      throw tooMuch(`more than ${MAX_TOOLS} tools or ${MAX_BYTES} bytes of them`);
    tools.push(...listed);
    const next = payload['nextCursor'];
    // A cursor that came before would bring the same page again: that is the end.
    if (typeof next !== 'string' || seen.has(next)) return tools;
    seen.add(next);
    cursor = next;
  }
  throw tooMuch(`more than ${MAX_PAGES} pages of tools`);
}

function refusal(error: unknown): ProxyError {
  const message =
    isJsonObject(error) && typeof error['message'] === 'string' ? error['message'].slice(0, 200) : 'no reason given';
  return new ProxyError('upstream_protocol', `The server refused to list its tools: ${message}`);
}

const tooMuch = (what: string): ProxyError => new ProxyError('upstream_protocol', `The server lists ${what}.`);
