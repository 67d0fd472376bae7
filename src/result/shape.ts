// What may come back, in order: size limit, label of origin, and the words of the agent's era. A result
// that needs no change but an inserted member stays bytes.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Implementation } from '../wire/envelope.ts';
import { type Era, META_SERVER_INFO } from '../wire/era.ts';
import { OPEN, QUOTE } from '../wire/json-bytes.ts';
import { cutInString, endOfValue, smallValue, withoutBlanks } from '../wire/json-walk.ts';
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
  /** Of a call of a tool: what is too large is cut. */
  shape(reply: Reply, server: UpstreamServer, from: Era, to: Era): Shaped;
  /**
   * Of any other request. What is too large is refused, for nobody knows where it could be cut.
   * `isCacheable`: modern agents are told how long it keeps (2026-07-28 §server/utilities/caching).
   */
  shapeOther(reply: Reply, server: UpstreamServer, from: Era, to: Era, isCacheable: boolean): Shaped;
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

  const shaped = (
    reply: Reply,
    server: UpstreamServer,
    from: Era,
    to: Era,
    more: readonly Edit[],
    hint = '',
  ): Shaped => {
    const at = reply.objectAt;
    if (at === undefined) return { reply, edits: [] };
    const label = labelOf(server);
    const hasStamp = to === 'legacy' || (from === 'modern' && reply.mayHaveMeta && reply.mentions(META_SERVER_INFO));
    const meta = [hasStamp ? '' : stamp, label].filter((text) => text !== '').join(',');
    const own = reply.mayHaveMeta ? reply.memberAt('_meta') : undefined;
    const members: string[] = [];
    if (from === 'legacy' && to === 'modern' && placeOf(reply, 'resultType') === undefined) members.push(RESULT_TYPE);
    if (hint !== '') members.push(hint);
    if (meta !== '' && own === undefined) members.push(`"_meta":{${meta}}`);
    const first = {
      ...reply.insertInto(at, members.join(',')),
      remove: from === 'modern' && to === 'legacy' ? resultTypeLength(reply, at) : 0,
    };
    const edit = own === undefined ? undefined : metaEdit(reply, own, meta);
    const inner = edit === undefined ? more : [edit, ...more];
    return { reply, edits: first.text === '' && first.remove === 0 ? inner : [first, ...inner] };
  };

  return {
    shape(received, server, from, to) {
      if (received.isError) return { reply: errorWithin(received, server.maxResultBytes), edits: [] };
      return shaped(withinLimit(received, server.maxResultBytes), server, from, to, []);
    },
    shapeOther(reply, server, from, to, isCacheable) {
      if (reply.isError) return withinEra(errorWithin(reply, server.maxResultBytes), to);
      if (reply.payloadBytes > server.maxResultBytes)
        throw new ProxyError(
          'upstream_protocol',
          `The answer has ${reply.payloadBytes} bytes. An admin can allow more for this server: maxResultBytes is ${server.maxResultBytes}.`,
        );
      if (to === 'legacy' || !isCacheable) return shaped(reply, server, from, to, []);
      const [ttl, scope] = [placeOf(reply, 'ttlMs'), placeOf(reply, 'cacheScope')];
      const hint = [ttl === undefined ? '"ttlMs":0' : '', scope === undefined ? PRIVATE : ''].filter(
        (text) => text !== '',
      );
      // Whatever its server says of it: what came by one person's key is for that person.
      const edits = scope === undefined ? [] : [reply.replaceValue(scope, '"private"')];
      return shaped(reply, server, from, to, edits, hint.join(','));
    },
  };
}

const PRIVATE = '"cacheScope":"private"';
const NO_RESOURCE = -32002;
const INVALID_PARAMS = '-32602';

