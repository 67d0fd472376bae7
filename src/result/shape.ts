// What may come back, in order: size limit, label of origin, and the words of the agent's era. A result
// that needs no change but an inserted member stays bytes.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Implementation } from '../wire/envelope.ts';
import { type Era, META_SERVER_INFO } from '../wire/era.ts';
import { type Edit, isJsonObject, type Reply } from '../wire/reply.ts';
import { limitSize } from './limit-size.ts';

export interface Shaped {
  readonly reply: Reply;
  readonly edits: readonly Edit[];
}

const RESERVED = 'keybearer/';
/** As modern servers begin their results; it means nothing to legacy agents. */
const RESULT_TYPE = '"resultType":"complete"';

export interface Shaper {
  shape(reply: Reply, server: UpstreamServer, from: Era, to: Era): Shaped;
}

export function createShaper(self: Implementation): Shaper {
  const stamp = `"${META_SERVER_INFO}":${JSON.stringify(self)}`;
  const labels = new WeakMap<UpstreamServer, string>();

  const labelOf = (server: UpstreamServer): string => {
    let label = labels.get(server);
    if (label === undefined) {
      label = server.trusted ? '' : `"keybearer/origin":{"server":${JSON.stringify(server.name)},"trust":"outside"}`;
      labels.set(server, label);
    }
    return label;
  };

  return {
    shape(received, server, from, to) {
      if (received.isError) return { reply: errorWithin(received, server.maxResultBytes), edits: [] };
      const reply = withMetaObject(withoutReserved(withinLimit(received, server.maxResultBytes)));
      const at = reply.objectAt;
      if (at === undefined) return { reply, edits: [] };
      const label = labelOf(server);
      const hasStamp = to === 'legacy' || (from === 'modern' && reply.mayHaveMeta && reply.mentions(META_SERVER_INFO));
      const meta = [hasStamp ? '' : stamp, label].filter((text) => text !== '').join(',');
      const own = meta !== '' && reply.mayHaveMeta ? reply.memberAt('_meta') : undefined;
      const members: string[] = [];
      if (from === 'legacy' && to === 'modern' && !hasResultType(reply)) members.push(RESULT_TYPE);
      if (meta !== '' && own === undefined) members.push(`"_meta":{${meta}}`);
      const first = {
        ...reply.insertInto(at, members.join(',')),
        remove: from === 'modern' && to === 'legacy' ? resultTypeLength(reply, at) : 0,
      };
      const inner = own === undefined ? [] : [reply.insertInto(own, meta)];
      return { reply, edits: first.text === '' && first.remove === 0 ? inner : [first, ...inner] };
    },
  };
}

/** A `_meta` that is no object says nothing (2025-11-25 §basic, _meta), and would leave no place for the label. */
function withMetaObject(reply: Reply): Reply {
  const at = reply.mayHaveMeta ? reply.memberAt('_meta') : undefined;
  const result = at === undefined || reply.bytes[at] === 0x7b ? undefined : reply.payload();
  if (!isJsonObject(result)) return reply;
  const { _meta: _, ...rest } = result;
  return reply.withResult(rest);
}

const hasResultType = (reply: Reply): boolean =>
  reply.mentions('resultType') && reply.memberAt('resultType') !== undefined;

/** Bytes of the leading `resultType` with its comma; 0 when the result does not begin with one. */
function resultTypeLength(reply: Reply, at: number): number {
  const first = `${RESULT_TYPE},`;
  return reply.bytes.toString('latin1', at + 1, at + 1 + first.length) === first ? first.length : 0;
}

/** The limit is on what the result says, not on the blanks between. */
function withinLimit(reply: Reply, maxBytes: number): Reply {
  if (reply.payloadBytes <= maxBytes) return reply;
  const result = reply.payload();
  if (!isJsonObject(result)) return reply;
  return reply.withResult(Buffer.byteLength(JSON.stringify(result)) <= maxBytes ? result : limitSize(result, maxBytes));
}

const KEPT_MESSAGE = 500;
const INTERNAL_ERROR = -32603;

/** Of an error that is too large its code stays, and how its message begins. */
function errorWithin(reply: Reply, maxBytes: number): Reply {
  if (reply.payloadBytes <= maxBytes) return reply;
  const error = reply.payload();
  const { code, message } = isJsonObject(error) ? (error as { code?: unknown; message?: unknown }) : {};
  // Through bytes, for the cut may halve a character.
  const begin = typeof message === 'string' ? Buffer.from(message.slice(0, KEPT_MESSAGE)).toString() : '';
  return reply.withError({
    code: Number.isInteger(code) ? code : INTERNAL_ERROR,
    message: `${begin} [Cut by the proxy: the error has ${reply.payloadBytes} bytes.]`,
  });
}

/** What the proxy says about a result only the proxy may say. */
function withoutReserved(reply: Reply): Reply {
  // Without the slash, which may be escaped.
  if (!reply.mayHaveMeta || !reply.mentions(RESERVED.slice(0, -1))) return reply;
  const result = reply.payload();
  if (!isJsonObject(result) || !isJsonObject(result['_meta'])) return reply;
  const meta = Object.entries(result['_meta']);
  const kept = meta.filter(([key]) => !key.startsWith(RESERVED));
  return kept.length === meta.length ? reply : reply.withResult({ ...result, _meta: Object.fromEntries(kept) });
}
