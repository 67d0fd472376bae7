// MCP method → operation. No rules live here, only the words of the two eras.

import type { Scope } from '../catalog/catalog.ts';
import type { Caller } from '../identity/caller.ts';
import type { AgentHearing, Operations, Questions } from '../proxy/operations.ts';
import type { ProxyError } from '../shared/errors.ts';
import type { Implementation } from '../wire/envelope.ts';
import {
  isLegacyVersion,
  LATEST_LEGACY,
  LEGACY_VERSIONS,
  META_CAPABILITIES,
  META_SERVER_INFO,
  MODERN_VERSION,
  metaOf,
} from '../wire/era.ts';
import { isLogLevel, type LogLevel } from '../wire/log-level.ts';
import { asciiJson, isJsonObject, type JsonObject, type Parts } from '../wire/reply.ts';
import { toCallResult } from './errors.ts';
import { withLogLevel } from './hearing.ts';
import { BadMessage, type Incoming } from './message.ts';
import type { Session } from './sessions.ts';

export interface Exchange {
  readonly caller: Caller;
  readonly scope: Scope;
  readonly incoming: Incoming;
  /** What the agent said it can do: per session in the legacy era, per request in the modern one. */
  readonly capabilities: JsonObject;
  /** How the agent can be asked while the request is open; undefined when it cannot be. */
  readonly questions: Questions | undefined;
  /** Of a legacy agent. */
  readonly session: Session | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly hearing: AgentHearing;
  readonly signal: AbortSignal;
  /** Makes `signal` fire with this reason. */
  readonly abort: (reason: Error) => void;
}

/** Gives the whole answer; throws BadMessage or a ProxyError. */
type Method = (exchange: Exchange) => Promise<Parts>;

/** Methods that are not written down here. */
export interface MoreMethods {
  /** By name, in both eras. */
  readonly both: readonly (readonly [string, Method])[];
  /** For one server: each method that is not MCP's. */
  readonly other: Method;
}

export interface Methods {
  /** Throws BadMessage for a method that this era does not have. */
  find(incoming: Incoming, scope: Scope): Method;
  /** What answers a request that is not begun at all. Throws `error` where the client has to be told, not the model. */
  notDone(incoming: Incoming, error: ProxyError): Parts;
  /** The result of initialize, as JSON text, and the version agreed on (2025-11-25 §lifecycle). Throws BadMessage. */
  initialize(params: JsonObject): {
    readonly resultText: string;
    readonly version: string;
    readonly capabilities: JsonObject;
  };
}

/** Of servers that come and go: some of them have prompts, some have resources, and lists may be empty. */
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: {},
  resources: {},
  completions: {},
  logging: {},
} as const;
const NO_CAPABILITIES: JsonObject = {};
/** A session keeps them as long as it lives. */
const MAX_CAPABILITIES_BYTES = 16 * 1024;

const answer = (idText: string, resultText: string): Parts => [
  `{"jsonrpc":"2.0","id":${idText},"result":${resultText}}`,
];

/** What belongs to a session, a stream or another direction means nothing, or too much, to a server behind us. */
const OURS =
  /^(?:initialize|ping|server\/|tools\/|logging\/|resources\/|prompts\/|completion\/|notifications\/|subscriptions\/|tasks\/|sampling\/|elicitation\/|roots\/|keybearer)/;