/** That a resource is not there had a code of its own, which is none any more (2026-07-28 §basic/index, error codes). */
function withinEra(reply: Reply, to: Era): Shaped {
  const at =
    to === 'modern' && reply.smallMember('code', CODE_BYTES) === NO_RESOURCE ? reply.memberAt('code') : undefined;
  return { reply, edits: at === undefined ? [] : [reply.replaceValue(at, INVALID_PARAMS)] };
}

/** As `memberAt`, without a walk where the name stands nowhere. */
const placeOf = (reply: Reply, name: string): number | undefined =>
  reply.mentions(name) ? reply.memberAt(name) : undefined;

/** Bytes of the leading `resultType` with its comma; 0 when the result does not begin with one. */
function resultTypeLength(reply: Reply, at: number): number {
  const first = `${RESULT_TYPE},`;
  return reply.bytes.toString('latin1', at + 1, at + 1 + first.length) === first ? first.length : 0;
}

/** The limit is on what the result says, not on the blanks between. */
function withinLimit(reply: Reply, maxBytes: number): Reply {
  const { payloadSpan: span, objectAt } = reply;
  if (reply.payloadBytes <= maxBytes || span === undefined || objectAt === undefined) return reply;
  const compact = withoutBlanks(reply.bytes, span.start, span.end, maxBytes);
  return reply.withResult(compact ?? limitSize(reply.bytes.subarray(span.start, span.end), maxBytes));
}

const KEPT_MESSAGE = 500;
/** Of a message as it stands in the bytes, where each character may be an escape. */
const MESSAGE_BYTES = 6 * KEPT_MESSAGE;
const CODE_BYTES = 32;
const INTERNAL_ERROR = -32603;

/** Of an error that is too large its code stays, and how its message begins. */
function errorWithin(reply: Reply, maxBytes: number): Reply {
  if (reply.payloadBytes <= maxBytes) return reply;
  const code = reply.smallMember('code', CODE_BYTES);
  // Through bytes, for the cut may halve a character.
  const begin = Buffer.from(beginOfMessage(reply).slice(0, KEPT_MESSAGE)).toString();
  return reply.withError({
    code: Number.isInteger(code) ? code : INTERNAL_ERROR,
    message: `${begin} [Cut by the proxy: the error has ${reply.payloadBytes} bytes.]`,
  });
}

function beginOfMessage(reply: Reply): string {
  const at = reply.memberAt('message');
  if (at === undefined || reply.bytes[at] !== QUOTE) return '';
  const end = endOfValue(reply.bytes, at);
  const cut = end - at <= MESSAGE_BYTES ? end - 1 : cutInString(reply.bytes, at + 1, MESSAGE_BYTES);
  const text = smallValue(Buffer.concat([reply.bytes.subarray(at, cut), CLOSING_QUOTE]), 0, MESSAGE_BYTES + 2);
  return typeof text === 'string' ? text : '';
}

const CLOSING_QUOTE = Buffer.from('"');
/** A `_meta` with words of the proxy's own is read so far, and dropped beyond. */
const META_BYTES = 64 * 1024;

/**
 * `_meta` with `members` in front. What the proxy says about a result only the proxy may say, and a `_meta` that is
 * no object says nothing (2025-11-25 §basic, _meta) and would leave no place for the label.
 */
function metaEdit(reply: Reply, at: number, members: string): Edit | undefined {
  if (reply.bytes[at] !== OPEN) return reply.replaceValue(at, `{${members}}`);
  // Without the slash, which may be escaped.
  if (reply.mentions(RESERVED.slice(0, -1))) {
    const meta = smallValue(reply.bytes, at, META_BYTES);
    const all = isJsonObject(meta) ? Object.entries(meta) : undefined;
    const kept = all?.filter(([key]) => !key.startsWith(RESERVED)) ?? [];
    if (kept.length !== all?.length) {
      const own = JSON.stringify(Object.fromEntries(kept)).slice(1, -1);
      return reply.replaceValue(at, `{${[members, own].filter((text) => text !== '').join(',')}}`);
    }
  }
  return members === '' ? undefined : reply.insertInto(at, members);
}
