// Prompts, resources, completion and methods that are none of ours, in the words of the two eras.
import type { ItemKind } from '../catalog/list-kind.ts';
import type { Answer, CompletionRef, ItemOperations, Page, Request } from '../proxy/operations.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Implementation } from '../wire/envelope.ts';
import { META_SERVER_INFO } from '../wire/era.ts';
import { isJsonObject, type JsonObject, type Parts } from '../wire/reply.ts';
import { withLogLevel } from './hearing.ts';
import { BadMessage, type Incoming } from './message.ts';
import { type Exchange, type MoreMethods, noSuchMethod, progressTokenOf } from './methods.ts';

type Method = MoreMethods['both'][number][1];

/** How long a list of ours keeps: servers announce no change of these yet. */
const TTL_MS = 30_000;

export function createItemMethods(operations: ItemOperations, self: Implementation): MoreMethods {
  const write = (answer: Answer | Page, { idText, era }: Incoming): Parts => {
    if (answer.kind === 'reply') return answer.reply.parts(idText, answer.edits);
    const isModern = era === 'modern';
    const meta = { ...(isModern ? { [META_SERVER_INFO]: self } : {}), ...(answer.kind === 'page' ? answer.meta : {}) };
    const members = isModern ? [MODERN_MEMBERS] : [];
    if (answer.kind === 'page') {
      members.push(`${JSON.stringify(answer.member)}:[${answer.items.join(',')}]`);
      if (answer.nextCursor !== undefined) members.push(`"nextCursor":${JSON.stringify(answer.nextCursor)}`);
    } else members.push(JSON.stringify(answer.result).slice(1, -1));
    if (Object.keys(meta).length > 0) members.push(`"_meta":${JSON.stringify(meta)}`);
    return [`{"jsonrpc":"2.0","id":${idText},"result":{${members.join(',')}}}`];
  };

  const list =
    (kind: ItemKind): Method =>
    async (exchange) => {
      const { caller, incoming, signal } = exchange;
      const cursor = incoming.params['cursor'];
      if (cursor !== undefined && typeof cursor !== 'string') throw bad(incoming, 'params.cursor must be a string.');
      return write(await operations.listItems(caller, { ...requestOf(exchange), kind }, signal), incoming);
    };

  const getPrompt: Method = async (exchange) => {
    const { caller, incoming, signal } = exchange;
    const name = textIn(incoming, incoming.params, 'name');
    return write(await operations.getPrompt(caller, { ...requestOf(exchange), name }, signal), incoming);
  };

  const readResource: Method = async (exchange) => {
    const { caller, incoming, signal } = exchange;
    const uri = textIn(incoming, incoming.params, 'uri');
    try {
      return write(await operations.readResource(caller, { ...requestOf(exchange), uri }, signal), incoming);
    } catch (error) {
      // Of all that is not there only this had a code of its own, and only in that era (2025-11-25 §server/resources).
      if (incoming.era !== 'legacy' || !(error instanceof ProxyError) || error.code !== 'not_found') throw error;
      throw new BadMessage(200, NO_RESOURCE, error.message, incoming.idText, { error: error.code, uri });
    }
  };

  const complete: Method = async (exchange) => {
    const { caller, incoming, signal } = exchange;
    return write(await operations.complete(caller, { ...requestOf(exchange), ref: refIn(incoming) }, signal), incoming);
  };

  return {
    both: [
      ['prompts/list', list('prompts')],
      ['prompts/get', getPrompt],
      ['resources/list', list('resources')],
      ['resources/templates/list', list('templates')],
      ['resources/read', readResource],
      ['completion/complete', complete],
    ],
    async other(exchange) {
      const { caller, incoming, signal } = exchange;
      const answer = await operations.pass(caller, { ...requestOf(exchange), method: incoming.method }, signal);
      if (answer === undefined) throw noSuchMethod(incoming);
      return write(answer, incoming);
    },
  };
}

const NO_RESOURCE = -32002;
const MODERN_MEMBERS = `"resultType":"complete","ttlMs":${TTL_MS},"cacheScope":"private"`;

function requestOf({ scope, incoming, capabilities, logLevel, hearing, abort }: Exchange): Request {
  const { era } = incoming;
  const params = withLogLevel(incoming, logLevel);
  return { scope, params, era, capabilities, progressToken: progressTokenOf(params), logLevel, hearing, abort };
}

function refIn(incoming: Incoming): CompletionRef {
  const ref = incoming.params['ref'];
  if (!isJsonObject(ref)) throw bad(incoming, 'params.ref must say what is to be completed.');
  if (ref['type'] === 'ref/prompt') return { type: 'ref/prompt', name: textIn(incoming, ref, 'name', 'ref.') };
  if (ref['type'] === 'ref/resource') return { type: 'ref/resource', uri: textIn(incoming, ref, 'uri', 'ref.') };
  throw bad(incoming, 'params.ref.type must be ref/prompt or ref/resource.');
}

function textIn(incoming: Incoming, object: JsonObject, key: string, place = ''): string {
  const value = object[key];
  if (typeof value !== 'string' || value === '') throw bad(incoming, `params.${place}${key} must be a text.`);
  return value;
}

const bad = ({ era, idText }: Incoming, message: string): BadMessage =>
  new BadMessage(era === 'modern' ? 400 : 200, -32602, message, idText);