export function createMethods(operations: Operations, self: Implementation, more: MoreMethods): Methods {
  const stamped = { [META_SERVER_INFO]: self };

  const listTools: Method = async ({ caller, scope, incoming, signal }) => {
    const view = await operations.listTools(caller, scope, signal);
    const { cursor } = incoming.params as { cursor?: unknown };
    if (cursor !== undefined && typeof cursor !== 'string')
      throw new BadMessage(200, -32602, 'cursor must be a string.', incoming.idText);
    const page = view?.page(cursor);
    if (page === undefined)
      throw new BadMessage(
        200,
        -32602,
        cursor === undefined ? 'There is no such server.' : 'This cursor is not of this list; start again without one.',
        incoming.idText,
      );
    return [`{"jsonrpc":"2.0","id":${incoming.idText},"result":`, ...page[incoming.era], '}'];
  };

  const callTool: Method = async (exchange) => {
    const { caller, scope, incoming, capabilities, questions, logLevel, hearing, signal, abort } = exchange;
    const { era, idText } = incoming;
    const params = withLogLevel(incoming, logLevel);
    const { name } = params as { name?: unknown };
    if (typeof name !== 'string')
      throw new BadMessage(era === 'modern' ? 400 : 200, -32602, 'params.name must be the name of a tool.', idText);
    const progressToken = progressTokenOf(params);
    try {
      const result = await operations.callTool(
        caller,
        { scope, name, params, era, capabilities, progressToken, logLevel, hearing, questions, abort },
        signal,
      );
      return result.kind === 'reply'
        ? result.reply.parts(idText, result.edits)
        : answer(idText, own(result.result, era === 'modern'));
    } catch (error) {
      return failed(incoming, error);
    }
  };

  const failed = ({ idText, era }: Incoming, error: unknown): Parts => {
    const told = toCallResult(error);
    if (told === undefined) throw error;
    return answer(idText, own(told, era === 'modern'));
  };

  const own = (result: JsonObject, isModern: boolean): string =>
    JSON.stringify(isModern ? { resultType: 'complete', ...result, _meta: stamped } : result);

  const discover: Method = ({ incoming }) =>
    Promise.resolve(
      answer(
        incoming.idText,
        JSON.stringify({
          resultType: 'complete',
          supportedVersions: [MODERN_VERSION, ...LEGACY_VERSIONS],
          capabilities: CAPABILITIES,
          ttlMs: 60_000,
          cacheScope: 'private',
          _meta: stamped,
        }),
      ),
    );

  /** Of the session; each server hears of it when it is next asked for something (2025-11-25 §server/utilities/logging). */
  const setLevel: Method = ({ incoming, session }) => {
    const { level } = incoming.params as { level?: unknown };
    if (!isLogLevel(level))
      throw new BadMessage(200, -32602, 'params.level must be a level of RFC 5424, such as "info".', incoming.idText);
    if (session !== undefined) session.logLevel = level;
    return Promise.resolve(answer(incoming.idText, '{}'));
  };

  const ping: Method = ({ incoming }) => Promise.resolve(answer(incoming.idText, '{}'));

  const both: (readonly [string, Method])[] = [['tools/list', listTools], ['tools/call', callTool], ...more.both];
  const legacy = new Map<string, Method>([...both, ['ping', ping], ['logging/setLevel', setLevel]]);
  const modern = new Map<string, Method>([...both, ['server/discover', discover]]);

  return {
    find(incoming, { only }) {
      const found = (incoming.era === 'modern' ? modern : legacy).get(incoming.method);
      if (found !== undefined) return found;
      if (only === undefined || OURS.test(incoming.method)) throw noSuchMethod(incoming);
      return more.other;
    },
    notDone(incoming, error) {
      if (incoming.method !== 'tools/call') throw error;
      return failed(incoming, error);
    },
    initialize(params) {
      const asked = params['protocolVersion'];
      const version = isLegacyVersion(asked) ? asked : LATEST_LEGACY;
      const capabilities = isJsonObject(params['capabilities']) ? params['capabilities'] : NO_CAPABILITIES;
      if (JSON.stringify(capabilities).length > MAX_CAPABILITIES_BYTES)
        throw new BadMessage(400, -32602, `params.capabilities may have ${MAX_CAPABILITIES_BYTES} bytes.`);
      return {
        version,
        capabilities,
        resultText: JSON.stringify({ protocolVersion: version, capabilities: CAPABILITIES, serverInfo: self }),
      };
    },
  };
}

/** The capabilities that a modern request states for itself. */
export function statedCapabilities(params: JsonObject): JsonObject {
  const stated = metaOf(params)?.[META_CAPABILITIES];
  return isJsonObject(stated) ? stated : NO_CAPABILITIES;
}

/** JSON text of the token under which the agent wants to hear of progress. */
export function progressTokenOf(params: JsonObject): string | undefined {
  const token = metaOf(params)?.['progressToken'];
  return typeof token === 'string' || typeof token === 'number' ? asciiJson(token) : undefined;
}

/** In the modern era over HTTP 404 (2026-07-28 §basic/transports/streamable-http). */
export const noSuchMethod = ({ era, method, idText }: Incoming): BadMessage =>
  new BadMessage(
    era === 'modern' ? 404 : 200,
    -32601,
    `There is no method ${JSON.stringify(method.slice(0, 128))} here.`,
    idText,
  );
